//! Tests of health, readiness and metrics.

use std::time::Duration;

use expect_test::{expect, expect_file};

use super::Server;
use crate::{Authentication, Hosts, MetricsRoute, ServerSettings};

pub(super) async fn every_probe_answers(server: Server) {
    for path in ["/health", "/livez", "/readyz", "/api/health", "/metrics", "/api/docs"] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    }
    let health = server.get("/api/health").await.body;
    assert_eq!((&health["status"], &health["database"]), (&"ok".into(), &"connected".into()));
}

#[tokio::test(start_paused = true)]
async fn health_answers_without_looking_at_anything() {
    expect![[r#"
        200 {
          "status": "ok"
        }
    "#]]
    .assert_eq(&Server::new().get("/health").await.shape());
}

#[tokio::test(start_paused = true)]
async fn api_health_says_what_existing_clients_read() {
    let mut answer = Server::new().get("/api/health").await;
    answer.body["version"] = "<version>".into();
    answer.body["time"] = "<time>".into();
    answer.body["clock_skew_seconds"] = "<skew>".into();
    expect![[r#"
        200 {
          "status": "ok",
          "database": "connected",
          "nats": "not_configured",
          "uptime_seconds": 0,
          "version": "<version>",
          "time": "<time>",
          "clock_skew_seconds": "<skew>"
        }
    "#]]
    .assert_eq(&answer.shape());
}

#[tokio::test(start_paused = true)]
async fn readiness_names_its_checks() {
    expect![[r#"
        200 {
          "ready": true,
          "checks": [
            {
              "name": "store",
              "ok": true
            },
            {
              "name": "storage",
              "ok": true
            },
            {
              "name": "not draining",
              "ok": true
            }
          ]
        }
    "#]]
    .assert_eq(&Server::new().get("/readyz").await.shape());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_drains_lives_and_is_not_ready() {
    let server = Server::new();
    server.state.drain();
    expect![[r#"
        503 {
          "ready": false,
          "checks": [
            {
              "name": "store",
              "ok": true
            },
            {
              "name": "storage",
              "ok": true
            },
            {
              "name": "not draining",
              "ok": false,
              "cause": "the server is shutting down"
            }
          ]
        }
    "#]]
    .assert_eq(&server.get("/readyz").await.shape());
    expect![[r#"
        200 {
          "status": "ok"
        }
    "#]]
    .assert_eq(&server.get("/livez").await.shape());
}

#[tokio::test(start_paused = true)]
async fn metrics_count_what_waits_in_a_pool() {
    let server = Server::with_hello().await;
    let metrics = async |query: &str| {
        let answer = server.get(&format!("/metrics{query}")).await;
        answer.body.as_str().expect("text").to_owned()
    };
    let told = metrics("").await;
    let (gauges, counters) = told.split_once("# HELP noetl_http").expect("requests are measured");
    // The skew is measured by a loop, which may not have run yet.
    let gauges = gauges.lines().filter(|line| !line.contains("noetl_clock_skew"));
    let gauges: String = gauges.map(|line| format!("{line}\n")).collect();
    expect_file!["health/metrics.txt"].assert_eq(&gauges);
    let registered = "{method=\"POST\",route=\"/api/catalog/register\",status=\"2xx\"} 1";
    assert!(counters.contains(registered), "{counters}");
    server.start("tests/hello").await;
    assert!(metrics("").await.contains("\nnoetl_commands_ready{pool=\"shared\"} 1\n"));
    assert!(metrics("?pool=gpu").await.contains("\nnoetl_commands_ready{pool=\"gpu\"} 0\n"));
    let body = serde_json::json!({ "path": "tests/hello", "execution_pool": "gpu" });
    assert_eq!(server.post("/api/execute", body).await.status, 200);
    let told = metrics("").await;
    for pool in ["gpu", "shared"] {
        assert!(told.contains(&format!("\nnoetl_commands_ready{{pool=\"{pool}\"}} 1\n")), "{told}");
    }
    let urgent = serde_json::json!({ "path": "tests/hello", "priority": 9 });
    assert_eq!(server.post("/api/execute", urgent).await.status, 200);
    tokio::time::advance(Duration::from_secs(3)).await;
    let told = metrics("").await;
    for line in [
        "noetl_commands_ready{pool=\"shared\"} 2",
        "noetl_commands_ready_by_priority{pool=\"gpu\",priority=\"5\"} 1",
        "noetl_commands_ready_by_priority{pool=\"shared\",priority=\"5\"} 1",
        "noetl_commands_ready_by_priority{pool=\"shared\",priority=\"9\"} 1",
        "noetl_commands_ready_by_priority_oldest_seconds{pool=\"shared\",priority=\"9\"} 3",
    ] {
        assert!(told.contains(&format!("\n{line}\n")), "{line}: {told}");
    }
    assert_eq!(server.get("/metrics?pool=a%22b").await.problem(), "422 invalid-pool");
}

#[tokio::test(start_paused = true)]
async fn durations_are_measured_by_outcome_tool_pool_and_priority() {
    let server = Server::with_hello().await;
    let execution = server.start("tests/hello").await;
    tokio::time::advance(Duration::from_secs(3)).await;
    let waiting = server.get("/metrics").await.body;
    let waiting = waiting.as_str().expect("text");
    assert!(waiting.contains("\nnoetl_commands_ready_oldest_seconds{pool=\"shared\"} 3\n"));
    while server.status(&execution).await == "RUNNING" {
        server.work().await;
    }
    let told = server.get("/metrics").await.body;
    let told = told.as_str().expect("text");
    for line in [
        "noetl_execution_duration_seconds_bucket{outcome=\"completed\",le=\"5\"} 1",
        "noetl_execution_duration_seconds_count{outcome=\"completed\"} 1",
        "noetl_command_queue_seconds_bucket{pool=\"shared\",priority=\"5\",le=\"1\"} 1",
        "noetl_command_queue_seconds_count{pool=\"shared\",priority=\"5\"} 2",
        "noetl_command_duration_seconds_count{outcome=\"completed\",pool=\"shared\",tool=\"noop\"} 1",
        "noetl_command_duration_seconds_count{outcome=\"completed\",pool=\"shared\",tool=\"python\"} 1",
    ] {
        assert!(told.lines().any(|it| it == line), "{line} is not in {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn metrics_can_be_switched_off() {
    let settings = ServerSettings::new(Authentication::Open, Hosts::Any);
    let server = Server::set(ServerSettings { figures: MetricsRoute::Hidden, ..settings });
    assert_eq!(server.get("/metrics").await.problem(), "404 unknown-path");
}

#[tokio::test(start_paused = true)]
async fn secrets_and_stored_values_are_counted_by_what_became_of_them() {
    let server = Server::new();
    let pg = serde_json::json!({ "name": "pg", "type": "postgres", "data": { "u": "ada" } });
    server.post("/api/credentials", pg).await;
    for name in ["pg", "pg", "none"] {
        server.get(&format!("/api/credentials/{name}?include_data=true")).await;
    }
    server.get("/api/credentials/pg/sealed?worker_id=w").await;
    server.get("/api/result/resolve?ref=noetl://execution/1/result/a/1").await;
    server.post("/api/internal/wallet/rotate-kek", serde_json::json!({})).await;
    let text = server.get("/metrics").await.body.as_str().unwrap_or_default().to_owned();
    for line in [
        r#"noetl_secret_resolve_total{provider="stored",region="",status="ok"} 2"#,
        r#"noetl_secret_resolve_total{provider="none",region="",status="error"} 1"#,
        r#"noetl_credentials_sealed_total{status="error"} 1"#,
        r#"noetl_result_store_resolve_total{status="error"} 1"#,
        r#"noetl_wallet_rotate_total{status="ok",table="credential"} 0"#,
    ] {
        assert!(text.lines().any(|it| it == line), "{line} in\n{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_are_measured_by_route_and_never_by_path() {
    let server = Server::new();
    for id in 0..20 {
        server.get(&format!("/api/executions/{id}")).await;
        server.get(&format!("/nowhere/{id}")).await;
    }
    let text = server.get("/metrics").await.body.as_str().expect("text").to_owned();
    let route = "route=\"/api/executions/{execution_id}\",status=\"4xx\"} 20";
    assert!(text.contains(route), "{text}");
    assert!(text.contains("route=\"other\",status=\"4xx\"} 20"), "{text}");
    assert!(!text.contains("nowhere"), "{text}");
}
