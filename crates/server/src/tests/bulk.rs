//! Tests of bulk jobs.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, header};
use noetl_app::run_bulk_jobs;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Answer, HELLO, Server};

/// Runs the loop of a server that carries out jobs.
fn runner(server: &Server, holder: &str, stop: &CancellationToken) -> JoinHandle<()> {
    tokio::spawn(run_bulk_jobs(server.state.app().clone(), holder.to_owned(), stop.clone()))
}

async fn created(server: &Server, body: Value) -> String {
    let answer = server.post("/api/executions/bulk", body).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    answer.body["job_id"].as_str().expect("an id").to_owned()
}

/// Waits for the end of a job and returns it.
async fn ended(server: &Server, job: &str) -> Value {
    for _ in 0..600 {
        let body = server.get(&format!("/api/executions/bulk/{job}")).await.body;
        if body["state"] != "running" {
            return body;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("job {job} does not end")
}

/// Returns the results of a job: execution to (outcome, started execution).
async fn results(server: &Server, job: &str) -> BTreeMap<String, (String, Value)> {
    let body = server.get(&format!("/api/executions/bulk/{job}/items")).await.body;
    let items = body["items"].as_array().expect("items").clone();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    items
        .iter()
        .map(|it| {
            let result = (text(&it["outcome"]), it["started_execution_id"].clone());
            (text(&it["execution_id"]), result)
        })
        .collect()
}

fn counts(job: &Value) -> [u64; 4] {
    ["expected", "done", "unchanged", "failed"]
        .map(|name| job["progress"][name].as_u64().expect("a count"))
}

pub(super) async fn a_job_cancels_what_matches_and_nothing_else(server: Server) {
    server.register(HELLO).await;
    server.register(&HELLO.replace("tests/hello", "other/hello")).await;
    let (first, second) = (server.start("tests/hello").await, server.start("tests/hello").await);
    let other = server.start("other/hello").await;
    let body = json!({ "action": "cancel", "filter": { "path": "tests/*" }, "reason": "enough" });
    let counted = server.post("/api/executions/bulk/count", body.clone()).await.body;
    assert_eq!((&counted["count"], &counted["is_too_many"]), (&json!(2), &json!(false)));
    let job = created(&server, body.clone()).await;
    let later = server.start("tests/hello").await;
    let stop = CancellationToken::new();
    let running = runner(&server, "one", &stop);
    let done = ended(&server, &job).await;
    assert_eq!((&done["state"], counts(&done)), (&json!("completed"), [2, 2, 0, 0]), "{done}");
    for execution in [&first, &second] {
        assert_eq!(server.status(execution).await, "CANCELLED");
    }
    for execution in [&other, &later] {
        assert_eq!(server.status(execution).await, "RUNNING", "it does not belong to the set");
    }
    let expected = [&first, &second].map(|id| (id.clone(), ("done".to_owned(), Value::Null)));
    assert_eq!(results(&server, &job).await, expected.into());
    let page = server.get(&format!("/api/executions/bulk/{job}/items?limit=1")).await.body;
    assert_eq!(page["items"][0]["execution_id"], json!(second));
    let cursor = page["next_cursor"].as_str().expect("a cursor");
    let page = format!("/api/executions/bulk/{job}/items?limit=1&cursor={cursor}&outcome=done");
    assert_eq!(server.get(&page).await.body["items"][0]["execution_id"], json!(first));
    let ids = json!({ "action": "cancel", "execution_ids": [first, later] });
    let job = created(&server, ids).await;
    let done = ended(&server, &job).await;
    assert_eq!(counts(&done), [2, 2, 0, 0], "the first one is cancelled already: {done}");
    assert_eq!(server.status(&later).await, "CANCELLED");
    let listed = server.get("/api/executions/bulk").await.body;
    assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(2), "{listed}");
    stop.cancel();
    running.await.expect("the loop ends");
}

pub(super) async fn two_servers_retry_each_execution_of_a_job_once(server: Server) {
    server.register(HELLO).await;
    let mut origins = Vec::new();
    for _ in 0..45 {
        let id = server.start("tests/hello").await;
        let body = json!({ "status": "FAILED", "error": "by hand" });
        server.post(&format!("/api/executions/{id}/finalize"), body).await;
        origins.push(id);
    }
    let running = server.start("tests/hello").await;
    let body = json!({ "action": "retry", "filter": { "status": "failed" } });
    let job = created(&server, body).await;
    let stop = CancellationToken::new();
    let runners = ["one", "two"].map(|holder| runner(&server, holder, &stop));
    let done = ended(&server, &job).await;
    assert_eq!(counts(&done), [45, 45, 0, 0], "{done}");
    let results = results(&server, &job).await;
    assert_eq!(results.keys().cloned().collect::<Vec<_>>(), origins);
    let listed = server.get("/api/executions?limit=1000").await.body;
    let mut forks: BTreeMap<String, usize> = BTreeMap::new();
    for origin in
        listed.as_array().expect("a list").iter().filter_map(|it| it["forked_from"].as_str())
    {
        *forks.entry(origin.to_owned()).or_default() += 1;
    }
    let once: BTreeMap<String, usize> = origins.iter().map(|id| (id.clone(), 1)).collect();
    assert_eq!(forks, once, "each is retried once, and {running} is not");
    let again =
        created(&server, json!({ "action": "rerun", "execution_ids": [running, "7"] })).await;
    let done = ended(&server, &again).await;
    assert_eq!(counts(&done), [2, 0, 1, 1], "{done}");
    stop.cancel();
    for runner in runners {
        runner.await.expect("the loop ends");
    }
}

async fn keyed(server: &Server, key: &str, body: &Value) -> Answer {
    let request = Request::post("/api/executions/bulk")
        .header(header::CONTENT_TYPE, "application/json")
        .header("Idempotency-Key", key)
        .body(Body::from(body.to_string()));
    server.send(request.expect("a request")).await
}

pub(super) async fn a_job_is_created_once_per_key_and_can_be_stopped(server: Server) {
    server.register(HELLO).await;
    let execution = server.start("tests/hello").await;
    let body = json!({ "action": "cancel", "filter": {} });
    let first = keyed(&server, "k", &body).await.body;
    assert_eq!(keyed(&server, "k", &body).await.body["job_id"], first["job_id"]);
    let other = json!({ "action": "rerun", "filter": {} });
    assert_eq!(keyed(&server, "k", &other).await.problem(), "422 key-reused");
    let path = format!("/api/executions/bulk/{}", first["job_id"].as_str().expect("an id"));
    let stopped = server.call(Method::DELETE, &path, Value::Null).await.body;
    assert_eq!((&stopped["state"], counts(&stopped)), (&json!("stopped"), [1, 0, 0, 0]));
    assert_eq!(server.call(Method::DELETE, &path, Value::Null).await.body, stopped);
    let stop = CancellationToken::new();
    let running = runner(&server, "one", &stop);
    let next = created(&server, json!({ "action": "retry", "filter": {} })).await;
    assert_eq!(counts(&ended(&server, &next).await), [0, 0, 0, 0]);
    assert_eq!(server.status(&execution).await, "RUNNING", "the stopped job does nothing");
    stop.cancel();
    running.await.expect("the loop ends");
}

pub(super) async fn an_invalid_bulk_job_is_refused(server: Server) {
    let refused = async |body: Value| server.post("/api/executions/bulk", body).await.problem();
    assert_eq!(refused(json!({ "action": "x", "filter": {} })).await, "422 invalid-action");
    assert_eq!(refused(json!({ "action": "cancel" })).await, "422 invalid-selection");
    let both = json!({ "action": "cancel", "filter": {}, "execution_ids": ["1"] });
    assert_eq!(refused(both).await, "422 invalid-selection");
    let none = json!({ "action": "cancel", "execution_ids": [] });
    assert_eq!(refused(none).await, "422 invalid-selection");
    let status = json!({ "action": "cancel", "filter": { "status": "x" } });
    assert_eq!(refused(status).await, "422 invalid-status");
    assert_eq!(server.get("/api/executions/bulk/1").await.problem(), "404 unknown-bulk-job");
    assert_eq!(server.get("/api/executions/bulk/1/items").await.problem(), "404 unknown-bulk-job");
    let gone = server.call(Method::DELETE, "/api/executions/bulk/1", Value::Null).await;
    assert_eq!(gone.problem(), "404 unknown-bulk-job");
}
