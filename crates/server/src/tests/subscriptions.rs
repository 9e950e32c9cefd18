//! Tests of the subscription routes.

use axum::http::StatusCode;
use expect_test::expect;
use serde_json::json;

use super::{HELLO, Server};

const ORDERS: &str = "\
apiVersion: noetl.io/v1
kind: Subscription
metadata: {name: orders, path: subscriptions/orders}
spec:
  source: nats
  mode: pull
  stream: ORDERS
  consumer: drain
  dispatch: {playbook: tests/hello}
";

async fn with_orders(server: Server) -> Server {
    server.register(HELLO).await;
    server.register(ORDERS).await;
    server
}

async fn subscribe(server: &Server) -> String {
    let body = json!({ "path": "subscriptions/orders" });
    let answer = server.post("/api/subscriptions/register", body).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    answer.body["subscription_id"].as_str().expect("an id").to_owned()
}

pub(super) async fn registering_a_path_again_gives_the_same_subscription(server: Server) {
    let server = with_orders(server).await;
    let body = json!({ "path": "subscriptions/orders" });
    let answer = server.post("/api/subscriptions", body).await;
    expect![[r#"
        200 {
          "subscription_id": "<id as text>",
          "path": "subscriptions/orders",
          "catalog_id": "<id as text>",
          "state": "REGISTERED",
          "last_event_type": "subscription.registered",
          "updated_at": "<time>"
        }
    "#]]
    .assert_eq(&answer.shape());
    assert_eq!(answer.body["subscription_id"], subscribe(&server).await);
    let list = server.get("/api/subscriptions").await;
    assert_eq!(list.body["subscriptions"], json!([answer.body]));
}

pub(super) async fn a_deactivated_path_gets_a_new_subscription(server: Server) {
    let server = with_orders(server).await;
    let first = subscribe(&server).await;
    server.post(&format!("/api/subscriptions/{first}/deactivate"), json!({})).await;
    let second = subscribe(&server).await;
    assert_ne!(first, second);
    let answer = server.post(&format!("/api/subscriptions/{first}/activate"), json!({})).await;
    assert_eq!(answer.problem(), "409 replaced");
}

pub(super) async fn a_subscription_moves_as_it_may_and_its_events_tell(server: Server) {
    let server = with_orders(server).await;
    let id = subscribe(&server).await;
    for action in ["activate", "pause", "pause", "resume", "drain"] {
        let answer = server.post(&format!("/api/subscriptions/{id}/{action}"), json!({})).await;
        assert_eq!(answer.status, StatusCode::OK, "{action}: {}", answer.body);
    }
    let refused = server.post(&format!("/api/subscriptions/{id}/pause"), json!({})).await;
    assert_eq!(refused.problem(), "422 illegal-transition");
    assert_eq!(
        refused.body["detail"],
        "cannot pause a subscription that is DRAINING: it must be ACTIVE or PAUSED"
    );
    let unknown = server.post(&format!("/api/subscriptions/{id}/explode"), json!({})).await;
    assert_eq!(unknown.problem(), "422 unknown-action");
    let events = server.get(&format!("/api/subscriptions/{id}/events")).await;
    let events = events.body["events"].as_array().expect("events").clone();
    let states: Vec<_> = events.iter().map(|it| it["state"].as_str().expect("a state")).collect();
    let expected = ["REGISTERED", "ACTIVE", "PAUSED", "PAUSED", "ACTIVE", "DRAINING"];
    assert_eq!(states, expected);
}

pub(super) async fn only_what_is_a_subscription_can_be_subscribed_to(server: Server) {
    let server = with_orders(server).await;
    let ask = async |path: &str| {
        server.post("/api/subscriptions/register", json!({ "path": path })).await.problem()
    };
    assert_eq!(ask("nowhere").await, "404 unknown-path");
    assert_eq!(ask("tests/hello").await, "422 not-a-subscription");
    assert_eq!(server.get("/api/subscriptions/1").await.problem(), "404 unknown-subscription");
    let started = server.post("/api/execute", json!({ "path": "subscriptions/orders" })).await;
    assert_eq!(started.status, StatusCode::NOT_FOUND, "{}", started.body);
}

pub(super) async fn a_subscription_with_mistakes_is_not_kept_and_all_are_named(server: Server) {
    let content =
        ORDERS.replace("source: nats", "source: natz").replace("mode: pull", "mode: push");
    let answer = server.post("/api/catalog/register", json!({ "content": content })).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", answer.body);
    let said = answer.body["diagnostics"].to_string();
    assert!(said.contains("`source` cannot be `natz`"), "{said}");
    assert!(said.contains("needs `ingress`"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_document_that_is_registered_can_be_activated_whatever_its_mode() {
    let server = Server::with_hello().await;
    server
        .register(
            "apiVersion: noetl.io/v1
kind: Subscription
metadata: {name: readings, path: subscriptions/readings}
spec:
  source: nats
  mode: pull
  stream: READINGS
  consumer: drain
  dispatch: {playbook: tests/hello}
",
        )
        .await;
    let listed = server.get("/api/subscriptions").await.body["subscriptions"].clone();
    assert_eq!(listed[0]["path"], "subscriptions/readings", "{listed}");
    assert_eq!(listed[0]["state"], "REGISTERED", "{listed}");
    let id = listed[0]["subscription_id"].as_str().expect("an id");
    let activated = server.post(&format!("/api/subscriptions/{id}/activate"), json!({})).await;
    assert_eq!(activated.body["state"], "ACTIVE", "{}", activated.body);
}
