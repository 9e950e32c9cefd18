//! Tests of `noetl export`: a bundle has everything that is needed to read executions elsewhere.

use std::fs;

use crate::sandbox::Sandbox;
use crate::server::Server;

/// An execution with a value that is stored by reference, a failure, and a label.
const SHIP: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: ship, path: tests/ship, labels: {team: ops}}
workload: {fails: true}
workflow:
  - step: start
    tool: {kind: rhai, code: 'let text = \"x\"; text.pad(20000, \"y\"); #{text: text}'}
    next: ship
  - step: ship
    tool: {kind: rhai, code: 'if workload.fails { throw \"no ship\" }; #{shipped: true}'}
";

/// Runs the playbook and retries it with another workload, which is a fork.
fn shipped() -> Sandbox {
    let sandbox = Sandbox::new().with("ship.yaml", SHIP);
    let ran = sandbox.noetl(&["run", "ship.yaml", "-q", "--db", "noetl.db"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let retry = ["executions", "retry", "last", "--set", "fails=false", "-q", "--db", "noetl.db"];
    let retried = sandbox.noetl(&retry);
    assert_eq!(retried.code, Some(0), "{}", retried.stderr);
    sandbox
}

fn exported(sandbox: &Sandbox, bundle: &str) -> String {
    let ended = sandbox.noetl(&["export", "last", "--to", bundle, "--db", "noetl.db"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    fs::read_to_string(sandbox.path(bundle)).expect("a bundle is text")
}

#[test]
fn a_bundle_reads_like_the_database_it_comes_from() {
    let here = shipped();
    let bundle = exported(&here, "ship.bundle");
    let there = Sandbox::new().with("ship.bundle", &bundle);
    for command in [
        &["executions", "get", "last"][..],
        &["executions", "list"],
        &["executions", "events", "last"],
        &["verify", "last"],
        &["replay", "last", "--at-event", "5"],
        &["catalog", "get", "tests/ship"],
    ] {
        let read = |sandbox: &Sandbox, db: &str| {
            let ended = sandbox.noetl(&[command, &["--db", db]].concat());
            (ended.code, sandbox.normal(&ended.stdout))
        };
        let (code, told) = read(&there, "ship.bundle");
        assert_eq!(code, Some(0), "{command:?}: {told}");
        assert_eq!(told, read(&here, "noetl.db").1, "{command:?}");
    }
    let again = there.noetl(&["export", "last", "--to", "again.bundle", "--db", "ship.bundle"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
}

#[test]
fn a_bundle_is_not_changed_and_not_replaced() {
    let sandbox = shipped();
    exported(&sandbox, "ship.bundle");
    let cancelled = sandbox.noetl(&["cancel", "last", "--db", "ship.bundle"]);
    assert_eq!(cancelled.code, Some(2));
    assert!(
        cancelled.stderr.contains("is a bundle, which can only be read"),
        "{}",
        cancelled.stderr
    );
    let again = sandbox.noetl(&["export", "last", "--to", "ship.bundle", "--db", "noetl.db"]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
}

#[test]
fn every_change_to_a_bundle_is_found() {
    let sandbox = shipped();
    let bundle = exported(&sandbox, "ship.bundle");
    let check = |changed: &str, expected: &str| {
        fs::write(sandbox.path("changed.bundle"), changed).expect("the home is ours");
        let ended = sandbox.noetl(&["verify", "last", "--db", "changed.bundle"]);
        assert_eq!(ended.code, Some(1), "{expected}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
    };
    check(&bundle.replace("no ship", "no shop"), "the bundle was changed");
    check(&bundle.replace("yyyyyy", "yyyzyy"), "was changed");
    let lines: Vec<&str> = bundle.lines().collect();
    check(&(lines[..lines.len() - 1].join("\n") + "\n"), "its last line is missing");
    check(&(lines[..lines.len() - 3].join("\n") + "\n"), "its last line is missing");
    let newer = bundle.replace("\"noetl_bundle\":1", "\"noetl_bundle\":2");
    check(&newer, "the bundle has format 2");
}

#[test]
fn an_execution_of_a_server_is_exported_too() {
    let sandbox = Sandbox::new().with("ship.yaml", SHIP);
    let server = Server::new(&sandbox, &[]);
    let url = server.url();
    let ran = sandbox.noetl(&["run", "ship.yaml", "-q", "--server", &url]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let ended = sandbox.noetl(&["export", "last", "--to", "ship.bundle", "--server", &url]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let verified = sandbox.json(&["verify", "last", "--db", "ship.bundle", "-o", "json"]);
    assert_eq!(verified["valid"], true, "{verified}");
    let at = |place: [&str; 2]| {
        let [flag, place] = place;
        sandbox.json(&["verify", "last", flag, place, "-o", "json"])
    };
    assert_eq!(at(["--db", "ship.bundle"])["head"], at(["--server", &url])["head"]);
}
