//! Tests of posted messages.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::{Body, Bytes};
use axum::http::{HeaderName, Request, StatusCode, header};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::json;
use sha2::Sha256;

use super::{Answer, Server};
use crate::SecretSource;

const BODY: &str = r#"{"name":"ada","message":"mine"}"#;

struct OneSecret;

#[async_trait]
impl SecretSource for OneSecret {
    async fn secret(&self, name: &str) -> Result<String, String> {
        if name == "orders_key" { Ok("s3cret".to_owned()) } else { Err("no such key".to_owned()) }
    }
}

fn document(verify: &str) -> String {
    format!(
        "apiVersion: noetl.io/v1
kind: Subscription
metadata: {{name: orders, path: subscriptions/orders}}
spec:
  source: webhook
  mode: push
  ingress: {{gateway_path: /ingress/orders, verify: {{{verify}}}}}
  dispatch: {{playbook: tests/hello}}
  headers:
    directives:
      - {{header: X-Route, controls: dispatch.playbook, allowed: [tests/hello, tests/other]}}
      - {{header: x-idempotency-key, controls: idempotency_key}}
    trace: {{propagate: w3c, baggage_allowlist: [tenant]}}
"
    )
}

async fn listening(verify: &str) -> Server {
    listening_to(&document(verify)).await
}

async fn listening_to(document: &str) -> Server {
    let server = Server::new().changed(|state| state.with_secrets(Arc::new(OneSecret)));
    server.register(super::HELLO).await;
    server.register(document).await;
    server
}

fn signature(text: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(b"s3cret").expect("a key");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn post(server: &Server, headers: &[(&'static str, &str)], body: &str) -> Answer {
    let mut request = Request::post("/ingress/orders").header(header::HOST, "localhost");
    for (name, value) in headers {
        request = request.header(HeaderName::from_static(name), *value);
    }
    server.send(request.body(Body::from(body.to_owned())).expect("a request")).await
}

const HMAC: &str = "type: hmac_sha256, header: X-Signature, secret: orders_key";

pub(super) async fn a_message_of_a_known_sender_starts_an_execution(server: Server) {
    server.register(super::HELLO).await;
    let key = json!({ "name": "orders_key", "type": "bearer", "data": { "token": "s3cret" } });
    server.post("/api/credentials", key).await;
    server.register(&document("type: bearer, secret: orders_key")).await;
    let told = server.get("/api/internal/ingress/orders").await.body;
    assert_eq!(told["verify"]["secret"], "s3cret", "{told}");
    let unknown = server.get("/api/internal/ingress/nobody").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND, "{}", unknown.body);
    let answer = post(&server, &[("authorization", "Bearer s3cret")], BODY).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
    let id = answer.body["execution_id"].as_str().expect("an id");
    assert_eq!(server.status(id).await, "RUNNING");
    let guess = post(&server, &[("authorization", "Bearer guess")], BODY).await;
    assert_eq!(guess.status, StatusCode::UNAUTHORIZED);
}

pub(super) async fn a_message_for_an_archived_playbook_says_how_to_restore_it(server: Server) {
    server.register(super::HELLO).await;
    let key = json!({ "name": "orders_key", "type": "bearer", "data": { "token": "s3cret" } });
    server.post("/api/credentials", key).await;
    server.register(&document("type: bearer, secret: orders_key")).await;
    let playbook = json!({ "path": "tests/hello" });
    server.post("/api/catalog/delete", playbook.clone()).await;
    let sent = async || post(&server, &[("authorization", "Bearer s3cret")], BODY).await;
    let refused = sent().await;
    assert_eq!(refused.problem(), "409 playbook-archived");
    let detail = refused.body["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("noetl catalog restore tests/hello"), "{detail}");
    server.post("/api/catalog/restore", playbook).await;
    assert_eq!(sent().await.status, StatusCode::ACCEPTED);
}

/// The values of a message are the inputs of the playbook; the parts of the message beside them are not
/// unknown inputs.
pub(super) async fn a_posted_message_gives_labels_and_its_inputs_are_checked(server: Server) {
    server
        .register(
            "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: order, path: tests/order}
inputs: {name: {type: string, required: true}, count: {type: integer, default: 1}}
workflow:
  - {step: start, tool: {kind: noop, message: '{{ workload.name }}'}}
",
        )
        .await;
    let key = json!({ "name": "orders_key", "type": "bearer", "data": { "token": "s3cret" } });
    server.post("/api/credentials", key).await;
    let document = document("type: bearer, secret: orders_key").replace(
        "{playbook: tests/hello}",
        "{playbook: tests/order, labels: {source: web, who: '{{ name }}'}}",
    );
    server.register(&document).await;
    let send = async |body: &str| post(&server, &[("authorization", "Bearer s3cret")], body).await;
    let refused = send(r#"{"count":"many"}"#).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.body);
    let problems = refused.body.to_string();
    assert!(problems.contains("name") && problems.contains("count"), "{problems}");
    let started = send(BODY).await;
    assert_eq!(started.status, StatusCode::ACCEPTED, "{}", started.body);
    let listed = server.get("/api/executions?label=source:web&label=who:ada").await.body;
    assert_eq!(listed[0]["execution_id"], started.body["execution_id"], "{listed}");
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "the other message started nothing");
}

#[tokio::test(start_paused = true)]
async fn a_signed_message_starts_one_execution() {
    let server = listening(HMAC).await;
    let signed = format!("sha256={}", signature(BODY));
    let answer = post(&server, &[("x-signature", &signed)], BODY).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
    assert_eq!(answer.body["status"], "accepted");
    let id = answer.body["execution_id"].as_str().expect("an id");
    let events = server.get(&format!("/api/executions/{id}/events")).await;
    let workload = &events.body["events"][0]["context"]["workload"];
    assert_eq!(workload["name"], "ada");
    assert_eq!(workload["message"]["data"]["message"], "mine", "no field hides the message");
    assert_eq!(workload["subscription"], "subscriptions/orders");
    assert_eq!(workload["message"]["headers"]["x-signature"], json!(null));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_sender_gets_no_details() {
    let server = listening(HMAC).await;
    let wrong = signature("something else");
    let answer = post(&server, &[("x-signature", &wrong)], "not even JSON").await;
    assert_eq!(answer.problem(), "401 unauthorized");
    assert_eq!(answer.body["detail"], "the sender is not known");
    let missing = post(&server, &[], BODY).await;
    assert_eq!(missing.body["detail"], answer.body["detail"]);
    let list = server.get("/api/executions").await;
    assert!(!list.body.to_string().contains("tests/hello"), "{}", list.body);
}

#[tokio::test(start_paused = true)]
async fn the_same_signed_message_again_starts_nothing() {
    let verify = format!("{HMAC}, timestamp_header: X-Time");
    let server = listening(&verify).await;
    let time = (server.state.now().as_millis() / 1000).to_string();
    let signed = signature(&format!("{time}.{BODY}"));
    let headers = [("x-signature", signed.as_str()), ("x-time", time.as_str())];
    let first = post(&server, &headers, BODY).await;
    assert_eq!(first.status, StatusCode::ACCEPTED, "{}", first.body);
    let again = post(&server, &headers, BODY).await;
    assert_eq!((again.status, &again.body), (StatusCode::ACCEPTED, &first.body));
    tokio::time::advance(std::time::Duration::from_secs(301)).await;
    assert_eq!(post(&server, &headers, BODY).await.problem(), "401 unauthorized");
}

#[tokio::test(start_paused = true)]
async fn a_signed_body_starts_one_execution_whatever_its_headers_say() {
    for dedup in ["", "  dedup: {enabled: true, window_secs: 86400}\n"] {
        let server = listening_to(&(document(HMAC) + dedup)).await;
        let send = async |body: &str, key: Option<&str>| {
            let signed = format!("sha256={}", signature(body));
            let mut headers = vec![("x-signature", signed.as_str())];
            headers.extend(key.map(|key| ("x-idempotency-key", key)));
            let answer = post(&server, &headers, body).await;
            assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
            answer.body["execution_id"].clone()
        };
        let first = send(BODY, None).await;
        assert_eq!(send(BODY, None).await, first, "{dedup}");
        assert_eq!(send(BODY, Some("another")).await, first, "a header is not signed: {dedup}");
        let second = send("{}", Some("key")).await;
        assert_ne!(second, first);
        assert_ne!(send("[]", Some("key")).await, second, "a header is not signed: {dedup}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_does_not_override_a_signed_time() {
    let server = listening(&format!("{HMAC}, timestamp_header: X-Time")).await;
    let time = (server.state.now().as_millis() / 1000).to_string();
    let signed = signature(&format!("{time}.{BODY}"));
    let mut started = std::collections::BTreeSet::new();
    for key in ["a", "b", "c"] {
        let headers = [
            ("x-signature", signed.as_str()),
            ("x-time", time.as_str()),
            ("x-idempotency-key", key),
        ];
        started.insert(post(&server, &headers, BODY).await.body["execution_id"].to_string());
    }
    assert_eq!(started.len(), 1);
}

/// Posts a message whose body never arrives.
async fn post_head(server: &Server, path: &str, headers: &[(&'static str, &str)]) -> Answer {
    let mut request = Request::post(path).header(header::HOST, "localhost");
    for (name, value) in headers {
        request = request.header(HeaderName::from_static(name), *value);
    }
    let body = Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
    server.send(request.body(body).expect("a request")).await
}

#[tokio::test(start_paused = true)]
async fn a_bad_request_head_is_refused_before_its_body_arrives() {
    let begun = tokio::time::Instant::now();
    let server = listening("type: bearer, secret: orders_key").await;
    // Nobody finds out which paths there are.
    let unknown = post_head(&server, "/ingress/other", &[]).await;
    let told = post_head(&server, "/ingress/orders", &[]).await;
    assert_eq!(told.problem(), "401 unauthorized");
    assert_eq!((unknown.status, &unknown.body), (told.status, &told.body));
    let told = post_head(&server, "/ingress/orders", &[("authorization", "Bearer x")]).await;
    assert_eq!(told.problem(), "401 unauthorized");
    let token = ("authorization", "Bearer s3cret");
    let typed = [token, ("content-type", "text/plain")];
    let told = post_head(&server, "/ingress/orders", &typed).await;
    assert_eq!(told.problem(), "415 content-type");
    let long = [token, ("content-length", "1048577")];
    let told = post_head(&server, "/ingress/orders", &long).await;
    assert_eq!(told.status, StatusCode::PAYLOAD_TOO_LARGE);
    let signed = listening(&format!("{HMAC}, timestamp_header: X-Time")).await;
    let told = post_head(&signed, "/ingress/orders", &[("x-signature", "00")]).await;
    assert_eq!(told.problem(), "401 unauthorized");
    let stale = [("x-signature", "00"), ("x-time", "1")];
    let told = post_head(&signed, "/ingress/orders", &stale).await;
    assert_eq!(told.problem(), "401 unauthorized");
    assert!(begun.elapsed().as_secs() < 1, "nothing was waited for");
}

#[tokio::test(start_paused = true)]
async fn one_execution_for_each_idempotency_key() {
    let server = listening("type: bearer, secret: orders_key").await;
    let send = async |key: &str| {
        let headers = [("authorization", "Bearer s3cret"), ("x-idempotency-key", key)];
        post(&server, &headers, BODY).await.body["execution_id"].clone()
    };
    let first = send("a").await;
    assert!(first.is_string());
    assert_eq!(send("a").await, first);
    assert_ne!(send("b").await, first);
}

#[tokio::test(start_paused = true)]
async fn a_header_chooses_only_what_it_may() {
    let server = listening("type: bearer, secret: orders_key").await;
    let token = ("authorization", "Bearer s3cret");
    let answer = post(&server, &[token, ("x-route", "tests/secret")], BODY).await;
    assert_eq!(answer.problem(), "422 bad-message");
    let answer = post(&server, &[token, ("x-route", "tests/other")], BODY).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "allowed, but not there: {}", answer.body);
}

#[tokio::test(start_paused = true)]
async fn a_paused_or_deactivated_subscription_sends_messages_away() {
    let server = listening("type: bearer, secret: orders_key").await;
    let list = server.get("/api/subscriptions").await;
    let id = list.body["subscriptions"][0]["subscription_id"].as_str().expect("an id").to_owned();
    let token = [("authorization", "Bearer s3cret")];
    assert_eq!(post(&server, &token, BODY).await.status, StatusCode::ACCEPTED);
    for actions in [&["activate", "pause"][..], &["deactivate"]] {
        for action in actions {
            let answer = server.post(&format!("/api/subscriptions/{id}/{action}"), json!({})).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        }
        let answer = post(&server, &token, BODY).await;
        assert_eq!(answer.problem(), "503 not-taking-messages");
        assert_eq!(answer.headers[header::RETRY_AFTER], "30");
    }
    let list = server.get("/api/subscriptions").await;
    assert_eq!(list.body["subscriptions"].as_array().map(Vec::len), Some(1), "none is made anew");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_listener_and_a_long_body_are_refused() {
    let server = listening("type: bearer, secret: orders_key").await;
    let request = Request::post("/ingress/other").body(Body::empty()).expect("a request");
    assert_eq!(server.send(request).await.problem(), "401 unauthorized");
    let long = "x".repeat(1024 * 1024 + 1);
    let answer = post(&server, &[("authorization", "Bearer s3cret")], &long).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test(start_paused = true)]
async fn a_gateway_gets_the_settings_to_authenticate_senders() {
    let server = listening(HMAC).await;
    let config = server.get("/api/internal/ingress/orders").await;
    assert_eq!(config.status, StatusCode::OK, "{}", config.body);
    assert_eq!(
        config.body["verify"],
        json!({ "type": "hmac_sha256", "header": "x-signature", "secret": "s3cret" })
    );
    let dispatch = json!({ "playbook": "tests/hello", "payload_from": "message.json" });
    assert_eq!(config.body["dispatch"], dispatch);
    assert_eq!(config.body["catalog_path"], "subscriptions/orders");
    let unknown = server.get("/api/internal/ingress/other").await;
    assert_eq!(unknown.problem(), "404 unknown-listener");
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_missing_is_the_operators_business() {
    let server = listening("type: bearer, secret: nowhere").await;
    let answer = post(&server, &[("authorization", "Bearer x")], BODY).await;
    assert_eq!(answer.problem(), "503 no-credential");
}

#[tokio::test(start_paused = true)]
async fn a_posted_message_is_a_signal_once() {
    let document = document(HMAC);
    let (before, _) = document.split_once("  dispatch:").expect("a dispatch");
    let dispatch = "  dispatch: {signal: payment, key: '{{ message.data.name }}'}\n";
    let server = listening_to(&format!("{before}{dispatch}")).await;
    let signed = format!("sha256={}", signature(BODY));
    for _ in 0..2 {
        let answer = post(&server, &[("x-signature", &signed)], BODY).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
        assert_eq!(answer.body, json!({ "status": "kept" }));
    }
}

/// The body, compressed by gzip.
const COMPRESSED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\xca\x4b\xcc\x4d\x55\xb2\x52\x4a\x4c\x49\x54\xd2\x51\xca\x4d\x2d\x2e\x4e\x4c\x07\xf1\x73\x33\xf3\x52\x95\x6a\x01\xf8\x29\xca\xd1\x1f\x00\x00\x00";

/// Posts pieces of a body one after the other, as a client with chunks does.
async fn post_pieces(server: &Server, headers: &[(&str, &str)], pieces: &[&[u8]]) -> Answer {
    let mut request = Request::post("/ingress/orders").header(header::HOST, "localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let pieces: Vec<Result<Bytes, std::io::Error>> =
        pieces.iter().map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    let body = Body::from_stream(futures::stream::iter(pieces));
    server.send(request.body(body).expect("a request")).await
}

#[tokio::test(start_paused = true)]
async fn a_signature_is_good_for_the_exact_bytes_in_any_chunks_and_no_other_encoding() {
    let server = listening(HMAC).await;
    let signed = signature(BODY);
    let signed = ("x-signature", &*signed);
    let bytes = BODY.as_bytes();
    let in_chunks: Vec<&[u8]> = bytes.chunks(3).collect();
    let sent = post_pieces(&server, &[signed], &in_chunks).await;
    assert_eq!(sent.status, StatusCode::ACCEPTED, "{}", sent.body);
    let changed = BODY.replace("ada", "adb");
    let spaced = BODY.replace(',', ", ");
    let reordered = r#"{"message":"mine","name":"ada"}"#;
    let escaped = BODY.replace("ada", "\\u0061da");
    let long = format!("{BODY}\n");
    for body in [&*changed, &*spaced, reordered, &*escaped, &*long, &BODY[1..], ""] {
        let refused = post_pieces(&server, &[signed], &[body.as_bytes()]).await;
        assert_eq!(refused.problem(), "401 unauthorized", "{body}");
    }
    // A body that says it is compressed is not decompressed: the signature is that of its bytes.
    for encoding in ["gzip", "deflate", "br"] {
        let headers = [signed, ("content-encoding", encoding)];
        let refused = post_pieces(&server, &headers, &[COMPRESSED]).await;
        assert_eq!(refused.problem(), "401 unauthorized", "{encoding}");
    }
}

#[tokio::test(start_paused = true)]
async fn forms_files_and_bodies_that_are_no_json_start_nothing() {
    let server = listening("type: bearer, secret: orders_key").await;
    let token = ("authorization", "Bearer s3cret");
    let file = "--b\r\ncontent-disposition: form-data; name=\"f\"; filename=\"../../etc/passwd\"\r\n\r\nx\r\n--b--";
    for (kind, body, expected) in [
        ("multipart/form-data; boundary=b", file, "415 content-type"),
        ("application/x-www-form-urlencoded", "name=ada", "415 content-type"),
        ("text/html", "<form>", "415 content-type"),
        ("application/json", file, "422 bad-message"),
        ("application/json", "name=ada", "422 bad-message"),
        ("application/json; charset=utf-7", "+AHs-", "422 bad-message"),
    ] {
        let refused = post(&server, &[token, ("content-type", kind)], body).await;
        assert_eq!(refused.problem(), expected, "{kind}: {body}");
    }
    let listed = server.get("/api/executions?path=tests/hello").await.body;
    assert!(!listed.to_string().contains("tests/hello"), "{listed}");
}
