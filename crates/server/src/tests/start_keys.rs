//! Tests of start keys: `dedup` and `Idempotency-Key`.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, header};
use futures::future::join_all;
use serde_json::{Value, json};

use super::{Answer, HELLO, Server};

const PATH: &str = "tests/hello";

async fn deduplicated(server: &Server, key: &str, parent: Option<i64>) -> (String, String) {
    let dedup = json!({ "key": key, "window_secs": 60 });
    let body = json!({ "path": PATH, "parent_execution_id": parent, "dedup": dedup });
    let answer = server.post("/api/execute", body).await;
    let text = |key: &str| answer.body[key].as_str().expect("text").to_owned();
    (text("status"), text("execution_id"))
}

async fn keyed(server: &Server, key: &str, body: Value) -> Answer {
    let request = Request::post("/api/execute")
        .header(header::CONTENT_TYPE, "application/json")
        .header("Idempotency-Key", key)
        .body(Body::from(body.to_string()));
    server.send(request.expect("a request")).await
}

#[tokio::test(start_paused = true)]
async fn a_dedup_key_starts_one_execution_within_its_window_and_scope() {
    let server = Server::with_hello().await;
    let (status, first) = deduplicated(&server, "k", None).await;
    assert_eq!(status, "started");
    assert_eq!(deduplicated(&server, "k", None).await, ("duplicate".to_owned(), first.clone()));
    assert_eq!(deduplicated(&server, "l", None).await.0, "started");
    assert_eq!(deduplicated(&server, "k", Some(7)).await.0, "started");
    tokio::time::advance(Duration::from_secs(61)).await;
    let (status, later) = deduplicated(&server, "k", None).await;
    assert_eq!(status, "started");
    assert_ne!(later, first);
}

pub(super) async fn a_request_that_fails_leaves_its_key_free(server: Server) {
    server.register(HELLO).await;
    let body = |path: &str| json!({ "path": path, "dedup": { "key": "k" } });
    let failed = server.post("/api/execute", body("no/such/path")).await;
    assert_eq!(failed.problem(), "404 unknown-playbook");
    assert_eq!(server.post("/api/execute", body(PATH)).await.body["status"], "started");

    let failed = keyed(&server, "k", json!({ "path": "no/such/path" })).await;
    assert_eq!(failed.problem(), "404 unknown-playbook");
    assert_eq!(keyed(&server, "k", json!({ "path": PATH })).await.body["status"], "started");
}

pub(super) async fn an_idempotency_key_repeats_the_answer_to_the_same_request_and_refuses_another(
    server: Server,
) {
    server.register(HELLO).await;
    let body = json!({ "path": PATH, "payload": { "name": "you", "age": 3 } });
    let first = keyed(&server, "k", body).await;
    assert_eq!(first.body["status"], "started");
    let reordered = json!({ "payload": { "age": 3, "name": "you" }, "path": PATH });
    assert_eq!(keyed(&server, "\"k\"", reordered).await.body, first.body);
    let other = keyed(&server, "k", json!({ "path": PATH })).await;
    assert_eq!(other.problem(), "422 key-reused");
    assert_eq!(other.body["execution_id"], first.body["execution_id"]);
    let both = json!({ "path": PATH, "dedup": { "key": "k" } });
    assert_eq!(keyed(&server, "k", both).await.problem(), "422 invalid-key");
}

pub(super) async fn a_hundred_requests_at_once_under_one_key_are_one_execution(server: Server) {
    server.register(HELLO).await;
    let answers = join_all((0..100).map(|_| keyed(&server, "k", json!({ "path": PATH })))).await;
    let first = &answers[0].body;
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.body == *first));
    assert_eq!(
        server.get("/api/executions").await.body["executions"].as_array().map_or(1, Vec::len),
        1
    );
}

pub(super) async fn a_batch_counts_its_duplicates(server: Server) {
    server.register(HELLO).await;
    let one = json!({ "path": PATH, "dedup": { "key": "k" } });
    let executions = json!([one, one, { "path": PATH }]);
    let answer = server.post("/api/execute/batch", json!({ "executions": executions })).await;
    let counts = ["count", "started", "duplicates", "failed"].map(|key| answer.body[key].clone());
    assert_eq!(counts, [json!(3), json!(2), json!(1), json!(0)]);
    let results = answer.body["results"].as_array().expect("results");
    assert_eq!(results[0]["execution_id"], results[1]["execution_id"]);
}
