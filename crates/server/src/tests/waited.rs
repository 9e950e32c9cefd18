//! Tests of starts that wait for the end of their execution (`Prefer: wait`).

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use futures::future::join_all;
use serde_json::{Value, json};

use super::{Answer, HELLO, Server};

const BROKEN: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: broken, path: tests/broken}
workflow:
  - step: start
    tool: {kind: noop, message: '{{ no.such.thing.at_all }}'}
    next: {arcs: [{step: end, when: '{{ 1 / 0 }}'}]}
  - step: end
    tool: {kind: noop}
";

const LASTING: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: lasting, path: tests/lasting}
workflow:
  - step: start
    tool: {kind: wait, signal: go}
";

fn request(path: &str, wait: &str, body: &Value) -> Request<Body> {
    Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("content-type", "application/json")
        .header("prefer", wait)
        .body(Body::from(body.to_string()))
        .expect("a request")
}

async fn start(server: &Server, path: &str, wait: &str) -> Answer {
    server.send(request("/api/execute", wait, &json!({ "path": path }))).await
}

/// Runs both steps of the playbook.
async fn work_twice(server: &Server) {
    server.work().await;
    server.work().await;
}

pub(super) async fn a_start_that_waits_is_answered_with_the_output(server: Server) {
    server.register(HELLO).await;
    let (answer, ()) = tokio::join!(start(&server, "tests/hello", "wait=30"), work_twice(&server));
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.headers["preference-applied"], "wait=30");
    assert_eq!(answer.body["status"], "COMPLETED", "{}", answer.body);
    assert!(answer.body.get("output").is_some(), "{}", answer.body);
    let id = answer.body["execution_id"].as_str().expect("an id");
    // An execution that has ended is answered at once.
    let again = request(&format!("/api/executions/{id}/rerun"), "wait=30", &json!({}));
    let (again, ()) = tokio::join!(server.send(again), work_twice(&server));
    assert_eq!((again.status.as_u16(), &again.body["status"]), (200, &json!("COMPLETED")));
}

pub(super) async fn a_start_that_waits_is_answered_with_the_error(server: Server) {
    server.register(BROKEN).await;
    let (answer, ()) = tokio::join!(start(&server, "tests/broken", "wait=30"), server.work());
    assert_eq!((answer.status.as_u16(), &answer.body["status"]), (200, &json!("FAILED")));
    assert!(answer.body["error"]["message"].is_string(), "{}", answer.body);
    assert_eq!(answer.body.get("output"), None);
}

pub(super) async fn a_start_whose_execution_goes_on_is_accepted(server: Server) {
    server.register(LASTING).await;
    for (wait, applied) in [("wait=0", "wait=0"), ("respond-async, wait=1", "wait=1")] {
        let answer = start(&server, "tests/lasting", wait).await;
        assert_eq!(answer.status, 202, "{}", answer.body);
        assert_eq!(answer.headers["preference-applied"], applied);
        let id = answer.body["execution_id"].as_str().expect("an id");
        assert_eq!(answer.headers["location"], format!("/api/executions/{id}"));
        assert_eq!(answer.body["url"], format!("/api/executions/{id}"));
        assert_eq!(answer.body["status"], "started");
    }
    let plain = server.post("/api/execute", json!({ "path": "tests/lasting" })).await;
    assert_eq!((plain.status.as_u16(), plain.headers.get("preference-applied")), (200, None));
}

pub(super) async fn a_repeated_start_waits_for_the_same_execution(server: Server) {
    server.register(HELLO).await;
    let body = json!({ "path": "tests/hello", "dedup": { "key": "once" } });
    let one = || server.send(request("/api/execute", "wait=30", &body));
    let (first, second, ()) = tokio::join!(one(), one(), work_twice(&server));
    assert_eq!(first.body["execution_id"], second.body["execution_id"]);
    for answer in [first, second] {
        assert_eq!((answer.status.as_u16(), &answer.body["status"]), (200, &json!("COMPLETED")));
    }
}

/// A wait ends by the commit: simulated time does not advance while all callers are answered.
#[tokio::test(start_paused = true)]
async fn a_thousand_callers_are_woken_by_one_signal_each() {
    let server = Server::new();
    server.register(LASTING).await;
    let callers = (0..1000).map(|_| start(&server, "tests/lasting", "wait=60"));
    let signals = async {
        loop {
            let listed = server.get("/api/executions?status=running&limit=500").await.body;
            let running = listed.as_array().cloned().unwrap_or_default();
            for execution in &running {
                let id = execution["execution_id"].as_str().expect("an id");
                server.post(&format!("/api/executions/{id}/signals/go"), json!({})).await;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let answers = tokio::select! {
        answers = join_all(callers) => answers,
        () = signals => unreachable!("the signals have no end"),
    };
    for answer in answers {
        assert_eq!((answer.status.as_u16(), &answer.body["status"]), (200, &json!("COMPLETED")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_drains_answers_those_who_wait() {
    let server = Server::new();
    server.register(LASTING).await;
    let began = tokio::time::Instant::now();
    let drain = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        server.state.drain();
    };
    let (answer, ()) = tokio::join!(start(&server, "tests/lasting", "wait=60"), drain);
    assert_eq!(answer.status, 202, "{}", answer.body);
    assert!(began.elapsed() < Duration::from_secs(5), "it did not wait for the whole minute");
}
