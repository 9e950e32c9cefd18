//! Tests of `noetl executions fork` and `retry`, on the embedded database and on a server.

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::server::Server;

/// A playbook that fails for every other item while `broken` is true.
const FRAIL: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: frail, path: tests/frail}
workload: {broken: true, name: world}
workflow:
  - step: start
    tool: {kind: noop, result: 'hello {{ name }}'}
    next: each
  - step: each
    loop: {in: 4, iterator: n, spec: {mode: parallel}}
    tool: {kind: shell, cmds: ['echo {{ n }} >> ran.txt; test {{ n % 2 }} = 0 || test {{ 1 if broken else 0 }} = 0']}
    next: end
  - step: end
    tool: {kind: noop, result: '{{ start }}, {{ each.stats.completed }} of {{ each.stats.total }}'}
";

/// Returns the status and output of the last execution, and the execution it was forked from.
fn last(sandbox: &Sandbox, place: &[&str]) -> (Value, Value, Value) {
    let got = sandbox.json(&[&["executions", "get", "last", "-o", "json"], place].concat());
    (got["status"].clone(), got["output"].clone(), got["forked_from"].clone())
}

fn check(sandbox: &Sandbox, place: &[&str]) {
    let noetl = |args: &[&str]| sandbox.noetl(&[args, place].concat());
    assert_eq!(noetl(&["run", "frail.yaml", "-q"]).code, Some(1));
    let list = sandbox.json(&[&["executions", "list", "-o", "json"], place].concat());
    let origin = list[0]["execution_id"].as_str().expect("an id").to_owned();

    let retried = noetl(&["executions", "retry", "last", "--set", "broken=false"]);
    assert_eq!(retried.code, Some(0), "{}", retried.stderr);
    assert_eq!(retried.stdout, "hello world, 4 of 4\n");
    assert_eq!(
        last(sandbox, place),
        ("COMPLETED".into(), "hello world, 4 of 4".into(), origin.as_str().into())
    );
    let ran = std::fs::read_to_string(sandbox.path("ran.txt")).unwrap_or_default();
    let count = |item: &str| ran.lines().filter(|line| *line == item).count();
    assert_eq!(["0", "1", "2", "3"].map(count), [1, 2, 1, 2], "only what failed is done again");

    let forked = noetl(&[
        "executions",
        "fork",
        &origin,
        "--at-event",
        "1",
        "--set",
        "broken=false",
        "--set",
        "name=moon",
    ]);
    assert_eq!(forked.stdout, "hello moon, 4 of 4\n", "{}", forked.stderr);
    let again = noetl(&["executions", "retry", "last"]);
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    assert!(again.stderr.contains("fork"), "the way out is said: {}", again.stderr);
    let unknown = noetl(&["executions", "fork", "last", "--at-event", "999"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
    let shown = noetl(&["executions", "list"]);
    assert!(shown.stdout.contains(&format!("fork of {origin}")), "{}", shown.stdout);

    let repaired = noetl(&["executions", "retry", &origin, "--playbook", "repaired.yaml"]);
    assert_eq!(repaired.stdout, "hello world, 4 of 4\n", "{}", repaired.stderr);
    let verified = noetl(&["verify", "--all"]);
    let is_verified = verified.stdout.ends_with("4 executions checked, 0 wrong\n");
    assert!(is_verified, "{}{}", verified.stdout, verified.stderr);
    let one = sandbox.json(&[&["verify", "last", "-o", "json"], place].concat());
    let head = one["head"].as_str().expect("a digest");
    assert_eq!(noetl(&["verify", "last", "--expect", head]).code, Some(0));
    assert_eq!(noetl(&["verify", &origin, "--expect", head]).code, Some(1));
}

/// Checks a retry with a new playbook version, a fork of it and a rerun; a refused retry registers
/// nothing.
fn check_versions(sandbox: &Sandbox, place: &[&str]) {
    let noetl = |args: &[&str]| sandbox.noetl(&[args, place].concat());
    let json = |args: &[&str]| sandbox.json(&[args, &["-o", "json"], place].concat());
    let newest = || json(&["catalog", "get", "tests/frail"])["version"].clone();
    assert_eq!(noetl(&["run", "frail.yaml", "-q"]).code, Some(1));
    let refused = noetl(&["executions", "retry", "last", "--playbook", "unfit.yaml"]);
    assert_eq!((refused.code, newest()), (Some(2), 1.into()), "{}", refused.stderr);

    let retry = ["executions", "retry", "last", "-q", "--playbook", "repaired.yaml"];
    let retried = noetl(&[&retry[..], &["--set", "name=moon"]].concat());
    assert_eq!(retried.code, Some(0), "{}", retried.stderr);
    assert_eq!(newest(), 2);
    let id =
        json(&["executions", "get", "last"])["execution_id"].as_str().expect("an id").to_owned();
    let rerun = noetl(&["executions", "rerun", &id, "-q"]);
    assert_eq!(rerun.stdout, "hello moon, 4 of 4\n", "{}", rerun.stderr);
    assert_eq!(json(&["executions", "get", "last"])["version"], 2);
    let forked = noetl(&["executions", "fork", &id, "--at-event", "1", "-q"]);
    assert_eq!(forked.stdout, "hello moon, 4 of 4\n", "{}", forked.stderr);
    let fork =
        json(&["executions", "get", "last"])["execution_id"].as_str().expect("an id").to_owned();
    let rerun = noetl(&["executions", "rerun", &fork, "-q"]);
    assert_eq!(rerun.stdout, "hello moon, 4 of 4\n", "{}", rerun.stderr);
    let misspelt = noetl(&["executions", "rerun", &fork, "--set", "nme=x"]);
    assert!(misspelt.stderr.contains("did you mean `name`?"), "{}", misspelt.stderr);
}

fn sandbox() -> Sandbox {
    let repaired =
        FRAIL.replace("broken: true", "other: 1").replace("{{ 1 if broken else 0 }}", "0");
    let unfit = FRAIL.split("workflow:").next().expect("a head").to_owned()
        + "workflow:\n  - step: only\n    tool: {kind: noop}\n";
    Sandbox::new()
        .with("frail.yaml", FRAIL)
        .with("repaired.yaml", &repaired)
        .with("unfit.yaml", &unfit)
}

#[test]
fn a_fork_has_a_version_and_a_workload_of_its_own() {
    check_versions(&sandbox(), &["--db", "own.db"]);
}

#[test]
fn a_fork_on_a_server_has_a_version_and_a_workload_of_its_own() {
    let sandbox = sandbox();
    let server = Server::new(&sandbox, &["--db", "server.db"]);
    check_versions(&sandbox, &["--server", &server.url()]);
}

#[test]
fn a_failed_execution_is_retried_and_forked_at_any_event() {
    check(&sandbox(), &["--db", "own.db"]);
}

#[test]
fn a_server_forks_as_the_embedded_database_does() {
    let sandbox = sandbox();
    let server = Server::new(&sandbox, &["--db", "server.db"]);
    check(&sandbox, &["--server", &server.url()]);
}
