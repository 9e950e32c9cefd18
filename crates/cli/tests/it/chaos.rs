//! Two or three servers, a worker each, PostgreSQL and NATS, of which some fail under load: every execution
//! reaches the right end, once, without manual intervention.
//!
//! `NOETL_FAULTS=full` runs it at full size.

mod existing;
pub(crate) mod fleet;
mod limit;
mod rate;

use std::thread;
use std::time::{Duration, Instant};

use noetl_faults::is_full_size;
use serde_json::{Value, json};

use fleet::Fleet;

/// A loop whose items each write a line to the ledger, in parallel.
const PLAYBOOK: &str = r##"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: chaos, path: tests/chaos}
workload: {n: 0, ledger: nowhere, items: [0, 1, 2, 3, 4]}
workflow:
  - step: start
    tool: {kind: rhai, input: {n: "{{ workload.n }}"}, code: "#{ next: n + 1 }"}
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: "{{ workload.items }}", iterator: item, spec: {mode: parallel}}
    tool:
      kind: shell
      env: {LEDGER: "{{ workload.ledger }}", ITEM: "{{ item }}"}
      command: echo "$NOETL_IDEMPOTENCY_KEY" >> "$LEDGER"; echo "item $ITEM"
    next: {arcs: [{step: report}]}
  - step: report
    tool:
      kind: noop
      result:
        next: "{{ start.next }}"
        items: "{{ each.results | map(attribute='stdout') | join }}"
"##;

/// Returns the expected output of the n-th execution.
fn output_of(n: u64) -> Value {
    let items: String = (0..5).map(|item| format!("item {item}\n")).collect();
    json!({ "next": n + 1, "items": items })
}

/// The size of a test: load and faults.
#[derive(Debug, Clone, Copy)]
struct Size {
    executions: u64,
    /// The time from the first start to the last.
    load: Duration,
    /// The time between two kills of a server.
    kill_every: Duration,
    /// The duration of the NATS outage.
    outage: Duration,
}

impl Size {
    const SMALL: Self = Self {
        executions: 20,
        load: Duration::from_secs(8),
        kill_every: Duration::from_secs(3),
        outage: Duration::from_secs(5),
    };
    const FULL: Self = Self {
        executions: 200,
        load: Duration::from_secs(75),
        kill_every: Duration::from_secs(4),
        outage: Duration::from_secs(60),
    };

    fn chosen() -> Self {
        if is_full_size() { Self::FULL } else { Self::SMALL }
    }
}

/// Waits for all ends, checks the history, and returns a summary.
fn conclude(fleet: Fleet, what: &str, begun: Instant) -> String {
    let ended = fleet.await_ends();
    let took = ended.duration_since(begun);
    let started = fleet.started().len();
    let (effects, repeated) = fleet.verify();
    format!(
        "{what}: {started} executions ended after {:.1} s, {repeated} of {effects} effects repeated",
        took.as_secs_f64()
    )
}

#[test]
fn servers_that_are_killed_in_turn_lose_and_repeat_nothing() {
    let size = Size::chosen();
    let mut fleet = Fleet::new();
    let begun = Instant::now();
    let load = fleet.load(size);
    let mut kills = 0;
    while !load.is_finished() {
        thread::sleep(size.kill_every);
        fleet.kill_and_restart(kills % 2);
        kills += 1;
    }
    load.join().expect("everything is started");
    println!("{}", conclude(fleet, &format!("servers killed {kills} times"), begun));
}

#[test]
fn servers_workers_and_broker_that_are_killed_together_lose_nothing() {
    let size = Size::chosen();
    let mut fleet = Fleet::new();
    let begun = Instant::now();
    let load = fleet.load(size);
    let mut kills = 0;
    while !load.is_finished() {
        thread::sleep(size.kill_every);
        fleet.kill_and_restart_everything();
        kills += 1;
    }
    load.join().expect("everything is started");
    println!("{}", conclude(fleet, &format!("everything killed {kills} times"), begun));
}

#[test]
fn workers_that_are_killed_or_stopped_beyond_their_leases_lose_nothing() {
    let size = Size::chosen();
    let mut fleet = Fleet::new();
    let begun = Instant::now();
    let load = fleet.load(size);
    let mut kills = 0;
    fleet.await_completed(1);
    fleet.signal_worker(1, "STOP");
    while !load.is_finished() {
        thread::sleep(size.kill_every);
        fleet.kill_and_restart_worker(0);
        kills += 1;
    }
    load.join().expect("everything is started");
    // The commands of the stopped worker are run by the other one; then it comes late.
    fleet.await_ends();
    fleet.signal_worker(1, "CONT");
    println!("{}", conclude(fleet, &format!("a worker killed {kills} times, one stopped"), begun));
}

#[test]
fn existing_workers_that_die_repeat_themselves_and_come_late_lose_nothing() {
    let size = Size::chosen();
    let mut fleet = Fleet::with_existing_workers(2);
    let begun = Instant::now();
    let load = fleet.load(size);
    let mut kills = 0;
    while !load.is_finished() {
        thread::sleep(size.kill_every);
        fleet.kill_and_restart(kills % 2);
        kills += 1;
    }
    load.join().expect("everything is started");
    fleet.await_ends();
    let deaths = fleet.deaths();
    assert!(deaths >= 2, "a worker has died early, and one late");
    let late = fleet.await_late();
    assert!(late > 0, "who comes late is answered");
    let what = format!(
        "existing workers died {deaths} times and made {late} posts late, \
         servers were killed {kills} times"
    );
    println!("{}", conclude(fleet, &what, begun));
}

#[test]
fn without_nats_executions_continue_and_messages_are_sent_later() {
    let size = Size::chosen();
    let mut fleet = Fleet::new();
    let begun = Instant::now();
    let load = fleet.load(size);
    fleet.await_completed(1);
    fleet.nats.kill();
    let before = fleet.completed();
    thread::sleep(size.outage);
    let meanwhile = fleet.completed() - before;
    assert!(meanwhile > 0, "executions go on by polling");
    fleet.nats.start_again();
    load.join().expect("everything is started");
    let what = format!("{:?} without NATS, {meanwhile} executions meanwhile", size.outage);
    println!("{}", conclude(fleet, &what, begun));
}

#[test]
fn a_database_that_is_restarted_and_killed_loses_nothing() {
    let size = Size::chosen();
    let fleet = Fleet::new();
    let begun = Instant::now();
    let load = fleet.load(size);
    fleet.await_completed(1);
    fleet.postgres.stop();
    thread::sleep(Duration::from_secs(1));
    fleet.postgres.start_again();
    let back = Instant::now();
    fleet.await_completed(fleet.completed() + 1);
    let resumed = back.elapsed();
    fleet.postgres.kill();
    fleet.postgres.start_again();
    load.join().expect("everything is started");
    let what = format!(
        "PostgreSQL restarted (an execution ended {:.1} s after) and killed",
        resumed.as_secs_f64()
    );
    println!("{}", conclude(fleet, &what, begun));
}
