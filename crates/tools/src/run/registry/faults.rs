//! Tests of the error of each tool when the service behind it fails: one row per fault, with the
//! error kind, whether a retry may help, and the message.

use crate::CallParts;
use crate::run::live::LiveLog;
use std::net::SocketAddr;

use expect_test::{Expect, expect};
use noetl_model::{Outcome, ToolKind};
use noetl_testkit::{NatsServer, PostgresServer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{BTreeMap, Lease, Registry, UsedCredentials};
use crate::testing::{lease, settings};

/// The way in which a service fails.
#[derive(Clone, Copy)]
enum ServiceFault {
    /// Accepts connections and never answers.
    Silent,
    /// Reads a request and closes the connection.
    Cut,
    /// Answers with these bytes and closes the connection.
    Says(&'static [u8]),
}

/// The timeouts for a service that does not answer, and for one that does.
const SHORT_MS: u64 = 1000;
const LONG_MS: u64 = 60_000;

/// Starts a service that fails in the given way.
async fn failing(fault: ServiceFault) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            match fault {
                ServiceFault::Silent => kept.push(stream),
                ServiceFault::Cut => {
                    // Reads the request and does not answer.
                    let _heard = stream.read(&mut request).await;
                }
                ServiceFault::Says(answer) => {
                    let _heard = stream.read(&mut request).await;
                    let _told = stream.write_all(answer).await;
                }
            }
        }
    });
    address
}

/// Runs a tool and returns its output, or its error with kind and retryability, as text.
async fn told(tool: ToolKind, config: Value, within_ms: u64) -> String {
    let lease = Lease { timeout_ms: Some(within_ms), ..lease(tool, config) };
    let cancel = CancellationToken::new();
    let registry = Registry::standard(settings());
    let (used, memory) = (UsedCredentials::default(), registry.memory().call());
    let ended = registry
        .run(
            &lease,
            BTreeMap::new(),
            CallParts { used: &used, memory: &memory, live: &LiveLog::default() },
            &cancel,
        )
        .await;
    match ended.outcome {
        Outcome::Completed { output } => format!("completed {output}"),
        Outcome::Failed { error, .. } => {
            let retry = if error.retryable { "retry" } else { "no retry" };
            format!("{} ({retry}): {}", error.kind, error.message)
        }
    }
}

/// Checks the errors for a service that is down and for each of the faults.
async fn check(
    tool: ToolKind,
    faults: &[(&str, ServiceFault)],
    config: impl Fn(&str) -> Value,
    expected: Expect,
) {
    let mut table = format!("down: {}\n", told(tool, config("127.0.0.1:1"), SHORT_MS).await);
    for (name, fault) in faults {
        let address = failing(*fault).await.to_string();
        let said = told(tool, config(&address), SHORT_MS).await.replace(&address, "ADDRESS");
        table.push_str(&format!("{name}: {said}\n"));
    }
    expected.assert_eq(&table);
}

const SILENT: (&str, ServiceFault) = ("silent", ServiceFault::Silent);
const CUT: (&str, ServiceFault) = ("cut", ServiceFault::Cut);
/// Announces more bytes than it sends.
const HALF: (&str, ServiceFault) =
    ("half", ServiceFault::Says(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[{\"a\": 1},"));
const BINARY: (&str, ServiceFault) = (
    "binary",
    ServiceFault::Says(
        b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 4\r\n\r\n\x89PNG",
    ),
);
const DENIED: (&str, ServiceFault) =
    ("denied", ServiceFault::Says(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno"));
const NOISE: (&str, ServiceFault) =
    ("noise", ServiceFault::Says(b"\x00\xff\x00\xff\x00\xff\x00\xff\r\n"));

#[tokio::test]
async fn faults_of_http() {
    check(
        ToolKind::Http,
        &[SILENT, CUT, HALF, BINARY, DENIED, NOISE],
        |address| json!({"url": format!("http://{address}/"), "response_type": "json"}),
        expect![[r#"
            down: connection (retry): GET http://127.0.0.1:1/: cannot connect: Connection refused (os error 111)
            silent: timeout (retry): took longer than 1s and was stopped
            cut: connection (retry): GET http://ADDRESS/: the connection broke: connection closed before message completed
            half: connection (retry): GET http://ADDRESS/: the connection broke: end of file before message length reached
            binary: parse (no retry): GET http://ADDRESS/ answers with what is not JSON: expected value at line 1 column 1
            denied: auth (no retry): HTTP 401 from GET http://ADDRESS/
            noise: connection (retry): GET http://ADDRESS/: the connection broke: invalid HTTP version parsed
        "#]],
    )
    .await;
}

#[tokio::test]
async fn faults_of_postgres() {
    check(
        ToolKind::Postgres,
        &[SILENT, CUT, NOISE],
        |address| {
            let dsn = format!("postgres://u:hunter22@{address}/d?sslmode=disable");
            json!({"connection_string": dsn, "query": "SELECT 1"})
        },
        expect![[r#"
            down: db_connection (retry): 127.0.0.1:1/d: cannot talk to PostgreSQL: Connection refused (os error 111)
            silent: timeout (retry): took longer than 1s and was stopped
            cut: db_connection (retry): ADDRESS/d: the connection to PostgreSQL was lost; whether the statement took effect is unknown
            noise: db_connection (retry): ADDRESS/d: cannot talk to PostgreSQL: invalid message length: header length < 4
        "#]],
    )
    .await;
}

#[tokio::test]
async fn faults_of_nats() {
    check(
        ToolKind::Nats,
        &[SILENT, CUT, NOISE],
        |address| json!({"url": address, "operation": "kv_get", "bucket": "b", "key": "k"}),
        expect![[r#"
            down: connection (retry): nats: cannot connect to nats://127.0.0.1:1: IO error: Connection refused (os error 111): Connection refused (os error 111)
            silent: timeout (retry): took longer than 1s and was stopped
            cut: timeout (retry): took longer than 1s and was stopped
            noise: timeout (retry): took longer than 1s and was stopped
        "#]],
    )
    .await;
}

#[tokio::test]
async fn faults_of_subscription() {
    check(
        ToolKind::Subscription,
        &[SILENT, CUT],
        |address| json!({"source": "nats", "url": address, "stream": "s", "consumer": "c"}),
        expect![[r#"
            down: connection (retry): nats: cannot connect to nats://127.0.0.1:1: IO error: Connection refused (os error 111): Connection refused (os error 111)
            silent: timeout (retry): took longer than 1s and was stopped
            cut: timeout (retry): took longer than 1s and was stopped
        "#]],
    )
    .await;
}

#[tokio::test]
async fn faults_of_transfer() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("rows.jsonl");
    check(
        ToolKind::Transfer,
        &[SILENT, CUT, HALF, BINARY, DENIED],
        |address| {
            let source = json!({"type": "http", "url": format!("http://{address}/")});
            json!({"source": source, "target": {"type": "file", "path": path}})
        },
        expect![[r#"
            down: connection (retry): GET http://127.0.0.1:1/: cannot connect: Connection refused (os error 111)
            silent: timeout (retry): took longer than 1s and was stopped
            cut: connection (retry): GET http://ADDRESS/: the connection broke: connection closed before message completed
            half: connection (retry): GET http://ADDRESS/: the connection broke: end of file before message length reached
            binary: parse (no retry): GET http://ADDRESS/ answers with what is not JSON: expected value at line 1 column 1
            denied: auth (no retry): HTTP 401 from GET http://ADDRESS/
        "#]],
    )
    .await;
    assert!(!path.exists(), "nothing of what failed is left behind");
}

/// Checks the errors when a script cannot be downloaded.
async fn check_fetched(tool: ToolKind, expected: Expect) {
    let config = |address: &str| json!({"script": format!("http://{address}/a.py")});
    check(tool, &[SILENT, CUT, HALF, DENIED], config, expected).await;
}

#[tokio::test]
async fn faults_of_scripts_that_are_fetched() {
    check_fetched(
        ToolKind::Python,
        expect![[r#"
            down: connection (retry): GET http://127.0.0.1:1/a.py: cannot connect: Connection refused (os error 111)
            silent: timeout (retry): took longer than 1s and was stopped
            cut: connection (retry): GET http://ADDRESS/a.py: the connection broke: connection closed before message completed
            half: connection (retry): GET http://ADDRESS/a.py: the connection broke: end of file before message length reached
            denied: config (no retry): python: HTTP 401 instead of the script at http://ADDRESS/a.py
        "#]],
    )
    .await;
    check_fetched(
        ToolKind::Script,
        expect![[r#"
            down: connection (retry): GET http://127.0.0.1:1/a.py: cannot connect: Connection refused (os error 111)
            silent: timeout (retry): took longer than 1s and was stopped
            cut: connection (retry): GET http://ADDRESS/a.py: the connection broke: connection closed before message completed
            half: connection (retry): GET http://ADDRESS/a.py: the connection broke: end of file before message length reached
            denied: config (no retry): script: HTTP 401 instead of the script at http://ADDRESS/a.py
        "#]],
    )
    .await;
}

/// Checks the errors of individual configurations that need no failing service.
async fn check_each(rows: &[(&str, ToolKind, Value)], expected: Expect) {
    let mut table = String::new();
    for (name, tool, config) in rows {
        table.push_str(&format!("{name}: {}\n", told(*tool, config.clone(), LONG_MS).await));
    }
    expected.assert_eq(&table);
}

#[tokio::test]
async fn bytes_that_are_no_text() {
    let server = NatsServer::start();
    server.make_bucket("b").await;
    let nats = |more: Value| {
        let mut config = json!({"url": server.url(), "bucket": "b", "key": "k"});
        let fields = more.as_object().expect("a map").clone();
        config.as_object_mut().expect("a map").extend(fields);
        config
    };
    check_each(
        &[
            ("nats", ToolKind::Nats, nats(json!({"operation": "kv_put", "value": "\u{0}\u{1}"}))),
            ("nats back", ToolKind::Nats, nats(json!({"operation": "kv_get"}))),
            ("shell", ToolKind::Shell, json!({"command": "printf '\\377\\000\\001'"})),
            ("python", ToolKind::Python, json!({"code": "result = {'b': b'\\xff\\x00'}"})),
            (
                "postgres",
                ToolKind::Postgres,
                json!({
                    "connection_string": PostgresServer::shared().url("postgres"),
                    "query": "SELECT '\\xff00'::bytea AS b",
                }),
            ),
            (
                "sqlite",
                ToolKind::Sqlite,
                json!({"query": "SELECT x'ff00' AS b"}),
            ),
            ("rhai", ToolKind::Rhai, json!({"code": "blob(2, 255)"})),
        ],
        expect![[r#"
            nats: completed {"status":"success","bucket":"b","key":"k","revision":1}
            nats back: completed {"status":"success","bucket":"b","key":"k","value":"\u0000\u0001"}
            shell: completed {"exit_code":0,"stdout":"�\u0000\u0001","stderr":""}
            python: completed {"b":"/wA="}
            postgres: completed {"status":"success","columns":["b"],"rows":[{"b":"/wA="}],"row_count":1,"command_0":{"status":"success","columns":["b"],"rows":[{"b":"/wA="}],"row_count":1}}
            sqlite: completed {"status":"success","columns":["b"],"rows":[{"b":"/wA="}],"row_count":1,"command_0":{"status":"success","columns":["b"],"rows":[{"b":"/wA="}],"row_count":1}}
            rhai: exception (no retry): Syntax error: invalid type: byte array, expected any valid JSON value
        "#]],
    )
    .await;
}

#[tokio::test]
async fn answers_that_are_too_large() {
    check_each(
        &[
            (
                "sqlite",
                ToolKind::Sqlite,
                json!({"query": "SELECT zeroblob(90000000) AS b"}),
            ),
            ("rhai", ToolKind::Rhai, json!({"code": "let s = \"x\"; loop { s += s; }"})),
        ],
        expect![[r#"
            sqlite: storage_quota (no retry): the rows take more than 67108864 bytes: add a LIMIT, or move them with the `transfer` tool
            rhai: exception (no retry): Length of string too large (line 1, position 23)
        "#]],
    )
    .await;
}

#[tokio::test]
async fn places_that_are_not_what_they_should_be() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("noise.db");
    std::fs::write(&file, [7; 4096]).expect("the directory is ours");
    check_each(
        &[
            ("sqlite", ToolKind::Sqlite, json!({"database": file, "query": "SELECT 1 FROM t"})),
            (
                "transfer",
                ToolKind::Transfer,
                json!({
                    "source": {"type": "file", "path": "/nowhere/rows.csv"},
                    "target": {"type": "file", "path": directory.path().join("out.csv")},
                }),
            ),
            ("python", ToolKind::Python, json!({"code": "result = 1", "python": "/nowhere/python"})),
            ("script", ToolKind::Script, json!({"code": "1", "interpreter": "/nowhere/sh"})),
            ("shell", ToolKind::Shell, json!({"command": ["/nowhere/program"]})),
        ],
        expect![[r#"
            sqlite: storage_access (no retry): SQLite says: file is not a database
            transfer: not_found (no retry): /nowhere/rows.csv: No such file or directory (os error 2); 0 rows had been written
            python: config (no retry): python: cannot start `/nowhere/python`: No such file or directory (os error 2); install Python 3, or name the interpreter in the variable NOETL_PYTHON or in the tool's `python` key
            script: config (no retry): script: cannot start `/nowhere/sh`: No such file or directory (os error 2)
            shell: config (no retry): shell: cannot start `/nowhere/program`: No such file or directory (os error 2)
        "#]],
    )
    .await;
}
