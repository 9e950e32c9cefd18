//! Tests of waits and of the signals that end them.

use axum::http::Method;
use serde_json::json;

use super::Server;

const PAID: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: paid, path: tests/paid}
workflow:
  - step: start
    tool: {kind: wait, signal: payment}
    next: second
  - step: second
    tool: {kind: noop, message: '{{ start.body.amount }} from {{ start.sender }}'}
";

const TWICE: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: twice, path: tests/twice}
workflow:
  - step: start
    tool: {kind: wait, signal: go}
    next: second
  - step: second
    tool: {kind: wait, signal: payment}
    next: third
  - step: third
    tool: {kind: wait, signal: payment}
    next: end
  - step: end
    tool: {kind: noop, result: ['{{ second.body }}', '{{ third.body }}']}
";

const TIMED: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: timed, path: tests/timed}
workflow:
  - step: start
    tool: {kind: wait, for: 100ms}
    next: second
  - step: second
    tool: {kind: wait, signal: never, timeout: 100ms, on_timeout: continue}
    next: end
  - step: end
    tool: {kind: noop, result: '{{ second.timed_out }}'}
";

async fn started(server: &Server, playbook: &str, path: &str) -> String {
    server.register(playbook).await;
    server.start(path).await
}

/// Returns the execution with its events as text.
async fn shown(server: &Server, execution: &str) -> String {
    server.get(&format!("/api/executions/{execution}")).await.body.to_string()
}

pub(super) async fn a_wait_for_a_time_ends_without_a_worker(server: Server) {
    let execution = started(&server, TIMED, "tests/timed").await;
    // The next command is ready once both waits are over.
    server.work().await;
    assert_eq!(server.status(&execution).await, "COMPLETED");
    let story = server.story(&execution).await;
    assert_eq!(story.matches("wait.opened").count(), 2, "{story}");
    assert_eq!(story.matches("timer.fired").count(), 2, "{story}");
    assert_eq!(story.matches("command.claimed start").count(), 0, "{story}");
}

pub(super) async fn a_signal_ends_a_wait_and_a_repeated_one_changes_nothing(server: Server) {
    let execution = started(&server, PAID, "tests/paid").await;
    let position = server.get(&format!("/api/executions/{execution}/position")).await.body;
    let wait = &position["open"]["parts"][0]["wait"];
    assert_eq!((&wait["for"], &wait["name"]), (&json!("signal"), &json!("payment")), "{position}");
    let status = server.get(&format!("/api/executions/{execution}/status")).await.body;
    let hint = status["hint"].as_str().unwrap_or_else(|| panic!("{status}"));
    assert!(hint.starts_with("Step `start` waits for signal `payment` since 20"), "{hint}");

    let path =
        format!("/api/executions/{execution}/signals/payment?sender=shop&idempotency_key=order-7");
    for _ in 0..2 {
        let answer = server.post(&path, json!({ "amount": 12 })).await;
        let expected = json!({
            "execution_id": execution, "signal": "payment", "status": "accepted",
        });
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.body, expected);
    }
    let other = server.post(&path, json!({ "amount": 13 })).await;
    assert_eq!(other.problem(), "409 key-reused");
    server.work().await;
    assert_eq!(server.status(&execution).await, "COMPLETED");
    let told = shown(&server, &execution).await;
    assert!(told.contains(r#""start":{"body":{"amount":12},"sender":"shop"}"#), "{told}");
    let story = server.story(&execution).await;
    assert_eq!(story.matches("signal.received").count(), 1, "{story}");
    let proven = server.get(&format!("/api/executions/{execution}/verify")).await.body;
    assert_eq!(proven["valid"], true, "{proven}");
}

pub(super) async fn signals_before_their_waits_are_kept_in_order(server: Server) {
    let execution = started(&server, TWICE, "tests/twice").await;
    for (name, body) in [("payment", json!(1)), ("payment", json!({ "n": 2 })), ("go", json!(null))]
    {
        let path = format!("/api/executions/{execution}/signals/{name}");
        assert_eq!(server.post(&path, body).await.status, 200);
    }
    server.work().await;
    assert_eq!(server.status(&execution).await, "COMPLETED");
    let told = shown(&server, &execution).await;
    assert!(told.contains(r#""second":{"body":1},"third":{"body":{"n":2}}"#), "{told}");
}

pub(super) async fn signals_that_cannot_be_delivered_say_why(server: Server) {
    let execution = started(&server, PAID, "tests/paid").await;
    let refused = async |id: &str, name: &str| {
        let path = format!("/api/executions/{id}/signals/{name}");
        server.post(&path, json!({})).await.problem()
    };
    assert_eq!(refused(&execution, "no%20name").await, "422 invalid-signal");
    assert_eq!(refused("12345", "payment").await, "404 unknown-execution");
    server.post(&format!("/api/executions/{execution}/cancel"), json!({})).await;
    assert_eq!(refused(&execution, "payment").await, "409 execution-ended");
}

const BY_KEY: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: by_key, path: tests/by_key}
workflow:
  - step: start
    tool: {kind: wait, signal: payment, key: A-1001}
    next: second
  - step: second
    tool: {kind: noop, message: '{{ start.body }}'}
";

async fn keyed(server: &Server, query: &str, body: serde_json::Value) -> serde_json::Value {
    let answer = server.post(&format!("/api/signals/payment?{query}"), body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

pub(super) async fn a_signal_by_key_goes_to_the_oldest_wait_and_only_once(server: Server) {
    let first = started(&server, BY_KEY, "tests/by_key").await;
    let second = server.start("tests/by_key").await;
    for _ in 0..2 {
        let sent = keyed(&server, "key=A-1001&idempotency_key=k1", json!(1)).await;
        assert_eq!(sent["status"], "delivered", "{sent}");
        assert_eq!(sent["execution_id"], json!(first), "{sent}");
    }
    let sent = keyed(&server, "key=A-1001&sender=shop", json!(2)).await;
    assert_eq!(sent["execution_id"], json!(second), "{sent}");
    let sent = keyed(&server, "key=A-1001", json!(3)).await;
    assert_eq!(sent["status"], "kept", "{sent}");
    for _ in 0..2 {
        server.work().await;
    }
    for (execution, body) in [(&first, "\"body\":1"), (&second, "\"body\":2")] {
        assert_eq!(server.status(execution).await, "COMPLETED");
        let told = shown(&server, execution).await;
        assert!(told.contains(body), "{told}");
        let story = server.story(execution).await;
        assert_eq!(story.matches("signal.received").count(), 1, "{story}");
    }
    // The signal that nobody waited for is taken by the next wait.
    let third = server.start("tests/by_key").await;
    server.work().await;
    assert_eq!(server.status(&third).await, "COMPLETED");
    assert!(shown(&server, &third).await.contains("\"body\":3"));
}

pub(super) async fn signals_by_key_before_the_wait_are_kept_in_order(server: Server) {
    for body in [1, 2] {
        let sent = keyed(&server, "key=A-1001", json!(body)).await;
        assert_eq!(sent["status"], "kept", "{sent}");
    }
    let other = keyed(&server, "key=A-1002", json!(9)).await;
    assert_eq!(other["status"], "kept", "{other}");
    let first = started(&server, BY_KEY, "tests/by_key").await;
    server.work().await;
    let second = server.start("tests/by_key").await;
    server.work().await;
    for (execution, body) in [(&first, "\"body\":1"), (&second, "\"body\":2")] {
        assert_eq!(server.status(execution).await, "COMPLETED");
        let told = shown(&server, execution).await;
        assert!(told.contains(body), "{told}");
    }
}

pub(super) async fn signals_by_key_that_cannot_be_sent_say_why(server: Server) {
    let refused = async |query: &str| {
        server.post(&format!("/api/signals/payment?{query}"), json!({})).await.problem()
    };
    assert_eq!(refused("key=%20").await, "422 invalid-signal");
    assert_eq!(refused("key=a&kept_for=soon").await, "422 invalid-duration");
    assert_eq!(refused("key=a&kept_for=365d").await, "422 kept-too-long");
    let long = json!("x".repeat(300 * 1024));
    let answer = server.post("/api/signals/payment?key=a", long).await;
    assert_eq!(answer.problem(), "422 invalid-body");
}

pub(super) async fn a_signal_that_no_step_has_taken_is_listed_and_dropped(server: Server) {
    keyed(&server, "key=b&sender=shop", json!({ "n": 1 })).await;
    keyed(&server, "key=a&kept_for=1h", json!("x".repeat(5000))).await;
    keyed(&server, "key=b", json!(2)).await;
    let listed = async |query: &str| server.get(&format!("/api/kept-signals?{query}")).await.body;
    let bodies = |page: &serde_json::Value| {
        let signals = page["signals"].as_array().expect("signals");
        signals.iter().map(|it| it["body"].clone()).collect::<Vec<_>>()
    };
    let all = listed("").await;
    assert_eq!(bodies(&all), [json!({ "n": 1 }), json!(null), json!(2)], "{all}");
    assert_eq!(all["signals"][1]["body_bytes"], 5002, "{all}");
    assert_eq!(all["signals"][0]["status"], "kept", "{all}");
    assert_eq!(all["signals"][0]["sender"], "shop", "{all}");
    let first = listed("limit=1").await;
    assert_eq!(bodies(&first), [json!({ "n": 1 })]);
    let next = first["next"].as_str().expect("a cursor");
    assert_eq!(bodies(&listed(&format!("after={next}")).await), [json!(null), json!(2)]);
    for query in ["key=b", "name=payment&key=b"] {
        assert_eq!(bodies(&listed(query).await), [json!({ "n": 1 }), json!(2)], "{query}");
    }
    assert_eq!(bodies(&listed("name=other").await), [json!(null); 0]);
    assert_eq!(server.get("/api/kept-signals?key=%20").await.problem(), "422 invalid-signal");

    let id = all["signals"][0]["signal_id"].as_str().expect("an id");
    let dropped = async || dropped_at(&server, id).await;
    assert_eq!(dropped().await.status, 204);
    assert_eq!(dropped().await.problem(), "404 unknown-signal");
    assert_eq!(bodies(&listed("key=b").await), [json!(2)]);
    let sent = keyed(&server, "key=c&idempotency_key=k", json!(3)).await;
    assert_eq!(sent["status"], "kept", "{sent}");
    let kept = listed("key=c").await["signals"][0]["signal_id"].clone();
    started(&server, &BY_KEY.replace("A-1001", "c"), "tests/by_key").await;
    server.work().await;
    let kept = kept.as_str().expect("an id");
    let late = dropped_at(&server, kept).await;
    assert_eq!(late.problem(), "409 signal-taken");
}

async fn dropped_at(server: &Server, id: &str) -> super::Answer {
    server.call(Method::DELETE, &format!("/api/kept-signals/{id}"), json!(null)).await
}

pub(super) async fn an_idempotency_key_with_another_body_is_refused(server: Server) {
    let send = async |query: &str, body: serde_json::Value| {
        server.post(&format!("/api/signals/payment?{query}&idempotency_key=k1"), body).await
    };
    for _ in 0..2 {
        assert_eq!(send("key=a", json!({ "n": 1.1 })).await.body["status"], "kept");
        assert_eq!(send("key=a", json!({ "n": 2 })).await.problem(), "409 key-reused");
    }
    assert_eq!(send("key=b", json!({ "n": 2 })).await.body["status"], "kept", "another signal");
    let taker = started(&server, &BY_KEY.replace("A-1001", "a"), "tests/by_key").await;
    server.work().await;
    assert_eq!(send("key=a", json!({ "n": 1.1 })).await.body["execution_id"], json!(taker));
    assert_eq!(send("key=a", json!({ "n": 2 })).await.problem(), "409 key-reused");
}
