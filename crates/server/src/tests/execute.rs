//! Tests of starting executions.

use expect_test::expect;
use serde_json::{Value, json};

use super::{HELLO, Server};

pub(super) async fn an_execution_is_started_by_path(server: Server) {
    server.register(HELLO).await;
    let answer = server.post("/api/execute", json!({ "path": "tests/hello" })).await;
    expect![[r#"
        200 {
          "execution_id": "<id as text>",
          "status": "started",
          "commands_generated": 1
        }
    "#]]
    .assert_eq(&answer.shape());
}

pub(super) async fn a_catalog_id_is_text_or_number_and_wins_over_the_path(server: Server) {
    server.register(HELLO).await;
    let found = server.post("/api/catalog/resource", json!({ "path": "tests/hello" })).await;
    let id = found.body["catalog_id"].as_str().expect("text").to_owned();
    let number: i64 = id.parse().expect("a number");
    for id in [json!(id), json!(number)] {
        let body = json!({ "catalog_id": id, "path": "no/such/path" });
        assert_eq!(server.post("/api/execute", body).await.status, 200);
    }
}

pub(super) async fn the_version_that_is_asked_for_is_the_one_that_runs(server: Server) {
    server.register(HELLO).await;
    server.register(&HELLO.replace("world", "moon")).await;
    let workload = async |version: Value| {
        let body = json!({ "path": "tests/hello", "version": version });
        let started = server.post("/api/execute", body).await.body;
        let id = started["execution_id"].as_str().expect("an id");
        server.get(&format!("/api/executions/{id}")).await.body["workload"]["name"].clone()
    };
    assert_eq!(workload(json!(1)).await, "world");
    assert_eq!(workload(json!("1")).await, "world");
    assert_eq!(workload(json!("latest")).await, "moon");
    assert_eq!(workload(Value::Null).await, "moon");
}

pub(super) async fn payload_and_workload_are_two_words_for_one_thing(server: Server) {
    server.register(HELLO).await;
    for key in ["payload", "workload"] {
        let body = json!({ "path": "tests/hello", key: { "name": "you" }, "resource_kind": "x" });
        let id = server.post("/api/execute", body).await.body["execution_id"].clone();
        let id = id.as_str().expect("an id");
        let detail = server.get(&format!("/api/executions/{id}")).await;
        assert_eq!(detail.body["workload"], json!({ "name": "you" }));
    }
}

pub(super) async fn an_impossible_start_has_a_problem_code(server: Server) {
    server.register(HELLO).await;
    let check = async |body: Value, expected: &str| {
        assert_eq!(server.post("/api/execute", body).await.problem(), expected);
    };
    check(json!({}), "422 no-playbook").await;
    check(json!({ "path": "no/such/path" }), "404 unknown-playbook").await;
    check(json!({ "path": "tests/hello", "version": 9 }), "404 unknown-playbook").await;
    check(json!({ "catalog_id": "x" }), "422 invalid-body").await;
    check(json!({ "path": "tests/hello", "payload": [1] }), "422 invalid-body").await;
    check(json!({ "path": "tests/hello", "execution_pool": "a.b" }), "422 invalid-pool").await;
    check(json!({ "path": "tests/hello", "execution_pool": "control" }), "422 invalid-pool").await;
    check(json!({ "path": "tests/hello", "dedup": { "key": "" } }), "422 invalid-key").await;
    check(json!({ "path": "tests/hello", "dedup": {} }), "422 invalid-body").await;
}

pub(super) async fn a_batch_answers_for_each_in_order(server: Server) {
    server.register(HELLO).await;
    let executions = json!([{ "path": "tests/hello" }, { "path": "no/such/path" }]);
    let answer = server.post("/api/execute/batch", json!({ "executions": executions })).await;
    expect![[r#"
        200 {
          "count": 2,
          "started": 1,
          "duplicates": 0,
          "failed": 1,
          "results": [
            {
              "status": "started",
              "index": 0,
              "execution_id": "<id as text>",
              "commands_generated": 1
            },
            {
              "status": "error",
              "index": 1,
              "commands_generated": 0,
              "error": "there is no playbook no/such/path",
              "code": "unknown-playbook"
            }
          ]
        }
    "#]]
    .assert_eq(&answer.shape());
    let none = server.post("/api/execute/batch", json!({ "executions": [] })).await;
    assert_eq!(none.problem(), "422 batch-size");
}

pub(super) async fn a_refused_start_leaves_no_execution(server: Server) {
    server.register(HELLO).await;
    let refused = async |body: Value| server.post("/api/execute", body).await.problem();
    assert_eq!(refused(json!({})).await, "422 no-playbook");
    assert_eq!(refused(json!({ "path": "no/such/path" })).await, "404 unknown-playbook");
    let later = json!({ "path": "tests/hello", "version": 99 });
    assert_eq!(refused(later).await, "404 unknown-playbook");
    let pool = json!({ "path": "tests/hello", "execution_pool": "a.b" });
    assert_eq!(refused(pool).await, "422 invalid-pool");
    assert_eq!(server.get("/api/executions").await.body, json!([]));
}

#[tokio::test(start_paused = true)]
async fn starts_are_refused_while_too_many_executions_wait() {
    let server = Server::without_loops();
    server.register(HELLO).await;
    let one = json!({ "path": "tests/hello" });
    // A batch is admitted or refused as a whole.
    let batch = json!({ "executions": vec![one.clone(); 1000] });
    for _ in 0..4 {
        let started = server.post("/api/execute/batch", batch.clone()).await;
        assert_eq!((started.status.as_u16(), &started.body["started"]), (200, &json!(1000)));
    }
    let refused = server.post("/api/execute", one).await;
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(refused.status, 429);
    let expected = json!({
        "type": "urn:noetl:problem:backlog-full",
        "title": "Too Many Requests",
        "status": 429,
        "code": "backlog-full",
        "pool": "shared",
        "waiting": 4000,
        "limit": 4000,
    });
    for (name, value) in expected.as_object().expect("a map") {
        assert_eq!(&refused.body[name], value, "{name}");
    }
    let detail = refused.body["detail"].as_str().expect("text");
    assert!(detail.contains("raise `executions.backlog_max`"), "{detail}");
    assert_eq!(server.post("/api/execute/batch", batch).await.status, 429);
    let metrics = server.get("/metrics").await.body;
    let metrics = metrics.as_str().expect("text");
    assert!(metrics.contains("noetl_starts_refused_total 2\n"), "{metrics}");
    assert!(metrics.contains("noetl_backlog_executions{pool=\"shared\"} 4000\n"), "{metrics}");
}
