//! Tests of the audit log: which requests it records, with which fields.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};

use super::tokens::{ask, guarded, secret_of, send};
use super::{HELLO, Server};

/// Returns the entries as `number actor action subject outcome detail`.
async fn trail(server: &Server) -> Vec<String> {
    let page = ask(server, "root", Method::GET, "/api/audit").await.body;
    let entries = page["entries"].as_array().expect("entries").iter();
    let word = |entry: &Value, key: &str| entry[key].as_str().unwrap_or("-").to_owned();
    entries
        .map(|it| {
            let words =
                ["actor", "action", "subject", "outcome", "detail"].map(|key| word(it, key));
            format!("{} {}", it["number"], words.join(" "))
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn changes_are_recorded_with_their_actor_and_outcome_and_reads_are_not() {
    let server = Server::set(guarded());
    let ada = secret_of(&server, "ada", &["author"]).await;
    let register = json!({ "content": HELLO }).to_string();
    let post = async |secret: &str, path: &str, body: &str| {
        send(&server, secret, Method::POST, path, body).await.status
    };
    assert_eq!(post(&ada, "/api/catalog/register", &register).await, StatusCode::OK);
    assert_eq!(post("guess", "/api/execute", "{}").await, StatusCode::UNAUTHORIZED);
    assert_eq!(post(&ada, "/api/executions/1/finalize", "{}").await, StatusCode::FORBIDDEN);
    assert_eq!(post(&ada, "/api/executions/7/cancel", "{}").await, StatusCode::NOT_FOUND);
    assert_eq!(ask(&server, &ada, Method::GET, "/api/executions").await.status, StatusCode::OK);
    assert_eq!(post(&ada, "/api/catalog/list", "{}").await, StatusCode::OK);
    let expected = [
        "1 ada POST /api/catalog/register /api/catalog/register done 200",
        "2 - POST /api/execute /api/execute refused 401",
        "3 ada POST /api/executions/{execution_id}/finalize /api/executions/1/finalize refused 403",
        "4 ada POST /api/executions/{execution_id}/cancel /api/executions/7/cancel refused 404",
    ];
    assert_eq!(trail(&server).await, expected);
    let found = ask(&server, "root", Method::GET, "/api/audit/verification").await.body;
    assert_eq!((&found["valid"], &found["entries"]), (&json!(true), &json!(4)), "{found}");
}

#[tokio::test(start_paused = true)]
async fn entries_are_found_by_actor_action_and_time_page_by_page() {
    let server = Server::set(guarded());
    let ada = secret_of(&server, "ada", &["operator"]).await;
    for (secret, path) in [("root", "/api/execute"), (&*ada, "/api/execute"), (&*ada, "/api/x")] {
        send(&server, secret, Method::POST, path, "{}").await;
    }
    let numbers = async |query: &str| {
        let page = ask(&server, "root", Method::GET, &format!("/api/audit?{query}")).await.body;
        let entries = page["entries"].as_array().expect("entries").iter();
        let numbers: Vec<u64> = entries.map(|it| it["number"].as_u64().expect("one")).collect();
        (numbers, page["next"].as_u64())
    };
    assert_eq!(numbers("actor=ada").await, (vec![2, 3], None));
    assert_eq!(numbers("action=/api/execute").await, (vec![1, 2], None));
    assert_eq!(numbers("limit=1&after=1").await, (vec![2], Some(2)));
    assert_eq!(numbers("since=2099-01-01T00:00:00Z").await, (vec![], None));
    let refused = ask(&server, "root", Method::GET, "/api/audit?since=soon").await;
    assert_eq!(refused.problem(), "422 bad-time");
    assert_eq!(ask(&server, &ada, Method::GET, "/api/audit").await.problem(), "403 forbidden");
}

#[tokio::test(start_paused = true)]
async fn every_access_to_a_secret_is_recorded() {
    let server = Server::set(guarded());
    let put = json!({ "name": "api", "type": "bearer", "data": { "token": "s3cret" } }).to_string();
    let path = "/api/credentials";
    assert_eq!(send(&server, "root", Method::POST, path, &put).await.status, StatusCode::OK);
    let read = ask(&server, "root", Method::GET, "/api/credentials/api?include_data=true").await;
    assert_eq!(read.status, StatusCode::OK);
    // The entry of a read is written in the background.
    tokio::time::advance(Duration::from_millis(1)).await;
    let found = trail(&server).await;
    assert!(found.iter().any(|it| it.ends_with("- secret.put api done -")), "{found:?}");
    assert!(found.iter().any(|it| it.ends_with("- secret.read api done -")), "{found:?}");
    assert!(!found.join(" ").contains("s3cret"), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn a_name_that_a_request_with_an_unnamed_token_states_is_marked() {
    let server = Server::set(guarded());
    let ada = secret_of(&server, "ada", &["operator"]).await;
    for (secret, expected) in [("root", "eve (unverified)"), (ada.as_str(), "ada")] {
        let request = Request::post("/api/execute")
            .header(header::AUTHORIZATION, format!("Bearer {secret}"))
            .header(header::CONTENT_TYPE, "application/json")
            .header("x-noetl-actor", "eve")
            .body(Body::from("{}"));
        server.send(request.expect("a request")).await;
        let found = trail(&server).await;
        let last = found.last().expect("an entry");
        assert!(last.contains(&format!(" {expected} POST")), "{last}");
    }
}
