//! Tests of the documents of `kind: Notification` over the API.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use noetl_app::{NoticeCall, NoticeFailure, NoticeMail, NoticeTransport, send_notifications};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{HELLO, Server};

const OPS: &str = "\
apiVersion: noetl.io/v2
kind: Notification
metadata: {name: ops, path: tests/ops}
spec:
  match: {path: ['tests/*']}
  on:
    failed: {http: {url: 'https://alerts.example.com/failed'}}
";

async fn post(server: &Server, operation: &str, path: &str) -> Value {
    let answer =
        server.post(&format!("/api/notifications/{operation}"), json!({ "path": path })).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    answer.body
}

pub(super) async fn a_notification_is_listed_paused_and_resumed(server: Server) {
    assert_eq!(server.get("/api/notifications").await.body, json!({ "notifications": [] }));
    server.register(OPS).await;
    let listed = server.get("/api/notifications").await.body;
    let first = &listed["notifications"][0];
    assert_eq!(first["path"], "tests/ops", "{listed}");
    assert_eq!(first["paths"], json!(["tests/*"]), "{listed}");
    assert_eq!(first["paused"], false, "{listed}");
    assert!(first["on"]["failed"].is_array(), "{listed}");
    // Each may be repeated: a lost answer is asked for again.
    for (operation, is_paused) in
        [("pause", true), ("pause", true), ("resume", false), ("resume", false)]
    {
        let listed = post(&server, operation, "tests/ops").await;
        assert_eq!(listed["notifications"][0]["paused"], is_paused, "{operation}: {listed}");
    }
}

pub(super) async fn a_playbook_that_is_not_a_notification_is_refused(server: Server) {
    server.register(HELLO).await;
    server.register(OPS).await;
    for operation in ["pause", "resume", "test"] {
        let refused = async |path: &str| {
            let body = json!({ "path": path });
            server.post(&format!("/api/notifications/{operation}"), body).await.problem()
        };
        assert_eq!(refused("tests/none").await, "404 unknown-notification", "{operation}");
        assert_eq!(refused("tests/hello").await, "409 not-a-notification", "{operation}");
    }
    // The test server has no transport.
    let tested = server.post("/api/notifications/test", json!({ "path": "tests/ops" })).await;
    assert_eq!(tested.problem(), "409 no-notifications");
}

const CANCELLED: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: told, path: tests/told}
on: {cancelled: {http: {url: 'https://alerts.example.com/cancelled'}}}
workflow:
  - step: start
    tool: {kind: noop}
";

/// A receiver that answers after a number of panics, and after a time.
struct LateReceiver {
    panics: u32,
    reachable_at: Instant,
    calls: AtomicU32,
    answered: AtomicU32,
}

#[async_trait::async_trait]
impl NoticeTransport for LateReceiver {
    async fn call(&self, _call: NoticeCall) -> Result<(), NoticeFailure> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        assert!(call >= self.panics, "planned: attempt {call} panics");
        if Instant::now() < self.reachable_at {
            return Err(NoticeFailure::unreachable("nobody answers"));
        }
        self.answered.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn mail(&self, _mail: NoticeMail) -> Result<(), NoticeFailure> {
        Err(NoticeFailure::refused("no mail is sent here"))
    }
}

/// Sends the notifications about some executions to a receiver for two hours. Returns the number of
/// those that it has answered.
async fn answered(panics: u32, reachable_after: Duration, executions: u32) -> u32 {
    let server = Server::new();
    server.register(CANCELLED).await;
    for _ in 0..executions {
        let execution = server.start("tests/told").await;
        let cancelled =
            server.post(&format!("/api/executions/{execution}/cancel"), json!({})).await;
        assert_eq!(cancelled.status, StatusCode::OK, "{}", cancelled.body);
    }
    let receiver = Arc::new(LateReceiver {
        panics,
        reachable_at: Instant::now() + reachable_after,
        calls: AtomicU32::new(0),
        answered: AtomicU32::new(0),
    });
    let stop = CancellationToken::new();
    let transport = Arc::clone(&receiver) as Arc<dyn NoticeTransport>;
    let sender =
        tokio::spawn(send_notifications(server.state.app().clone(), transport, stop.clone()));
    tokio::time::sleep(Duration::from_secs(7200)).await;
    stop.cancel();
    sender.await.expect("it ends in order");
    receiver.answered.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn attempts_that_panic_leave_their_receiver_free() {
    assert_eq!(answered(8, Duration::ZERO, 6).await, 6);
}

#[tokio::test(start_paused = true)]
async fn notifications_outlive_25_minutes_in_which_their_receiver_is_not_reached() {
    // Twenty attempts with the shortest delays take longer.
    assert_eq!(answered(0, Duration::from_secs(1500), 60).await, 60);
}
