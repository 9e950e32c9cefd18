//! Tests of the keychain.

use std::time::Duration;

use axum::http::Method;
use expect_test::expect;
use serde_json::{Value, json};

use super::Server;

#[tokio::test(start_paused = true)]
async fn a_secret_is_kept_given_out_counted_and_forgotten() {
    let server = Server::new();
    let path = "/api/keychain/7/token";
    let kept = server.post(path, json!({ "data": { "t": "s" }, "expires_in": 60 })).await;
    assert_eq!(kept.body["cache_key"], "token:7:global");
    assert_eq!(kept.body["status"], "success");
    expect![[r#"
        200 {
          "status": "found",
          "data": {
            "t": "s"
          },
          "expires_at": "<time>",
          "auto_renew": false,
          "access_count": 1
        }
    "#]]
    .assert_eq(&server.get(path).await.shape());
    tokio::time::advance(Duration::from_secs(60)).await;
    let expired = server.get(path).await.body;
    assert_eq!((&expired["status"], expired.get("data")), (&json!("expired"), None));
    let listed = server.get("/api/keychain/catalog/7").await.body;
    assert_eq!(listed["catalog_id"], "7");
    assert_eq!(listed["entries"][0]["expired"], true);
    assert_eq!(listed["entries"][0].get("data"), None);
    let remove =
        async || server.call(Method::DELETE, path, Value::Null).await.body["status"].clone();
    assert_eq!(remove().await, "deleted");
    assert_eq!(remove().await, "not_found");
    assert_eq!(server.get(path).await.body, json!({ "status": "not_found" }));
}

pub(super) async fn a_secret_is_kept_and_forgotten(server: Server) {
    let path = "/api/keychain/7/token";
    let kept = server.post(path, json!({ "data": { "t": "s" }, "expires_in": 60 })).await;
    assert_eq!(kept.body["status"], "success", "{}", kept.body);
    assert_eq!(server.get(path).await.body["data"], json!({ "t": "s" }));
    let listed = server.get("/api/keychain/catalog/7").await.body;
    assert_eq!(listed["entries"][0]["keychain_name"], "token");
    let gone = server.call(Method::DELETE, path, Value::Null).await;
    assert_eq!(gone.body["status"], "deleted");
    assert_eq!(server.get(path).await.body, json!({ "status": "not_found" }));
}

pub(super) async fn scopes_do_not_meet(server: Server) {
    for (scope, execution, key) in [
        ("local", Some("5"), "token:7:5"),
        ("local", None, "token:7:local"),
        ("shared", Some("5"), "token:7:shared:5"),
        ("shared", None, "token:7:shared"),
        ("global", Some("5"), "token:7:global"),
    ] {
        let body = json!({ "data": key, "scope_type": scope, "execution_id": execution });
        let kept = server.post("/api/keychain/7/token", body).await;
        assert_eq!(kept.body["cache_key"], key, "{}", kept.body);
        let execution = execution.map(|id| format!("&execution_id={id}")).unwrap_or_default();
        let path = format!("/api/keychain/7/token?scope_type={scope}{execution}");
        assert_eq!(server.get(&path).await.body["data"], key);
    }
}

pub(super) async fn a_secret_without_an_end_gets_one_and_an_unknown_scope_is_refused(
    server: Server,
) {
    let kept = server.post("/api/keychain/7/token", json!({ "data": 1 })).await;
    assert!(kept.body["expires_at"].is_string(), "{}", kept.body);
    let odd = json!({ "data": 1, "scope_type": "odd" });
    assert_eq!(server.post("/api/keychain/7/token", odd).await.problem(), "422 unknown-scope");
    let odd = server.get("/api/keychain/7/token?scope_type=odd").await;
    assert_eq!(odd.problem(), "422 unknown-scope");
    let when = json!({ "data": 1, "expires_at": "soon" });
    assert_eq!(server.post("/api/keychain/7/token", when).await.problem(), "422 invalid-time");
}
