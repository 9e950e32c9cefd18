//! Many executions at once: `--where`, and a job whose server is killed.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, await_end, eventually, signal};
use crate::server::Server;

/// A playbook that fails at once.
const BROKEN: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: broken, path: team/broken}
workflow:
  - step: start
    tool: {kind: shell, command: exit 3}
";

/// A playbook that waits for a worker of a pool without one.
const WAITING: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: waiting, path: team/waiting}
workflow:
  - step: start
    tool: {kind: noop}
";

/// The number of failed executions that are retried.
const FAILED: usize = 200;

fn listed(server: &Server, query: &str) -> Vec<Value> {
    let body = server.call("GET", &format!("/api/executions?limit=1000{query}"), &Value::Null);
    body.as_array().expect("a list").clone()
}

/// Starts executions of a playbook in a pool, some at once.
fn start(server: &Server, content: &str, path: &str, pool: &str, count: usize) {
    server.call("POST", "/api/catalog/register", &json!({ "content": content }));
    let one = json!({ "path": path, "execution_pool": pool });
    let batch = json!({ "executions": vec![one; count] });
    let answer = server.call("POST", "/api/execute/batch", &batch);
    assert_eq!(answer["started"], json!(count), "{answer}");
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

#[test]
fn a_server_killed_in_a_bulk_retry_retries_each_execution_once() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    start(&server, WAITING, "team/waiting", "nobody", FAILED);
    let origins = listed(&server, "");
    let origins: Vec<String> = origins.iter().map(|it| text(&it["execution_id"])).collect();
    for origin in &origins {
        let failed = json!({ "status": "FAILED", "error": "by hand" });
        server.call("POST", &format!("/api/executions/{origin}/finalize"), &failed);
    }
    let body = json!({ "action": "retry", "filter": { "status": "FAILED", "path": "team/*" } });
    let job = server.call("POST", "/api/executions/bulk", &body);
    let path = format!("/api/executions/bulk/{}", text(&job["job_id"]));
    let mut server = server;
    // Each kill is somewhere between the first and the last result of the job.
    for least in [1, 60] {
        let mut seen = Value::Null;
        eventually("some are retried", || {
            seen = server.call("GET", &path, &Value::Null);
            seen["progress"]["done"].as_u64() >= Some(least)
        });
        assert_eq!(seen["state"], "running", "the job is killed in its middle: {seen}");
        signal(&server.process.0, "KILL");
        await_end(&mut server.process.0);
        server = Server::new(&sandbox, &[]);
    }
    let mut job = Value::Null;
    eventually("the job ends", || {
        job = server.call("GET", &path, &Value::Null);
        job["state"] != "running"
    });
    let counts = ["expected", "done", "unchanged", "failed"].map(|name| &job["progress"][name]);
    assert_eq!(counts, [&json!(FAILED), &json!(FAILED), &json!(0), &json!(0)], "{job}");
    let mut forks: BTreeMap<String, usize> = BTreeMap::new();
    for fork in listed(&server, "").iter().filter(|it| it["forked_from"].is_string()) {
        *forks.entry(text(&fork["forked_from"])).or_default() += 1;
    }
    let once: BTreeMap<String, usize> = origins.into_iter().map(|id| (id, 1)).collect();
    assert_eq!(forks, once);
    assert_eq!(server.process.end(), Some(0));
}

#[test]
fn executions_that_match_are_cancelled_once_they_are_confirmed() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    start(&server, WAITING, "team/waiting", "nobody", 3);
    start(&server, &WAITING.replace("team/", "mine/"), "mine/waiting", "nobody", 1);
    let url = server.url();
    let on = |args: &[&str]| sandbox.noetl(&[args, &["--server", &url]].concat());
    let asked = on(&["executions", "cancel", "--where", "status=RUNNING path=team/*"]);
    assert_eq!(asked.code, Some(2), "{}", asked.stderr);
    assert!(asked.stderr.contains("this would cancel 3 executions"), "{}", asked.stderr);
    assert!(asked.stderr.contains("--yes"), "{}", asked.stderr);
    let done = on(&["executions", "cancel", "--where", "status=RUNNING path=team/*", "--yes"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let said = "cancelled 3 executions; 0 unchanged, 0 failed (job ";
    assert!(done.stderr.contains(said), "{}", done.stderr);
    assert_eq!(listed(&server, "&status=CANCELLED").len(), 3);
    assert_eq!(listed(&server, "&status=RUNNING").len(), 1);
    let none = on(&["cancel", "--where", "path=team/*", "--yes"]);
    assert_eq!(none.code, Some(0), "{}", none.stderr);
    assert!(none.stderr.contains("no execution to cancel matches"), "{}", none.stderr);
    let odd = on(&["executions", "rerun", "--where", "path=team/*", "--set", "a=1", "--yes"]);
    assert_eq!(odd.code, Some(2), "{}", odd.stderr);
    assert_eq!(on(&["executions", "retry"]).code, Some(2), "an id or --where is needed");
}

#[test]
fn without_a_server_a_bulk_rerun_runs_in_the_command() {
    let sandbox = Sandbox::new().with("broken.yaml", BROKEN);
    for _ in 0..2 {
        assert_eq!(sandbox.noetl(&["run", "broken.yaml", "-q"]).code, Some(1));
    }
    let done = sandbox.noetl(&["executions", "retry", "--where", "status=FAILED", "--yes"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("retried 2 executions"), "{}", done.stderr);
    let listed = sandbox.json(&["executions", "list", "-o", "json"]);
    let forks = listed.as_array().expect("a list").iter();
    assert_eq!(forks.filter(|it| it["forked_from"].is_string()).count(), 2, "{listed:#}");
}
