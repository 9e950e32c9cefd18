//! Large results: stored once, in the database or in a directory, and loaded by reference.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, eventually};
use crate::server::Server;

const PLAYBOOK: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: large, path: tests/large}
workload: {named: null}
workflow:
  - step: make
    tool:
      kind: python
      code: 'result = {"count": 3000, "first": {"id": "a"}, "rows": ["a large value " + "indeed"] * 3000}'
      output: {store: {kind: db}, preview_max_bytes: 10, select: [{path: first.id, as: id}]}
    next: {arcs: [{step: small}]}
  - step: small
    tool: {kind: noop, result: {small: true}}
    output: {inline_max_bytes: 0}
    next: {arcs: [{step: whole}]}
  - step: whole
    tool: {kind: artifact, input: {result_ref: "{{ make._ref }}"}}
    next: {arcs: [{step: by_text}]}
  - step: by_text
    tool: {kind: result_fetch, ref: "{{ small._ref.ref }}"}
    next: {arcs: [{step: named}]}
  - step: named
    tool: {kind: artifact, action: get, uri: "{{ workload.named }}"}
    next: {arcs: [{step: told}]}
  - step: told
    tool:
      kind: noop
      result:
        store: "{{ make._store }}"
        preview: "{{ make._preview }}"
        selected: "{{ make.id }}"
        count: "{{ whole.rows | length }}"
        small: "{{ by_text.small }}"
        named: "{{ named.by }}"
"#;

/// The beginning of the result; a later step gets only its rows.
const CONTENT: &[u8] = br#"{"count":3000,"first":{"id":"a"},"rows":["a large value indeed","#;

fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn holds_content(file: &Path) -> bool {
    let bytes = std::fs::read(file).unwrap_or_default();
    bytes.windows(CONTENT.len()).any(|window| window == CONTENT)
}

/// True if the database file or its write-ahead log holds the content.
fn database_holds_content(sandbox: &Sandbox) -> bool {
    ["history.db", "history.db-wal"].iter().any(|file| holds_content(&sandbox.path(file)))
}

/// Runs the playbook on a server to its end; returns the execution.
fn ran(server: &Server) -> String {
    let put = json!({ "name": "report/1", "data": { "by": "name" }, "ttl": "1h" });
    let stored = server.call("PUT", "/api/result/42", &put);
    let named = stored["ref"].as_str().unwrap_or_else(|| panic!("{stored}"));
    assert!(named.starts_with("noetl://execution/42/result/report/1/"), "{named}");
    let registered = server.call("POST", "/api/catalog/register", &json!({ "content": PLAYBOOK }));
    let request = json!({ "path": "tests/large", "workload": { "named": named } });
    let started = server.call("POST", "/api/execute", &request);
    let id = started["execution_id"].as_str();
    let id = id.unwrap_or_else(|| panic!("{registered} {started}")).to_owned();
    let mut status = Value::Null;
    eventually("the execution ends", || {
        status = server.call("GET", &format!("/api/executions/{id}/status"), &Value::Null);
        status["completed"] == true || status["failed"] == true
    });
    assert_eq!(status["status"], "COMPLETED", "{status}");
    id
}

/// Runs the playbook and checks the output of its last step.
fn check(sandbox: &Sandbox, server: &Server) -> String {
    let id = ran(server);
    let told = sandbox.json(&["executions", "get", &id, "--server", &server.url(), "-o", "json"]);
    let told = told.to_string();
    let expected = r#"{"store":"db","preview":"{\"count\":3","selected":"a","count":3000,"small":true,"named":"name"}"#;
    assert!(told.contains(expected), "{told}");
    id
}

#[test]
fn a_large_result_is_in_the_database_unless_a_directory_is_named() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &["--db", "history.db"]);
    check(&sandbox, &server);
    assert_eq!(server.process.end(), Some(0));
    assert!(database_holds_content(&sandbox));
}

#[test]
fn a_large_result_is_in_the_directory_that_is_named_and_nowhere_else() {
    let sandbox = Sandbox::new();
    let args = ["--db", "history.db", "--payload-dir", "large"];
    let server = Server::new(&sandbox, &args);
    let id = check(&sandbox, &server);
    assert_eq!(server.process.end(), Some(0));
    assert!(!database_holds_content(&sandbox));
    let large = files(&sandbox.path("large"));
    assert_eq!(large.iter().filter(|file| holds_content(file)).count(), 1, "once: {large:?}");
    let show = ["executions", "events", &id, "--db", "history.db", "-o", "json"];
    let shown = sandbox.noetl(&show);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let mut replay = sandbox.command(&["replay", &id, "--db", "history.db", "-o", "json"]);
    let replayed = replay.env("NOETL_PAYLOAD_DIR", "large").output().expect("the binary runs");
    assert!(replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stderr));
}
