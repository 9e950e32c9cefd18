//! Tests of the native worker protocol.

use expect_test::expect;
use noetl_model::{Digest, PAYLOAD_INLINE_MAX};
use serde_json::{Value, json};

use super::listener::Listener;
use super::{HELLO, LEASE, Server};

async fn lease(server: &Server, max: usize) -> Vec<Value> {
    let body = json!({ "worker": "w", "pool": "shared", "max": max, "wait_ms": 100 });
    let answer = server.post("/api/worker/lease", body).await;
    answer.body["leases"].as_array().expect("leases").clone()
}

fn held(lease: &Value) -> Value {
    let field = |name: &str| lease[name].clone();
    json!({ "execution": field("execution"), "command": field("command"), "attempt": field("attempt") })
}

fn report(lease: &Value, output: Value) -> Value {
    let mut report = held(lease);
    report["worker"] = json!("w");
    report["outcome"] = json!({ "status": "completed", "output": output });
    report
}

pub(super) async fn a_worker_leases_reports_and_the_execution_completes(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let first = lease(&server, 10).await;
    assert_eq!(first.len(), 1);
    let reports = json!({ "reports": [report(&first[0], json!({ "text": "hi" }))] });
    let answer = server.post("/api/worker/report", reports.clone()).await;
    assert_eq!(answer.body, json!({ "answers": ["accepted"] }));
    let again = server.post("/api/worker/report", reports).await;
    assert_eq!(again.body, answer.body, "the same report is answered the same way");
    let second = lease(&server, 10).await;
    assert_eq!(second[0]["bindings"]["start"]["inline"]["text"], "hi");
    let reports = json!({ "reports": [report(&second[0], Value::Null)] });
    server.post("/api/worker/report", reports).await;
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

/// A server that lets everybody in has no token that a worker's token could depend on.
pub(super) async fn a_worker_enrols_with_a_token_only(server: Server) {
    let call = json!({ "worker": "w", "pool": "shared" });
    let answer = server.post("/api/worker/token", call).await;
    assert_eq!(answer.problem(), "403 no-enrolment-token");
}

pub(super) async fn without_work_the_answer_comes_after_the_wait(server: Server) {
    assert!(lease(&server, 1).await.is_empty());
}

pub(super) async fn a_worker_beats_and_gives_back_what_it_has(server: Server) {
    server.register(HELLO).await;
    server.start("tests/hello").await;
    let leases = lease(&server, 1).await;
    let body = json!({ "worker": "w", "held": [held(&leases[0])] });
    let beat = server.post("/api/worker/heartbeat", body).await.body;
    assert!(beat["answers"][0]["extended"]["until"].is_number(), "{beat}");
    let released = server.post("/api/worker/release", json!({ "worker": "w" })).await;
    assert_eq!(released.status, 200, "{}", released.body);
    let again = lease(&server, 1).await;
    assert_eq!((&again[0]["command"], &again[0]["attempt"]), (&leases[0]["command"], &json!(2)));
}

pub(super) async fn a_cancellation_reaches_the_worker_at_once(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    lease(&server, 1).await;
    let mut listener = Listener::at(&server, "/api/worker/cancellations", None).await;
    server.post(&format!("/api/executions/{id}/cancel"), json!({})).await;
    let told = listener.events(1).await;
    assert_eq!(told[0].data["execution"].to_string(), id);
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_extends_the_lease_and_reports_its_loss() {
    let server = Server::with_hello().await;
    let id = server.start("tests/hello").await;
    let leases = lease(&server, 1).await;
    let beat = async || {
        let body = json!({ "worker": "w", "held": [held(&leases[0])] });
        server.post("/api/worker/heartbeat", body).await.body["answers"][0].clone()
    };
    for _ in 0..3 {
        tokio::time::advance(LEASE * 2 / 3).await;
        assert!(beat().await["extended"]["until"].is_number());
    }
    server.post(&format!("/api/executions/{id}/cancel"), json!({})).await;
    assert_eq!(beat().await, json!({ "lost": "finished" }));
}

pub(super) async fn a_report_about_nothing_we_know_is_unknown(server: Server) {
    let lease = json!({ "execution": 1, "command": 1, "attempt": 1 });
    let reports = json!({ "reports": [report(&lease, Value::Null)] });
    let answer = server.post("/api/worker/report", reports).await;
    assert_eq!(answer.body, json!({ "answers": ["unknown"] }));
}

pub(super) async fn a_large_output_is_fetched_by_its_digest(server: Server) {
    server.register(HELLO).await;
    server.start("tests/hello").await;
    let leases = lease(&server, 1).await;
    let output = json!({ "text": "x".repeat(PAYLOAD_INLINE_MAX) });
    let reports = json!({ "reports": [report(&leases[0], output.clone())] });
    server.post("/api/worker/report", reports).await;
    let digest = Digest::of(output.to_string().as_bytes());
    assert_eq!(server.get(&format!("/api/payloads/{digest}")).await.body, output);
    let unknown = format!("/api/payloads/{}", Digest::of(b"something else"));
    assert_eq!(server.get(&unknown).await.problem(), "404 unknown-payload");
    assert_eq!(server.get("/api/payloads/zz").await.problem(), "400 invalid-path");
}

#[tokio::test(start_paused = true)]
async fn cancellations_are_sent_to_every_listener() {
    let server = Server::with_hello().await;
    let id = server.start("tests/hello").await;
    lease(&server, 1).await;
    let cancel = async {
        server.post(&format!("/api/executions/{id}/cancel"), json!({})).await;
        tokio::time::sleep(LEASE).await;
        server.state.drain();
    };
    let (heard, ()) = tokio::join!(server.get("/api/worker/cancellations"), cancel);
    let heard = heard.body.as_str().expect("a stream").to_owned();
    assert!(heard.contains(&format!("data: {{\"execution\":{id},\"command\":")), "{heard}");
}

fn logs(lease: &Value, chunks: Value) -> Value {
    let field = |name: &str| lease[name].clone();
    let source = json!({
        "execution": field("execution"),
        "command": field("command"),
        "attempt": field("attempt"),
        "step": field("step"),
        "label": field("label"),
        "number": field("key_attempt"),
    });
    json!({ "batches": [{ "source": source, "chunks": chunks }] })
}

pub(super) async fn output_is_stored_once_and_read_while_the_command_runs(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let leased = lease(&server, 1).await;
    let chunks = json!([
        { "index": 0, "stream": "stdout", "text": "one\ntw" },
        { "index": 1, "stream": "stderr", "text": "oh\n", "omitted": { "lines": 2, "bytes": 9 } },
    ]);
    for _ in 0..2 {
        let answer = server.post("/api/worker/logs", logs(&leased[0], chunks.clone())).await;
        assert_eq!(answer.body, json!({ "answers": ["stored"] }));
    }
    let page = server.get(&format!("/api/executions/{id}/logs")).await.body;
    let texts: Vec<&str> =
        page["entries"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["one\ntw", "oh\n"]);
    assert_eq!(
        (&page["entries"][0]["step"], &page["is_complete"]),
        (&json!("start"), &json!(false))
    );
    assert_eq!(page["entries"][1]["omitted_lines"], 2);
    let after = page["next_after"].as_str().unwrap();
    let more = json!([{ "index": 2, "stream": "stdout", "text": "o\n" }]);
    server.post("/api/worker/logs", logs(&leased[0], more)).await;
    let page = server.get(&format!("/api/executions/{id}/logs?after={after}")).await.body;
    assert_eq!(page["entries"][0]["text"], "o\n");
    let path = format!("/api/executions/{id}/logs?stream=stderr&step=start&attempt=1");
    let page = server.get(&path).await.body;
    assert_eq!(page["entries"].as_array().unwrap().len(), 1);

    let mut done = report(&leased[0], json!({ "text": "hi" }));
    done["logs"] = json!({ "stdout": "one\ntwo\n", "stderr": "oh\n" });
    server.post("/api/worker/report", json!({ "reports": [done] })).await;
    let leased = lease(&server, 1).await;
    let mut done = report(&leased[0], Value::Null);
    done["logs"] = json!({ "stdout": "only in the report\n" });
    server.post("/api/worker/report", json!({ "reports": [done] })).await;
    assert_eq!(server.status(&id).await, "COMPLETED");
    let page = server.get(&format!("/api/executions/{id}/logs")).await.body;
    let last = page["entries"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(page["entries"].as_array().unwrap().len(), 4, "{page}");
    assert_eq!((&last["step"], &last["from_report"]), (&json!("second"), &json!(true)));
    let after = page["next_after"].as_str().unwrap();
    let page = server.get(&format!("/api/executions/{id}/logs?after={after}")).await.body;
    assert_eq!((&page["entries"], &page["is_complete"]), (&json!([]), &json!(true)));

    for (path, status) in [
        (format!("/api/executions/{id}/logs?after=x"), 422),
        (format!("/api/executions/{id}/logs?stream=x"), 422),
        ("/api/executions/1/logs".to_owned(), 404),
    ] {
        assert_eq!(server.get(&path).await.status, status, "{path}");
    }
    let unknown = json!([{ "index": 0, "stream": "stdout", "text": "x" }]);
    let stray = json!({ "execution": 1, "command": 1, "attempt": 1, "step": "s", "label": "s", "key_attempt": 1 });
    let answer = server.post("/api/worker/logs", logs(&stray, unknown)).await;
    assert_eq!(answer.body, json!({ "answers": ["unknown"] }));
}
