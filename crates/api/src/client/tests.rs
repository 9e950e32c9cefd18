//! Tests of which calls the client repeats, against a minimal TCP server.

use std::collections::BTreeSet;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::*;

const BUSY: &str = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n";
const AWAY: &str =
    "HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n";
const FINE: &str =
    "HTTP/1.1 200 OK\r\ncontent-length: 26\r\n\r\n{\"status\":\"ok\",\"n\":\"0123\"}";
const REFUSED: &str = "HTTP/1.1 422 Unprocessable Entity\r\ncontent-length: 38\r\n\r\n\
                       {\"code\":\"no-playbook\",\"detail\":\"none\"}";
const STARTED: &str = "HTTP/1.1 200 OK\r\ncontent-length: 62\r\n\r\n\
                       {\"execution_id\":\"7\",\"status\":\"started\",\"commands_generated\":1}";
const STRANGER: &str = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>";

/// Starts a server that gives these answers, one per connection. The task returns the requests that
/// it received.
async fn server(answers: Vec<&'static str>) -> (Client, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    // An error means that a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::new(ClientSettings {
        base,
        token: Some("secret".to_owned()),
        actor: None,
        ca: None,
    })
    .unwrap();
    let seen = tokio::spawn(async move {
        let mut seen = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let request = received(&mut stream).await;
            assert!(request.contains("authorization: Bearer secret"), "{request}");
            seen.push(request);
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
        seen
    });
    (client, seen)
}

/// Reads a request with its body.
async fn received(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the request is cut off");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let len = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= len.map_or(0, |len| len.parse().unwrap()) {
            return text;
        }
    }
}

async fn check_read(answers: Vec<&'static str>, expected: &str) {
    let count = answers.len();
    let (client, seen) = server(answers).await;
    let told = match client.health().await {
        Ok(health) => health["status"].to_string(),
        Err(error) => error.to_string().replace(client.base().as_str(), "BASE"),
    };
    assert_eq!(told, expected);
    let seen = seen.await.unwrap();
    assert_eq!(seen.len(), count);
    assert!(seen.iter().all(|request| request.starts_with("GET /api/health HTTP/1.1")), "{seen:?}");
}

#[tokio::test]
async fn a_read_is_repeated_as_the_server_asks() {
    check_read(vec![BUSY, AWAY, FINE], "\"ok\"").await;
}

#[tokio::test]
async fn a_refusal_is_not_repeated_and_keeps_the_words_of_the_server() {
    check_read(vec![REFUSED], "none").await;
}

#[tokio::test]
async fn another_process_is_not_taken_for_a_server() {
    check_read(vec![STRANGER], "BASE does not answer like a noetl server").await;
}

#[tokio::test]
async fn a_start_is_repeated_under_one_key() {
    let (client, seen) = server(vec![BUSY, AWAY, STARTED]).await;
    assert_eq!(client.start(ExecuteRequest::default()).await.unwrap(), ExecutionId(7));
    let bodies: BTreeSet<String> = seen.await.unwrap().iter().map(|it| body_of(it)).collect();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    assert!(bodies.iter().all(|body| body.contains("\"dedup\":{\"key\":\"")), "{bodies:?}");
    let (client, seen) = server(vec![STARTED]).await;
    client.start(ExecuteRequest::default()).await.unwrap();
    assert!(!bodies.contains(&body_of(&seen.await.unwrap()[0])), "{bodies:?}");
}

#[tokio::test]
async fn a_fork_is_repeated_only_if_it_was_rejected_unread() {
    let fork = ForkBody::default();
    let (client, seen) = server(vec![BUSY, REFUSED]).await;
    assert_eq!(client.fork(ExecutionId(7), &fork).await.unwrap_err().to_string(), "none");
    assert_eq!(seen.await.unwrap().len(), 2);
    let (client, seen) = server(vec![AWAY]).await;
    assert!(client.fork(ExecutionId(7), &fork).await.is_err());
    assert_eq!(seen.await.unwrap().len(), 1);
}

fn body_of(request: &str) -> String {
    request.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
}

#[test]
fn a_query_says_what_is_set() {
    let query =
        SummariesQuery { path: Some("a b&c".to_owned()), limit: Some(3), ..Default::default() };
    assert_eq!(with_query("x", &query), "x?path=a+b%26c&limit=3");
}
