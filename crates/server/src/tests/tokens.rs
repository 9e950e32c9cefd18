//! Tests of stored tokens: who is let in, with which role, and until when.

use std::fmt::Write as _;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use expect_test::expect_file;
use noetl_app::{NewToken, PAGE_MAX};
use noetl_control::ControlSettings;
use noetl_model::{Actor, Role, RoleGrant, Timestamp};

use super::openapi::operations;
use super::{Answer, Server};
use crate::{Authentication, Hosts, Limits, Rate, Scope, ServerSettings, Token};

/// Returns settings with one token of an administrator and a high limit of refusals.
fn guarded() -> ServerSettings {
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
