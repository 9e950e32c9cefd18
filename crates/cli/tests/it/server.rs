//! A server and a worker, each in a process of its own.

use std::io;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use noetl_testkit::{NatsServer, PostgresServer};
use serde_json::{Value, json};

use crate::playbooks::HELLO;
use crate::sandbox::{Sandbox, await_end, eventually, signal};

/// The encryption key of servers that share a database.
pub(crate) const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// A process that is terminated at the end of the test, also if the test fails.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn end(mut self) -> Option<i32> {
        signal(&self.0, "TERM");
        await_end(&mut self.0).code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _buried = self.0.wait();
    }
}

pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) address: String,
    pub(crate) _log: ServerLog,
}

/// The standard error of a server, shown if its test fails.
#[derive(Default)]
pub(crate) struct ServerLog {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl ServerLog {
    fn of(mut stderr: impl io::BufRead + Send + 'static, begun: String) -> Self {
        let text = Arc::new(Mutex::new(begun));
        let written = text.clone();
        let reader = thread::spawn(move || {
            let mut line = String::new();
            while stderr.read_line(&mut line).is_ok_and(|length| length > 0) {
                written.lock().expect("no panic").push_str(&line);
                line.clear();
            }
        });
        Self { text, reader: Some(reader) }
    }
}

impl Drop for ServerLog {
    fn drop(&mut self) {
        if !thread::panicking() {
            return;
        }
        // A process that the server has started may keep the pipe open.
        let begun = Instant::now();
        while self.reader.as_ref().is_some_and(|reader| !reader.is_finished())
            && begun.elapsed() < Duration::from_secs(1)
        {
            thread::yield_now();
        }
        let text = self.text.lock().map(|text| text.clone()).unwrap_or_default();
        let shown = format!("log of the server:\n{text}");
        let _closed = io::stderr().write_all(shown.as_bytes());
    }
}

impl Server {
    /// Returns the URL for clients.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn new(sandbox: &Sandbox, more: &[&str]) -> Self {
        let args = [&["server", "--listen", "127.0.0.1:0"], more].concat();
        let mut command = sandbox.command(&args);
        command.env("NOETL_ENCRYPTION_KEY", KEY).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::of(command.spawn().expect("the binary runs"))
    }

    /// Returns a server whose standard error is piped, with the address it prints.
    pub(crate) fn of(child: Child) -> Self {
        let (mut process, mut said) = (Process(child), String::new());
        let mut stderr = BufReader::new(process.0.stderr.take().expect("it is piped"));
        // Warnings may come before the address.
        while !said.contains("listening on") && stderr.read_line(&mut said).expect("it speaks") > 0
        {
        }
        let address = said.split("listening on http://").nth(1);
        let address = address.and_then(|rest| rest.split(',').next());
        let address = address.unwrap_or_else(|| panic!("no address in {said:?}")).to_owned();
        Self { process, address, _log: ServerLog::of(stderr, said) }
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        self.call_with(method, path, &[], body)
    }

    /// Sends a request with additional headers.
    pub(crate) fn call_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Value {
        let more: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let (body, host) = (body.to_string(), &self.address);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
             {more}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("an answer has a body");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    /// Registers and starts the greeting, and waits for its end.
    fn greet(&self) {
        self.register_greeting();
        self.await_completion(&self.start_greeting());
    }

    fn register_greeting(&self) {
        self.call("POST", "/api/catalog/register", &json!({ "content": HELLO }));
    }

    fn start_greeting(&self) -> String {
        let started = self.call("POST", "/api/execute", &json!({ "path": "tests/hello" }));
        started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()
    }

    fn await_completion(&self, id: &str) {
        let mut status = Value::Null;
        eventually("the execution ends", || {
            status = self.call("GET", &format!("/api/executions/{id}/status"), &Value::Null);
            status["completed"] == true
        });
        assert_eq!(status["status"], "COMPLETED", "{status}");
    }
}

#[test]
fn a_server_runs_executions_and_ends_cleanly_on_a_signal() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &["--db", "history.db"]);
    server.greet();
    assert_eq!(server.process.end(), Some(0));
    let kept = sandbox.json(&["executions", "list", "--db", "history.db", "-o", "json"]);
    assert_eq!(kept[0]["status"], "COMPLETED", "{kept}");
}

#[test]
fn a_worker_of_its_own_process_runs_the_commands_of_a_server() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &["--no-worker"]);
    let address = format!("http://{}", server.address);
    let worker = Process(sandbox.spawn(&["worker", "--server", &address, "--concurrency", "2"]));
    server.greet();
    assert_eq!(worker.end(), Some(0));
    assert_eq!(server.process.end(), Some(0));
}

const ASKS_FOR_ITS_SERVER: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: asks, path: tests/asks}
workflow:
  - step: start
    tool: {kind: noop, result: {server: "{{ server_url }}", other: "{{ server_url | default('none') }}"}}
"#;

#[test]
fn the_embedded_worker_knows_the_url_of_its_server_if_there_is_one() {
    let sandbox = Sandbox::new().with("asks.yaml", ASKS_FOR_ITS_SERVER);
    let server = Server::new(&sandbox, &["--db", "history.db"]);
    let url = server.url();
    let run = ["run", "asks.yaml", "-q", "-o", "json"];
    let there = sandbox.json(&[&run[..], &["--server", &url]].concat());
    assert_eq!(there["output"], json!({ "server": url, "other": url }), "{there:#}");
    assert_eq!(server.process.end(), Some(0));
    let alone = sandbox.json(&[&run[..], &["--ephemeral"]].concat());
    assert_eq!(alone["output"], json!({ "server": null, "other": "none" }), "{alone:#}");
}

#[test]
fn servers_that_share_a_database_go_on_for_one_that_is_killed() {
    let (postgres, nats) = (PostgresServer::private(), NatsServer::start());
    let (database, broker) = (postgres.url("postgres"), nats.url());
    let shared = ["--no-worker", "--database", &database, "--nats", &broker];
    let sandbox = Sandbox::new();
    let (doomed, survivor) = (Server::new(&sandbox, &shared), Server::new(&sandbox, &shared));
    eventually("PostgreSQL and NATS are reached", || {
        let health = doomed.call("GET", "/api/health", &Value::Null);
        health["database"] == "connected" && health["nats"] == "connected"
    });
    doomed.register_greeting();
    let ids: Vec<String> =
        (0..10).flat_map(|_| [doomed.start_greeting(), survivor.start_greeting()]).collect();
    drop(doomed);
    let address = format!("http://{}", survivor.address);
    let worker = Process(sandbox.spawn(&["worker", "--server", &address]));
    ids.iter().for_each(|id| survivor.await_completion(id));
    assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), 20, "{ids:?}");
    assert_eq!(worker.end(), Some(0));
    assert_eq!(survivor.process.end(), Some(0));
}

#[test]
fn a_server_that_shares_its_database_wants_a_key_for_secrets() {
    let sandbox = Sandbox::new();
    let said = sandbox.noetl(&[
        "server",
        "--listen",
        "127.0.0.1:0",
        "--database",
        "postgres://nobody@127.0.0.1:1/none",
    ]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("NOETL_ENCRYPTION_KEY"), "{}", said.stderr);
    assert!(said.stderr.contains("openssl rand -base64 32"), "{}", said.stderr);
}

#[test]
fn a_server_does_not_start_with_the_machine_number_of_another() {
    let postgres = PostgresServer::private();
    let database = postgres.url("postgres");
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &["--no-worker", "--database", &database]);
    server.register_greeting();
    let id: u64 = server.start_greeting().parse().expect("an id is a number");
    let number = (id >> 12) % 1024;
    let second = sandbox
        .command(&["server", "--listen", "127.0.0.1:0", "--database", &database])
        .env("NOETL_SERVER_MACHINE_ID", number.to_string())
        .env("NOETL_ENCRYPTION_KEY", KEY)
        .output()
        .expect("it runs");
    assert_eq!(second.status.code(), Some(2));
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains(&format!("has the machine number {number}")), "{said}");
    assert!(said.contains("NOETL_SERVER_MACHINE_ID"), "{said}");
}

#[test]
fn an_address_that_others_can_reach_wants_a_token() {
    let ended = Sandbox::new().noetl(&["server", "--listen", "0.0.0.0:0"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("NOETL_API_TOKEN"), "{}", ended.stderr);
}
