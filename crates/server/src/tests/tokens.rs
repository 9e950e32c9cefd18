//! Tests of stored tokens: who is let in, with which role, and until when.

use std::fmt::Write as _;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use expect_test::expect_file;
use futures::StreamExt as _;
use noetl_app::{NewToken, PAGE_MAX};
use noetl_control::ControlSettings;
use noetl_model::{Actor, Role, RoleGrant, Timestamp};

use serde_json::json;

use super::openapi::operations;
use super::{Answer, Server};
use crate::{Authentication, Hosts, Limits, Rate, Scope, ServerSettings, Token};

/// Returns settings with one token of an administrator and a high limit of refusals.
pub(super) fn guarded() -> ServerSettings {
    let tokens = vec![Token::new("root", [Scope::Admin])];
    let limits = Limits { refusals: Rate::per_second(1, 100_000), ..Limits::default() };
    ServerSettings { limits, ..ServerSettings::new(Authentication::Tokens(tokens), Hosts::Any) }
}

pub(super) fn new_token(name: &str, grants: &[&str]) -> NewToken {
    let grants = grants.iter().map(|it| it.parse::<RoleGrant>().expect("a role"));
    NewToken {
        name: Actor::new(name).expect("a name"),
        owner: None,
        grants: grants.collect(),
        expires_at: None,
        created_by: None,
    }
}

/// Creates a token with roles; returns its secret.
pub(super) async fn secret_of(server: &Server, name: &str, grants: &[&str]) -> String {
    let issued = server.state.app().create_token(new_token(name, grants)).await;
    issued.expect("the token is created").secret
}

pub(super) async fn ask(server: &Server, secret: &str, method: Method, path: &str) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {secret}"));
    server.send(request.body(Body::empty()).expect("a request")).await
}

async fn list(server: &Server, secret: &str) -> Answer {
    ask(server, secret, Method::GET, "/api/executions").await
}

pub(super) async fn tokens_are_created_listed_and_revoked_and_the_audit_log_says_so(
    server: Server,
) {
    let request = json!({ "name": "nightly", "roles": ["viewer:team-a/*"] });
    let created = server.post("/api/tokens", request).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.body);
    let secret = created.body["secret"].as_str().expect("a secret").to_owned();
    let listed = server.get("/api/tokens").await.body;
    let tokens = listed["tokens"].as_array().expect("a list");
    assert!(tokens.iter().any(|token| token["name"] == "nightly"), "{listed}");
    assert!(!listed.to_string().contains(&secret), "a secret is shown once");
    let revoked = server.call(Method::DELETE, "/api/tokens/nightly", json!({})).await;
    assert_eq!(revoked.status, StatusCode::NO_CONTENT, "{}", revoked.body);
    let log = server.get("/api/audit?action=/api/tokens").await.body;
    let entries = log["entries"].as_array().expect("a list").iter();
    let actions: Vec<&str> = entries.filter_map(|entry| entry["action"].as_str()).collect();
    assert!(actions.ends_with(&["POST /api/tokens", "DELETE /api/tokens/{name}"]), "{log}");
    let verified = server.get("/api/audit/verification").await.body;
    assert_eq!(verified["valid"], true, "{verified}");
    server.note(&Method::GET, "/api/audit/stream");
    let follow = Request::get("/api/audit/stream?format=jsonl").header(header::HOST, "localhost");
    let follow = follow.body(Body::empty());
    let followed = server.open(follow.expect("a request")).await;
    let first = followed.into_body().into_data_stream().next().await;
    let first = first.expect("an entry").expect("it is whole");
    assert!(String::from_utf8_lossy(&first).contains("\"number\":"), "{first:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stored_token_is_good_for_its_role_until_it_is_revoked() {
    let server = Server::set(guarded());
    let secret = secret_of(&server, "ci", &["viewer"]).await;
    assert_eq!(list(&server, &secret).await.status, StatusCode::OK);
    let refused = ask(&server, &secret, Method::POST, "/api/execute").await;
    assert_eq!(refused.problem(), "403 forbidden");
    assert_eq!(
        refused.body["detail"],
        "this token lacks the role `operator` or `author` or `admin`"
    );
    server.state.app().revoke_token("ci").await.expect("it is there");
    assert_eq!(list(&server, &secret).await.problem(), "401 unauthorized");
    assert_eq!(list(&server, "root").await.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn revoked_expired_and_unknown_tokens_get_the_same_answer() {
    let server = Server::set(guarded());
    let unknown = list(&server, "noetl_unknown").await;
    let revoked = secret_of(&server, "revoked", &["viewer"]).await;
    let expires_at = Some(server.state.now().after(Duration::from_secs(10)));
    let expiring = NewToken { expires_at, ..new_token("expiring", &["admin"]) };
    let expiring = server.state.app().create_token(expiring).await.expect("it is created").secret;
    assert_eq!(list(&server, &expiring).await.status, StatusCode::OK);
    server.state.app().revoke_token("revoked").await.expect("it is there");
    tokio::time::advance(Duration::from_secs(10)).await;
    for secret in [revoked, expiring] {
        let answer = list(&server, &secret).await;
        assert_eq!((answer.status, &answer.body), (unknown.status, &unknown.body));
    }
}

#[tokio::test(start_paused = true)]
async fn another_server_refuses_a_revoked_token_within_seconds() {
    let server = Server::set(guarded());
    let other = server.beside(guarded(), ControlSettings::default());
    let secret = secret_of(&server, "ci", &["viewer"]).await;
    assert_eq!(list(&other, &secret).await.status, StatusCode::OK);
    server.state.app().revoke_token("ci").await.expect("it is there");
    tokio::time::advance(Duration::from_secs(6)).await;
    assert_eq!(list(&other, &secret).await.problem(), "401 unauthorized");
}

#[tokio::test(start_paused = true)]
async fn the_last_use_is_recorded_to_the_minute() {
    let server = Server::set(guarded());
    let secret = secret_of(&server, "ci", &["viewer"]).await;
    let mut recorded = Vec::new();
    for wait in [0, 10, 70] {
        tokio::time::advance(Duration::from_secs(wait)).await;
        assert_eq!(list(&server, &secret).await.status, StatusCode::OK);
        tokio::task::yield_now().await;
        let tokens = server.state.app().list_tokens("", PAGE_MAX).await.expect("it answers");
        recorded.push(tokens[0].used_at.expect("it was used"));
    }
    let begun = Timestamp::from_millis(1_800_000_000_000);
    let [first, second, third] = recorded[..] else { panic!("three uses: {recorded:?}") };
    assert_eq!((first, second), (begun, begun));
    assert_eq!(third, begun.after(Duration::from_secs(60)));
}

async fn create(server: &Server, body: serde_json::Value) -> Answer {
    let request = Request::post("/api/tokens")
        .header(header::AUTHORIZATION, "Bearer root")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string()));
    server.send(request.expect("a request")).await
}

#[tokio::test(start_paused = true)]
async fn a_token_is_created_listed_without_its_secret_and_revoked() {
    let server = Server::set(guarded());
    let body = json!({ "name": "ci", "owner": "Team A", "roles": ["viewer", "author:team-a/*"] });
    let created = create(&server, body.clone()).await;
    assert_eq!(created.status, StatusCode::CREATED);
    let secret = created.body["secret"].as_str().expect("a secret").to_owned();
    assert!(secret.starts_with("noetl_") && secret.len() > 40, "{secret}");
    assert_eq!(list(&server, &secret).await.status, StatusCode::OK);
    assert_eq!(create(&server, body).await.problem(), "409 name-taken");
    let listed = ask(&server, "root", Method::GET, "/api/tokens").await.body;
    assert_eq!(listed["tokens"][0]["roles"], json!(["viewer", "author:team-a/*"]));
    assert!(!listed.to_string().contains(&secret) && listed["next"].is_null(), "{listed}");
    let revoked = ask(&server, "root", Method::DELETE, "/api/tokens/ci").await;
    assert_eq!(revoked.status, StatusCode::NO_CONTENT);
    assert_eq!(list(&server, &secret).await.problem(), "401 unauthorized");
    let again = ask(&server, "root", Method::DELETE, "/api/tokens/ci").await;
    assert_eq!(again.problem(), "404 unknown-token");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_makes_no_sense_is_refused() {
    let server = Server::set(guarded());
    for (body, expected) in [
        (json!({ "name": "ci", "roles": [] }), "422 invalid-roles"),
        (json!({ "name": "ci", "roles": ["root"] }), "422 invalid-role"),
        (json!({ "name": "ci", "roles": ["admin:team-a/*"] }), "422 invalid-role"),
        (json!({ "name": "ci", "roles": ["viewer:*/a"] }), "422 invalid-role"),
        (json!({ "name": " ", "roles": ["viewer"] }), "422 invalid-name"),
        (json!({ "name": "ci", "roles": ["viewer"], "owner": " " }), "422 invalid-owner"),
        (json!({ "name": "ci", "roles": ["viewer"], "expires_at": "soon" }), "422 bad-time"),
        (json!({ "name": "ci", "roles": ["viewer"], "path": "a" }), "422 unknown-field"),
        (
            json!({ "name": "ci", "roles": ["viewer"], "expires_at": "2020-01-01T00:00:00Z" }),
            "422 already-expired",
        ),
    ] {
        assert_eq!(create(&server, body.clone()).await.problem(), expected, "{body}");
    }
    let listed = ask(&server, "root", Method::GET, "/api/tokens").await.body;
    assert_eq!(listed["tokens"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn tokens_are_listed_page_by_page() {
    let server = Server::set(guarded());
    for name in ["c", "a", "b"] {
        secret_of(&server, name, &["viewer"]).await;
    }
    let page = ask(&server, "root", Method::GET, "/api/tokens?limit=2").await.body;
    assert_eq!((&page["tokens"][1]["name"], &page["next"]), (&json!("b"), &json!("b")));
    let page = ask(&server, "root", Method::GET, "/api/tokens?limit=2&after=b").await.body;
    assert_eq!((&page["tokens"][0]["name"], &page["next"]), (&json!("c"), &json!(null)));
}

/// Compares the access matrix per role: `.` allowed, `-` refused.
#[tokio::test(start_paused = true)]
async fn every_route_of_the_document_is_open_to_its_roles_only() {
    let server = Server::set(guarded());
    server.state.drain();
    let mut secrets = Vec::new();
    for role in Role::ALL {
        secrets.push(secret_of(&server, role.as_str(), &[role.as_str()]).await);
    }
    let names: Vec<&str> = Role::ALL.iter().map(|role| role.as_str()).collect();
    let mut matrix = format!("{}\n", names.join(" "));
    for (method, path) in operations(&server).await {
        let mut row = String::new();
        for secret in &secrets {
            let path = path.replace(['{', '}'], "1");
            let answer = ask(&server, secret, method.clone(), &path).await;
            row.push(if answer.body["code"] == "forbidden" { '-' } else { '.' });
        }
        writeln!(matrix, "{row} {method} {path}").expect("a string takes everything");
    }
    expect_file!["openapi/roles.txt"].assert_eq(&matrix);
}

#[tokio::test(start_paused = true)]
async fn a_page_of_a_revoked_token_leads_to_the_login() {
    let server = Server::set(guarded());
    let secret = secret_of(&server, "ada", &["viewer"]).await;
    let narrow = secret_of(&server, "narrow", &["viewer:team-a/*"]).await;
    let page =
        async |secret: &str| ask(&server, secret, Method::GET, "/ui/executions").await.status;
    assert_eq!(page(&secret).await, StatusCode::OK);
    assert_eq!(page(&narrow).await, StatusCode::FORBIDDEN);
    server.state.app().revoke_token("ada").await.expect("it is there");
    assert_eq!(page(&secret).await, StatusCode::SEE_OTHER);
}

/// Compares the routes that a restricted token may use, of those that its role includes: `.` has a
/// rule for paths, `-` refuses the token.
#[tokio::test(start_paused = true)]
async fn a_route_without_a_rule_for_paths_refuses_a_token_that_is_restricted_to_some() {
    let server = Server::set(guarded());
    server.state.drain();
    let grants = ["author:team-a/*"];
    let narrow = secret_of(&server, "narrow", &grants).await;
    let wide = secret_of(&server, "wide", &["author"]).await;
    let mut matrix = String::new();
    for (method, path) in operations(&server).await {
        let request = path.replace(['{', '}'], "1");
        let open = ask(&server, &wide, method.clone(), &request).await;
        if open.body["code"] == "forbidden" {
            continue;
        }
        let answer = ask(&server, &narrow, method.clone(), &request).await;
        let mark = if answer.body["code"] == "forbidden" { '-' } else { '.' };
        writeln!(matrix, "{mark} {method} {path}").expect("a string takes everything");
    }
    expect_file!["openapi/paths.txt"].assert_eq(&matrix);
}

const TEAM: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: import, path: PATH}
workflow:
  - step: start
    tool: {kind: python, code: 'pass'}
";

pub(super) async fn send(
    server: &Server,
    secret: &str,
    method: Method,
    path: &str,
    body: &str,
) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {secret}"))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_owned()));
    server.send(request.expect("a request")).await
}

/// A server with the playbooks `team-a/import` and `team-b/import` and an execution of each.
async fn two_teams() -> (Server, [String; 2]) {
    let server = Server::set(guarded());
    let mut executions = Vec::new();
    for path in ["team-a/import", "team-b/import"] {
        let content = json!({ "content": TEAM.replace("PATH", path) }).to_string();
        send(&server, "root", Method::POST, "/api/catalog/register", &content).await;
        let start = json!({ "path": path }).to_string();
        let started = send(&server, "root", Method::POST, "/api/execute", &start).await;
        executions.push(started.body["execution_id"].as_str().expect("an id").to_owned());
    }
    let executions = executions.try_into().expect("two executions");
    (server, executions)
}

/// The matrix of routes, roles and paths: an execution of another team looks like one that does not
/// exist.
#[tokio::test(start_paused = true)]
async fn an_execution_outside_the_paths_of_a_token_does_not_exist_for_it() {
    let (server, [own, other]) = two_teams().await;
    server.state.drain();
    let unknown = "4242424242424242424";
    let allowed = include_str!("openapi/paths.txt").lines().filter_map(|it| it.strip_prefix(". "));
    let routes: Vec<(Method, String)> = allowed
        .filter_map(|line| {
            let (method, path) = line.split_once(' ').expect("method and path");
            let path = match path {
                "/api/replay/state" | "/api/replay/timeline" => {
                    format!("{path}?execution_id={{execution_id}}")
                }
                path => path.to_owned(),
            };
            path.contains("{execution_id}").then(|| (method.parse().expect("a method"), path))
        })
        .collect();
    assert!(routes.len() > 25, "{routes:?}");
    for role in ["viewer", "operator", "author"] {
        let grant = format!("{role}:team-a/*");
        let secret = secret_of(&server, role, &[&grant]).await;
        for (method, route) in &routes {
            let about = async |execution: &str| {
                let path = route.replace("{execution_id}", execution);
                let path = path.replace("{name}", "go").replace("{command}", "1");
                let answer = ask(&server, &secret, method.clone(), &path).await;
                let body = answer.body.to_string().replace(execution, "ID");
                (answer.status, body)
            };
            let (outside, nowhere) = (about(&other).await, about(unknown).await);
            assert_eq!(outside, nowhere, "{role} {method} {route}");
            let inside = about(&own).await.0;
            match outside.0 {
                StatusCode::FORBIDDEN => {
                    assert_eq!(
                        (role, inside),
                        ("viewer", StatusCode::FORBIDDEN),
                        "{method} {route}"
                    );
                }
                status => {
                    assert_eq!(status, StatusCode::NOT_FOUND, "{role} {method} {route}");
                    assert_ne!(inside, StatusCode::FORBIDDEN, "{role} {method} {route}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_restricted_token_starts_and_lists_what_its_paths_permit() {
    let (server, [own, other]) = two_teams().await;
    let secret = secret_of(&server, "a", &["operator:team-a/*"]).await;
    let start = async |body: serde_json::Value| {
        send(&server, &secret, Method::POST, "/api/execute", &body.to_string()).await
    };
    let listed = list(&server, &secret).await.body;
    let ids: Vec<&str> = listed.as_array().expect("a list").iter().map(id_of).collect();
    assert_eq!(ids, [own.as_str()]);
    let started = start(json!({ "path": "team-a/import" })).await;
    assert_eq!(started.status, StatusCode::OK, "{}", started.body);
    let (outside, nowhere) = (
        start(json!({ "path": "team-b/import" })).await,
        start(json!({ "path": "team-b/none" })).await,
    );
    let text = |answer: &Answer| answer.body.to_string().replace("import", "none");
    assert_eq!((outside.status, text(&outside)), (nowhere.status, text(&nowhere)));
    assert_eq!(outside.status, StatusCode::NOT_FOUND);
    let by_name = start(json!({ "path": "import" })).await;
    assert_eq!(by_name.status, StatusCode::NOT_FOUND, "{}", by_name.body);
    let below = start(json!({ "path": "team-a/import", "parent_execution_id": other })).await;
    assert_eq!(below.status, StatusCode::NOT_FOUND, "{}", below.body);
    let content = json!({ "content": TEAM.replace("PATH", "team-b/import") }).to_string();
    let entry = send(&server, "root", Method::POST, "/api/catalog/register", &content).await;
    let entry = entry.body["catalog_id"].clone();
    assert!(entry.is_string() || entry.is_number(), "{entry}");
    let by_id = start(json!({ "catalog_id": entry })).await;
    assert_eq!(by_id.status, StatusCode::NOT_FOUND, "{}", by_id.body);
}

fn id_of(item: &serde_json::Value) -> &str {
    item["execution_id"].as_str().expect("an id")
}

#[tokio::test(start_paused = true)]
async fn a_start_key_of_another_team_reveals_nothing() {
    let (server, _) = two_teams().await;
    let dedup = json!({ "key": "nightly" });
    let theirs = json!({ "path": "team-b/import", "dedup": dedup }).to_string();
    let first = send(&server, "root", Method::POST, "/api/execute", &theirs).await;
    let first = first.body["execution_id"].as_str().expect("an id").to_owned();
    let secret = secret_of(&server, "a", &["operator:team-a/*"]).await;
    let ours = json!({ "path": "team-a/import", "dedup": dedup }).to_string();
    let answer = send(&server, &secret, Method::POST, "/api/execute", &ours).await;
    assert!(!answer.body.to_string().contains(&first), "{}", answer.body);
}

/// Answers are kept in memory (summaries, folds, results); each is given for its execution and token.
#[tokio::test(start_paused = true)]
async fn an_answer_to_another_team_is_not_given_again_from_memory() {
    let (server, [_, other]) = two_teams().await;
    let unknown = "4242424242424242424";
    let allowed = include_str!("openapi/paths.txt").lines().filter_map(|it| it.strip_prefix(". "));
    let routes: Vec<&str> = allowed
        .filter_map(|line| line.strip_prefix("GET "))
        .filter(|path| path.contains("{execution_id}"))
        .filter(|path| !path.contains("stream") && !path.contains("wait"))
        .collect();
    assert!(routes.len() > 10, "{routes:?}");
    let secret = secret_of(&server, "a", &["author:team-a/*"]).await;
    server.state.drain();
    for route in routes {
        let about = async |secret: &str, execution: &str| {
            let path = route.replace("{execution_id}", execution);
            let path = path.replace("{name}", "go").replace("{command}", "1");
            let answer = ask(&server, secret, Method::GET, &path).await;
            (answer.status, answer.body.to_string().replace(execution, "ID"))
        };
        for _ in 0..2 {
            about("root", &other).await;
        }
        assert_eq!(about(&secret, &other).await, about(&secret, unknown).await, "{route}");
    }
}

#[tokio::test(start_paused = true)]
async fn open_streams_end_within_seconds_after_their_token_was_revoked() {
    for path in ["stream", "live", "logs?follow=true&format=jsonl"] {
        let server = Server::set(guarded());
        server.state.app().register(super::HELLO).await.expect("it is valid");
        let secret = secret_of(&server, "ci", &["operator"]).await;
        let request = Request::post("/api/execute")
            .header(header::AUTHORIZATION, format!("Bearer {secret}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(json!({ "path": "tests/hello" }).to_string()));
        let started = server.send(request.expect("a request")).await;
        let id = started.body["execution_id"].as_str().expect("an id").to_owned();
        let path = format!("/api/executions/{id}/{path}");
        let request = Request::get(&path).header(header::AUTHORIZATION, format!("Bearer {secret}"));
        let request = request.body(Body::empty()).expect("a request");
        let answer = server.open(request).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        let begun = tokio::time::Instant::now();
        let mut pieces = answer.into_body().into_data_stream();
        // The stream is open while its token is valid.
        let open = tokio::time::timeout(Duration::from_secs(20), async {
            while pieces.next().await.is_some_and(|piece| piece.is_ok()) {}
        });
        assert!(open.await.is_err(), "{path} ended after {:?}", begun.elapsed());
        server.state.app().revoke_token("ci").await.expect("it is there");
        let ended = tokio::time::timeout(Duration::from_secs(11), async {
            while pieces.next().await.is_some_and(|piece| piece.is_ok()) {}
        });
        ended.await.unwrap_or_else(|_| panic!("{path} goes on"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_denial_takes_as_long_whether_the_object_exists_or_not() {
    let server = Server::set(guarded());
    let secret = secret_of(&server, "ci", &["operator:team-a/*"]).await;
    server.state.app().register(super::HELLO).await.expect("it is valid");
    let started = send(&server, "root", Method::POST, "/api/execute", r#"{"path": "tests/hello"}"#);
    let started = started.await.body;
    let foreign = started["execution_id"].as_str().expect("an id").to_owned();
    let mut spent = Vec::new();
    for id in [&*foreign, "77"] {
        for (method, end) in [
            (Method::GET, ""),
            (Method::GET, "/events"),
            (Method::GET, "/stream"),
            (Method::POST, "/cancel"),
        ] {
            let begun = tokio::time::Instant::now();
            let path = format!("/api/executions/{id}{end}");
            let answer = send(&server, &secret, method, &path, "{}").await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}: {}", answer.body);
            spent.push(begun.elapsed());
        }
    }
    assert!(spent.iter().all(|it| *it == Duration::from_millis(50)), "{spent:?}");
}
