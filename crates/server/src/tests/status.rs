//! Checks the reported status at every moment of an execution: list, detail and status agree, and
//! none reports the end too early.

use std::time::Duration;

use noetl_model::{Cutoff, ExecutionId};
use serde_json::{Value, json};

use super::Server;

/// A playbook that forks into a loop and a step whose failure is handled, and joins.
const BRANCHES: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: branches, path: tests/branches}
workflow:
  - step: start
    tool: {kind: noop}
    next: {spec: {mode: inclusive}, arcs: [{step: each}, {step: frail}]}
  - step: each
    loop: {in: 3, iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: {kind: noop, n: '{{ n }}'}
    next: {arcs: [{step: end}]}
  - step: frail
    tool:
      - once: {kind: noop, spec: {policy: {rules: [{when: '{{ outcome.status == \"error\" }}', then: {do: continue}}]}}}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop}
";

async fn lease(server: &Server) -> Option<Value> {
    let body = json!({ "worker": "w", "pool": "shared", "max": 1, "wait_ms": 100 });
    server.post("/api/worker/lease", body).await.body["leases"].get(0).cloned()
}

async fn report(server: &Server, lease: &Value, outcome: Value) {
    let report = json!({
        "execution": lease["execution"], "command": lease["command"], "attempt": lease["attempt"],
        "worker": "w", "outcome": outcome,
    });
    let answer = server.post("/api/worker/report", json!({ "reports": [report] })).await;
    assert_eq!(answer.body, json!({ "answers": ["accepted"] }));
}

fn completed() -> Value {
    json!({ "status": "completed", "output": null })
}

fn failed() -> Value {
    json!({ "status": "failed", "error": { "kind": "exception", "message": "no luck", "retryable": false } })
}

/// Returns the status of an execution, after checking that list, detail, status, summary and fold
/// agree.
async fn agreed(server: &Server, id: &str) -> Value {
    let status = server.get(&format!("/api/executions/{id}/status")).await.body;
    let mut detail = server.get(&format!("/api/executions/{id}")).await.body;
    let events = server.get(&format!("/api/executions/{id}/events")).await.body;
    for more in ["workload", "result", "events", "events_endpoint", "pagination"] {
        detail.as_object_mut().expect("an object").remove(more);
    }
    let state = status["status"].as_str().expect("a status");
    let list = server.get(&format!("/api/executions?status={state}")).await.body;
    let mut listed = list.as_array().expect("a list").clone();
    listed.retain(|it| it["execution_id"] == detail["execution_id"]);
    // The time that has passed differs from one request to the next.
    for shown in listed.iter_mut().chain([&mut detail]) {
        for passed in ["duration_seconds", "duration_human"] {
            shown.as_object_mut().expect("an object").remove(passed);
        }
    }
    assert_eq!(listed, [detail.clone()], "list and detail");
    let both = [("status", "status"), ("started_at", "start_time")];
    let is_cancelled = status["is_cancelled"] == true;
    let both = both.into_iter().chain((!is_cancelled).then_some(("error", "error")));
    for (of_detail, of_status) in both.chain([("completed_at", "end_time")]) {
        assert_eq!(detail[of_detail], status[of_status], "{of_detail}");
    }
    let last = events["events"].as_array().and_then(|events| events.last()).expect("an event");
    assert_eq!(last["seq"], detail["event_count"]);
    assert_eq!(events["total"], detail["event_count"]);

    let execution = ExecutionId(id.parse().expect("an id"));
    let stored = server.store.summary(execution).await.expect("the store answers");
    let stored = stored.expect("it is there");
    let folded = server.state.control().state(execution, Cutoff::Latest).await;
    assert_eq!(folded.expect("it can be folded").summary(), stored, "fold and summary");
    let progress = &status["progress"];
    let counts = [
        ("total_steps", u64::from(stored.steps.total)),
        ("running_steps", u64::from(stored.steps.running)),
        ("completed_steps", u64::from(stored.steps.completed)),
        ("failed_steps", u64::from(stored.steps.failed)),
        ("total_items", stored.items.total),
        ("completed_items", stored.items.completed),
        ("failed_items", stored.items.failed),
    ];
    for (name, count) in counts {
        assert_eq!(progress[name], json!(count), "{name}");
    }
    assert_eq!(status["current_step"], json!(stored.current_step));
    assert_eq!(status["is_cancelled"], json!(state == "CANCELLED"));
    status
}

/// A deterministic pseudo-random generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % sides
    }
}

/// Returns the number of executions to try; set by `NOETL_SEEDS`.
fn seeds() -> u64 {
    std::env::var("NOETL_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(2)
}

/// Works on an execution in a pseudo-random order until it ends, checking its status at each step.
async fn live(server: &Server, id: &str, dice: &mut Dice) {
    let mut held: Vec<Value> = Vec::new();
    for _ in 0..100 {
        let status = agreed(server, id).await;
        if status["status"] != "RUNNING" {
            return;
        }
        match dice.below(20) {
            0 => {
                server.post(&format!("/api/executions/{id}/cancel"), json!({})).await;
            }
            1..10 if !held.is_empty() => {
                let chosen = usize::try_from(dice.below(held.len() as u64)).expect("small");
                let outcome = if dice.below(8) == 0 { failed() } else { completed() };
                report(server, &held.swap_remove(chosen), outcome).await;
            }
            _ => held.extend(lease(server).await),
        }
    }
    panic!("it has not ended");
}

pub(super) async fn list_detail_and_status_agree_at_every_moment(server: Server) {
    server.register(BRANCHES).await;
    for seed in 1..=seeds() {
        let id = server.start("tests/branches").await;
        live(&server, &id, &mut Dice(seed)).await;
        agreed(&server, &id).await;
    }
}

pub(super) async fn an_execution_runs_as_long_as_anything_is_under_way(server: Server) {
    server.register(BRANCHES).await;
    let id = server.start("tests/branches").await;
    let counts = async || {
        let status = agreed(&server, &id).await;
        let of = |name: &str| status["progress"][name].as_u64().expect("a count");
        let (total, running, done) =
            (of("total_steps"), of("running_steps"), of("completed_steps"));
        (status["status"].as_str().expect("a status").to_owned(), total, running, done)
    };
    let state = |total, running, done| ("RUNNING".to_owned(), total, running, done);
    assert_eq!(counts().await, state(1, 1, 0), "issued");
    let start = lease(&server).await.expect("a command");
    assert_eq!(counts().await, state(1, 1, 0), "claimed");
    report(&server, &start, completed()).await;
    assert_eq!(counts().await, state(3, 2, 1), "the only command so far has completed");
    let mut left = 4;
    while left > 0 {
        let lease = lease(&server).await.expect("a command");
        report(&server, &lease, completed()).await;
        left -= 1;
    }
    assert_eq!(counts().await, state(4, 1, 3), "all but the last step");
    let end = lease(&server).await.expect("a command");
    assert_eq!(counts().await, state(4, 1, 3));
    report(&server, &end, completed()).await;
    assert_eq!(counts().await, ("COMPLETED".to_owned(), 4, 0, 4));
}

pub(super) async fn a_failed_command_fails_the_execution_unless_its_failure_is_handled(
    server: Server,
) {
    server.register(BRANCHES).await;
    for (step, expected) in [("frail", "COMPLETED"), ("end", "FAILED")] {
        let id = server.start("tests/branches").await;
        while let Some(lease) = lease(&server).await {
            let outcome = if lease["step"] == step { failed() } else { completed() };
            report(&server, &lease, outcome).await;
            agreed(&server, &id).await;
        }
        assert_eq!(server.status(&id).await, expected, "{step}");
    }
}

/// Registers a worker of a pool.
async fn announce(server: &Server, name: &str, pool: &str) {
    let body = json!({
        "name": name, "component_type": "worker_pool", "status": "ready",
        "labels": { "pool_name": pool },
    });
    let answer = server.post("/api/worker/pool/register", body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[tokio::test(start_paused = true)]
async fn an_execution_whose_pool_has_no_worker_says_so() {
    let server = Server::with_hello().await;
    announce(&server, "w", "shared").await;
    let body = json!({ "path": "tests/hello", "execution_pool": "gpu" });
    let id = server.post("/api/execute", body).await.body["execution_id"].clone();
    let id = id.as_str().expect("an id");
    let other = server.start("tests/hello").await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    announce(&server, "w", "shared").await;
    let hint = async |id: &str, part: &str| {
        server.get(&format!("/api/executions/{id}{part}")).await.body["hint"].clone()
    };
    let expected = "No worker is connected for pool `gpu`; 1 command has been waiting for 20 s. \
                    Start one with `noetl worker --pool gpu`.";
    for part in ["", "/status"] {
        assert_eq!(hint(id, part).await, expected);
        assert_eq!(hint(&other, part).await, json!(null), "its pool has a worker");
    }
    announce(&server, "g", "gpu").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(hint(id, "/status").await, json!(null));
    let pools = server.get("/api/worker/pools").await;
    assert_eq!(pools.body.as_array().map(Vec::len), Some(2), "{}", pools.body);
    let dashboard = server.get("/api/dashboard/stats").await;
    assert_eq!(dashboard.body["stats"]["total_workers"], 2, "{}", dashboard.body);
}

#[tokio::test(start_paused = true)]
async fn an_execution_whose_pool_has_only_busy_workers_says_so() {
    let server = Server::with_hello().await;
    for name in ["one", "two"] {
        announce(&server, name, "shared").await;
    }
    let first = server.start("tests/hello").await;
    assert!(lease(&server).await.is_some(), "a worker runs the first command");
    let waiting = [server.start("tests/hello").await, server.start("tests/hello").await];
    tokio::time::sleep(Duration::from_secs(20)).await;
    for name in ["one", "two"] {
        announce(&server, name, "shared").await;
    }
    let listed = server.get("/api/executions?hints=true").await;
    let hint = |id: &str| {
        let items = listed.body.as_array().expect("a list");
        let item = items.iter().find(|item| item["execution_id"] == id).expect("it is listed");
        item["hint"].clone()
    };
    let expected = "All 2 workers of pool `shared` are busy; 2 commands wait, the oldest of this \
                    execution for 20 s. Add a worker with `noetl worker --pool shared`.";
    for id in &waiting {
        assert_eq!(hint(id), expected);
    }
    assert_eq!(hint(&first), json!(null), "a worker runs its command");
    let plain = server.get("/api/executions").await;
    let items = plain.body.as_array().expect("a list");
    assert!(items.iter().all(|item| item.get("hint").is_none()), "{}", plain.body);
}

#[tokio::test(start_paused = true)]
async fn executions_are_counted_by_how_they_were_asked_for_and_how_they_ended() {
    let server = Server::with_hello().await;
    server.start("tests/hello").await;
    server.work().await;
    server.work().await;
    let second = server.start("tests/hello").await;
    server.post(&format!("/api/executions/{second}/cancel"), json!({})).await;
    let figures = server.get("/metrics").await.body;
    let figures = figures.as_str().expect("text");
    for line in [
        "noetl_execute_outcomes_total{entry=\"single\",outcome=\"new\"} 2",
        "noetl_executions_started_total 2",
        "noetl_executions_ended_total{outcome=\"completed\"} 1",
        "noetl_executions_ended_total{outcome=\"failed\"} 0",
        "noetl_executions_ended_total{outcome=\"cancelled\"} 1",
    ] {
        assert!(figures.lines().any(|it| it == line), "{line} in {figures}");
    }
}
