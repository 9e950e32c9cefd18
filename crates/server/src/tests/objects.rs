//! Tests of objects and plugins.

use axum::body::Body;
use axum::http::{Method, Request, header};

use super::{Answer, Server};

async fn send(server: &Server, method: Method, path: &str, body: &'static str) -> Answer {
    let request = Request::builder().method(method).uri(path).body(Body::from(body));
    server.send(request.expect("a request")).await
}

pub(super) async fn an_object_is_put_replaced_and_fetched_with_its_digest(server: Server) {
    let put =
        send(&server, Method::PUT, "/api/internal/objects/a/b.txt?media_type=text/plain", "hi")
            .await;
    assert_eq!(put.body["key"], "a/b.txt");
    assert_eq!(put.body["bytes"], 2);
    let got = server.get("/api/internal/objects/a/b.txt").await;
    assert_eq!(got.body, "hi");
    assert_eq!(got.headers[header::CONTENT_TYPE], "text/plain");
    let tag = got.headers[header::ETAG].to_str().expect("text").trim_matches('"').to_owned();
    assert_eq!(put.body["digest"], tag);
    send(&server, Method::PUT, "/api/internal/objects/a/b.txt", "you").await;
    let got = server.get("/api/internal/objects/a/b.txt").await;
    assert_eq!(got.body, "you");
    assert_eq!(got.headers[header::CONTENT_TYPE], "application/octet-stream");
    assert_eq!(server.get("/api/internal/objects/none").await.problem(), "404 unknown-object");
}

pub(super) async fn a_plugin_is_known_by_path_and_version_and_its_digest_can_be_asked_for(
    server: Server,
) {
    let put = send(&server, Method::POST, "/api/internal/plugins/a/b?version=2", "code").await;
    let digest = put.body["digest"].as_str().expect("a digest").to_owned();
    assert_eq!((&put.body["path"], &put.body["version"]), (&"a/b".into(), &2.into()));
    let path = "/api/internal/plugins/a/b?version=2";
    assert_eq!(server.get(path).await.body, "code");
    assert_eq!(server.get(&format!("{path}&digest={digest}")).await.body, "code");
    let other = server.get(&format!("{path}&digest=00")).await;
    assert_eq!(other.problem(), "409 digest-differs");
    let missing = server.get("/api/internal/plugins/a/b?version=3").await;
    assert_eq!(missing.problem(), "404 unknown-plugin");
    assert_eq!(server.get("/api/internal/plugins/a/b").await.problem(), "400 invalid-query");
    assert_eq!(server.get("/api/internal/objects/a/b").await.problem(), "404 unknown-object");
}
