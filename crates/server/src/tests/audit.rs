//! Tests of the audit log: which requests it records, with which fields.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use futures::StreamExt as _;
use noetl_bus::LocalBus;
use noetl_store::{Access, Clock, MemoryStore, StoreError, Wrapper};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::tokens::{ask, guarded, secret_of, send};
use super::{HELLO, Server, SimulatedClock};

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

/// A store that refuses every write while it is told to.
struct RefusingStore {
    store: Arc<MemoryStore>,
    refuses: Arc<AtomicBool>,
}

impl Wrapper for RefusingStore {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.store
    }

    async fn call<T: Send>(
        &self,
        access: Access,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match access {
            Access::Write | Access::Maintenance if self.refuses.load(Ordering::SeqCst) => {
                Err(StoreError::Unavailable("the disk is full".into()))
            }
            Access::Write | Access::Maintenance | Access::Read => answer.await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_changed_while_the_audit_log_cannot_be_written() {
    let clock: Arc<dyn Clock> = Arc::new(SimulatedClock { begun: Instant::now() });
    let refuses = Arc::new(AtomicBool::new(false));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let store = Arc::new(RefusingStore { store, refuses: refuses.clone() });
    let server = Server::on(guarded(), store, Arc::new(LocalBus::new()), clock);
    let register = json!({ "content": HELLO }).to_string();
    let change =
        async || send(&server, "root", Method::POST, "/api/catalog/register", &register).await;
    assert_eq!(change().await.status, StatusCode::OK);
    refuses.store(true, Ordering::SeqCst);
    // The first entry that cannot be written is that of a change which fails for the same reason.
    assert_eq!(change().await.status, StatusCode::SERVICE_UNAVAILABLE);
    for _ in 0..3 {
        assert_eq!(change().await.problem(), "503 audit-unavailable");
    }
    assert_eq!(ask(&server, "root", Method::GET, "/api/executions").await.status, StatusCode::OK);
    refuses.store(false, Ordering::SeqCst);
    tokio::time::advance(Duration::from_secs(2)).await;
    tokio::task::yield_now().await;
    assert_eq!(change().await.status, StatusCode::OK);
    let refused = trail(&server).await.iter().filter(|it| it.ends_with("failed 503")).count();
    assert_eq!(refused, 4, "refusals are recorded once the log can be written");
}

#[tokio::test(start_paused = true)]
async fn the_log_is_followed_from_a_number_on_while_entries_are_written() {
    let server = Server::set(guarded());
    let change = async || send(&server, "root", Method::POST, "/api/execute", "{}").await;
    for _ in 0..3 {
        change().await;
    }
    for (query, last) in [("?format=jsonl&after=1", None), ("", Some("1"))] {
        let mut request = Request::get(format!("/api/audit/stream{query}"))
            .header(header::AUTHORIZATION, "Bearer root");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let answer = server.open(request.body(Body::empty()).expect("a request")).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let mut pieces = answer.into_body().into_data_stream();
        let mut text = String::new();
        let mut read = async |text: &mut String, count: usize| {
            while text.matches("\"number\":").count() < count {
                let piece = pieces.next().await.expect("it goes on").expect("it is whole");
                text.push_str(&String::from_utf8_lossy(&piece));
            }
        };
        read(&mut text, 2).await;
        assert!(!text.contains("\"number\":1,") && text.contains("\"number\":2,"), "{text}");
        change().await;
        read(&mut text, 3).await;
        assert_eq!(text.contains("id: 3"), last.is_some(), "{text}");
    }
    let other = secret_of(&server, "ada", &["author"]).await;
    let refused = ask(&server, &other, Method::GET, "/api/audit/stream").await;
    assert_eq!(refused.problem(), "403 forbidden");
}

#[tokio::test(start_paused = true)]
async fn no_entry_has_anything_of_a_body_a_query_or_a_header() {
    const CANARY: &str = "c4nary";
    let server = Server::set(guarded());
    for path in ["/api/execute", "/api/credentials", "/api/catalog/register", "/api/tokens"] {
        let body = json!({ CANARY: CANARY, "path": CANARY, "content": CANARY, "name": CANARY });
        let request = Request::post(format!("{path}?key={CANARY}&{CANARY}"))
            .header(header::AUTHORIZATION, "Bearer root")
            .header(header::CONTENT_TYPE, "application/json")
            .header("idempotency-key", CANARY)
            .header("x-request-id", CANARY)
            .header("cookie", format!("noetl_session={CANARY}"))
            .header("user-agent", CANARY)
            .body(Body::from(body.to_string()));
        server.send(request.expect("a request")).await;
    }
    let guess = send(&server, CANARY, Method::POST, "/api/execute", "{}").await;
    assert_eq!(guess.status, StatusCode::UNAUTHORIZED);
    let link = Request::post(format!("/ui/decide/{CANARY}.{CANARY}"))
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(format!("comment={CANARY}")));
    server.send(link.expect("a request")).await;
    let log = ask(&server, "root", Method::GET, "/api/audit").await.body.to_string();
    assert!(log.contains("/api/credentials") && log.contains("/ui/decide/"), "{log}");
    assert!(!log.contains(CANARY), "{log}");
}
