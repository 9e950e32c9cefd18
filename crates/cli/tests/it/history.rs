//! Tests of `executions list`, `get`, `events`, `rerun`, `cancel`.

use expect_test::expect;
use serde_json::{Value, json};

use crate::playbooks::{FAILING, HELLO};
use crate::sandbox::Sandbox;

/// Returns a database with a completed execution and, after it, a failed one.
fn two_executions() -> Sandbox {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO).with("failing.yaml", FAILING);
    assert_eq!(sandbox.noetl(&["run", "hello.yaml", "-q"]).code, Some(0));
    assert_eq!(sandbox.noetl(&["run", "failing.yaml", "-q"]).code, Some(1));
    sandbox
}

#[test]
fn executions_are_listed_newest_first() {
    let sandbox = two_executions();
    expect![[r#"
        ID                  STATUS     STARTED              TOOK   PLAYBOOK       NOW
        ID  failed     TIME TIME  0.0 s  failing@1      ZeroDivisionError: division by zero (line 2)
        ID  completed  TIME TIME  0.0 s  tests/hello@1
    "#]]
    .assert_eq(&sandbox.normal(&sandbox.noetl(&["executions", "list"]).stdout));
}

#[test]
fn a_listing_can_be_narrowed() {
    let sandbox = two_executions();
    let paths = |args: &[&str]| -> Vec<Value> {
        let listed = sandbox.json(&[&["executions", "list", "-o", "json"], args].concat());
        listed.as_array().unwrap().iter().map(|entry| entry["path"].clone()).collect()
    };
    assert_eq!(paths(&[]), ["failing", "tests/hello"]);
    assert_eq!(paths(&["--status", "completed"]), ["tests/hello"]);
    assert_eq!(paths(&["--path", "fail"]), ["failing"]);
    assert_eq!(paths(&["--limit", "1"]), ["failing"]);
    assert_eq!(paths(&["--status", "running"]), [""; 0]);
    let listed = sandbox.json(&["executions", "list", "-o", "json"]);
    let (later, earlier) = (&listed[0]["started_at"], &listed[1]["started_at"]);
    assert_eq!(paths(&["--since", later.as_str().unwrap()]), ["failing"]);
    assert_eq!(paths(&["--until", earlier.as_str().unwrap()]), ["tests/hello"]);
    assert_eq!(paths(&["--since", earlier.as_str().unwrap()]), ["failing", "tests/hello"]);
    assert_eq!(paths(&["--until", "2020-01-01T00:00:00Z"]), [""; 0]);
    let playbook = listed[1]["catalog_id"].as_str().unwrap();
    assert_eq!(paths(&["--catalog-id", playbook]), ["tests/hello"]);
}

#[test]
fn child_executions_are_listed_on_request_and_are_never_the_last_one() {
    let parent = HELLO.replace("tests/hello", "tests/parent").replace(
        "tool: {kind: noop, result: \"{{ start.greeting }}\"}",
        "tool: {kind: playbook, return_result: true, path: tests/hello}",
    );
    let sandbox = Sandbox::new().with("hello.yaml", HELLO).with("parent.yaml", &parent);
    assert_eq!(sandbox.noetl(&["run", "parent.yaml", "-q"]).stdout, "Hello, world from Oslo!\n");
    let listed = |args: &[&str]| {
        let listed = sandbox.json(&[&["executions", "list", "-o", "json"], args].concat());
        listed.as_array().unwrap().len()
    };
    assert_eq!(listed(&[]), 1);
    assert_eq!(listed(&["--all"]), 2);
    let last = sandbox.json(&["executions", "get", "last", "-o", "json"]);
    assert_eq!(last["path"], "tests/parent");
    assert_eq!(listed(&["--parent", last["execution_id"].as_str().unwrap()]), 1);
}

#[test]
fn get_shows_the_same_as_run() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    let run = sandbox.json(&["run", "hello.yaml", "-o", "json"]);
    assert_eq!(sandbox.json(&["executions", "get", "last", "-o", "json"]), run);
    let id = run["execution_id"].as_str().unwrap();
    assert_eq!(sandbox.json(&["executions", "get", id, "-o", "json"]), run);
}

#[test]
fn a_failed_execution_is_shown_with_its_story() {
    let sandbox = two_executions();
    let shown = sandbox.normal(&sandbox.noetl(&["executions", "get", "last"]).stdout);
    let head: Vec<&str> = shown.lines().take(11).collect();
    expect![[r#"
        execution  ID
        playbook   failing@1
        status     failed
        started    TIME TIME
        ended      TIME TIME after 0.0 s

        STEP   STATUS  RUNS  TOOK   ITEMS  ERROR
        start  failed  1     0.0 s  2/3    ZeroDivisionError: division by zero (line 2)

        step start failed at item 1 (python): exception
          ZeroDivisionError: division by zero (line 2)"#]]
    .assert_eq(&head.join("\n"));
}

#[test]
fn events_are_shown_in_order_and_in_parts() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    sandbox.noetl(&["run", "hello.yaml"]);
    let shown = sandbox.normal(&sandbox.noetl(&["executions", "events", "last"]).stdout);
    let shown: Vec<&str> = shown.lines().map(str::trim_start).collect();
    expect![[r#"
        1  TIME  playbook_started      tests/hello@1  {"name":"world","from":{"city":"Oslo"}}
        2  TIME  step.enter            start
        3  TIME  command.issued        command 0  start  noop, task 0
        4  TIME  command.claimed       command 0  attempt 1 by embedded
        5  TIME  command.completed     command 0  {"greeting":"Hello, world from Oslo!"}
        6  TIME  step.exit             start
        7  TIME  step.enter            end  from start
        8  TIME  command.issued        command 1  end  noop, task 0
        9  TIME  command.claimed       command 1  attempt 1 by embedded
        10  TIME  command.completed     command 1  "Hello, world from Oslo!"
        11  TIME  step.exit             end
        12  TIME  playbook.completed    "Hello, world from Oslo!""#]]
    .assert_eq(&shown.join("\n"));
    let part = sandbox.json(&[
        "executions",
        "events",
        "last",
        "--after",
        "3",
        "--limit",
        "2",
        "-o",
        "json",
    ]);
    let shown: Vec<Value> =
        part.as_array().unwrap().iter().map(|it| json!([it["seq"], it["type"]])).collect();
    assert_eq!(shown, [json!([4, "command.claimed"]), json!([5, "command.completed"])]);
}

#[test]
fn events_on_lines_are_one_document_each() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    sandbox.noetl(&["run", "hello.yaml"]);
    let ended = sandbox.noetl(&["executions", "events", "last", "--follow", "-o", "jsonl"]);
    let seqs: Vec<u64> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(seqs, (1..=12).collect::<Vec<u64>>());
}

#[test]
fn an_execution_can_be_run_again_with_other_values() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    sandbox.noetl(&["run", "hello.yaml", "--set", "name=Ada"]);
    let rerun = |args: &[&str]| {
        sandbox.noetl(&[&["executions", "rerun", "last", "-q"], args].concat()).stdout
    };
    assert_eq!(rerun(&[]), "Hello, Ada from Oslo!\n");
    assert_eq!(rerun(&["--set", "from.city=Rome"]), "Hello, Ada from Rome!\n");
}

#[test]
fn an_ended_execution_cannot_be_cancelled() {
    let sandbox = two_executions();
    let ended = sandbox.noetl(&["executions", "cancel", "last"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(ended.stderr, "error: the execution has ended as FAILED\n");
}

#[test]
fn output_that_nobody_reads_is_no_error() {
    let sandbox = two_executions();
    let mut child = sandbox.spawn(&["executions", "events", "last"]);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}
