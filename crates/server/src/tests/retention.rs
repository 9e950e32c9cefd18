//! Tests of deletion: on request and by the retention settings.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use noetl_app::{AppSettings, RetentionProgress};
use serde_json::{Value, json};

use super::{HELLO, PARENT, Server, TestSettings, settings};
use crate::{Authentication, Hosts};

/// Starts an execution and ends it by hand; returns its id.
async fn ended(server: &Server, status: &str) -> String {
    let id = server.start("tests/hello").await;
    let body = json!({ "status": status });
    let answer = server.post(&format!("/api/executions/{id}/finalize"), body).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    id
}

async fn delete(server: &Server, id: &str) -> super::Answer {
    server.call(Method::DELETE, &format!("/api/executions/{id}"), Value::Null).await
}

pub(super) async fn a_deleted_execution_answers_410_and_its_tombstone_remains(server: Server) {
    server.register(HELLO).await;
    let (first, second) = (ended(&server, "COMPLETED").await, ended(&server, "FAILED").await);
    let running = server.start("tests/hello").await;
    assert_eq!(delete(&server, &running).await.problem(), "409 execution-kept");
    let proof = server.get(&format!("/api/executions/{first}/verify")).await.body;
    let deleted = delete(&server, &first).await;
    assert_eq!(deleted.status, StatusCode::OK, "{}", deleted.body);
    assert!(deleted.body["head"].is_string(), "{}", deleted.body);
    for path in ["", "/status", "/events", "/verify", "/tree"] {
        let answer = server.get(&format!("/api/executions/{first}{path}")).await;
        assert_eq!(answer.problem(), "410 execution-deleted", "{path}; it was {proof}");
    }
    assert_eq!(delete(&server, &first).await.problem(), "410 execution-deleted");
    let retried = server.post(&format!("/api/executions/{first}/rerun"), json!({})).await;
    assert!(retried.status.is_client_error(), "{}", retried.body);
    let tombstone = server.get(&format!("/api/executions/{first}/tombstone")).await.body;
    assert_eq!(tombstone, deleted.body);
    assert_eq!(
        (&tombstone["status"], &tombstone["path"]),
        (&json!("COMPLETED"), &json!("tests/hello"))
    );
    let none = server.get(&format!("/api/executions/{second}/tombstone")).await;
    assert_eq!(none.problem(), "404 unknown-tombstone");
    let listed = server.get("/api/executions").await.body.to_string();
    assert!(!listed.contains(&first) && listed.contains(&second), "{listed}");

    let keep = format!("/api/executions/{second}/keep");
    let kept = server.call(Method::PUT, &keep, json!({ "reason": "audit" })).await;
    assert_eq!((&kept.body["is_kept"], &kept.body["reason"]), (&json!(true), &json!("audit")));
    assert_eq!(delete(&server, &second).await.problem(), "409 execution-kept");
    let kept = server.call(Method::DELETE, &keep, Value::Null).await;
    assert_eq!(kept.body["is_kept"], json!(false));
    assert_eq!(delete(&server, &second).await.status, StatusCode::OK);
    let body = json!({ "action": "delete", "execution_ids": [running] });
    let refused = server.post("/api/executions/bulk", body.clone()).await;
    assert_eq!(refused.problem(), "422 invalid-action");
    let counted = server.post("/api/executions/bulk/count", body.clone()).await;
    assert_eq!(counted.status, StatusCode::OK, "{}", counted.body);
    let job = server.post("/api/executions/bulk/delete", body).await;
    assert_eq!(job.status, StatusCode::ACCEPTED, "{}", job.body);
}

#[tokio::test(start_paused = true)]
async fn executions_that_are_kept_are_looked_at_once_per_pause() {
    let TestSettings { server, app } = settings(Authentication::Open, Hosts::Any);
    let retention = "keep path=*; 1d".parse().expect("rules");
    let server = Server::set(TestSettings { server, app: AppSettings { retention, ..app } });
    server.register(HELLO).await;
    for _ in 0..3 {
        ended(&server, "COMPLETED").await;
    }
    tokio::time::advance(DAY * 2).await;
    let mut progress = RetentionProgress::default();
    let mut looked_at = Vec::new();
    for _minute in 0..25 {
        let round = server.state.app().retention_round(&mut progress).await.expect("a round");
        assert_eq!((round.deleted, round.is_unfinished), (0, false));
        looked_at.push(round.looked_at);
        tokio::time::advance(Duration::from_secs(60)).await;
    }
    let passes: Vec<usize> = (0..25).filter(|minute| looked_at[*minute] > 0).collect();
    assert_eq!(passes, [0, 10, 20], "{looked_at:?}");
    assert_eq!(looked_at[0], 3);
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test(start_paused = true)]
async fn expired_executions_are_deleted_by_the_rules_and_others_stay() {
    let TestSettings { server, app } = settings(Authentication::Open, Hosts::Any);
    let retention = "keep path=audit/*; 30d status=FAILED; 10d".parse().expect("rules");
    let server = Server::set(TestSettings { server, app: AppSettings { retention, ..app } });
    server.register(HELLO).await;
    server.register(PARENT).await;
    let completed = ended(&server, "COMPLETED").await;
    let failed = ended(&server, "FAILED").await;
    let marked = ended(&server, "COMPLETED").await;
    let keep = format!("/api/executions/{marked}/keep");
    server.call(Method::PUT, &keep, json!({})).await;
    let running = server.start("tests/hello").await;
    let mut progress = RetentionProgress::default();
    let mut deleted = async |days: u32| {
        tokio::time::advance(DAY * days).await;
        let mut count = 0;
        loop {
            let round = server.state.app().retention_round(&mut progress).await.expect("a round");
            count += round.deleted;
            if !round.is_unfinished {
                return count;
            }
        }
    };
    assert_eq!(deleted(9).await, 0, "nothing is ten days old");
    assert_eq!(deleted(2).await, 1);
    let answer = server.get(&format!("/api/executions/{completed}")).await;
    assert_eq!(answer.problem(), "410 execution-deleted");
    assert_eq!(server.status(&failed).await, "FAILED");
    assert_eq!(deleted(20).await, 1, "failed ones are kept for 30 days");
    assert_eq!(server.status(&marked).await, "COMPLETED");
    assert_eq!(server.status(&running).await, "RUNNING");
}
