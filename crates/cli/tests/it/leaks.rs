//! A secret that services echo and commands print is not found in anything that an execution leaves
//! behind: the database, the API, the logs, the output of the command line.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use noetl_testkit::{NatsServer, PostgresServer};
use serde_json::{Value, json};

use crate::sandbox::{Sandbox, eventually};
use crate::server::{KEY, Process, Server, ServerLog};

const SECRET: &str = "pl4nted-Secret/Value+1";
/// The token that the token service returns for the secret.
const TOKEN: &str = "tok3n-got-with-the-secret";

const PLAYBOOK: &str = include_str!("leaks/playbook.yaml");
const CHILD: &str = include_str!("leaks/child.yaml");
/// The least number of places in the playbook that read and echo a secret.
const PLANTED_MIN: usize = 20;

/// Starts a server that answers every request with its content, in a header and in the body.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("it is bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that has disconnected does not need the answer.
            let _gone = answer(stream);
        }
    });
    address
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            count => request.extend_from_slice(&buffer[..count]),
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let proof = request.lines().find(|line| {
        let line = line.to_ascii_lowercase();
        line.starts_with("authorization:") || line.starts_with("x-api-key:")
    });
    let (status, body) = match request.split(' ').nth(1) {
        Some("/token") => ("200 OK", format!(r#"{{"access_token": "{TOKEN}", "expires_in": 60}}"#)),
        Some("/deny") => ("401 Unauthorized", format!("{request} {SECRET}")),
        Some("/fail") => ("500 No", format!("{request} {SECRET}")),
        Some(_) | None => ("200 OK", request.clone()),
    };
    let proof = proof.unwrap_or_default().replace(": ", " ");
    write!(
        stream,
        "HTTP/1.1 {status}\r\nx-echo: {proof}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns the credentials by the variables that hold them.
fn credentials(postgres: &PostgresServer, nats: &NatsServer) -> Vec<(String, String)> {
    let database = |port: u16| {
        json!({
            "type": "postgres", "db_host": "127.0.0.1", "db_port": port,
            "db_user": PostgresServer::USER, "db_password": SECRET, "db_name": "postgres",
        })
    };
    let all = [
        ("BEARER", json!({ "type": "bearer", "token": SECRET })),
        ("BASIC", json!({ "type": "basic", "username": "me", "password": SECRET })),
        ("KEY", json!({ "type": "api_key", "value": SECRET })),
        ("OAUTH", json!({ "type": "oauth2", "client_id": "me", "client_secret": SECRET })),
        ("PG", database(postgres.port())),
        ("PG_DOWN", database(1)),
        (
            "NATS",
            json!({ "type": "nats", "nats_url": nats.url(), "nats_user": "me", "nats_password": SECRET }),
        ),
    ];
    all.map(|(name, fields)| (format!("NOETL_CREDENTIAL_{name}"), fields.to_string())).to_vec()
}

/// Returns the secrets in plain and encoded forms.
fn forms() -> Vec<String> {
    let all = [SECRET, TOKEN].into_iter().flat_map(|secret| {
        let pair = BASE64_STANDARD.encode(format!("me:{secret}"));
        let escaped = secret.replace('/', "%2F").replace('+', "%2B");
        let encoded_pair = BASE64_STANDARD.encode(format!("me:{escaped}"));
        [secret.to_owned(), BASE64_STANDARD.encode(secret), pair, encoded_pair, escaped]
    });
    all.collect()
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// Everything that an execution has left behind, by place.
#[derive(Default)]
struct Left(Vec<(String, Vec<u8>)>);

impl Left {
    fn add(&mut self, place: &str, bytes: impl Into<Vec<u8>>) {
        self.0.push((place.to_owned(), bytes.into()));
    }

    fn add_files(&mut self, sandbox: &Sandbox) {
        let mut found = Vec::new();
        files(&sandbox.path(""), &mut found);
        for file in found {
            // A socket cannot be read, and holds nothing.
            let bytes = std::fs::read(&file).unwrap_or_default();
            self.add(&file.display().to_string(), bytes);
        }
    }

    fn has_no_secret(&self) {
        for (place, bytes) in &self.0 {
            for form in forms() {
                let shown = bytes.windows(form.len()).position(|window| window == form.as_bytes());
                if let Some(at) = shown {
                    let around = &bytes[at.saturating_sub(300)..(at + 100).min(bytes.len())];
                    panic!("{place} shows {form}: {}", String::from_utf8_lossy(around));
                }
            }
        }
    }
}

/// Returns the raw response to a request.
fn answered(server: &Server, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(&server.address).expect("it listens");
    let host = &server.address;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")
        .expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    answer
}

fn server(sandbox: &Sandbox, credentials: Vec<(String, String)>) -> Server {
    let mut command = sandbox.command(&["server", "--listen", "127.0.0.1:0", "--db", "history.db"]);
    command.env("RUST_LOG", "debug").env("NOETL_ENCRYPTION_KEY", KEY).envs(credentials);
    let log = |name| File::create(sandbox.path(name)).expect("the home is ours");
    command.stdout(log("server.out")).stderr(log("server.err"));
    let process = Process(command.spawn().expect("the binary runs"));
    let mut address = None;
    eventually("the server listens", || {
        let said = std::fs::read_to_string(sandbox.path("server.err")).unwrap_or_default();
        let rest = said.split("listening on http://").nth(1);
        address = rest.and_then(|rest| Some(rest.split_once(',')?.0.to_owned()));
        address.is_some()
    });
    Server { process, address: address.expect("it listens"), _log: ServerLog::default() }
}

/// Runs the playbook on the server to its end; returns the ids of its executions.
fn leaked(server: &Server) -> Vec<String> {
    for content in [CHILD, PLAYBOOK] {
        let registered =
            server.call("POST", "/api/catalog/register", &json!({ "content": content }));
        assert_ne!(registered["status"], "error", "{registered}");
    }
    let request = json!({ "path": "tests/leaks", "workload": { "api": echo() } });
    let started = server.call("POST", "/api/execute", &request);
    let id = started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    let mut status = Value::Null;
    eventually("the execution ends", || {
        status = server.call("GET", &format!("/api/executions/{id}/status"), &Value::Null);
        status["completed"] == true || status["failed"] == true
    });
    assert_eq!(status["status"], "FAILED", "{status}");
    assert!(status.to_string().contains("fails"), "its last step was to fail: {status}");
    let listed = server.call("GET", "/api/executions", &Value::Null);
    let listed = listed.as_array().or_else(|| listed["executions"].as_array()).cloned();
    let listed = listed.expect("executions are listed");
    listed.iter().map(|it| it["execution_id"].to_string().trim_matches('"').to_owned()).collect()
}

#[test]
fn a_secret_is_in_no_answer_no_log_and_no_file() {
    let (postgres, nats) = (PostgresServer::private_on_a_port(), NatsServer::start());
    let sandbox = Sandbox::new();
    let server = server(&sandbox, credentials(&postgres, &nats));
    let executions = leaked(&server);
    assert_eq!(executions.len(), 2, "the playbook and its child");
    let mut left = Left::default();
    for id in &executions {
        for path in [
            format!("/api/executions/{id}"),
            format!("/api/executions/{id}/events"),
            format!("/api/executions/{id}/status"),
            format!("/api/executions/{id}/stream"),
            format!("/api/executions/{id}/tree"),
            format!("/api/native/executions/{id}/events"),
            format!("/api/replay/state?execution_id={id}&resolve_payloads=true"),
            format!("/api/replay/timeline?execution_id={id}"),
            format!("/api/vars/{id}"),
        ] {
            let answer = answered(&server, &path);
            let told = String::from_utf8_lossy(&answer[..answer.len().min(300)]).into_owned();
            assert!(told.starts_with("HTTP/1.1 200"), "{path}: {told}");
            left.add(&path, answer);
        }
    }
    for path in ["/api/internal/outbox/messages", "/api/internal/secret-audit", "/metrics"] {
        left.add(path, answered(&server, path));
    }
    for args in [
        &["executions", "get", &executions[0], "-o", "json"][..],
        &["executions", "events", &executions[0]],
        &["status", &executions[0]],
        &["replay", &executions[0]],
    ] {
        let url = server.url();
        let args = [args, &["--server", &url]].concat();
        let ended = sandbox.noetl(&args);
        left.add(&format!("{args:?}"), ended.stdout);
        left.add(&format!("{args:?}, standard error"), ended.stderr);
    }
    left.add_files(&sandbox);
    let events = answered(&server, &format!("/api/executions/{}/events", executions[1]));
    drop(server);
    left.add_files(&sandbox);
    left.has_no_secret();
    let all = [events, left.0.iter().flat_map(|(_, bytes)| bytes.clone()).collect()].concat();
    let planted = String::from_utf8_lossy(&all).matches("[REDACTED]").count();
    assert!(PLANTED_MIN <= planted, "the places show it: {planted} times");
}

#[test]
fn a_run_prints_no_secret() {
    let (postgres, nats) = (PostgresServer::private_on_a_port(), NatsServer::start());
    let sandbox = Sandbox::new().with("leaks.yaml", PLAYBOOK).with("child.yaml", CHILD);
    let api = format!("api={}", echo());
    let args = ["run", "leaks.yaml", "--with", "child.yaml", "--set", &api, "--output", "json"];
    let mut command = sandbox.command(&args);
    command.env("RUST_LOG", "debug").envs(credentials(&postgres, &nats));
    let ended = command.output().expect("the binary runs");
    assert_eq!(ended.status.code(), Some(1), "{}", String::from_utf8_lossy(&ended.stderr));
    let mut left = Left::default();
    left.add("standard output", ended.stdout);
    left.add("standard error", ended.stderr);
    left.add_files(&sandbox);
    left.has_no_secret();
}

const APPROVAL: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: approval, path: tests/approval}
workflow:
  - step: start
    tool: {kind: approval, title: Release}
";

#[test]
fn the_link_of_an_approval_is_in_no_log_and_no_audit_entry() {
    let sandbox = Sandbox::new();
    let server = server(&sandbox, Vec::new());
    server.call("POST", "/api/catalog/register", &json!({ "content": APPROVAL }));
    let started = server.call("POST", "/api/execute", &json!({ "path": "tests/approval" }));
    let id = started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}"));
    let made = server.call("POST", &format!("/api/approvals/{id}/0/link"), &json!({}));
    let path = made["path"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    let shown = String::from_utf8_lossy(&answered(&server, &path)).into_owned();
    assert!(shown.starts_with("HTTP/1.1 200"), "{shown}");
    let logged = |file: &str| std::fs::read_to_string(sandbox.path(file)).unwrap_or_default();
    eventually("the request is logged", || logged("server.err").contains("/ui/decide/…"));
    let audit = String::from_utf8_lossy(&answered(&server, "/api/audit")).into_owned();
    let link = path.trim_start_matches("/ui/decide/");
    for (place, text) in [
        ("server.err", logged("server.err")),
        ("server.out", logged("server.out")),
        ("audit", audit),
    ] {
        assert!(!text.contains(link), "{place} shows the link");
    }
}
