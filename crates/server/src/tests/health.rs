//! Tests of health, readiness and metrics.

use expect_test::expect;

use super::{LEASE, Server};
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
    expect![[r##"
        # HELP noetl_commands_ready Commands that wait for a worker.
        # TYPE noetl_commands_ready gauge
        noetl_commands_ready{pool="shared"} 0
        # HELP noetl_executions_ended_total Executions that this server has ended, by outcome.
        # TYPE noetl_executions_ended_total counter
        noetl_executions_ended_total{outcome="cancelled"} 0
        noetl_executions_ended_total{outcome="completed"} 0
        noetl_executions_ended_total{outcome="failed"} 0
        # HELP noetl_executions_started_total Executions that this server has started.
        # TYPE noetl_executions_started_total counter
        noetl_executions_started_total 0
        # HELP noetl_log_rewinds_total Logs found to have lost events that this server had seen committed.
        # TYPE noetl_log_rewinds_total counter
        noetl_log_rewinds_total 0
        # HELP noetl_messages_owed Messages to others that are not sent yet.
        # TYPE noetl_messages_owed gauge
        noetl_messages_owed 0
        # HELP noetl_store_gauges_age_seconds How old these two figures are.
        # TYPE noetl_store_gauges_age_seconds gauge
        noetl_store_gauges_age_seconds 0
        # HELP noetl_uptime_seconds How long this server has been up.
        # TYPE noetl_uptime_seconds gauge
        noetl_uptime_seconds 0
        # HELP noetl_execute_batch_size How many executions were asked for at once.
        # TYPE noetl_execute_batch_size histogram
        noetl_execute_batch_size_bucket{le="1"} 0
        noetl_execute_batch_size_bucket{le="5"} 0
        noetl_execute_batch_size_bucket{le="10"} 0
        noetl_execute_batch_size_bucket{le="50"} 0
        noetl_execute_batch_size_bucket{le="100"} 0
        noetl_execute_batch_size_bucket{le="500"} 0
        noetl_execute_batch_size_bucket{le="1000"} 0
        noetl_execute_batch_size_bucket{le="+Inf"} 0
        noetl_execute_batch_size_sum 0
        noetl_execute_batch_size_count 0
    "##]]
    .assert_eq(&gauges);
    let registered = "{method=\"POST\",route=\"/api/catalog/register\",status=\"2xx\"} 1";
    assert!(counters.contains(registered), "{counters}");
    server.start("tests/hello").await;
    assert!(metrics("").await.contains("\nnoetl_commands_ready{pool=\"shared\"} 1\n"));
    assert!(metrics("?pool=gpu").await.contains("\nnoetl_commands_ready{pool=\"gpu\"} 0\n"));
    assert_eq!(server.get("/metrics?pool=a%22b").await.problem(), "422 invalid-pool");
}

#[tokio::test(start_paused = true)]
async fn metrics_can_be_switched_off() {
    let settings = ServerSettings::new(Authentication::Open, Hosts::Any, LEASE);
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
