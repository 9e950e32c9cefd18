//! A server whose machine fails: its disk, its log, its directories, its database. Clients get a
//! clear error, reads go on, nothing that was accepted is lost, and the server recovers by itself.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use noetl_faults::{CallFault, FailingCalls, tell_skipped};
use noetl_testkit::PostgresServer;
use serde_json::{Value, json};

use crate::chaos::fleet::free_port;
use crate::faults::{Answer, SmallDisk, ask, await_completion, cause, get, register, start};
use crate::playbooks::HELLO;
use crate::sandbox::{Sandbox, await_end, eventually, signal};
use crate::server::{KEY, Process, Server, ServerLog};

/// The longest accepted shutdown while the database hangs.
const END_MAX: Duration = Duration::from_secs(10);

/// Checks that a refusal is a problem document that says when to try again.
fn check_refused(answer: &Answer) {
    assert!([503, 507].contains(&answer.status), "{answer:?}");
    assert!(answer.body["code"].is_string(), "{answer:?}");
    assert!(answer.head.contains("\r\nretry-after: "), "{answer:?}");
}

/// Checks that `noetl verify` finds no fault in the execution of an answer.
fn check_verified(sandbox: &Sandbox, database: &str, started: &Value) {
    let id = started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}"));
    let verified = sandbox.json(&["verify", id, "--db", database, "-o", "json"]);
    assert_eq!(verified["valid"], true, "{verified}");
}

#[test]
fn a_disk_that_fails_refuses_writes_answers_reads_and_loses_nothing() {
    let sandbox = Sandbox::new();
    let database = sandbox.path("noetl.db");
    let server = Server::new(&sandbox, &["--db", &database.display().to_string()]);
    register(&server, HELLO);
    let mut accepted = vec![start(&server, "tests/hello").body];
    await_completion(&server, &accepted[0]);
    let log = sandbox.path("noetl.db-wal");
    let mut refused = 0;
    for (error, every) in [("EIO", 1), ("ENOSPC", 1), ("EIO", 3), ("ENOSPC", 4)] {
        let fault = CallFault { calls: CallFault::WRITES, error, every };
        let failing = match FailingCalls::inject(server.process.0.id(), &[&database, &log], fault) {
            Ok(failing) => failing,
            Err(reason) => return tell_skipped(&reason),
        };
        for _ in 0..6 {
            let answer = start(&server, "tests/hello");
            if answer.status == 200 {
                accepted.push(answer.body);
            } else {
                check_refused(&answer);
                refused += 1;
            }
            for path in ["/api/executions", "/livez"] {
                let read = get(&server, path);
                assert_eq!(read.status, 200, "{error} {every}: {read:?}");
            }
        }
        drop(failing);
        eventually("the server writes again", || {
            let answer = start(&server, "tests/hello");
            if answer.status == 200 {
                accepted.push(answer.body);
                return true;
            }
            false
        });
    }
    assert!(refused >= 12, "every write has failed twice six times: {refused}");
    for started in &accepted {
        await_completion(&server, started);
    }
    assert_eq!(server.process.end(), Some(0));
    for started in &accepted {
        check_verified(&sandbox, &database.display().to_string(), started);
    }
}

#[test]
fn a_log_that_cannot_be_written_stops_nothing() {
    let sandbox = Sandbox::new();
    let listen = format!("127.0.0.1:{}", free_port());
    let full = || File::options().write(true).open("/dev/full").expect("every Linux has it");
    let mut command = sandbox.command(&["server", "--listen", &listen]);
    command.env("RUST_LOG", "debug").stdout(full()).stderr(full());
    let process = Process(command.spawn().expect("the binary runs"));
    eventually("it listens", || TcpStream::connect(&listen).is_ok());
    let server = Server { process, address: listen, _log: ServerLog::default() };
    register(&server, HELLO);
    await_completion(&server, &start(&server, "tests/hello").body);
    assert_eq!(server.process.end(), Some(0));
}

/// A playbook whose workload may be large.
const LARGE: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: large, path: tests/large}
workload: {text: ""}
workflow:
  - step: start
    tool: {kind: noop, result: {length: "{{ workload.text | length }}"}}
"#;

#[test]
fn a_full_directory_for_large_values_refuses_large_values_only() {
    let sandbox = Sandbox::new();
    let Some(disk) = SmallDisk::mount(sandbox.path("payloads")) else { return };
    let payloads = disk.0.display().to_string();
    let server = Server::new(&sandbox, &["--payload-dir", &payloads]);
    register(&server, LARGE);
    // Values of different executions are different, so that none is there already.
    let large = |n: u64| {
        let payload = json!({ "text": format!("{n}{}", "x".repeat(200_000)) });
        ask(&server, "POST", "/api/execute", &json!({ "path": "tests/large", "payload": payload }))
    };
    await_completion(&server, &large(1).body);
    disk.fill();
    let refused = large(2);
    check_refused(&refused);
    let text = refused.body.to_string();
    assert!(text.contains("large values") && text.contains("full"), "{text}");
    await_completion(&server, &start(&server, "tests/large").body);
    disk.make_room();
    let mut answer = large(3);
    eventually("large values are written again", || {
        answer = large(3);
        answer.status == 200
    });
    await_completion(&server, &answer.body);
    assert_eq!(server.process.end(), Some(0));
    let left: Vec<_> = walk(&sandbox.path("payloads"));
    assert!(left.iter().all(|name| !name.ends_with(".part")), "half a file is left: {left:?}");
}

/// Returns the names of all files below a directory.
fn walk(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("it is ours").flatten();
    entries
        .flat_map(|entry| match entry.path() {
            path if path.is_dir() => walk(&path),
            path => vec![path.display().to_string()],
        })
        .collect()
}

/// A script, which is written to a file before it runs.
const SCRIPT: &str = r##"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: script, path: tests/script}
workflow:
  - step: start
    tool:
      kind: script
      code: |
        #!/bin/sh
        echo done
"##;

#[test]
fn a_full_scratch_directory_fails_the_step_with_the_reason() {
    let sandbox = Sandbox::new();
    let Some(disk) = SmallDisk::mount(sandbox.path("scratch")) else { return };
    let mut command = sandbox.command(&["server", "--listen", "127.0.0.1:0"]);
    command.env("TMPDIR", &disk.0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let server = Server::of(command.spawn().expect("the binary runs"));
    register(&server, SCRIPT);
    disk.fill();
    let started = start(&server, "tests/script").body;
    let id = started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}"));
    let mut execution = Value::Null;
    eventually("the step fails", || {
        execution = get(&server, &format!("/api/executions/{id}")).body;
        execution["status"] == "FAILED"
    });
    let text = execution.to_string();
    assert!(text.contains("No space left on device"), "{text}");
    disk.make_room();
    await_completion(&server, &start(&server, "tests/script").body);
    assert_eq!(server.process.end(), Some(0));
}

/// A server on a private database with a deadline of some seconds for its calls.
fn on_postgres(sandbox: &Sandbox, postgres: &PostgresServer, deadline: &str) -> Server {
    let mut command = sandbox.command(&["server", "--listen", "127.0.0.1:0"]);
    command
        .env("NOETL_ENCRYPTION_KEY", KEY)
        .env("DATABASE_URL", postgres.url("postgres"))
        .env("NOETL_STORE_TIMEOUT_SECONDS", deadline)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let server = Server::of(command.spawn().expect("the binary runs"));
    register(&server, HELLO);
    await_completion(&server, &start(&server, "tests/hello").body);
    server
}

#[test]
fn a_server_whose_database_hangs_ends_on_a_signal() {
    let (postgres, sandbox) = (PostgresServer::private(), Sandbox::new());
    let mut server = on_postgres(&sandbox, &postgres, "30");
    postgres.pause();
    // More requests than connections wait for the database.
    let waiting: Vec<_> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).expect("it listens");
            let head = format!("GET /api/executions HTTP/1.1\r\nhost: {}\r\n\r\n", server.address);
            std::io::Write::write_all(&mut stream, head.as_bytes()).expect("it reads");
            stream
        })
        .collect();
    thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    signal(&server.process.0, "TERM");
    let ended = await_end(&mut server.process.0);
    let took = begun.elapsed();
    postgres.unpause();
    drop(waiting);
    println!("ended with {ended} after {:.1} s", took.as_secs_f64());
    assert!(took < END_MAX + Duration::from_secs(2), "{took:?}");
}

/// Runs statements on a private server.
fn sql(postgres: &PostgresServer, statements: &[&str]) {
    let mut psql = Command::new("psql");
    psql.args(["--no-psqlrc", "--quiet", "--dbname", &postgres.url("postgres")]);
    for statement in statements {
        psql.args(["--command", statement]);
    }
    let ended = psql.stdout(Stdio::null()).output().expect("psql runs");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn a_database_that_becomes_read_only_is_named_and_recovers() {
    let (postgres, sandbox) = (PostgresServer::private(), Sandbox::new());
    let server = on_postgres(&sandbox, &postgres, "5");
    let read_only = "ALTER SYSTEM SET default_transaction_read_only = on";
    sql(&postgres, &[read_only, "SELECT pg_reload_conf()"]);
    let mut refused = start(&server, "tests/hello");
    eventually("writes are refused", || {
        refused = start(&server, "tests/hello");
        refused.status != 200
    });
    check_refused(&refused);
    assert!(refused.body.to_string().contains("read-only"), "{refused:?}");
    assert_eq!(get(&server, "/api/executions").status, 200);
    let mut ready = get(&server, "/readyz");
    eventually("the server is not ready", || {
        ready = get(&server, "/readyz");
        ready.status == 503
    });
    assert!(cause(&ready, "storage").contains("read-only"), "{ready:?}");
    let writable = "SET default_transaction_read_only = off";
    let reset = "ALTER SYSTEM RESET default_transaction_read_only";
    sql(&postgres, &[writable, reset, "SELECT pg_reload_conf()"]);
    eventually("the server is ready again", || get(&server, "/readyz").status == 200);
    await_completion(&server, &start(&server, "tests/hello").body);
    assert_eq!(server.process.end(), Some(0));
}

/// A program that takes a connection whenever one is free, and keeps it.
fn hog(postgres: &PostgresServer) -> Child {
    let take = "while :; do psql --no-psqlrc --quiet --dbname \"$1\" \
                --command 'SELECT pg_sleep(600)' >/dev/null 2>&1; sleep 0.05; done";
    let mut sh = Command::new("sh");
    sh.args(["-c", take, "sh", &postgres.url("postgres")]);
    sh.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a shell runs")
}

#[test]
fn a_database_without_free_connections_is_waited_for() {
    let postgres = PostgresServer::private_with(&["max_connections=16"]);
    let sandbox = Sandbox::new();
    let server = on_postgres(&sandbox, &postgres, "2");
    let mut hogs: Vec<Process> = (0..24).map(|_| Process(hog(&postgres))).collect();
    postgres.crash();
    // Every connection of the server is gone, and others take theirs.
    let begun = Instant::now();
    let mut answers = Vec::new();
    while begun.elapsed() < Duration::from_secs(6) {
        answers.push(start(&server, "tests/hello"));
        assert_eq!(get(&server, "/livez").status, 200);
    }
    let refused = answers.iter().filter(|answer| answer.status != 200);
    refused.clone().for_each(check_refused);
    println!("{} of {} starts were refused", refused.count(), answers.len());
    hogs.clear();
    // The programs that held connections are gone with them.
    postgres.crash();
    eventually("the server is ready again", || get(&server, "/readyz").status == 200);
    for accepted in answers.iter().filter(|answer| answer.status == 200) {
        await_completion(&server, &accepted.body);
    }
    await_completion(&server, &start(&server, "tests/hello").body);
    assert_eq!(server.process.end(), Some(0));
}
