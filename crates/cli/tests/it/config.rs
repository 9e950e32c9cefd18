//! Precedence of settings, and messages about invalid ones.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::playbooks::HELLO;
use crate::sandbox::{Ended, Sandbox, eventually};
use crate::server::Process;

fn setting(sandbox: &Sandbox, key: &str, more: &[&str]) -> Value {
    let shown = sandbox.json(&[&["config", "show", "-o", "json"], more].concat());
    let settings = shown["settings"].as_array().expect("a list");
    let found = settings.iter().find(|it| it["key"] == key);
    found.unwrap_or_else(|| panic!("{key}")).clone()
}

#[track_caller]
fn check_refused(sandbox: &Sandbox, ended: &Ended, expected: &Expect) {
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    expected.assert_eq(&sandbox.normal(&ended.stderr));
}

#[test]
fn the_file_in_the_working_directory_is_in_force_and_another_can_be_named() {
    let sandbox = Sandbox::new()
        .with("noetl.toml", "[worker]\nconcurrency = 5\n")
        .with("other.toml", "worker.concurrency = 7\n");
    let found = setting(&sandbox, "worker.concurrency", &[]);
    assert_eq!((&found["value"], &found["source"]), (&"5".into(), &"file".into()));
    let found = setting(&sandbox, "worker.concurrency", &["--config", "other.toml"]);
    assert_eq!(found["value"], "7");
    let found = setting(&sandbox, "server.port", &[]);
    assert_eq!((&found["value"], &found["source"]), (&"8082".into(), &"default".into()));
}

#[test]
fn the_users_file_is_in_force_where_there_is_no_other() {
    let sandbox = Sandbox::new().with(".config/noetl/noetl.toml", "tools.python = \"/py\"\n");
    assert_eq!(setting(&sandbox, "tools.python", &[])["value"], "/py");
}

#[test]
fn secrets_are_masked() {
    let sandbox = Sandbox::new().with(".config/noetl/noetl.toml", "token = \"hunter2\"\n");
    let ended = sandbox.noetl(&["config", "show"]);
    assert!(ended.stdout.contains("token"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("hunter2"), "{}", ended.stdout);
    assert_eq!(setting(&sandbox, "token", &[])["value"], "********");
}

#[test]
fn a_file_that_cannot_be_meant_is_refused_with_the_place() {
    let sandbox = Sandbox::new().with("noetl.toml", "[server]\nprot = 1\n");
    check_refused(
        &sandbox,
        &sandbox.noetl(&["executions", "list"]),
        &expect![[r#"
            error: HOME/noetl.toml:2:1: there is no setting `server.prot`
             help: did you mean `server.port`?
        "#]],
    );
}

#[test]
fn a_variable_that_cannot_be_meant_is_refused_by_name() {
    let sandbox = Sandbox::new();
    let run = |name: &str, value: &str| {
        let output = sandbox.command(&["config", "show"]).env(name, value).output();
        Ended::from(output.expect("the binary runs"))
    };
    check_refused(
        &sandbox,
        &run("NOETL_PORT", "eighty"),
        &expect![[r#"
            error: the environment variable NOETL_PORT is not a number from 0 to 65535
             help: unset it, or set it to a number from 0 to 65535
        "#]],
    );
    let said = run("RUST_LOG", "noetl=loud");
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("RUST_LOG"), "{}", said.stderr);
}

#[test]
fn the_database_of_the_file_is_used() {
    let sandbox = Sandbox::new().with("noetl.toml", "db = \"kept.db\"\n").with("hello.yaml", HELLO);
    assert_eq!(sandbox.noetl(&["config", "trust"]).code, Some(0));
    assert_eq!(sandbox.noetl(&["run", "hello.yaml"]).code, Some(0));
    assert!(sandbox.path("kept.db").exists());
}

#[test]
fn a_catalog_path_that_is_mistyped_makes_no_database() {
    let sandbox = Sandbox::new();
    let ended = sandbox.noetl(&["run", "tests/helo"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("no playbook tests/helo"), "{}", ended.stderr);
    assert!(!sandbox.path(".local").exists());
}

#[test]
fn logs_are_objects_if_asked_for() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    let output = sandbox
        .command(&["run", "hello.yaml", "-q", "--log-format", "json"])
        .env("RUST_LOG", "noetl_control=info")
        .output()
        .expect("the binary runs");
    let said = String::from_utf8(output.stderr).expect("text");
    let first: Value = serde_json::from_str(said.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["message"], "registered", "{said}");
    assert_eq!(first["path"], "tests/hello", "{said}");
}

#[test]
fn log_lines_that_a_request_causes_have_its_id() {
    let sandbox = Sandbox::new();
    let log = sandbox.path("log");
    let child = sandbox
        .command(&["server", "--listen", "127.0.0.1:0", "--log-format", "json"])
        .env("RUST_LOG", "warn,noetl_control=info")
        .stderr(std::fs::File::create(&log).expect("the home is ours"))
        .spawn()
        .expect("the binary runs");
    let process = Process(child);
    let said = || std::fs::read_to_string(&log).expect("text");
    eventually("it listens", || said().contains("listening on"));
    let address =
        said().split("http://").nth(1).and_then(|rest| rest.split(',').next().map(str::to_owned));
    let mut stream = TcpStream::connect(address.expect("an address")).expect("it listens");
    let body = serde_json::json!({ "content": HELLO }).to_string();
    let request = format!(
        "POST /api/catalog/register HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         x-request-id: mine-1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.contains("x-request-id: mine-1"), "{answer}");
    assert_eq!(process.end(), Some(0));
    let said = said();
    let line = said.lines().find(|line| line.contains(r#""registered""#)).expect("it is logged");
    let line: Value = serde_json::from_str(line).expect("an object");
    assert_eq!(line["span"]["request_id"], "mine-1", "{line}");
}
