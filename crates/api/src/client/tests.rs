//! Tests of which calls the client repeats, against a minimal TCP server.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;

const BUSY: &str = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n";
const AWAY: &str =
    "HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n";
const FINE: &str =
    "HTTP/1.1 200 OK\r\ncontent-length: 26\r\n\r\n{\"status\":\"ok\",\"n\":\"0123\"}";
const REFUSED: &str = "HTTP/1.1 422 Unprocessable Entity\r\ncontent-length: 38\r\n\r\n\
                       {\"code\":\"no-playbook\",\"detail\":\"none\"}";
const STRANGER: &str = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>";

/// Starts a server that gives these answers, one per connection. The task returns the request lines
/// it received.
async fn server(answers: Vec<&'static str>) -> (Client, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    // An error means that a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client =
        Client::new(ClientSettings { base, token: Some("secret".to_owned()), ca: None }).unwrap();
    let seen = tokio::spawn(async move {
        let mut seen = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 4096];
            let count = stream.read(&mut head).await.unwrap();
            let head = String::from_utf8_lossy(&head[..count]).into_owned();
            assert!(head.contains("authorization: Bearer secret"), "{head}");
            seen.push(head.lines().next().unwrap_or_default().to_owned());
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
        seen
    });
    (client, seen)
}

async fn check_read(answers: Vec<&'static str>, expected: &str) {
    let count = answers.len();
    let (client, seen) = server(answers).await;
    let told = match client.health().await {
        Ok(health) => health["status"].to_string(),
        Err(error) => error.to_string().replace(client.base().as_str(), "BASE"),
    };
    assert_eq!(told, expected);
    assert_eq!(seen.await.unwrap(), vec!["GET /api/health HTTP/1.1"; count]);
}

#[tokio::test]
async fn a_read_is_repeated_as_the_server_asks() {
    check_read(vec![BUSY, AWAY, FINE], "\"ok\"").await;
}

#[tokio::test]
async fn what_is_refused_is_not_repeated_and_said_in_the_servers_words() {
    check_read(vec![REFUSED], "none").await;
}

#[tokio::test]
async fn somebody_else_is_not_taken_for_a_server() {
    check_read(vec![STRANGER], "BASE does not answer like a noetl server").await;
}

#[tokio::test]
async fn a_start_is_repeated_only_if_it_was_turned_away() {
    let start = || StartCall {
        playbook: crate::wire::WantedPlaybook::Path { path: "p".to_owned(), version: None },
        payload: serde_json::Map::new(),
        error_mode: None,
        pool: None,
    };
    let (client, seen) = server(vec![BUSY, REFUSED]).await;
    assert_eq!(client.start(&start()).await.unwrap_err().to_string(), "none");
    assert_eq!(seen.await.unwrap().len(), 2);
    let (client, seen) = server(vec![AWAY]).await;
    assert!(client.start(&start()).await.is_err());
    assert_eq!(seen.await.unwrap().len(), 1);
}

#[test]
fn a_query_says_what_is_set() {
    let query =
        SummariesQuery { path: Some("a b&c".to_owned()), limit: Some(3), ..Default::default() };
    assert_eq!(with_query("x", &query), "x?path=a+b%26c&limit=3");
}
