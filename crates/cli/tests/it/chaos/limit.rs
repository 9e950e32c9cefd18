//! A limit of five over many executions, with three servers that are killed in turn: it is never
//! exceeded, and no slot is lost.
//!
//! The ledger of the steps shows what ran at the same time, and so do the logs: a step runs between the
//! grant of its slot and the end of its command.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use noetl_faults::is_full_size;
use noetl_model::{Event, LimitName, Recorded, Timestamp};
use serde_json::{Value, json};

use super::Size;
use super::fleet::Fleet;

/// The slots of the limit.
const SLOTS: usize = 5;

const PLAYBOOK: &str = r##"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: limited, path: tests/limited}
workload: {n: 0, ledger: nowhere}
workflow:
  - step: start
    limit: {name: five, max: 5}
    tool:
      kind: shell
      env: {LEDGER: "{{ workload.ledger }}"}
      command: >-
        echo "start $NOETL_IDEMPOTENCY_KEY" >> "$LEDGER"; sleep SECONDS;
        echo "end $NOETL_IDEMPOTENCY_KEY" >> "$LEDGER"
    next: {arcs: [{step: report}]}
  - step: report
    tool: {kind: noop, result: {n: "{{ workload.n }}"}}
"##;

/// Returns the playbook, whose steps take so long that more than five of them want a slot.
fn playbook() -> String {
    PLAYBOOK.replace("SECONDS", if is_full_size() { "0.1" } else { "0.3" })
}

fn output_of(n: u64) -> Value {
    json!({ "n": n })
}

fn size() -> Size {
    if is_full_size() {
        Size {
            executions: 10_000,
            load: Duration::from_secs(240),
            kill_every: Duration::from_secs(10),
            outage: Duration::ZERO,
        }
    } else {
        Size {
            executions: 200,
            load: Duration::from_secs(10),
            kill_every: Duration::from_secs(3),
            outage: Duration::ZERO,
        }
    }
}

/// Returns the largest number of steps between their first line and their last at one moment.
fn most_in_ledger(ledger: &str) -> usize {
    let (mut running, mut most) = (BTreeSet::new(), 0);
    for line in ledger.lines() {
        match line.split_once(' ') {
            Some(("start", key)) => assert!(running.insert(key), "{key} runs twice at once"),
            Some(("end", key)) => assert!(running.remove(key), "{key} ends before it starts"),
            Some(_) | None => panic!("a line of no step: {line:?}"),
        }
        most = most.max(running.len());
    }
    assert_eq!(running, BTreeSet::new(), "steps that never end");
    most
}

/// Returns the time from the grant of the slot to the end of its command, of a log.
fn held(log: &[Recorded]) -> (Timestamp, Timestamp) {
    let at = |is: fn(&Event) -> bool| {
        let mut found = log.iter().filter(|recorded| is(&recorded.event)).map(|it| it.at);
        let first = found.next().expect("the event is in the log");
        (first, found.next())
    };
    let (granted, again) = at(|event| matches!(event, Event::SlotGranted { .. }));
    assert_eq!(again, None, "a slot is granted once");
    let (ended, _) = at(|event| matches!(event, Event::CommandCompleted { .. }));
    assert!(granted <= ended, "the command ends after its slot is granted");
    (granted, ended)
}

/// Returns the largest number of spans at one moment. A span that ends when another begins is over.
fn most_at_once(spans: &[(Timestamp, Timestamp)]) -> usize {
    let begins = spans.iter().map(|(begin, _)| (*begin, true));
    let ends = spans.iter().map(|(_, end)| (*end, false));
    let mut moments: Vec<(Timestamp, bool)> = begins.chain(ends).collect();
    moments.sort_unstable();
    let (mut open, mut most) = (0_usize, 0);
    for (_, is_begin) in moments {
        open = if is_begin { open + 1 } else { open.saturating_sub(1) };
        most = most.max(open);
    }
    most
}

#[test]
fn a_limit_is_never_exceeded_while_three_servers_are_killed_in_turn() {
    let (size, name) = (size(), "five".parse::<LimitName>().expect("a name"));
    let mut fleet = Fleet::of(3, "tests/limited", &playbook());
    let begun = Instant::now();
    let load = fleet.load(size);
    let mut kills = 0;
    // The queue outlasts the load; the last executions end without kills.
    while !load.is_finished() || fleet.completed() < size.executions / 2 {
        thread::sleep(size.kill_every);
        fleet.kill_and_restart(kills % fleet.servers());
        kills += 1;
    }
    load.join().expect("everything is started");
    let took = fleet.await_ends().duration_since(begun);
    fleet.await_idle_limit(&name);
    let ledger = fleet.effects();
    let starts: Vec<&str> = ledger.lines().filter_map(|line| line.strip_prefix("start ")).collect();
    let repeated = fleet.verify_effects(&starts.join("\n"), output_of);
    let spans: Vec<_> = fleet.started().iter().map(|it| held(&fleet.log(*it))).collect();
    let (in_ledger, in_logs) = (most_in_ledger(&ledger), most_at_once(&spans));
    println!(
        "limit of {SLOTS}: {} executions ended after {:.1} s with {kills} kills, {repeated} effects \
         repeated; at most {in_ledger} at once by the ledger, {in_logs} by the logs",
        spans.len(),
        took.as_secs_f64()
    );
    assert!(kills >= fleet.servers(), "every server was killed");
    assert!(in_ledger <= SLOTS && in_logs <= SLOTS, "the limit is exceeded");
    assert_eq!(in_logs, SLOTS, "the limit is used up");
}

#[test]
fn steps_at_once_are_counted() {
    assert_eq!(most_in_ledger("start a\nstart b\nend a\nstart c\nend b\nend c\n"), 2);
    let at = Timestamp::from_micros;
    assert_eq!(most_at_once(&[(at(1), at(5)), (at(5), at(7)), (at(6), at(9))]), 2);
}
