//! Simulates an existing worker: its calls, in its order and its spelling.

use axum::http::{Method, StatusCode};
use expect_test::expect;
use serde_json::{Value, json};

use super::{HELLO, LEASE, Server};

/// A worker that identifies commands by the events that issued them.
pub(super) struct Worker<'a> {
    pub(super) server: &'a Server,
    pub(super) name: &'static str,
}

impl Worker<'_> {
    pub(super) async fn claim(&self, event: &str) -> super::Answer {
        let body = json!({ "worker_id": self.name });
        self.server.post(&format!("/api/commands/{event}/claim"), body).await
    }

    /// Posts an event about a claimed command, in the worker's spelling.
    pub(super) async fn post(
        &self,
        claimed: &Value,
        name: &str,
        status: &str,
        more: Value,
    ) -> super::Answer {
        let mut context = json!({ "command_id": claimed["meta"]["command_id"] });
        for (key, value) in more.as_object().expect("a map") {
            context[key] = value.clone();
        }
        let body = json!({
            "execution_id": claimed["execution_id"],
            "event_type": name,
            "step": claimed["node_name"],
            "status": status,
            "created_at": "2026-11-15T06:49:26.505656Z",
            "context": context,
            "event_id": 380_247_910_405_000_001_i64,
            "worker_id": self.name,
            "meta": { "attempts": 0 },
        });
        self.server.post("/api/events", body).await
    }

    /// Runs a claimed command to a result.
    pub(super) async fn finish(&self, claimed: &Value, status: &str, tool: Value) {
        let done = json!({ "call_index": 0, "result": { "status": status, "context": tool } });
        let answers = [
            self.post(claimed, "command.started", "STARTED", json!({})).await,
            self.post(claimed, "call.done", "COMPLETED", done).await,
            self.post(claimed, "command.completed", status, json!({ "status": status })).await,
        ];
        for answer in answers {
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        }
    }
}

/// Returns the id of the event that issued the latest command.
pub(super) async fn issued(server: &Server, execution: &str) -> String {
    let page = server.get(&format!("/api/executions/{execution}/events")).await;
    let events = page.body["events"].as_array().expect("events").clone();
    let issued = events.iter().rfind(|event| event["event_type"] == "command.issued");
    issued.expect("a command")["event_id"].as_str().expect("an id").to_owned()
}

pub(super) async fn the_existing_worker_runs_a_playbook_to_its_end(server: Server) {
    server.register(HELLO).await;
    let worker = Worker { server: &server, name: "w-1" };
    let id = server.start("tests/hello").await;
    let first = worker.claim(&issued(&server, &id).await).await;
    expect![[r#"
        200 {
          "status": "ok",
          "event_id": "<id as number>",
          "execution_id": "<id as number>",
          "node_id": "start",
          "node_name": "start",
          "action": "python",
          "context": {
            "tool_config": {
              "code": "pass",
              "args": {
                "name": "world"
              }
            },
            "args": {},
            "render_context": {
              "name": "world",
              "workload": {
                "name": "world"
              },
              "execution_id": "<id as text>"
            }
          },
          "meta": {
            "command_id": "<id>:start:<id>",
            "step": "start",
            "tool_kind": "python",
            "attempt": 1,
            "attempts": 0,
            "execution_id": "<id as text>",
            "idempotency_key": "<id>/start/0",
            "key_attempt": 1,
            "timeout_ms": null,
            "actionable": true
          }
        }
    "#]]
    .assert_eq(&first.shape().replace(&id, "<id>"));
    let tool = json!({ "status": "success", "data": { "text": "hi" }, "stdout": "printed" });
    worker.finish(&first.body, "success", tool).await;
    let second = worker.claim(&issued(&server, &id).await).await;
    assert_eq!(second.body["context"]["tool_config"]["message"], "hi");
    worker.finish(&second.body, "success", json!({ "status": "success" })).await;
    assert_eq!(server.status(&id).await, "COMPLETED");
    expect![[r#"
        playbook_started tests/hello STARTED
        step.enter start ENTERED
        command.issued start PENDING
        command.claimed start RUNNING
        command.completed start COMPLETED
        step.exit start COMPLETED
        step.enter second ENTERED
        command.issued second PENDING
        command.claimed second RUNNING
        command.completed second COMPLETED
        step.exit second COMPLETED
        playbook.completed playbook COMPLETED
    "#]]
    .assert_eq(&server.story(&id).await);
}

pub(super) async fn a_tool_status_of_error_fails_the_step(server: Server) {
    server.register(HELLO).await;
    let worker = Worker { server: &server, name: "w-1" };
    let id = server.start("tests/hello").await;
    let claimed = worker.claim(&issued(&server, &id).await).await.body;
    let tool = json!({ "status": "error", "error": "no such host" });
    worker.finish(&claimed, "error", tool).await;
    assert_eq!(server.status(&id).await, "FAILED");
    let detail = server.get(&format!("/api/executions/{id}")).await;
    assert_eq!(detail.body["error"], "no such host");
}

pub(super) async fn a_tool_status_that_is_not_known_is_refused_and_ends_nothing(server: Server) {
    server.register(HELLO).await;
    let worker = Worker { server: &server, name: "w-1" };
    let id = server.start("tests/hello").await;
    let claimed = worker.claim(&issued(&server, &id).await).await.body;
    let done = json!({ "result": { "status": "shipped", "context": { "status": "shipped" } } });
    let refused = worker.post(&claimed, "call.done", "COMPLETED", done).await;
    assert_eq!(refused.problem(), "422 unknown-status");
    let detail = refused.body["detail"].as_str().expect("a detail").to_owned();
    assert!(detail.contains("`shipped`") && detail.contains("`timeout`"), "{detail}");
    let refused = worker.post(&claimed, "command.completed", "shipped", json!({})).await;
    assert_eq!(refused.problem(), "422 unknown-status");
    assert_eq!(server.status(&id).await, "RUNNING");
    worker.finish(&claimed, "success", json!({ "status": "success" })).await;
}

pub(super) async fn a_worker_that_gives_up_fails_the_step(server: Server) {
    server.register(HELLO).await;
    let worker = Worker { server: &server, name: "w-1" };
    let id = server.start("tests/hello").await;
    let claimed = worker.claim(&issued(&server, &id).await).await.body;
    let error = json!({ "call_index": 0, "error": "no such credential" });
    assert_eq!(worker.post(&claimed, "call.error", "FAILED", error.clone()).await.status, 200);
    assert_eq!(worker.post(&claimed, "command.failed", "FAILED", error).await.status, 200);
    assert_eq!(server.status(&id).await, "FAILED");
}

pub(super) async fn an_event_posted_twice_is_answered_twice_and_counts_once(server: Server) {
    server.register(HELLO).await;
    let worker = Worker { server: &server, name: "w-1" };
    let id = server.start("tests/hello").await;
    let claimed = worker.claim(&issued(&server, &id).await).await.body;
    let tool = json!({ "status": "success", "data": {} });
    worker.finish(&claimed, "success", tool.clone()).await;
    let story = server.story(&id).await;
    worker.finish(&claimed, "success", tool).await;
    assert_eq!(server.story(&id).await, story);
}

pub(super) async fn the_same_worker_may_claim_again_and_another_may_not(server: Server) {
    server.register(HELLO).await;
    let [one, other] = ["w-1", "w-2"].map(|name| Worker { server: &server, name });
    let id = server.start("tests/hello").await;
    let event = issued(&server, &id).await;
    let first = one.claim(&event).await;
    assert_eq!(one.claim(&event).await.body, first.body);
    assert_eq!(other.claim(&event).await.problem(), "409 active-claim");
    let shown = server.get(&format!("/api/commands/{event}")).await;
    assert_eq!(shown.body, first.body);
}

pub(super) async fn a_finished_command_cannot_be_claimed_again(server: Server) {
    server.register(HELLO).await;
    let worker = Worker { server: &server, name: "w-1" };
    let id = server.start("tests/hello").await;
    let event = issued(&server, &id).await;
    let claimed = worker.claim(&event).await.body;
    worker.finish(&claimed, "success", json!({ "status": "success", "data": {} })).await;
    assert_eq!(worker.claim(&event).await.problem(), "409 command-ended");
}

pub(super) async fn a_command_of_a_cancelled_execution_cannot_be_claimed(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let event = issued(&server, &id).await;
    server.post(&format!("/api/executions/{id}/cancel"), json!({})).await;
    let worker = Worker { server: &server, name: "w-1" };
    assert_eq!(worker.claim(&event).await.problem(), "409 execution-ended");
    assert_eq!(worker.claim("1").await.problem(), "404 unknown-command");
}

#[tokio::test(start_paused = true)]
async fn the_command_of_a_worker_that_died_goes_to_another_and_its_late_word_changes_nothing() {
    let server = Server::with_hello().await;
    let [dead, other] = ["w-1", "w-2"].map(|name| Worker { server: &server, name });
    let id = server.start("tests/hello").await;
    let event = issued(&server, &id).await;
    let lost = dead.claim(&event).await.body;
    tokio::time::advance(LEASE).await;
    let taken = other.claim(&event).await;
    assert_eq!(taken.body["meta"]["attempt"], 2, "{}", taken.body);
    let late = dead.post(&lost, "command.completed", "success", json!({})).await;
    assert_eq!(late.problem(), "409 superseded");
    other.finish(&taken.body, "success", json!({ "status": "success", "data": {} })).await;
    assert_eq!(server.status(&id).await, "RUNNING", "the second step waits");
}

#[tokio::test(start_paused = true)]
async fn heartbeats_of_a_worker_keep_everything_it_has() {
    let server = Server::with_hello().await;
    let [one, other] = ["w-1", "w-2"].map(|name| Worker { server: &server, name });
    let register = json!({
        "name": "w-1", "component_type": "worker_pool", "status": "ready",
        "runtime": { "kind": "rust" }, "hostname": "h", "labels": { "pool_name": "default" },
    });
    let registered = server.post("/api/worker/pool/register", register).await;
    expect![[r#"
        200 {
          "runtime_id": "<id as number>",
          "name": "w-1",
          "kind": "worker_pool",
          "uri": null,
          "status": "ready",
          "labels": {
            "pool_name": "default"
          },
          "capabilities": null,
          "capacity": null,
          "runtime": {
            "kind": "rust"
          },
          "heartbeat": "<time>",
          "created_at": "<time>",
          "updated_at": "<time>"
        }
    "#]]
    .assert_eq(&registered.shape());
    let id = server.start("tests/hello").await;
    let event = issued(&server, &id).await;
    one.claim(&event).await;
    for _ in 0..4 {
        tokio::time::advance(LEASE / 2).await;
        let beat = server.post("/api/worker/pool/heartbeat", json!({ "name": "w-1" })).await;
        assert_eq!(beat.status, 200);
        assert_eq!(other.claim(&event).await.problem(), "409 active-claim");
    }
    let pools = server.get("/api/worker/pools?status=ready").await;
    assert_eq!(pools.body[0]["name"], "w-1");
    tokio::time::advance(LEASE * 3).await;
    let pools = server.get("/api/worker/pools").await;
    assert_eq!(pools.body[0]["status"], "offline");
}

pub(super) async fn a_worker_comes_and_goes_by_either_method(server: Server) {
    let body = json!({
        "name": "w-1", "component_type": "worker_pool", "runtime": { "kind": "rust" },
        "status": "ready", "hostname": "h", "labels": { "pool_name": "shared" },
    });
    for method in [Method::POST, Method::DELETE] {
        let came = server.post("/api/worker/pool/register", body.clone()).await;
        assert!(came.body["runtime_id"].is_number(), "{}", came.body);
        let beat = server.post("/api/worker/pool/heartbeat", json!({ "name": "w-1" })).await;
        assert_eq!(beat.body["status"], "ok", "{}", beat.body);
        assert_eq!(server.get("/api/worker/pools").await.body[0]["name"], "w-1");
        let goes = json!({ "name": "w-1", "component_type": "worker_pool" });
        let gone = server.call(method.clone(), "/api/worker/pool/deregister", goes.clone()).await;
        assert_eq!(gone.body["status"], "ok", "{}", gone.body);
        let again = server.call(method, "/api/worker/pool/deregister", goes).await;
        assert_eq!(again.problem(), "404 unknown-worker");
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_says_goodbye_frees_what_it_has_by_either_method() {
    let server = Server::with_hello().await;
    let [one, other] = ["w-1", "w-2"].map(|name| Worker { server: &server, name });
    let id = server.start("tests/hello").await;
    let event = issued(&server, &id).await;
    one.claim(&event).await;
    let body = json!({ "name": "w-1", "component_type": "worker_pool" });
    let gone = server.post("/api/worker/pool/deregister", body.clone()).await;
    assert_eq!(gone.status, 200, "{}", gone.body);
    tokio::time::advance(LEASE).await;
    assert_eq!(other.claim(&event).await.status, 200);
    let again = server.call(Method::DELETE, "/api/worker/pool/deregister", body).await;
    assert_eq!(again.problem(), "404 unknown-worker");
    let odd = server.post("/api/worker/pool/register", json!({ "name": "x", "kind": "odd" })).await;
    assert_eq!(odd.problem(), "422 unknown-kind");
}

pub(super) async fn a_fact_of_another_program_is_recorded_once_and_changes_nothing(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let fact = json!({
        "execution_id": id, "event_type": "subscription.rate_limited", "step": "ingress",
        "event_id": "77", "payload": { "rate": 5 },
    });
    for _ in 0..2 {
        let answer = server.post("/api/events", fact.clone()).await;
        assert_eq!(answer.body, json!({ "status": "ok", "event_id": 77, "commands_generated": 0 }));
    }
    expect![[r#"
        playbook_started tests/hello STARTED
        step.enter start ENTERED
        command.issued start PENDING
        subscription.rate_limited ingress REPORTED
    "#]]
    .assert_eq(&server.story(&id).await);
}

pub(super) async fn an_invalid_event_of_a_worker_is_refused_with_a_problem_code(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let event = issued(&server, &id).await;
    let check = async |name: &str, context: Value, expected: &str| {
        let body =
            json!({ "execution_id": id, "name": name, "context": context, "worker_id": "w" });
        assert_eq!(server.post("/api/events", body).await.problem(), expected, "{name}");
    };
    let of = |id: &str| json!({ "command_id": id });
    check("playbook.completed", json!({}), "422 reserved-event").await;
    check("call.done", json!({}), "422 no-command").await;
    check("call.done", of("nonsense"), "422 no-command").await;
    check("call.done", of("1:start:1"), "404 unknown-command").await;
    check("call.done", of(&format!("{id}:start:{event}")), "409 not-claimed").await;
    let body = json!({ "execution_id": 1, "name": "fact" });
    assert_eq!(server.post("/api/events", body).await.problem(), "404 unknown-execution");
}

pub(super) async fn a_batch_of_events_is_taken_in_order_failures_included(server: Server) {
    server.register(HELLO).await;
    let worker = Worker { server: &server, name: "w-1" };
    let id = server.start("tests/hello").await;
    let claimed = worker.claim(&issued(&server, &id).await).await.body;
    let command = &claimed["meta"]["command_id"];
    let batch = json!({ "execution_id": id, "worker_id": "w-1", "events": [
        { "step": "start", "name": "command.started", "payload": { "command_id": command } },
        { "step": "start", "name": "command.failed", "payload": { "command_id": command, "error": "x" } },
    ]});
    let answer = server.post("/api/events/batch", batch).await;
    assert_eq!(answer.body["event_ids"].as_array().map(Vec::len), Some(2), "{}", answer.body);
    assert_eq!(server.status(&id).await, "FAILED");
    let none = json!({ "execution_id": id, "events": [] });
    let answer = server.post("/api/events/batch", none).await;
    assert_eq!(answer.body, json!({ "status": "ok", "event_ids": [], "commands_generated": 0 }));
}

/// Stores a result that is too large for an event, then reports its reference.
async fn large_result(server: &Server, whole: bool) {
    let worker = Worker { server, name: "w-1" };
    let id = server.start("tests/hello").await;
    let claimed = worker.claim(&issued(server, &id).await).await.body;
    let data = json!({ "text": "x".repeat(200_000) });
    let tool = json!({ "status": "success", "data": data, "duration_ms": 3 });
    let stored = if whole { tool } else { data.clone() };
    let put =
        json!({ "name": "start", "data": stored, "scope": "execution", "source_step": "start" });
    let put = server.call(Method::PUT, &format!("/api/result/{id}"), put).await;
    let reference = put.body["ref"].as_str().expect("a reference").to_owned();
    let done = json!({ "call_index": 0, "result": {
        "status": "success", "context": { "data": { "_ref": reference } },
        "reference": { "kind": "result_ref", "ref": reference, "store": put.body["store"],
            "scope": "execution", "extracted": { "data": { "text": { "_len": 200_000 } } } },
    }});
    for (name, status, more) in [
        ("call.done", "COMPLETED", done),
        ("command.completed", "success", json!({ "status": "success" })),
    ] {
        let answer = worker.post(&claimed, name, status, more).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    let second = worker.claim(&issued(server, &id).await).await;
    assert_eq!(second.body["context"]["tool_config"]["message"], data["text"]);
    worker.finish(&second.body, "success", json!({ "status": "success" })).await;
    assert_eq!(server.status(&id).await, "COMPLETED");
}

pub(super) async fn a_result_that_was_stored_first_is_taken_by_its_reference(server: Server) {
    server.register(HELLO).await;
    large_result(&server, true).await;
    large_result(&server, false).await;
}

pub(super) async fn a_result_that_is_not_stored_fails_its_step(server: Server) {
    server.register(HELLO).await;
    let worker = Worker { server: &server, name: "w-1" };
    let id = server.start("tests/hello").await;
    let claimed = worker.claim(&issued(&server, &id).await).await.body;
    let reference = format!("noetl://execution/{id}/result/start/1");
    let done = json!({ "call_index": 0, "result": {
        "status": "success", "reference": { "kind": "result_ref", "ref": reference },
    }});
    assert_eq!(worker.post(&claimed, "call.done", "COMPLETED", done).await.status, 200);
    assert_eq!(server.status(&id).await, "FAILED");
    let detail = server.get(&format!("/api/executions/{id}")).await;
    assert_eq!(detail.body["error"], format!("the result {reference} is not stored here"));
}

const RENDERED: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: rendered, path: tests/rendered}
workload: {db: pg_main, ids: [7]}
workflow:
  - step: start
    loop: {in: '{{ workload.ids }}', iterator: id}
    tool:
      - one: {kind: noop, result: {n: '{{ iter.id }}'}}
      - two: {kind: postgres, auth: '{{ workload.db }}', command: 'select {{ one.n }}, {{ _prev.n }}'}
    next: broken
  - step: broken
    tool: {kind: noop, message: '{{ 1 / 0 }}'}
";

pub(super) async fn a_command_is_rendered_for_pipelines_and_loops(server: Server) {
    server.register(RENDERED).await;
    let worker = Worker { server: &server, name: "w-1" };
    let id = server.start("tests/rendered").await;
    let one = worker.claim(&issued(&server, &id).await).await.body;
    assert_eq!(one["context"]["tool_config"], json!({ "result": { "n": 7 } }));
    worker.finish(&one, "success", json!({ "status": "success", "data": { "n": 7 } })).await;
    let two = worker.claim(&issued(&server, &id).await).await.body;
    let expected = json!({ "auth": "pg_main", "query": "select 7, 7" });
    assert_eq!(two["context"]["tool_config"], expected);
}

pub(super) async fn a_command_that_cannot_be_rendered_fails(server: Server) {
    server.register(RENDERED).await;
    let worker = Worker { server: &server, name: "w-1" };
    let id = server.start("tests/rendered").await;
    for _task in 0..2 {
        let claimed = worker.claim(&issued(&server, &id).await).await.body;
        worker
            .finish(&claimed, "success", json!({ "status": "success", "data": { "n": 7 } }))
            .await;
    }
    let refused = worker.claim(&issued(&server, &id).await).await;
    assert_eq!(refused.problem(), "409 command-failed");
    assert_eq!(server.status(&id).await, "FAILED");
}

pub(super) async fn a_worker_that_was_forgotten_is_listed_again_once_it_beats(server: Server) {
    let beat = server.post("/api/worker/pool/heartbeat", json!({ "name": "w-1" })).await;
    assert_eq!(beat.status, 200);
    let pools = server.get("/api/worker/pools?name=-1").await;
    assert_eq!(pools.body[0]["status"], "ready", "{}", pools.body);
    let unnamed = server.post("/api/worker/pool/register", json!({ "name": "" })).await;
    assert_eq!(unnamed.problem(), "422 worker-name");
}

pub(super) async fn a_command_that_it_has_started_is_a_step_that_runs(server: Server) {
    server.register(HELLO).await;
    let worker = Worker { server: &server, name: "w-1" };
    let id = server.start("tests/hello").await;
    let standing = async || {
        let status = server.get(&format!("/api/executions/{id}/status")).await.body;
        let progress = &status["progress"];
        format!(
            "{} {} {}",
            status["status"], progress["running_steps"], progress["completed_steps"]
        )
    };
    assert_eq!(standing().await, "\"RUNNING\" 1 0", "issued");
    let claimed = worker.claim(&issued(&server, &id).await).await.body;
    assert_eq!(standing().await, "\"RUNNING\" 1 0", "claimed");
    let started = worker.post(&claimed, "command.started", "STARTED", json!({})).await;
    assert_eq!(started.status, StatusCode::OK, "{}", started.body);
    assert_eq!(standing().await, "\"RUNNING\" 1 0", "started");
    worker.finish(&claimed, "success", json!({})).await;
    assert_eq!(standing().await, "\"RUNNING\" 1 1", "the next step is under way");
    let next = worker.claim(&issued(&server, &id).await).await.body;
    worker.finish(&next, "success", json!({})).await;
    assert_eq!(standing().await, "\"COMPLETED\" 0 2");
}
