//! Tests of the dashboard routes.

use expect_test::expect;
use serde_json::json;

use super::{HELLO, Server};

pub(super) async fn the_dashboard_counts_what_there_is(server: Server) {
    server.register(HELLO).await;
    server.start("tests/hello").await;
    let cancelled = server.start("tests/hello").await;
    server.post(&format!("/api/executions/{cancelled}/cancel"), json!({})).await;
    let worker = json!({ "name": "w", "status": "ready" });
    server.post("/api/worker/pool/register", worker).await;
    expect![[r#"
        200 {
          "status": "ok",
          "stats": {
            "total_executions": 2,
            "successful_executions": 0,
            "failed_executions": 0,
            "cancelled_executions": 1,
            "running_executions": 1,
            "total_playbooks": 1,
            "total_workers": 1,
            "bounded": false,
            "counted_max": 100000
          }
        }
    "#]]
    .assert_eq(&server.get("/api/dashboard/stats").await.shape());
}

pub(super) async fn the_widgets_show_the_newest_executions_by_name_and_by_the_hour(server: Server) {
    server.register(HELLO).await;
    server.start("tests/hello").await;
    expect![[r#"
        200 {
          "widgets": [
            {
              "id": "execution-trend",
              "type": "chart",
              "title": "Executions by the hour",
              "config": {
                "x": "hour",
                "of_newest": 500,
                "bounded": false
              },
              "data": [
                {
                  "hour": "<time>",
                  "counts": {
                    "RUNNING": 1
                  }
                }
              ]
            },
            {
              "id": "recent-executions",
              "type": "table",
              "title": "Recent executions",
              "config": {
                "columns": [
                  "path",
                  "status",
                  "started_at"
                ]
              },
              "data": [
                {
                  "execution_id": "<id as text>",
                  "path": "tests/hello",
                  "status": "RUNNING",
                  "started_at": "<time>",
                  "completed_at": null
                }
              ]
            }
          ]
        }
    "#]]
    .assert_eq(&server.get("/api/dashboard/widgets").await.shape());
}
