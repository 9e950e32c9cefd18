//! Tests of abusive webhook requests: each is refused as expected and writes nothing.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, Request, header};
use hmac::{Hmac, KeyInit as _, Mac as _};
use noetl_store::{CatalogQuery, ExecutionFilter, PAGE_MAX, Page};
use serde_json::json;
use sha2::Sha256;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{Answer, Server};
use crate::{Authentication, Hosts, Limits, ServerSettings, serve};

const BODY: &str = r#"{"name":"ada"}"#;
const KEY: &str = "s3cret";

/// Subscriptions: one verified by a signature of time and body, one by a token.
const SUBSCRIPTIONS: &[&str] = &[
    "apiVersion: noetl.io/v1
kind: Subscription
metadata: {name: orders, path: subscriptions/orders}
spec:
  source: webhook
  mode: push
  ingress:
    gateway_path: /ingress/orders
    verify:
      {type: hmac_sha256, header: X-Signature, timestamp_header: X-Time, secret: orders_key}
  dispatch: {playbook: tests/hello}
",
    "apiVersion: noetl.io/v1
kind: Subscription
metadata: {name: paused, path: subscriptions/paused}
spec:
  source: webhook
  mode: push
  ingress: {gateway_path: /ingress/paused, verify: {type: bearer, secret: orders_key}}
  dispatch: {playbook: tests/hello}
",
];

/// Counts of everything that a message could have written.
#[derive(Debug, PartialEq, Eq)]
struct Kept {
    executions: usize,
    events: u64,
    owed: u64,
    changes: u64,
    paths: usize,
}

async fn kept(server: &Server) -> Kept {
    let store = &server.store;
    let page = Page { before: None, limit: PAGE_MAX };
    let executions = store.list(&ExecutionFilter::default(), page).await.expect("a list");
    let subscriptions = store.subscriptions(None, PAGE_MAX).await.expect("a list");
    Kept {
        executions: executions.len(),
        events: executions.iter().map(|summary| summary.seq.0).sum(),
        owed: store.owed().await.expect("a count"),
        changes: subscriptions.iter().map(|row| row.seq.0).sum(),
        paths: store.paths(&CatalogQuery::active(None, PAGE_MAX)).await.expect("a list").len(),
    }
}

async fn prepare(server: &Server) {
    server.register(super::HELLO).await;
    let credential = json!({ "name": "orders_key", "type": "token", "data": { "token": KEY } });
    let answer = server.post("/api/credentials", credential).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    for document in SUBSCRIPTIONS {
        server.register(document).await;
    }
    let list = server.get("/api/subscriptions").await.body["subscriptions"].clone();
    let of_paused =
        list.as_array().expect("a list").iter().find(|it| it["path"] == "subscriptions/paused");
    let id = of_paused.expect("it is there")["subscription_id"].as_str().expect("an id").to_owned();
    for action in ["activate", "pause"] {
        let answer = server.post(&format!("/api/subscriptions/{id}/{action}"), json!({})).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
}

fn signature(key: &str, text: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("a key");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

type Headers = Vec<(&'static str, String)>;

/// Returns the headers of a body signed at a time with a key.
fn signed(key: &str, time: i64, body: &str) -> Headers {
    let signature = signature(key, &format!("{time}.{body}"));
    let json = "application/json".to_owned();
    vec![("x-signature", signature), ("x-time", time.to_string()), ("content-type", json)]
}

async fn post(server: &Server, path: &str, headers: &Headers, body: impl Into<Body>) -> Answer {
    let mut request = Request::post(path).header(header::HOST, "localhost");
    for (name, value) in headers {
        request = request.header(HeaderName::from_static(name), value);
    }
    server.send(request.body(body.into()).expect("a request")).await
}

/// An abusive request and the expected answer.
struct Abuse {
    name: &'static str,
    path: &'static str,
    headers: Headers,
    body: String,
    expected: &'static str,
}

/// Returns the headers with one value replaced.
fn but(right: &Headers, name: &'static str, value: &str) -> Headers {
    let mut headers = right.clone();
    headers.retain(|(known, _)| *known != name);
    headers.push((name, value.to_owned()));
    headers
}

/// Returns requests with invalid authentication.
fn strangers(right: &Headers, now: i64) -> Vec<Abuse> {
    let half = &BODY[..BODY.len() / 2];
    let signature = right[0].1.as_str();
    let (later, respelt) = ((now + 1).to_string(), format!("+{}", &signature[1..]));
    let senders: Vec<(&'static str, Headers, &str)> = vec![
        ("no key", Vec::new(), BODY),
        ("a wrong key", signed("other", now, BODY), BODY),
        ("a truncated body", right.clone(), half),
        ("a truncated signature", but(right, "x-signature", &signature[..40]), BODY),
        ("a signature spelt otherwise", but(right, "x-signature", &respelt), BODY),
        ("a time that was not signed", but(right, "x-time", &later), BODY),
        ("an old time", signed(KEY, now - 301, BODY), BODY),
        ("a time ahead", signed(KEY, now + 400, BODY), BODY),
        ("no time", but(right, "x-time", "soon"), BODY),
    ];
    let stranger = |(name, headers, body): (&'static str, Headers, &str)| {
        let (path, expected) = ("/ingress/orders", "401 unauthorized");
        Abuse { name, path, headers, body: body.to_owned(), expected }
    };
    senders.into_iter().map(stranger).collect()
}

/// Returns requests that are invalid for every sender.
fn unfit(right: &Headers, now: i64) -> Vec<Abuse> {
    let form = but(&signed(KEY, now, "a=b"), "content-type", "application/x-www-form-urlencoded");
    let token = |word: &str| vec![("authorization", format!("Bearer {word}"))];
    let long = "x".repeat(1024 * 1024 + 1);
    let at = |name, path, headers: &Headers, body: &str, expected| Abuse {
        name,
        path,
        headers: headers.clone(),
        body: body.to_owned(),
        expected,
    };
    let orders = "/ingress/orders";
    vec![
        at("another content type", orders, &form, "a=b", "415 content-type"),
        at("no JSON", orders, &signed(KEY, now, "{"), "{", "422 bad-message"),
        at("too long", orders, right, &long, "413 body-too-large"),
        at("an unknown path", "/ingress/nowhere", right, BODY, "401 unauthorized"),
        at("up and away", "/ingress/../api/execute", right, BODY, AWAY),
        at("up and away, deeper", "/ingress/orders/../../etc/passwd", right, BODY, AWAY),
        at("up, encoded", "/ingress/%2e%2e%2fapi%2fexecute", right, BODY, "401 unauthorized"),
        at("paused", "/ingress/paused", &token(KEY), BODY, "503 not-taking-messages"),
        at("a wrong token", "/ingress/paused", &token("other"), BODY, "401 unauthorized"),
    ]
}

/// Expectation for a path that a client may normalize before sending: any error.
const AWAY: &str = "no success";

pub(super) async fn each_abuse_of_a_webhook_gets_its_answer_and_leaves_nothing(server: Server) {
    prepare(&server).await;
    let now = server.state.now().as_millis() / 1000;
    let right = signed(KEY, now, BODY);
    let accepted = post(&server, "/ingress/orders", &right, BODY).await;
    assert_eq!(accepted.status, 202, "{}", accepted.body);
    while server.store.owed().await.expect("a count") > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let before = kept(&server).await;
    for abuse in strangers(&right, now).into_iter().chain(unfit(&right, now)) {
        let Abuse { name, path, headers, body, expected } = abuse;
        let answer = post(&server, path, &headers, body).await;
        if expected == AWAY {
            assert!(answer.status.is_client_error(), "{name}: {}", answer.status);
        } else {
            assert_eq!(answer.problem(), expected, "{name}: {}", answer.body);
        }
        assert_eq!(kept(&server).await, before, "{name}");
    }
    let again = post(&server, "/ingress/orders", &right, BODY).await;
    assert_eq!((again.status, &again.body), (accepted.status, &accepted.body), "replayed");
    assert_eq!(kept(&server).await, before, "replayed");
}

/// Starts a server that waits 200 ms for bodies.
async fn listening() -> (Server, String) {
    let limits = Limits { body_wait: Duration::from_millis(200), ..Limits::default() };
    let settings =
        ServerSettings { limits, ..ServerSettings::new(Authentication::Open, Hosts::Any) };
    let server = Server::set(settings);
    prepare(&server).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let (state, stop) = (server.state.clone(), server.stop.clone());
    tokio::spawn(serve(listener, state, Duration::from_secs(10), stop));
    (server, address)
}

/// Sends a part of a message, then ends the stream or leaves it open; returns the answer.
async fn told(server: &Server, address: &str, head: &str, body: &[u8], ends: bool) -> String {
    let now = server.state.now().as_millis() / 1000;
    let mut request = format!("POST /ingress/orders HTTP/1.1\r\nhost: localhost\r\n{head}\r\n");
    for (name, value) in signed(KEY, now, BODY) {
        request += &format!("{name}: {value}\r\n");
    }
    request += "connection: close\r\n\r\n";
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(request.as_bytes()).await.expect("it reads");
    // The server may have refused the request before reading the body.
    let _sent = stream.write_all(body).await;
    if ends {
        stream.shutdown().await.expect("the end is said");
    }
    let mut told = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut told)).await;
    let _cut_off = read.expect("the server ends the connection");
    String::from_utf8_lossy(&told).into_owned()
}

#[tokio::test]
async fn bodies_that_are_slow_cut_short_or_without_an_end_leave_nothing() {
    let (server, address) = listening().await;
    let before = kept(&server).await;
    let length = |length: usize| format!("content-length: {length}");
    let slow = told(&server, &address, &length(BODY.len()), &BODY.as_bytes()[..4], false).await;
    assert!(slow.starts_with("HTTP/1.1 408") && slow.contains("body-too-slow"), "slow: {slow}");
    let cut = told(&server, &address, &length(BODY.len()), &BODY.as_bytes()[..4], true).await;
    assert!(!cut.contains(" 202 "), "cut short: {cut}");
    let hundred = 100 * 1024 * 1024;
    let long = told(&server, &address, &length(hundred), &vec![b' '; 2 * 1024 * 1024], false).await;
    assert!(long.starts_with("HTTP/1.1 413") && long.contains("body-too-large"), "long: {long}");
    let chunk = [b"200000\r\n".as_slice(), &vec![b' '; 0x20_0000], b"\r\n"].concat();
    let endless = told(&server, &address, "transfer-encoding: chunked", &chunk, false).await;
    assert!(endless.starts_with("HTTP/1.1 413"), "without an end: {endless}");
    assert_eq!(kept(&server).await, before);
    let accepted = told(&server, &address, &length(BODY.len()), BODY.as_bytes(), false).await;
    assert!(accepted.starts_with("HTTP/1.1 202"), "{accepted}");
    assert_eq!(kept(&server).await.executions, before.executions + 1);
}

/// Returns the example document for a sender from `docs/events.md`.
fn example(sender: &str) -> String {
    let page = include_str!("../../../../docs/events.md");
    let (_, rest) = page.split_once(&format!("**{sender}**")).expect("the page tells of it");
    let (_, block) = rest.split_once("```yaml\n").expect("with an example");
    block.split_once("```").expect("a block ends").0.to_owned()
}

async fn with_example(sender: &str, credential: &str) -> Server {
    let server = Server::new();
    let hello = super::HELLO.replace("tests/hello", "sales/order");
    server.register(&hello).await;
    let secret = json!({ "name": credential, "type": "token", "data": { "token": KEY } });
    assert_eq!(server.post("/api/credentials", secret).await.status, 200);
    server.register(&example(sender)).await;
    server
}

#[tokio::test(start_paused = true)]
async fn github_is_known_by_its_signature_and_a_delivery_starts_one_execution() {
    let server = with_example("GitHub", "github_hook").await;
    let send = async |key: &str, delivery: &str| {
        let headers = vec![
            ("x-hub-signature-256", format!("sha256={}", signature(key, BODY))),
            ("x-github-delivery", delivery.to_owned()),
            ("x-github-event", "push".to_owned()),
            ("content-type", "application/json".to_owned()),
        ];
        post(&server, "/ingress/github", &headers, BODY).await
    };
    let first = send(KEY, "72d3162e-cc78-11e3-81ab-4c9367dc0958").await;
    assert_eq!(first.status, 202, "{}", first.body);
    let again = send(KEY, "72d3162e-cc78-11e3-81ab-4c9367dc0958").await;
    assert_eq!(again.body, first.body);
    assert_eq!(send(KEY, "another").await.body, first.body, "the number is not signed");
    assert_eq!(send("other", "third").await.problem(), "401 unauthorized");
}

#[tokio::test(start_paused = true)]
async fn stripe_signs_a_time_and_may_have_two_keys() {
    let server = with_example("Stripe", "stripe_hook").await;
    let send = async |time: i64, keys: &[&str]| {
        let signatures =
            keys.iter().map(|key| format!(",v1={}", signature(key, &format!("{time}.{BODY}"))));
        let value = format!("t={time}{},v0=aa", signatures.collect::<String>());
        let headers =
            vec![("stripe-signature", value), ("content-type", "application/json".to_owned())];
        post(&server, "/ingress/stripe", &headers, BODY).await
    };
    let now = server.state.now().as_millis() / 1000;
    let first = send(now, &[KEY]).await;
    assert_eq!(first.status, 202, "{}", first.body);
    assert_eq!(send(now, &["other", KEY]).await.body, first.body, "while a key is changed");
    assert_eq!(send(now, &["other"]).await.problem(), "401 unauthorized");
    assert_eq!(send(now - 301, &[KEY]).await.problem(), "401 unauthorized");
    assert_eq!(send(now, &[]).await.problem(), "401 unauthorized");
}
