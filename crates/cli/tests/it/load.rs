//! Large loads on real processes: the memory of a server stays small, and nothing is lost or done twice.
//!
//! `NOETL_FAULTS=full` runs it at full size.

use std::thread;
use std::time::{Duration, Instant};

use noetl_faults::is_full_size;
use noetl_testkit::{NatsServer, PostgresServer};
use serde_json::{Value, json};

use crate::sandbox::{Sandbox, eventually};
use crate::server::{Process, Server};

const MEBIBYTE: u64 = 1024 * 1024;
/// The largest accepted memory of a server with many items or large outputs, code included.
const MEMORY_MAX: u64 = 500 * MEBIBYTE;
/// The largest accepted event, in bytes: larger values are stored by reference.
const EVENT_BYTES_MAX: usize = 256 * 1024;
/// The time within which a large execution has to end.
const PATIENCE: Duration = Duration::from_secs(if cfg!(debug_assertions) { 1800 } else { 600 });
/// The interval at which an execution is looked at.
const LOOK: Duration = Duration::from_millis(50);

const OUTER: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: outer, path: tests/outer}
workload: {items: 1}
workflow:
  - step: start
    loop: {in: 10, iterator: outer, spec: {mode: parallel}}
    tool:
      kind: playbook
      path: tests/inner
      return_result: true
      input: {items: "{{ workload.items }}"}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: "{{ start.results | sum }}"}
"#;

const INNER: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: inner, path: tests/inner}
workload: {items: 1}
workflow:
  - step: start
    loop: {in: "{{ workload.items }}", iterator: item, spec: {mode: parallel, max_in_flight: 50}}
    tool: {kind: noop, result: "{{ item }}"}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: "{{ start.results | sum }}"}
"#;

const LARGE: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: large, path: tests/large}
workload: {items: 1}
workflow:
  - step: start
    loop: {in: "{{ workload.items }}", iterator: item, spec: {mode: parallel, max_in_flight: 4}}
    tool: {kind: shell, command: "head -c 1000000 /dev/zero | tr '\\0' x"}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: "{{ start.stats.completed }}"}
"#;

const SMALL: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: small, path: tests/small}
workflow:
  - step: start
    tool: {kind: noop, result: 1}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: "{{ start + 1 }}"}
"#;

fn register(server: &Server, document: &str) {
    let registered = server.call("POST", "/api/catalog/register", &json!({ "content": document }));
    assert_eq!(registered["status"], "success", "{registered}");
}

fn start(server: &Server, path: &str, payload: &Value) -> String {
    let request = json!({ "path": path, "payload": payload });
    let started = server.call("POST", "/api/execute", &request);
    started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()
}

/// Waits until an execution has completed, and returns its output.
fn completed(server: &Server, execution: &str) -> Value {
    let begun = Instant::now();
    loop {
        let path = format!("/api/executions/{execution}/status");
        let status = server.call("GET", &path, &Value::Null);
        if status["completed"] == true {
            assert_eq!(status["status"], "COMPLETED", "{status}");
            let detail = server.call("GET", &format!("/api/executions/{execution}"), &Value::Null);
            return detail["result"].clone();
        }
        assert!(begun.elapsed() < PATIENCE, "it has not ended: {status}");
        thread::sleep(LOOK);
    }
}

/// Returns the peak memory of a process so far, in bytes.
fn peak(server: &Server) -> u64 {
    let path = format!("/proc/{}/status", server.process.0.id());
    let status = std::fs::read_to_string(path).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux tells");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") * 1024
}

const SLOW: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: slow, path: tests/slow}
workload: {seconds: 1, ledger: nowhere}
workflow:
  - step: start
    tool:
      kind: shell
      env: {LEDGER: "{{ workload.ledger }}", SECONDS_LONG: "{{ workload.seconds }}"}
      command: echo begun >> "$LEDGER"; sleep "$SECONDS_LONG"; echo ended >> "$LEDGER"
"#;

/// Returns the lengths of the events of an execution.
fn event_lengths(sandbox: &Sandbox, server: &Server, execution: &str) -> Vec<usize> {
    let url = server.url();
    let args = ["executions", "events", execution, "--output", "jsonl", "--server", &url];
    let printed = sandbox.noetl(&args);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    printed.stdout.lines().map(str::len).collect()
}

#[test]
fn ten_loops_with_many_items_leave_a_server_small() {
    let items: u64 = if is_full_size() { 1000 } else { 60 };
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    register(&server, INNER);
    register(&server, OUTER);
    let execution = start(&server, "tests/outer", &json!({ "items": items }));
    let output = completed(&server, &execution);
    assert_eq!(output, json!(10 * items * (items - 1) / 2), "{output}");
    let peak = peak(&server);
    assert!(peak < MEMORY_MAX, "{} MiB", peak / MEBIBYTE);
}

#[test]
fn many_outputs_of_a_megabyte_are_stored_by_reference() {
    let items: u64 = if is_full_size() { 1000 } else { 40 };
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    register(&server, LARGE);
    let execution = start(&server, "tests/large", &json!({ "items": items }));
    assert_eq!(completed(&server, &execution), json!(items));
    let longest = event_lengths(&sandbox, &server, &execution).into_iter().max();
    assert!(longest.is_some_and(|longest| longest < EVENT_BYTES_MAX), "{longest:?} bytes");
    let peak = peak(&server);
    assert!(peak < MEMORY_MAX, "{} MiB", peak / MEBIBYTE);
}

#[test]
fn work_that_waited_for_workers_is_done_once_in_less_time_than_they_were_gone() {
    let outage = Duration::from_secs(if is_full_size() { 480 } else { 4 });
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &["--no-worker"]);
    register(&server, SMALL);
    let worker = || Process(sandbox.spawn(&["worker", "--server", &server.url()]));
    let working = worker();
    let begun = Instant::now();
    let measured: Vec<String> =
        (0..50).map(|_| start(&server, "tests/small", &json!({}))).collect();
    for execution in &measured {
        completed(&server, execution);
    }
    // Seven tenths of the rate at which the worker keeps up.
    let pause = begun.elapsed() / 50 * 10 / 7;
    assert_eq!(working.end(), Some(0));

    let gone = Instant::now();
    let mut waiting = Vec::new();
    while gone.elapsed() < outage {
        waiting.push(start(&server, "tests/small", &json!({})));
        thread::sleep((pause * len(&waiting)).saturating_sub(gone.elapsed()));
    }
    let asked = Instant::now();
    assert_eq!(server.call("GET", "/api/health", &Value::Null)["status"], "ok");
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    let back = Instant::now();
    let working = worker();
    for execution in &waiting {
        completed(&server, execution);
    }
    let drained = back.elapsed();
    assert!(drained < outage, "{} executions took {drained:?}", waiting.len());
    for execution in &waiting {
        let path = format!("/api/executions/{execution}/events");
        let events = server.call("GET", &path, &Value::Null).to_string();
        assert_eq!(events.matches("\"command.claimed\"").count(), 2, "{events}");
    }
    eventually("nothing is left to do", || {
        let listed = server.call("GET", "/api/executions?status=RUNNING", &Value::Null);
        !listed.to_string().contains("tests/small")
    });
    assert_eq!(working.end(), Some(0));
}

/// The broker delivers a message again that was not acknowledged for 30 seconds.
#[test]
fn a_step_longer_than_the_broker_waits_is_executed_once() {
    let (postgres, nats) = (PostgresServer::private(), NatsServer::start());
    let (database, broker) = (postgres.url("postgres"), nats.url());
    let sandbox = Sandbox::new();
    let args = ["--no-worker", "--database", &database, "--nats", &broker];
    let server = Server::new(&sandbox, &args);
    register(&server, SLOW);
    let worker = || Process(sandbox.spawn(&["worker", "--server", &server.url()]));
    let workers = [worker(), worker()];
    let seconds = if is_full_size() { 120 } else { 31 };
    let ledger = sandbox.path("ledger");
    let payload = json!({ "seconds": seconds, "ledger": ledger.to_string_lossy() });
    let execution = start(&server, "tests/slow", &payload);
    completed(&server, &execution);
    assert_eq!(std::fs::read_to_string(&ledger).expect("a ledger"), "begun\nended\n");
    for worker in workers {
        assert_eq!(worker.end(), Some(0));
    }
}

fn len<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).expect("a few thousand")
}
