//! `noetl executions fork` and `retry`, on the embedded database and on a server.

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::server::Server;

/// Fails for every other item as long as `broken` is true.
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

/// The last execution: its status, output and the one it was forked from.
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
    assert_eq!(verified.stdout, "4 executions checked, 0 wrong\n", "{}", verified.stderr);
    let one = sandbox.json(&[&["verify", "last", "-o", "json"], place].concat());
    let head = one["head"].as_str().expect("a digest");
    assert_eq!(noetl(&["verify", "last", "--expect", head]).code, Some(0));
    assert_eq!(noetl(&["verify", &origin, "--expect", head]).code, Some(1));
}

fn sandbox() -> Sandbox {
    let repaired =
        FRAIL.replace("broken: true", "other: 1").replace("{{ 1 if broken else 0 }}", "0");
    Sandbox::new().with("frail.yaml", FRAIL).with("repaired.yaml", &repaired)
}

#[test]
fn what_failed_is_done_again_and_any_event_is_gone_on_from() {
    check(&sandbox(), &["--db", "own.db"]);
}

#[test]
fn a_server_forks_as_the_embedded_database_does() {
    let sandbox = sandbox();
    let server = Server::new(&sandbox, &["--db", "server.db"]);
    check(&sandbox, &["--server", &server.url()]);
}
