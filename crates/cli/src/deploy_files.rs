//! Checks that the files in docs/deploy match the binary: settings exist, commands parse.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use serde_json::Value;

use crate::args::Arguments;
use crate::config::settings::TABLE;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(directory().join(name)).expect("it is there")
}

fn documents(name: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(&read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

const YAML: &[&str] = &["compose.yaml", "kubernetes/server.yaml", "kubernetes/worker.yaml"];

/// Calls `see` for a value and every value below it.
fn walk<'a>(value: &'a Value, see: &mut impl FnMut(&'a Value)) {
    see(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, see)),
        Value::Object(map) => map.values().for_each(|item| walk(item, see)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn every_variable_is_a_setting() {
    let mut named = BTreeSet::new();
    for name in YAML {
        for document in &documents(name) {
            walk(document, &mut |value| {
                // Compose has a map; Kubernetes has a list of names.
                let map = value.get("environment").and_then(Value::as_object);
                named.extend(map.into_iter().flatten().map(|(name, _)| name.clone()));
                let list = value.get("env").and_then(Value::as_array);
                let names = list.into_iter().flatten().filter_map(|it| it["name"].as_str());
                named.extend(names.map(str::to_owned));
            });
        }
    }
    let dockerfile = read("Dockerfile");
    let said = dockerfile.lines().filter_map(|line| line.strip_prefix("ENV "));
    named.extend(
        said.flat_map(str::split_whitespace)
            .filter_map(|pair| Some(pair.split_once('=')?.0.to_owned())),
    );
    // Variables of the database image.
    for name in ["POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD"] {
        assert!(named.remove(name), "{name}");
    }
    assert!(named.len() > 5, "{named:?}");
    for name in &named {
        assert!(TABLE.iter().any(|row| row.variable == name), "{name}");
    }
}

#[test]
fn every_command_is_understood() {
    let mut commands: Vec<Vec<String>> = Vec::new();
    let mut add = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned());
        commands.push(std::iter::once("noetl".to_owned()).chain(words).collect());
    };
    for name in YAML {
        for document in &documents(name) {
            walk(document, &mut |value| {
                let is_ours = value["image"] == "noetl";
                for key in ["command", "args"].into_iter().filter(|_| is_ours) {
                    if let words @ [_, ..] = texts(&value[key]).as_slice() {
                        add(words);
                    }
                }
                if let ["CMD", "noetl", words @ ..] = texts(&value["test"]).as_slice() {
                    add(words);
                }
            });
        }
    }
    for line in read("Dockerfile").lines().filter_map(|line| line.trim().strip_prefix("CMD ")) {
        let words: Vec<String> = serde_json::from_str(line).expect("the exec form");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        add(words.strip_prefix(&["noetl"]).unwrap_or(&words));
    }
    assert!(commands.len() >= 5, "{commands:?}");
    for words in commands {
        if let Err(error) = Arguments::try_parse_from(&words) {
            panic!("{words:?}: {error}");
        }
    }
}

#[test]
fn the_objects_of_kubernetes_belong_together() {
    let objects: Vec<Value> = YAML[1..].iter().flat_map(|name| documents(name)).collect();
    let kinds: Vec<&str> = objects.iter().filter_map(|it| it["kind"].as_str()).collect();
    let expected = ["Deployment", "Service", "PodDisruptionBudget", "Deployment", "ScaledObject"];
    assert_eq!(kinds, expected);
    let labels = &objects[0]["spec"]["template"]["metadata"]["labels"];
    for selector in [
        &objects[0]["spec"]["selector"]["matchLabels"],
        &objects[1]["spec"]["selector"],
        &objects[2]["spec"]["selector"]["matchLabels"],
    ] {
        assert_eq!(selector, labels);
    }
    assert_eq!(objects[4]["spec"]["scaleTargetRef"]["name"], objects[3]["metadata"]["name"]);
}

#[test]
fn servers_require_that_workers_prove_what_they_hold() {
    for name in ["compose.yaml", "kubernetes/server.yaml"] {
        let mut found = false;
        for document in &documents(name) {
            walk(document, &mut |value| {
                let is_variable = value["name"] == "NOETL_WORKERS_IDENTITY";
                let map = value.get("environment").and_then(Value::as_object);
                let said = map.and_then(|map| map.get("NOETL_WORKERS_IDENTITY"));
                let said = said.or_else(|| value.get("value").filter(|_| is_variable));
                found |= said.is_some_and(|said| said == "required");
            });
        }
        assert!(found, "{name}");
    }
}
