//! Servers, workers and databases whose clocks are hours apart, jump and stand still: no timer is
//! early, leases hold, ids are unique, and schedules fire once.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use noetl_faults::{WrongClock, is_full_size, tell_skipped};
use noetl_testkit::PostgresServer;
use serde_json::{Value, json};

use crate::faults::{get, register, start};
use crate::playbooks::HELLO;
use crate::sandbox::{Sandbox, eventually};
use crate::schedules::fired;
use crate::server::{KEY, Process, Server};

/// A step that fails at first and is tried again two seconds later, and a step that takes longer
/// than a heartbeat.
const PLAYBOOK: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: clocks, path: tests/clocks}
workflow:
  - step: start
    tool:
      kind: shell
      command: |
        mark="$HOME/first-$NOETL_EXECUTION_ID"
        if [ -e "$mark" ]; then echo again; else touch "$mark"; exit 1; fi
      spec:
        policy:
          rules:
            - when: "{{ output.status == 'error' }}"
              then: {do: retry, attempts: 2, delay: 2}
    next: {arcs: [{step: slow}]}
  - step: slow
    tool: {kind: shell, command: "sleep 2; echo done"}
"#;

/// The delay before the second attempt.
const DELAY: Duration = Duration::from_secs(2);

/// A schedule that fires every second.
const EVERY_SECOND: &str = "\
apiVersion: noetl.io/v1
kind: Schedule
metadata: {name: tick, path: schedules/tick}
spec: {every: 1s, catch_up: all, dispatch: {playbook: tests/hello}}
";

/// The seconds by which a clock is wrong, one after another.
const JUMPS: [i64; 6] = [-600, 600, -86_400, 86_400, 7200, 0];

/// Starts a server with a wrong clock.
fn server(sandbox: &Sandbox, clock: &WrongClock, args: &[&str]) -> Server {
    let args = [&["server", "--listen", "127.0.0.1:0"], args].concat();
    let mut command = sandbox.command(&args);
    clock.give(&mut command);
    command.env("NOETL_ENCRYPTION_KEY", KEY).env("RUST_LOG", "error");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Server::of(command.spawn().expect("the binary runs"))
}

/// Starts a worker with a wrong clock.
fn worker(sandbox: &Sandbox, clock: &WrongClock, server: &Server) -> Process {
    let url = server.url();
    let mut command = sandbox.command(&["worker", "--server", &url, "--concurrency", "8"]);
    clock.give(&mut command);
    command.env("HOME", sandbox.path("")).stdout(Stdio::null()).stderr(Stdio::null());
    Process(command.spawn().expect("the binary runs"))
}

/// Returns all events of an execution.
fn events(server: &Server, started: &Value) -> Vec<Value> {
    let id = started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}"));
    let path = format!("/api/executions/{id}/events?limit=1000");
    let answer = get(server, &path);
    answer.body["events"].as_array().unwrap_or_else(|| panic!("{answer:?}")).clone()
}

/// Waits for the end of an execution; returns how long that took.
fn await_end(server: &Server, started: &Value, begun: Instant) -> Duration {
    let id = started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}"));
    let mut status = Value::Null;
    eventually("the execution ends", || {
        status = get(server, &format!("/api/executions/{id}/status")).body;
        status["completed"] == true
    });
    assert_eq!(status["status"], "COMPLETED", "{status}");
    begun.elapsed()
}

/// Sets clocks one after another until `done`.
fn jump(clocks: &[&WrongClock], done: impl Fn() -> bool) {
    for seconds in JUMPS.into_iter().cycle() {
        for clock in clocks {
            clock.set_offset(seconds);
            thread::sleep(Duration::from_millis(400));
            clock.stand_still("2031-01-01 00:00:00");
            thread::sleep(Duration::from_millis(400));
            if done() {
                return;
            }
        }
    }
}

/// Makes two clocks; tells the reason and returns `None` if programs cannot have a wrong clock here.
fn clocks<const N: usize>(sandbox: &Sandbox, names: [&str; N]) -> Option<[WrongClock; N]> {
    let mut made = Vec::new();
    for name in names {
        match WrongClock::new(&sandbox.path(""), name) {
            Ok(clock) => made.push(clock),
            Err(reason) => {
                tell_skipped(&reason);
                return None;
            }
        }
    }
    made.try_into().ok()
}

/// Checks that every execution retried its first step once, not early, and lost no lease; and that
/// no id is there twice.
fn check(server: &Server, started: &[(Value, Duration)]) {
    let mut ids = BTreeSet::new();
    for (execution, took) in started {
        assert!(*took >= DELAY, "a timer was early: the whole execution took {took:?}");
        let mut claims: BTreeMap<String, u64> = BTreeMap::new();
        let mut count = 0;
        for event in events(server, execution) {
            let id = event["event_id"].to_string();
            assert!(ids.insert(id.clone()), "the id {id} is there twice");
            let kind = event["event_type"].as_str().unwrap_or_default().to_owned();
            assert_ne!(kind, "attempt.superseded", "a lease did not hold: {event}");
            if kind == "command.claimed" {
                *claims.entry(event["node_name"].to_string()).or_default() += 1;
            }
            count += 1;
        }
        assert!(count > 8, "only {count} events of {execution}");
        // The first step has a command for each of its two tries.
        let expected: Vec<u64> = claims.values().copied().collect();
        assert_eq!(expected.iter().sum::<u64>(), 3, "{claims:?}");
    }
}

#[test]
fn clocks_that_differ_jump_and_stand_still_change_nothing() {
    let (postgres, sandbox) = (PostgresServer::private(), Sandbox::new());
    let Some([first, second, far]) = clocks(&sandbox, ["first", "second", "worker"]) else {
        return;
    };
    first.set_offset(7200);
    second.set_offset(-7200);
    far.set_offset(-300);
    let database = postgres.url("postgres");
    let shared = ["--no-worker", "--database", &database];
    let (one, two) = (server(&sandbox, &first, &shared), server(&sandbox, &second, &shared));
    register(&one, PLAYBOOK);
    register(&one, HELLO);
    register(&one, EVERY_SECOND);
    let _workers = [worker(&sandbox, &far, &one), worker(&sandbox, &far, &two)];
    let executions = if is_full_size() { 40 } else { 6 };
    let ended = thread::scope(|scope| {
        let running: Vec<_> = (0..executions)
            .map(|n| {
                let server = if n % 2 == 0 { &one } else { &two };
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(300 * n));
                    let begun = Instant::now();
                    let answer = start(server, "tests/clocks");
                    assert_eq!(answer.status, 200, "{answer:?}");
                    let took = await_end(server, &answer.body, begun);
                    (answer.body, took)
                })
            })
            .collect();
        let is_done = || running.iter().all(thread::ScopedJoinHandle::is_finished);
        jump(&[&first, &second, &far], is_done);
        running.into_iter().map(|it| it.join().expect("it ends")).collect::<Vec<_>>()
    });
    check(&one, &ended);
    one.call("POST", "/api/schedules/pause", &json!({ "path": "schedules/tick" }));
    for server in [one, two] {
        assert_eq!(server.process.end(), Some(0));
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    for (path, fired) in runtime.block_on(fired(&database)) {
        let seconds: Vec<i64> = fired.iter().map(|(at, _)| at.as_millis() / 1000).collect();
        let (first, last) = (seconds[0], seconds[seconds.len() - 1]);
        assert_eq!(seconds, (first..=last).collect::<Vec<_>>(), "{path}: each instant once");
        assert!(seconds.len() >= 3, "{path} fires: {seconds:?}");
    }
}

#[test]
fn an_embedded_server_keeps_working_when_its_clock_goes_back_or_stops() {
    let sandbox = Sandbox::new();
    let Some([clock]) = clocks(&sandbox, ["machine"]) else { return };
    let running =
        server(&sandbox, &clock, &["--db", &sandbox.path("noetl.db").display().to_string()]);
    register(&running, PLAYBOOK);
    let mut ended = Vec::new();
    for jump in [-3600, -86_400] {
        let begun = Instant::now();
        let answer = start(&running, "tests/clocks");
        assert_eq!(answer.status, 200, "{answer:?}");
        thread::sleep(Duration::from_millis(500));
        clock.set_offset(jump);
        let took = await_end(&running, &answer.body, begun);
        ended.push((answer.body, took));
    }
    clock.stand_still("2026-01-01 00:00:00");
    let begun = Instant::now();
    let answer = start(&running, "tests/clocks");
    let took = await_end(&running, &answer.body, begun);
    ended.push((answer.body, took));
    check(&running, &ended);
    assert_eq!(running.process.end(), Some(0));
    // The next process starts with a clock that is far behind.
    clock.set_offset(-7200);
    let restarted =
        server(&sandbox, &clock, &["--db", &sandbox.path("noetl.db").display().to_string()]);
    let begun = Instant::now();
    let answer = start(&restarted, "tests/clocks");
    let took = await_end(&restarted, &answer.body, begun);
    ended.push((answer.body, took));
    check(&restarted, &ended);
    assert_eq!(restarted.process.end(), Some(0));
}
