//! Tests of declared inputs: every way to start an execution checks them.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, header};
use expect_test::expect;
use serde_json::{Value, json};

use super::Server;
use crate::{Authentication, Hosts, Scope, Token};

const REPORT: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: report, path: tests/report}
inputs:
  city: {type: string, required: true}
  days: {type: integer, default: 3, min: 1, max: 14}
  format: {enum: [text, html], default: text}
workflow:
  - step: start
    tool: {kind: noop, message: '{{ workload.city }}'}
";

const CALLER: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: caller, path: tests/caller}
workflow:
  - step: start
    tool: {kind: playbook, path: tests/report, return_step: start, input: {town: Bern, days: '20'}}
";

const NIGHTLY: &str = "\
apiVersion: noetl.io/v1
kind: Schedule
metadata: {name: nightly, path: schedules/report}
spec: {cron: 30 2 * * *, timezone: UTC, dispatch: {playbook: tests/report, payload: {days: many}}}
";

async fn started(server: &Server, payload: Value) -> String {
    let body = json!({ "path": "tests/report", "payload": payload });
    let started = server.post("/api/execute", body).await.body;
    started["execution_id"].as_str().expect("an id").to_owned()
}

pub(super) async fn all_problems_of_a_start_are_answered_at_once(server: Server) {
    server.register(REPORT).await;
    let payload = json!({ "town": "Bern", "days": "many", "fromat": "html", "format": "htm" });
    let body = json!({ "path": "tests/report", "payload": payload });
    let refused = server.post("/api/execute", body).await;
    assert_eq!(refused.problem(), "422 invalid-inputs");
    let problems = serde_json::to_string_pretty(&refused.body["problems"]).expect("JSON");
    expect![[r#"
        [
          {
            "path": "city",
            "message": "`city` is required: text"
          },
          {
            "path": "days",
            "message": "`days` must be a whole number, this is text: `many`"
          },
          {
            "path": "format",
            "message": "`format` cannot be text: `htm`; it is one of text, html",
            "suggestion": "html"
          },
          {
            "path": "town",
            "message": "there is no input `town`; the playbook has city, days, format"
          },
          {
            "path": "fromat",
            "message": "there is no input `fromat`; the playbook has city, days, format"
          }
        ]"#]]
    .assert_eq(&problems);
    let batch = json!({ "executions": [{ "path": "tests/report" }] });
    let batch = server.post("/api/execute/batch", batch).await.body;
    assert_eq!(batch["results"][0]["code"], "invalid-inputs", "{batch}");
    assert_eq!(server.get("/api/executions").await.body, json!([]));
}

pub(super) async fn values_have_the_declared_types_and_defaults(server: Server) {
    server.register(REPORT).await;
    let id = started(&server, json!({ "city": "Bern", "days": "5" })).await;
    let shown = server.get(&format!("/api/executions/{id}")).await.body;
    assert_eq!(shown["workload"], json!({ "days": 5, "format": "text", "city": "Bern" }));
}

pub(super) async fn a_rerun_and_a_fork_check_changed_values(server: Server) {
    server.register(REPORT).await;
    let id = started(&server, json!({ "city": "Bern" })).await;
    server.work().await;
    let (rerun, fork) =
        (format!("/api/executions/{id}/rerun"), format!("/api/executions/{id}/fork"));
    assert_eq!(server.post(&rerun, json!({})).await.status, 200);
    let other = json!({ "workload": { "city": "Bern", "days": 99 } });
    assert_eq!(server.post(&rerun, other).await.problem(), "422 invalid-inputs");
    let other = json!({ "at_event": 2, "workload": { "days": 99 } });
    assert_eq!(server.post(&fork, other).await.problem(), "422 invalid-inputs");
    let other = json!({ "at_event": 2, "workload": { "days": "7" } });
    let forked = server.post(&fork, other).await;
    assert_eq!(forked.status, 200, "{}", forked.body);
}

pub(super) async fn a_step_whose_values_do_not_fit_its_child_fails(server: Server) {
    server.register(REPORT).await;
    server.register(CALLER).await;
    let id = server.start("tests/caller").await;
    while server.status(&id).await != "FAILED" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let error = server.get(&format!("/api/executions/{id}")).await.body["error"].to_string();
    for words in ["`city` is required", "`days` must be at most 14, this is 20", "no input `town`"]
    {
        assert!(error.contains(words), "{error}");
    }
}

pub(super) async fn a_schedule_whose_payload_does_not_fit_says_so(server: Server) {
    server.register(REPORT).await;
    server.register(NIGHTLY).await;
    let range = json!({
        "path": "schedules/report", "from": "2025-06-01T00:00:00Z", "until": "2025-06-02T00:00:00Z",
    });
    let refused = server.post("/api/schedules/backfill", range).await;
    assert_eq!(refused.problem(), "422 invalid-inputs");
    let detail = refused.body["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("`days` must be a whole number"), "{detail}");
}

/// A schedule describes its instant in the workload; the playbook need not declare that.
pub(super) async fn a_schedule_starts_a_playbook_with_declared_inputs(server: Server) {
    server.register(REPORT).await;
    let document = NIGHTLY.replace("{days: many}", "{city: Bern}, labels: {team: ops}");
    server.register(&document).await;
    let range = json!({
        "path": "schedules/report", "from": "2025-06-01T00:00:00Z", "until": "2025-06-02T00:00:00Z",
    });
    let started = server.post("/api/schedules/backfill", range).await.body;
    let id = started["instants"][0]["execution_id"].as_str();
    let id = id.unwrap_or_else(|| panic!("{started}"));
    let listed = server.get("/api/executions?label=team:ops").await.body.to_string();
    assert!(listed.contains(id), "{listed}");
}

const SECRET: &str = "hunter2-and-more";

const SEALED: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: sealed, path: tests/sealed}
inputs:
  token: {type: string, secret: true, required: true}
  name: {type: string, default: ada}
workflow:
  - step: start
    tool: {kind: noop, message: 'Bearer {{ workload.token }} of {{ workload.name }}'}
";

/// Leases the next command and returns the answer as text.
async fn leased(server: &Server) -> String {
    let body = json!({ "worker": "w", "pool": "shared", "max": 1, "wait_ms": 20_000 });
    server.post("/api/worker/lease", body).await.body.to_string()
}

pub(super) async fn a_secret_input_is_sealed_in_the_log_and_opened_for_a_worker(server: Server) {
    server.register(SEALED).await;
    let body = json!({ "path": "tests/sealed", "payload": { "token": SECRET } });
    let started = server.post("/api/execute", body).await.body;
    let id = started["execution_id"].as_str().expect("an id").to_owned();
    let lease = leased(&server).await;
    assert!(lease.contains(SECRET) && lease.contains("noetl:sealed"), "{lease}");
    let shown = server.get(&format!("/api/executions/{id}")).await.body;
    let events = server.get(&format!("/api/executions/{id}/events")).await.body;
    let text = format!("{shown}{events}");
    assert!(text.contains("noetl:sealed") && !text.contains(SECRET), "{text}");
    // A rerun and a fork have the value sealed for themselves, or share it.
    let rerun = server.post(&format!("/api/executions/{id}/rerun"), json!({})).await;
    assert_eq!(rerun.status, 200, "{}", rerun.body);
    assert!(leased(&server).await.contains(SECRET));
    let rerun = rerun.body["execution_id"].as_str().expect("an id").to_owned();
    let again = server.get(&format!("/api/executions/{rerun}")).await.body;
    assert_ne!(again["workload"]["token"], shown["workload"]["token"]);
    let changes = json!({ "at_event": 2, "workload": { "name": "bob" } });
    let fork = server.post(&format!("/api/executions/{id}/fork"), changes).await;
    assert_eq!(fork.status, 200, "{}", fork.body);
    assert!(leased(&server).await.contains(SECRET));
    let fork = fork.body["execution_id"].as_str().expect("an id").to_owned();
    let plain = json!({ "at_event": 2 });
    let second = server.post(&format!("/api/executions/{fork}/fork"), plain).await;
    assert_eq!(second.status, 200, "{}", second.body);
    assert!(leased(&server).await.contains(SECRET));
    // A sealed value that was copied from one execution starts no other one.
    let stolen = shown["workload"]["token"].clone();
    for parent in [json!(null), json!(id)] {
        let theft = json!({
            "path": "tests/sealed", "payload": { "token": stolen }, "parent_execution_id": parent,
        });
        assert_eq!(server.post("/api/execute", theft).await.problem(), "422 invalid-inputs");
    }
    let short = json!({ "path": "tests/sealed", "payload": { "token": "pin" } });
    let short = server.post("/api/execute", short).await;
    assert_eq!(short.problem(), "422 invalid-inputs");
    assert!(!short.body.to_string().contains("pin\""), "{}", short.body);
}

pub(super) async fn a_condition_cannot_read_a_secret_input(server: Server) {
    let content = SEALED.replace("    tool:", "    when: '{{ workload.token == 1 }}'\n    tool:");
    let refused = server.post("/api/catalog/register", json!({ "content": content })).await;
    let text = refused.body.to_string();
    assert!(text.contains("a condition cannot read the secret input `token`"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_may_only_read_sees_no_secret_input_of_a_held_command() {
    let tokens = [("reader", Scope::Read), ("runner", Scope::Run), ("worker", Scope::Work)];
    let tokens = tokens.map(|(secret, scope)| Token::new(secret, [scope])).to_vec();
    let server = Server::with(Authentication::Tokens(tokens), Hosts::Any);
    let ask = async |token: &str, method: Method, path: &str, body: Value| {
        let request = Request::builder().method(method).uri(path);
        let request = request
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()));
        server.send(request.expect("a request")).await.body
    };
    let content = json!({ "content": SEALED });
    ask("runner", Method::POST, "/api/catalog/register", content).await;
    let body = json!({ "path": "tests/sealed", "payload": { "token": SECRET } });
    let started = ask("runner", Method::POST, "/api/execute", body).await;
    let id = started["execution_id"].as_str().expect("an id").to_owned();
    let events = format!("/api/executions/{id}/events");
    let events = ask("reader", Method::GET, &events, Value::Null).await;
    let events = events["events"].as_array().expect("a list").clone();
    let issued = events.iter().find(|event| event["event_type"] == "command.issued");
    let event = issued.and_then(|it| it["event_id"].as_str()).expect("an id").to_owned();
    let command = format!("/api/commands/{event}");
    let claim = format!("{command}/claim");
    let claimed = ask("worker", Method::POST, &claim, json!({ "worker_id": "w" })).await;
    assert!(claimed.to_string().contains(SECRET), "{claimed}");
    for (token, expected) in [("reader", false), ("runner", false), ("worker", true)] {
        let shown = ask(token, Method::GET, &command, Value::Null).await.to_string();
        assert_eq!(shown.contains(SECRET), expected, "{token}: {shown}");
        assert_eq!(shown.contains("Bearer [REDACTED] of ada"), !expected, "{token}: {shown}");
    }
}
