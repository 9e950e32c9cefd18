//! Tests of messages that runtimes hand in, on every kind of store.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::Server;

fn document(rest: &str) -> String {
    format!(
        "apiVersion: noetl.io/v1
kind: Subscription
metadata: {{name: orders, path: subscriptions/orders}}
spec:
  source: nats
  mode: pull
  stream: ORDERS
  consumer: drain
{rest}"
    )
}

const PLAIN: &str = "  dispatch: {playbook: tests/hello, max_failures: 2}
  headers:
    directives:
      - {header: x-route, controls: dispatch.playbook, allowed: [tests/hello, tests/late]}
      - {header: x-key, controls: idempotency_key}
    trace: {propagate: w3c}
";

/// Registers and activates a subscription; returns its id.
async fn with_orders(server: &Server, rest: &str) -> String {
    server.register(super::HELLO).await;
    server.register(&document(rest)).await;
    let body = json!({ "path": "subscriptions/orders" });
    let id = server.post("/api/subscriptions/register", body).await.body["subscription_id"].clone();
    let id = id.as_str().expect("an id").to_owned();
    let moved = server.post(&format!("/api/subscriptions/{id}/activate"), json!({})).await;
    assert_eq!(moved.status, StatusCode::OK, "{}", moved.body);
    id
}

fn message(number: u32, headers: &Value, body: &str) -> Value {
    let id = format!("ORDERS:{number}");
    let once = format!("{id}@7");
    let metadata = json!({ "subject": "orders.new" });
    json!({ "id": id, "once": once, "headers": headers, "metadata": metadata, "body": { "text": body } })
}

async fn hand_in(server: &Server, id: &str, messages: Value) -> Vec<Value> {
    let number: i64 = id.parse().expect("a number");
    let body = json!({ "runtime": "r1", "subscription": number, "messages": messages });
    let answer = server.post("/api/worker/subscriptions/messages", body).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    answer.body["verdicts"].as_array().expect("verdicts").clone()
}

fn words(verdicts: &[Value]) -> Vec<&str> {
    verdicts.iter().map(|it| it["verdict"].as_str().expect("a word")).collect()
}

/// Returns the number of executions.
async fn executions(server: &Server) -> usize {
    let list = server.get("/api/executions?limit=100").await.body;
    let listed = list.as_array().expect("a list").iter();
    listed.filter(|it| it["origin"] == "native").count()
}

pub(super) async fn a_message_starts_one_execution_however_often_it_is_handed_in(server: Server) {
    let id = with_orders(&server, PLAIN).await;
    let trace = json!({ "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" });
    let messages = json!([message(1, &trace, r#"{"name":"ada"}"#), message(2, &json!({}), "{}")]);
    let first = hand_in(&server, &id, messages.clone()).await;
    assert_eq!(words(&first), ["started", "started"]);
    let again = hand_in(&server, &id, messages).await;
    assert_eq!(words(&again), ["duplicate", "duplicate"]);
    assert_eq!(again[0]["execution"], first[0]["execution"]);
    assert_eq!(executions(&server).await, 2);
    let execution = first[0]["execution"].to_string();
    let events = server.get(&format!("/api/executions/{execution}/events")).await;
    let started = &events.body["events"][0];
    assert_eq!(started["context"]["workload"]["name"], "ada", "{started}");
    assert!(started.to_string().contains("0af7651916cd43dd8448eb211c80319c"), "{started}");
}

pub(super) async fn a_key_is_known_within_its_window_where_that_is_asked_for(server: Server) {
    let dedup = format!("{PLAIN}  dedup: {{enabled: true, window_secs: 600}}\n");
    let id = with_orders(&server, &dedup).await;
    let key = json!({ "x-key": "k" });
    let verdicts = hand_in(&server, &id, json!([message(1, &key, "{}")])).await;
    assert_eq!(words(&verdicts), ["started"]);
    let other = json!([message(2, &key, "{}"), message(3, &json!({ "x-key": "l" }), "{}")]);
    assert_eq!(words(&hand_in(&server, &id, other).await), ["duplicate", "started"]);
}

pub(super) async fn a_message_that_fails_is_dead_in_the_end_and_is_sent_again_or_dropped(
    server: Server,
) {
    let rest = PLAIN.replace("max_failures: 2", "max_failures: 1");
    let id = with_orders(&server, &rest).await;
    let late = json!({ "x-route": "tests/late" });
    let wrong = json!({ "x-route": "tests/secret" });
    let messages = json!([
        message(1, &late, "{}"),
        message(2, &wrong, "{}"),
        message(3, &json!({}), "{}"),
        message(4, &json!({}), "not JSON"),
    ]);
    let verdicts = hand_in(&server, &id, messages.clone()).await;
    assert_eq!(words(&verdicts), ["dead", "dead", "started", "dead"]);
    assert_eq!(
        words(&hand_in(&server, &id, messages).await),
        ["dead", "dead", "duplicate", "dead"],
        "the dead are known"
    );
    let dead = server.get(&format!("/api/subscriptions/{id}/dead")).await;
    let reasons: Vec<_> =
        dead.body["messages"].as_array().expect("a list").iter().map(|it| &it["reason"]).collect();
    assert_eq!(
        reasons,
        [
            "there is no playbook tests/late",
            "the header `x-route` may not choose `tests/secret`",
            "the body is not JSON"
        ]
    );
    server.register(&super::HELLO.replace("tests/hello", "tests/late")).await;
    let retry = format!("/api/subscriptions/{id}/dead/retry");
    let retried = server.post(&retry, json!({})).await;
    assert_eq!((&retried.body["started"], &retried.body["duplicates"]), (&json!(1), &json!(0)));
    assert_eq!(retried.body["failed"].as_array().map(Vec::len), Some(2), "{}", retried.body);
    let drop = format!("/api/subscriptions/{id}/dead/drop");
    let one = json!({ "names": ["ORDERS:4@7", "ORDERS:9@7"] });
    assert_eq!(server.post(&drop, one).await.body, json!({ "dropped": 1 }));
    assert_eq!(server.post(&drop, json!({})).await.body, json!({ "dropped": 1 }));
    assert_eq!(executions(&server).await, 2);
}

pub(super) async fn a_message_waits_before_it_is_tried_again(server: Server) {
    let id = with_orders(&server, PLAIN).await;
    let messages = json!([message(1, &json!({}), "not JSON")]);
    let first = hand_in(&server, &id, messages.clone()).await;
    assert_eq!((words(&first), &first[0]["after_ms"]), (vec!["later"], &json!(1000)));
    let soon = hand_in(&server, &id, messages).await;
    assert_eq!(words(&soon), ["later"], "it is not tried before its time");
    let failed = server.get(&format!("/api/subscriptions/{id}/dead")).await;
    assert_eq!(failed.body["messages"][0]["failures"], 1);
    assert_eq!(failed.body["messages"][0]["status"], "WAITING");
}

pub(super) async fn a_message_does_not_overtake_one_of_its_line(server: Server) {
    let rest = PLAIN.replace(
        "max_failures: 2",
        "max_failures: 2, ordering: per_key, ordering_key: headers.x-line",
    );
    let id = with_orders(&server, &rest).await;
    let line = |name: &str| json!({ "x-line": name });
    let messages = json!([
        message(1, &line("a"), "{}"),
        message(2, &line("a"), "not JSON"),
        message(3, &line("b"), "{}"),
        message(4, &line("a"), "{}"),
    ]);
    let verdicts = hand_in(&server, &id, messages).await;
    assert_eq!(words(&verdicts), ["started", "later", "started", "later"]);
    let alone = hand_in(&server, &id, json!([message(5, &line("a"), "{}")])).await;
    assert_eq!(words(&alone), ["later"], "the one that failed stands before it");
    let number: i64 = id.parse().expect("a number");
    let other = json!({ "runtime": "r2", "subscription": number, "messages": [message(6, &line("b"), "{}")] });
    let refused = server.post("/api/worker/subscriptions/messages", other).await;
    assert_eq!(refused.body["verdicts"][0]["verdict"], "later", "it is another's turn");
}

pub(super) async fn a_runtime_gets_its_assignment_and_the_state_of_the_subscription(
    server: Server,
) {
    let rest = "  runtime: {batch: 50, timeout_ms: 2000}
  dispatch: {playbook: tests/hello, batch_dispatch: true, batch_max: 20, ordering: global}
  limits: {max_in_flight: 7, max_dispatch_per_sec: 3}
";
    let id = with_orders(&server, rest).await;
    let attend = async |runtime: &str| {
        let body = json!({ "runtime": runtime, "path": "subscriptions/orders" });
        server.post("/api/worker/subscriptions/attend", body).await.body
    };
    let told = attend("r1").await;
    for (key, value) in [
        ("state", json!("ACTIVE")),
        ("source", json!("nats")),
        ("batch", json!(50)),
        ("wait_ms", json!(2000)),
        ("in_flight_max", json!(7)),
        ("per_second_max", json!(3)),
        ("chunk", json!(20)),
        ("line", json!("mine")),
        ("pace", json!("continuous")),
    ] {
        assert_eq!(told[key], value, "{key} in {told}");
    }
    assert_eq!(attend("r2").await["line"], "anothers");
    let number: i64 = id.parse().expect("a number");
    let leave = json!({ "runtime": "r1", "subscription": number });
    server.post("/api/worker/subscriptions/leave", leave).await;
    assert_eq!(attend("r2").await["line"], "mine");
    server.post(&format!("/api/subscriptions/{id}/deactivate"), json!({})).await;
    assert_eq!(attend("r2").await["state"], "DEACTIVATED");
    let body = json!({ "runtime": "r2", "subscription": number, "messages": [message(1, &json!({}), "{}")] });
    let refused = server.post("/api/worker/subscriptions/messages", body).await;
    assert_eq!(refused.problem(), "409 not-taking-messages");
}

const WAITS: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: waits, path: tests/waits}
workflow:
  - {step: start, tool: {kind: wait, signal: payment, key: A-1001}}
";

pub(super) async fn a_message_is_a_signal_once_however_often_it_is_handed_in(server: Server) {
    let rest = "  dispatch: {signal: payment, key: '{{ message.data.order }}', max_failures: 1}\n";
    let id = with_orders(&server, rest).await;
    server.register(WAITS).await;
    let (first, second) = (server.start("tests/waits").await, server.start("tests/waits").await);
    let paid = message(1, &json!({}), r#"{"order":"A-1001"}"#);
    for _ in 0..2 {
        let verdicts = hand_in(&server, &id, json!([paid])).await;
        assert_eq!(words(&verdicts), ["signalled"]);
    }
    assert_eq!(server.status(&first).await, "COMPLETED");
    assert_eq!(server.status(&second).await, "RUNNING");
    let other =
        json!([message(2, &json!({}), r#"{"order":"A-1001"}"#), message(3, &json!({}), "{}")]);
    assert_eq!(words(&hand_in(&server, &id, other).await), ["signalled", "dead"]);
    assert_eq!(server.status(&second).await, "COMPLETED");
    assert_eq!(executions(&server).await, 2, "a signal starts nothing");
}
