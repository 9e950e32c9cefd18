//! Tests of authentication and authorization.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use noetl_control::ControlSettings;
use serde_json::json;

use super::Server;
use crate::{Authentication, Hosts, Limits, Origins, Rate, Scope, ServerSettings, Token};

fn guarded() -> Server {
    let tokens = vec![
        Token::new("reader", [Scope::Read]),
        Token::new("runner", [Scope::Run]),
        Token::new("worker", [Scope::Work]),
        Token::new("root", [Scope::Admin]),
    ];
    Server::with(Authentication::Tokens(tokens), Hosts::Any)
}

async fn check(request: axum::http::request::Builder, expected: &str) {
    let request = request.header(header::CONTENT_TYPE, "application/json");
    let answer = guarded().send(request.body(Body::from("{}")).expect("a request")).await;
    let found = if answer.status.is_success() { "ok".to_owned() } else { answer.problem() };
    assert_eq!(found, expected);
}

fn bearer(value: &str, path: &str) -> axum::http::request::Builder {
    Request::get(path).header(header::AUTHORIZATION, value)
}

#[tokio::test(start_paused = true)]
async fn without_a_token_only_public_paths_answer() {
    check(Request::get("/api/executions"), "401 unauthorized").await;
    check(Request::get("/no/such/path"), "401 unauthorized").await;
    check(Request::get("/livez"), "ok").await;
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_not_known_is_refused() {
    check(bearer("Bearer guess", "/api/executions"), "401 unauthorized").await;
    check(bearer("Basic reader", "/api/executions"), "401 unauthorized").await;
    check(bearer("Bearer ", "/api/executions"), "401 unauthorized").await;
}

#[tokio::test(start_paused = true)]
async fn the_scheme_is_understood_whatever_its_case() {
    check(bearer("bEaReR reader", "/api/executions"), "ok").await;
}

#[tokio::test(start_paused = true)]
async fn a_token_is_good_for_its_scopes_only() {
    let post = |token: &str, path: &str| {
        Request::post(path).header(header::AUTHORIZATION, format!("Bearer {token}"))
    };
    check(post("reader", "/api/execute"), "403 forbidden").await;
    check(post("runner", "/api/execute"), "422 no-playbook").await;
    check(bearer("Bearer runner", "/api/executions"), "ok").await;
    check(post("runner", "/api/executions/1/finalize"), "403 forbidden").await;
    check(post("root", "/api/executions/1/finalize"), "422 invalid-body").await;
    check(post("runner", "/api/events"), "403 forbidden").await;
    check(post("worker", "/api/events"), "422 invalid-body").await;
    check(bearer("Bearer worker", "/api/executions"), "403 forbidden").await;
}

#[tokio::test(start_paused = true)]
async fn a_server_on_loopback_answers_to_its_own_names_only() {
    let server = Server::with(Authentication::Open, Hosts::Loopback);
    let check = async |host: &str, expected: u16| {
        let request = Request::get("/health").header(header::HOST, host);
        let answer = server.send(request.body(Body::empty()).expect("a request")).await;
        assert_eq!(answer.status.as_u16(), expected, "{host}");
    };
    check("localhost:8082", 200).await;
    check("[::1]:8082", 200).await;
    check("rebound.example:8082", 421).await;
    assert_eq!(server.get("/health").await.problem(), "421 wrong-host");
}

#[tokio::test(start_paused = true)]
async fn a_server_on_loopback_answers_no_page_of_another_site() {
    let server = Server::with(Authentication::Open, Hosts::Loopback);
    let check = async |origin: &str, expected: u16| {
        let request = Request::get("/health").header(header::HOST, "localhost:8082");
        let request = request.header(header::ORIGIN, origin).body(Body::empty());
        let answer = server.send(request.expect("a request")).await;
        assert_eq!(answer.status.as_u16(), expected, "{origin}");
    };
    check("http://localhost:8082", 200).await;
    check("http://localhost:3000", 403).await;
    check("https://evil.example", 403).await;
    check("null", 403).await;
}

pub(super) async fn unknown_paths_and_methods_are_problems_too(server: Server) {
    assert_eq!(server.get("/nowhere").await.problem(), "404 unknown-path");
    assert_eq!(server.get("/api/execute").await.problem(), "405 wrong-method");
}

pub(super) async fn bodies_paths_and_queries_that_cannot_be_read_are_problems_too(server: Server) {
    let post = async |content_type: &str, body: String| {
        let request = Request::post("/api/execute").header(header::CONTENT_TYPE, content_type);
        server.send(request.body(Body::from(body)).expect("a request")).await.problem()
    };
    assert_eq!(post("application/json", "{".into()).await, "400 not-json");
    assert_eq!(post("application/json", "[1]".into()).await, "422 invalid-body");
    assert_eq!(post("text/plain", "{}".into()).await, "415 content-type");
    let long = json!({ "path": "x".repeat(5 * 1024 * 1024) }).to_string();
    assert_eq!(post("application/json", long).await, "413 body-too-large");
    assert_eq!(server.get("/api/executions/x").await.problem(), "400 invalid-path");
    assert_eq!(server.get("/api/executions?limit=few").await.problem(), "400 invalid-query");
}

pub(super) async fn every_answer_carries_the_id_of_its_request(server: Server) {
    let request = Request::get("/nowhere").header("x-request-id", "mine");
    let answer = server.send(request.body(Body::empty()).expect("a request")).await;
    assert_eq!(answer.headers["x-request-id"], "mine");
    assert!(server.get("/health").await.headers.contains_key("x-request-id"));
}

/// Checks the answer of an internal route to a token.
async fn internal(settings: ServerSettings, token: Option<&str>, expected: &str) {
    let mut request = Request::post("/api/internal/container-callback/1/start");
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("bearer {token}"));
    }
    let request = request.header(header::CONTENT_TYPE, "application/json");
    let body = json!({ "state": "succeeded", "job_name": "j" }).to_string();
    let server = Server::set(settings);
    let answer = server.send(request.body(Body::from(body)).expect("a request")).await;
    let found = if answer.status.is_success() { "ok".to_owned() } else { answer.problem() };
    assert_eq!(found, expected, "{token:?}");
}

fn tokens(tokens: Vec<Token>, internal: Option<&str>) -> ServerSettings {
    let internal = internal.map(|secret| Token::new(secret, [Scope::Internal]));
    ServerSettings { internal, ..ServerSettings::new(Authentication::Tokens(tokens), Hosts::Any) }
}

#[tokio::test(start_paused = true)]
async fn internal_routes_answer_503_while_no_token_is_good_for_them() {
    let reader = || vec![Token::new("reader", [Scope::Read])];
    internal(tokens(reader(), None), Some("reader"), "503 no-internal-token").await;
    internal(tokens(reader(), None), None, "503 no-internal-token").await;
}

#[tokio::test(start_paused = true)]
async fn internal_routes_answer_403_to_a_token_that_is_missing_or_wrong_and_never_401() {
    let set = || tokens(vec![Token::new("reader", [Scope::Read])], Some("internal"));
    internal(set(), None, "403 forbidden").await;
    internal(set(), Some("guess"), "403 forbidden").await;
    internal(set(), Some("reader"), "403 forbidden").await;
    internal(set(), Some("internal"), "ok").await;
}

#[tokio::test(start_paused = true)]
async fn an_admin_token_may_use_internal_routes() {
    let root = || vec![Token::new("root", [Scope::Admin])];
    internal(tokens(root(), None), Some("root"), "ok").await;
    internal(tokens(root(), Some("internal")), Some("root"), "ok").await;
}

#[tokio::test(start_paused = true)]
async fn an_open_server_guards_its_internal_routes_once_they_have_a_token() {
    let open = ServerSettings::new(Authentication::Open, Hosts::Any);
    internal(open.clone(), None, "ok").await;
    let guarded =
        ServerSettings { internal: Some(Token::new("internal", [Scope::Internal])), ..open };
    internal(guarded.clone(), None, "403 forbidden").await;
    internal(guarded, Some("internal"), "ok").await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_over_the_rate_is_told_how_long_to_wait() {
    let limits = Limits { requests: Some(Rate::per_second(1, 2)), ..Limits::default() };
    let server = Server::set(ServerSettings {
        limits,
        ..ServerSettings::new(Authentication::Open, Hosts::Any)
    });
    for _ in 0..2 {
        assert_eq!(server.get("/api/executions").await.status, 200);
    }
    let refused = server.get("/api/executions").await;
    assert_eq!(refused.problem(), "429 too-many-requests");
    assert_eq!(refused.headers[header::RETRY_AFTER], "1");
    assert_eq!(server.get("/health").await.status, 200, "health is never counted");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(server.get("/api/executions").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_caller_guessing_tokens_is_slowed_down_and_one_with_a_token_is_not() {
    let limits = Limits { refusals: Rate::per_second(1, 3), ..Limits::default() };
    let set = tokens(vec![Token::new("known", [Scope::Read])], None);
    let server = Server::set(ServerSettings { limits, ..set });
    let ask = async |token: &str| {
        let request = bearer(&format!("Bearer {token}"), "/api/executions");
        server.send(request.body(Body::empty()).expect("a request")).await
    };
    for _ in 0..3 {
        assert_eq!(ask("guess").await.problem(), "401 unauthorized");
    }
    assert_eq!(ask("guess").await.problem(), "429 too-many-refusals");
    assert_eq!(ask("known").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn every_response_forbids_scripts_and_frames() {
    let server = Server::new();
    for path in ["/health", "/nowhere", "/api/executions/x"] {
        let headers = server.get(path).await.headers;
        let said = ["x-content-type-options", "x-frame-options", "content-security-policy"];
        let said: Vec<&str> = said.iter().map(|it| headers[*it].to_str().expect("text")).collect();
        let policy = "default-src 'none'; frame-ancestors 'none'";
        assert_eq!(said, ["nosniff", "DENY", policy], "{path}");
        assert_eq!(headers["cache-control"], "no-store", "{path}");
    }
}

/// Creates a server for loopback that requires no token.
fn open_loopback(origins: &[&str]) -> Server {
    let origins = Origins(origins.iter().map(|&it| it.to_owned()).collect());
    Server::set(ServerSettings {
        origins,
        ..ServerSettings::new(Authentication::Open, Hosts::Loopback)
    })
}

async fn told(server: &Server, request: axum::http::request::Builder, body: &str) -> String {
    let request = request.header(header::HOST, "localhost:8082");
    let body = if body.is_empty() { Body::empty() } else { Body::from(body.to_owned()) };
    let answer = server.send(request.body(body).expect("a request")).await;
    if answer.status.is_success() { "ok".to_owned() } else { answer.problem() }
}

#[tokio::test(start_paused = true)]
async fn a_forwarded_request_is_refused_where_no_token_is_asked_for() {
    let server = open_loopback(&[]);
    for name in ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"] {
        let request = || Request::get("/api/executions").header(name, "1.1 a");
        assert_eq!(told(&server, request(), "").await, "403 forwarded", "{name}");
        let health = Request::get("/livez").header(name, "1.1 a");
        assert_eq!(told(&server, health, "").await, "ok", "{name}");
        let message = Request::post("/ingress/orders").header(name, "1.1 a");
        assert_eq!(told(&server, message, "").await, "401 unauthorized", "{name}");
        let tokens = vec![Token::new("root", [Scope::Admin])];
        let guarded = Server::with(Authentication::Tokens(tokens), Hosts::Loopback);
        let request = request().header(header::AUTHORIZATION, "Bearer root");
        assert_eq!(told(&guarded, request, "").await, "ok", "{name}");
    }
}

/// Routes that change state and need no body.
const BODILESS: [&str; 4] = [
    "/api/executions/1/rerun",
    "/api/db/init",
    "/api/internal/outbox/claim",
    "/api/internal/wallet/rotate-kek",
];

#[tokio::test(start_paused = true)]
async fn a_page_of_another_local_port_changes_nothing() {
    let server = open_loopback(&["http://localhost:9000"]);
    for path in BODILESS {
        let post = || Request::post(path).header(header::CONTENT_TYPE, "text/plain");
        for body in ["", "{}"] {
            assert_eq!(told(&server, post(), body).await, "415 content-type", "{path} {body}");
            let page = post().header(header::ORIGIN, "http://localhost:3000");
            assert_eq!(told(&server, page, body).await, "403 wrong-origin", "{path} {body}");
            let fetched = post().header("sec-fetch-site", "same-site");
            assert_eq!(told(&server, fetched, body).await, "403 wrong-origin", "{path} {body}");
        }
        let untyped = Request::post(path);
        assert_eq!(told(&server, untyped, "{}").await, "415 content-type", "{path}");
        for origin in [None, Some("http://localhost:8082"), Some("http://localhost:9000")] {
            let mut bare = Request::post(path);
            if let Some(origin) = origin {
                bare = bare.header(header::ORIGIN, origin);
            }
            let answer = told(&server, bare, "").await;
            assert!(!["415", "403"].contains(&&answer[..3.min(answer.len())]), "{path} {answer}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_of_another_origin_reads_nothing_and_a_link_to_the_server_can_be_followed() {
    let server = open_loopback(&[]);
    let get = || Request::get("/api/executions");
    let site = |word: &str| get().header("sec-fetch-site", word);
    assert_eq!(told(&server, site("cross-site"), "").await, "403 wrong-origin");
    assert_eq!(told(&server, site("same-origin"), "").await, "ok");
    let link = site("cross-site").header("sec-fetch-mode", "navigate");
    assert_eq!(told(&server, link, "").await, "403 wrong-origin", "it may be framed");
    let link = site("cross-site").header("sec-fetch-mode", "navigate");
    let link = link.header("sec-fetch-dest", "document");
    assert_eq!(told(&server, link, "").await, "ok");
}

pub(super) async fn pages_of_other_sites_are_answered_only_if_an_operator_names_them(
    server: Server,
) {
    let ask = async |origins: &[&str]| {
        let origins = Origins(origins.iter().map(|&it| it.to_owned()).collect());
        let settings = ServerSettings::new(Authentication::Tokens(Vec::new()), Hosts::Loopback);
        let settings = ServerSettings { origins, ..settings };
        let server = server.beside(settings, ControlSettings::default());
        let request = Request::options("/api/execute")
            .header(header::HOST, "localhost")
            .header(header::ORIGIN, "https://ops.example")
            .header(header::ACCESS_CONTROL_REQUEST_METHOD, "POST")
            .header(header::ACCESS_CONTROL_REQUEST_HEADERS, "x-session-token");
        let answer = server.send(request.body(Body::empty()).expect("a request")).await;
        let headers = answer.headers.get(header::ACCESS_CONTROL_ALLOW_HEADERS).cloned();
        let headers = headers.map(|it| it.to_str().expect("text").to_lowercase());
        let allowed = answer.headers.get(header::ACCESS_CONTROL_ALLOW_ORIGIN).cloned();
        if allowed.is_some() {
            assert!(headers.is_some_and(|it| it.contains("x-session-token")));
        }
        allowed.map(|it| it.to_str().expect("text").to_owned())
    };
    assert_eq!(ask(&[]).await, None);
    assert_eq!(ask(&["https://other.example"]).await, None);
    let named = ask(&["https://ops.example"]).await;
    assert_eq!(named.as_deref(), Some("https://ops.example"));
}

#[tokio::test(start_paused = true)]
async fn a_forged_json_web_token_is_an_unknown_token() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let settings = super::tokens::guarded();
    let server = Server::set(settings);
    let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = |more: serde_json::Value| {
        let mut claims = json!({ "sub": "root", "roles": ["admin"], "scope": "admin" });
        claims.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
        claims
    };
    let heads = [
        json!({ "alg": "none" }),
        json!({ "alg": "nOnE", "typ": "JWT" }),
        json!({ "alg": "HS256", "kid": "../../../dev/null" }),
        json!({ "alg": "HS256", "kid": "' OR 1=1 --" }),
        json!({ "alg": "RS256", "jku": "https://evil.example/keys" }),
    ];
    let bodies = [
        claims(json!({})),
        claims(json!({ "aud": "other", "iss": "https://evil.example" })),
        claims(json!({ "exp": 1 })),
        claims(json!({ "nbf": 4_000_000_000_u64 })),
        claims(json!({ "pad": "x".repeat(40_000) })),
    ];
    for head in &heads {
        for body in &bodies {
            for signature in ["", "AAAA", "root"] {
                let token = format!("{}.{}.{signature}", part(head), part(body));
                let answer =
                    super::tokens::ask(&server, &token, Method::GET, "/api/executions").await;
                assert_eq!(answer.problem(), "401 unauthorized", "{head} {body}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_wrong_token_takes_as_long_as_another_wrong_one() {
    // The secrets are compared by their digests: what a guess has in common with one changes nothing.
    const ROUNDS: u32 = 400;
    let server = Server::set(super::tokens::guarded());
    let secret = super::tokens::secret_of(&server, "ci", &["viewer"]).await;
    let near = format!("{}x", &secret[..secret.len() - 1]);
    let guesses = ["x".to_owned(), near, "roos".to_owned(), "y".repeat(4000)];
    let mut spent = [std::time::Duration::ZERO; 4];
    for _ in 0..ROUNDS {
        for (guess, spent) in guesses.iter().zip(&mut spent) {
            let begun = std::time::Instant::now();
            let answer = super::tokens::ask(&server, guess, Method::GET, "/api/executions").await;
            *spent += begun.elapsed();
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        }
    }
    let (least, most) = (spent.iter().min().expect("four"), spent.iter().max().expect("four"));
    // Machines with other work vary; a comparison byte by byte would not show either. This finds work
    // that depends on the guess, such as a search of the store.
    assert!(*most < *least * 2, "{spent:?}");
}
