//! Tests of jobs that a worker starts and a callback ends.

use expect_test::expect;
use serde_json::{Value, json};

use super::Server;

/// A playbook with a step that starts a job, and a step that outputs its final state.
const JOB: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: job, path: tests/job}
workflow:
  - step: start
    tool: {kind: container, image: busybox}
    next: second
  - step: second
    tool: {kind: noop, message: '{{ start.terminal_state }}'}
";

/// Returns a server on which a worker has started a job, and the job's execution.
async fn begun(server: Server) -> (Server, String) {
    server.register(JOB).await;
    let execution = server.start("tests/job").await;
    let page = server.get(&format!("/api/executions/{execution}/events")).await.body;
    let events = page["events"].as_array().expect("events");
    let issued = events.iter().find(|it| it["event_type"] == "command.issued").expect("a command");
    let id = issued["event_id"].as_str().expect("an id").to_owned();
    let path = format!("/api/commands/{id}/claim");
    let claimed = server.post(&path, json!({ "worker_id": "w" })).await;
    let command = claimed.body["meta"]["command_id"].clone();
    // A worker that has started a job posts no result, only that it is done.
    let done = json!({
        "execution_id": execution, "step": "start", "event_type": "command.completed",
        "worker_id": "w", "status": "success",
        "context": { "command_id": command, "status": "success" },
    });
    assert_eq!(server.post("/api/events", done).await.status, 200);
    assert_eq!(server.status(&execution).await, "RUNNING");
    (server, execution)
}

async fn call_back(server: &Server, execution: &str, state: &str) -> (u16, Value) {
    let path = format!("/api/internal/container-callback/{execution}/start");
    let body = json!({ "state": state, "job_name": "job-1", "reason": "OOMKilled" });
    let answer = server.post(&path, body).await;
    (answer.status.as_u16(), answer.body["status"].clone())
}

pub(super) async fn a_callback_lets_the_execution_go_on_and_telling_it_again_changes_nothing(
    server: Server,
) {
    let (server, execution) = begun(server).await;
    let first = call_back(&server, &execution, "succeeded").await;
    assert_eq!(first, (202, json!("accepted_in_flight")));
    let again = call_back(&server, &execution, "succeeded").await;
    assert_eq!(again, (202, json!("accepted_stale")));
    server.work().await;
    expect![[r#"
        playbook_started tests/job STARTED
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
    .assert_eq(&server.story(&execution).await);
}

pub(super) async fn a_job_that_failed_fails_its_step(server: Server) {
    let (server, execution) = begun(server).await;
    let told = call_back(&server, &execution, "failed_oom").await;
    assert_eq!(told, (202, json!("accepted_in_flight")));
    assert_eq!(server.status(&execution).await, "FAILED");
    let shown = server.get(&format!("/api/executions/{execution}")).await.body;
    let error = shown["error"].as_str().expect("an error").to_owned();
    assert!(error.contains("job job-1 ended as failed_oom: OOMKilled"), "{error}");
}

pub(super) async fn a_callback_that_nothing_waits_for_is_accepted_all_the_same(server: Server) {
    assert_eq!(call_back(&server, "1", "succeeded").await, (202, json!("accepted_stale")));
    let (server, execution) = begun(server).await;
    server.post(&format!("/api/executions/{execution}/cancel"), json!({})).await;
    let late = call_back(&server, &execution, "succeeded").await;
    assert_eq!(late, (202, json!("accepted_stale")));
}

pub(super) async fn an_end_that_is_not_known_is_refused(server: Server) {
    let body = json!({ "state": "vanished", "job_name": "job-1" });
    let refused = server.post("/api/internal/container-callback/1/start", body).await;
    assert_eq!(refused.problem(), "422 invalid-body");
}
