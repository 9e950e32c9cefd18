//! Tests of the routes about the server and its store.

use expect_test::expect;
use serde_json::json;

use super::{HELLO, Server};

pub(super) async fn figures_of_the_store_are_exported(server: Server) {
    let pool = server.get("/api/pool/status").await.body;
    let (size, available) = (pool["pool_size"].as_u64(), pool["pool_available"].as_u64());
    assert!(size >= available && pool["pool_max"].as_u64() >= size, "{pool}");
    let shard = server.get("/api/runtime/shard-info?execution_id=42&shard_count=16").await.body;
    assert_eq!(shard["shard_index"], 3, "{shard}");
    let stopped = server.post("/api/profiler/memory/stop", json!({})).await.body;
    assert_eq!(stopped["status"], "info");
}

#[tokio::test(start_paused = true)]
async fn a_store_without_connections_says_so() {
    expect![[r#"
        200 {
          "pool_min": 0,
          "pool_max": 0,
          "pool_size": 0,
          "pool_available": 0,
          "requests_waiting": 0,
          "utilization": 0.0,
          "slots_available": 0,
          "status": "not_pooled"
        }
    "#]]
    .assert_eq(&Server::new().get("/api/pool/status").await.shape());
}

#[tokio::test(start_paused = true)]
async fn an_execution_belongs_to_the_shard_that_other_programs_compute_too() {
    let server = Server::new();
    let ask = async |query: &str| server.get(&format!("/api/runtime/shard-info?{query}")).await;
    expect![[r#"
        200 {
          "execution_id": "42",
          "shard_count": 16,
          "shard_index": 3,
          "source": "noetl-server",
          "hash_function": "twox_hash::XxHash64",
          "seed": 0,
          "server_config": {
            "shard_index": 0,
            "shard_count": 1
          }
        }
    "#]]
    .assert_eq(&ask("execution_id=42&shard_count=16").await.shape());
    assert_eq!(ask("execution_id=42&shard_count=0").await.problem(), "400 shard-count");
    assert_eq!(ask("execution_id=42&shard_count=1025").await.problem(), "400 shard-count");
    assert_eq!(ask("execution_id=x&shard_count=1").await.problem(), "400 invalid-query");
}

pub(super) async fn a_schema_that_lacks_nothing_is_valid(server: Server) {
    let validated = server.get("/api/db/validate").await.body;
    assert_eq!((&validated["valid"], &validated["missing"]), (&json!(true), &json!([])));
    let initialized = server.post("/api/db/init", json!({})).await.body;
    assert_eq!((&initialized["valid"], &initialized["status"]), (&json!(true), &json!("ok")));
}

pub(super) async fn the_process_is_measured(server: Server) {
    let status = server.get("/api/status").await.body;
    assert_eq!(status["process"]["pid"], std::process::id());
    for figure in ["memory_rss_mb", "num_threads"] {
        assert!(status["process"][figure].as_f64().is_some_and(|it| it > 0.0), "{status}");
    }
    for figure in ["cpu_percent", "memory_percent"] {
        let percent = status["system"][figure].as_f64();
        assert!(percent.is_none_or(|it| (0.0..=100.0).contains(&it)), "{status}");
    }
    let threads = server.get("/api/threads").await.body;
    assert_eq!(threads[0]["is_alive"], true, "{threads}");
}

pub(super) async fn profiler_and_analysis_endpoints_answer_that_there_is_none(server: Server) {
    assert_eq!(server.get("/api/profiler/status").await.body["is_profiling"], false);
    let started = server.post("/api/profiler/memory/start", json!({})).await.body;
    assert_eq!(started["status"], "info");
    let analysed = server.post("/api/executions/1/analyze", json!({})).await;
    assert_eq!(analysed.problem(), "501 no-analyses");
}

pub(super) async fn the_contract_of_the_runtime_is_its_version(server: Server) {
    let told = server.get("/api/runtime/contract").await;
    assert_eq!(told.body, json!({ "version": env!("CARGO_PKG_VERSION") }));
}

pub(super) async fn reads_of_another_event_database_are_answered_from_the_log(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    for path in ["executions".to_owned(), format!("executions/{id}/events?limit=1")] {
        let asked = server.get(&format!("/api/ehdb/{path}")).await;
        assert_eq!(asked.status.as_u16(), 200, "{path}: {}", asked.body);
        // The time that has passed differs from one request to the next.
        assert_eq!(asked.shape(), server.get(&format!("/api/{path}")).await.shape(), "{path}");
    }
    let shown = server.get(&format!("/api/ehdb/executions/{id}")).await;
    assert_eq!((shown.status.as_u16(), &shown.body["path"]), (200, &json!("tests/hello")));
    let unknown = server.get("/api/ehdb/executions/1").await;
    assert_eq!(unknown.problem(), "404 unknown-execution");
    assert_eq!(server.get("/api/ehdb/tiers/hot").await.problem(), "501 no-tiers");
}
