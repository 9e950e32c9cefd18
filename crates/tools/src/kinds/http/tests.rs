//! Tests of the `http` tool against a server with scripted responses.

mod bodies;
mod hosts;
mod oauth2;
mod redirect;
mod request;
mod response;
mod saved;

use std::sync::Mutex;

use expect_test::{Expect, expect};
use noetl_model::{ErrorKind, Outcome};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::protect::credentials::FixedCredentials;
use crate::protect::outgoing::Egress;
use crate::testing::{call, show};

/// A server that answers each connection with the next scripted response, byte for byte, and
/// records the requests.
struct Server {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read_request(&mut stream).await;
                seen.lock().unwrap().push(request);
                stream.write_all(&answer).await.unwrap();
            }
        });
        Self { address, requests }
    }

    /// Returns the recorded requests, with the server's address replaced.
    fn seen(&self) -> String {
        self.requests.lock().unwrap().join("\n---\n").replace(&self.address, "server")
    }
}

async fn read_request(stream: &mut tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if length.map_or(0, |length| length.parse().unwrap()) <= body.len() {
                let lines = head.lines().filter(|line| !line.starts_with("accept"));
                let head: Vec<&str> = lines.collect();
                return format!("{}\n\n{body}", head.join("\n")).trim_end().to_owned();
            }
        }
        assert!(0 < stream.read_buf(&mut bytes).await.unwrap(), "request cut short: {text}");
    }
}

fn answer(status: &str, headers: &[&str], body: &str) -> Vec<u8> {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn http(egress: Egress) -> Http {
    let credentials = FixedCredentials::from_environment([(
        "NOETL_CREDENTIAL_MY_API".to_owned(),
        r#"{"type": "bearer", "data": {"token": "sesame"}}"#.to_owned(),
    )]);
    Http::new(Arc::new(Outgoing::new(egress, false)), Arc::new(credentials))
}

/// Runs a configuration against a server; `{server}` is replaced by the server's address.
async fn exchange(server: &Server, config: Value) -> String {
    let text = config.to_string().replace("{server}", &server.address);
    let call = call(serde_json::from_str(&text).unwrap());
    show(&http(Egress::Any).run(&call).await).replace(&server.address, "server")
}

async fn check_request(config: Value, expected: Expect) {
    let server = Server::start(vec![answer("204 No Content", &[], "")]).await;
    let shown = exchange(&server, config).await;
    expected.assert_eq(&format!(
        "{}\n",
        if shown.starts_with("completed") { server.seen() } else { shown }
    ));
}

async fn check_response(config: Value, answer: Vec<u8>, expected: Expect) {
    let server = Server::start(vec![answer]).await;
    expected.assert_eq(&exchange(&server, config).await);
}

fn get() -> Value {
    json!({"url": "http://{server}/a?key=secret"})
}

#[tokio::test]
async fn a_public_only_worker_connects_to_no_private_address() {
    let server = Server::start(vec![answer("200 OK", &[], "")]).await;
    let port = server.address.rsplit(':').next().unwrap();
    for host in ["127.0.0.1", "localhost", "[::1]", "2130706433"] {
        let call = call(json!({"url": format!("http://{host}:{port}/")}));
        let shown = show(&http(Egress::Public).run(&call).await);
        assert!(shown.starts_with("failed config: GET http://"), "{shown}");
        assert!(shown.contains("the host is not on the public internet"), "{shown}");
    }
    assert_eq!(server.seen(), "");
}

#[tokio::test]
async fn open_and_closed_private_ports_fail_alike() {
    let server = Server::start(vec![answer("200 OK", &[], "")]).await;
    let open = server.address.rsplit(':').next().unwrap().to_owned();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = free.local_addr().unwrap().port().to_string();
    drop(free);
    for host in ["127.0.0.1", "localhost"] {
        let mut shown = Vec::new();
        for port in [&open, &closed] {
            let call = call(json!({"url": format!("http://{host}:{port}/")}));
            let ended = show(&http(Egress::Public).run(&call).await);
            shown.push(ended.replace(port.as_str(), "PORT"));
        }
        assert_eq!(shown[0], shown[1]);
    }
    assert_eq!(server.seen(), "");
}
