//! A process that is killed, again and again: what was done stays done, the rest is done later.

use std::time::Duration;

use serde_json::Value;

use crate::playbooks::chain;
use crate::sandbox::{Sandbox, eventually, signal};

/// How many processes are killed before one may finish.
const KILLS: u64 = 6;

/// How many events the only execution has so far.
fn events(sandbox: &Sandbox) -> usize {
    sandbox.noetl(&["executions", "events", "last", "-o", "jsonl"]).stdout.lines().count()
}

#[test]
fn a_run_that_is_killed_at_any_moment_is_resumed_to_the_right_end() {
    let sandbox = Sandbox::new().with("chain.yaml", &chain());
    let mut command = vec!["run", "chain.yaml", "-q"];
    for kill in 0..KILLS {
        let before = events(&sandbox);
        let mut child = sandbox.spawn(&command);
        // On a busy machine it may be done before anybody has looked.
        let mut is_done = false;
        eventually("something happens", || {
            is_done = child.try_wait().unwrap().is_some();
            is_done || events(&sandbox) > before
        });
        if is_done {
            break;
        }
        // A different moment in the life of a step each time.
        std::thread::sleep(Duration::from_millis(kill * 17 % 50));
        signal(&child, "KILL");
        child.wait().unwrap();
        command = vec!["resume", "-q"];
    }
    let document = sandbox.json(&["resume", "last", "-q", "-o", "json"]);
    assert_eq!(document["status"], "COMPLETED", "{document:#}");
    assert_eq!(document["output"]["total"], 190);
    let runs: Vec<&Value> =
        document["steps"].as_array().unwrap().iter().map(|step| &step["runs"]).collect();
    assert_eq!(runs, [1; 20]);
}
