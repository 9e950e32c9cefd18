//! The bill of materials: every third-party crate of the binary, in the CycloneDX format.
//!
//! The crates are those of `Cargo.lock` that the package `noetl-cli` needs on Linux, without its
//! dependencies for building tests. Two runs on the same sources print the same text.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::cargo;

/// The package whose binary is described.
const PACKAGE: &str = "noetl-cli";
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Prints the bill of materials, or writes it to a file.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let document = document(&metadata()?)?;
    let text = format!("{}\n", serde_json::to_string_pretty(&document)?);
    match arguments {
        [] => {
            print!("{text}");
            Ok(())
        }
        [file] => std::fs::write(file, text).with_context(|| format!("cannot write {file}")),
        _ => bail!("`sbom` takes at most one file to write to"),
    }
}

fn metadata() -> Result<Value> {
    let mut command = cargo::cargo();
    command.args(["metadata", "--format-version=1", "--locked", "--filter-platform", PLATFORM]);
    let output = command.output().context("start cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Builds the document from the output of `cargo metadata`.
fn document(metadata: &Value) -> Result<Value> {
    let packages: BTreeMap<&str, &Value> = list(metadata, "packages")
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes: BTreeMap<&str, &Value> = list(&metadata["resolve"], "nodes")
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let root = packages.iter().find(|(_, package)| package["name"] == PACKAGE);
    let (root, package) = root.context("the package of the binary is missing")?;
    let reached = reached(root, &nodes);
    let references = |ids: Vec<&str>| -> Vec<String> {
        let mut named: Vec<String> =
            ids.iter().filter_map(|id| Some(reference(packages.get(id)?))).collect();
        named.sort();
        named
    };
    let mut components: Vec<Value> = reached
        .iter()
        .filter(|id| *id != root)
        .filter_map(|id| packages.get(id).map(|package| component(package)))
        .collect();
    components.sort_by_key(|component| component["bom-ref"].to_string());
    let mut dependencies: Vec<Value> = reached
        .iter()
        .filter_map(|id| {
            let depends_on = references(needed(nodes.get(id)?));
            Some(json!({ "ref": reference(packages.get(id)?), "dependsOn": depends_on }))
        })
        .collect();
    dependencies.sort_by_key(|dependency| dependency["ref"].to_string());
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": reference(package),
                "name": "noetl",
                "version": package["version"],
            },
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

/// Returns the packages that a package needs to be built and to run.
fn needed(node: &Value) -> Vec<&str> {
    let of_kind =
        |dependency: &&Value| list(dependency, "dep_kinds").any(|kind| kind["kind"] != "dev");
    list(node, "deps").filter(of_kind).filter_map(|dependency| dependency["pkg"].as_str()).collect()
}

fn reached<'a>(root: &'a str, nodes: &BTreeMap<&'a str, &'a Value>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::from([root]);
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        let needed = nodes.get(id).map(|node| needed(node)).unwrap_or_default();
        open.extend(needed.into_iter().filter(|id| reached.insert(id)));
    }
    reached
}

/// Returns the package URL, which is also the reference within the document.
fn reference(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

fn component(package: &Value) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    });
    if let Some(license) = package["license"].as_str() {
        // Older crates separate licences by a slash, which means `OR`.
        let expression = license.replace('/', " OR ").replace("  OR  ", " OR ");
        component["licenses"] = json!([{ "expression": expression }]);
    }
    if let Some(repository) = package["repository"].as_str() {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crates_of_the_binary_are_listed_once_with_version_and_licence() {
        let document = document(&metadata().expect("cargo metadata")).expect("a document");
        let components = document["components"].as_array().expect("components");
        let references: BTreeSet<&str> =
            components.iter().filter_map(|it| it["bom-ref"].as_str()).collect();
        assert_eq!(references.len(), components.len(), "none twice");
        let count = |name: &str| components.iter().filter(|it| it["name"] == name).count();
        for name in ["tokio", "axum", "rustls", "serde_json", "noetl-engine"] {
            assert_eq!(count(name), 1, "{name}");
        }
        assert_eq!(count("expect-test"), 0, "a crate of tests only");
        for component in components {
            assert!(component["version"].is_string(), "{component}");
            assert!(component["licenses"][0]["expression"].is_string(), "{component}");
        }
        for dependency in document["dependencies"].as_array().expect("dependencies") {
            let own = dependency["ref"].as_str().expect("a reference");
            assert!(references.contains(own) || own.starts_with("pkg:cargo/noetl-cli@"), "{own}");
            for other in list(dependency, "dependsOn") {
                assert!(references.contains(other.as_str().expect("a reference")), "{other}");
            }
        }
    }

    #[test]
    fn crates_that_only_tests_need_are_left_out() {
        let package = |name: &str| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0" });
        let dependency =
            |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [package(PACKAGE), package("a"), package("b"), package("c")],
            "resolve": { "nodes": [
                { "id": PACKAGE, "deps": [dependency("a", Value::Null), dependency("b", json!("dev"))] },
                { "id": "a", "deps": [dependency("c", json!("build"))] },
            ] },
        });
        let document = document(&metadata).unwrap();
        let names: Vec<&str> =
            list(&document, "components").filter_map(|it| it["name"].as_str()).collect();
        assert_eq!(names, ["a", "c"]);
        assert_eq!(document["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
    }
}
