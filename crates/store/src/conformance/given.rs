//! Sample appends; each case changes the fields of its rule.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use noetl_model::{
    Attempt, CatalogId, CommandId, Event, EventId, ExecutionId, ExecutionStatus, ItemCounts,
    Labels, PlaybookRef, Pool, Priority, Recorded, Seq, StepCounts, StepName, Summary, Timestamp,
    WorkerId,
};
use serde_json::Value;

use crate::{Append, Held, QueueChange};

/// The time at which every test starts.
pub const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// The executions that the cases use.
pub const A: ExecutionId = ExecutionId(1001);
pub const B: ExecutionId = ExecutionId(1002);
pub const C: ExecutionId = ExecutionId(1003);

/// Returns the instant some seconds after the start of the test.
pub fn at(seconds: u64) -> Timestamp {
    T0.after(Duration::from_secs(seconds))
}

pub fn summary(execution: ExecutionId, seq: Seq) -> Summary {
    Summary {
        execution,
        playbook: PlaybookRef { catalog_id: CatalogId(7), path: "demo/Hello".into(), version: 1 },
        status: ExecutionStatus::Running,
        seq,
        started_at: T0,
        ended_at: None,
        parent: None,
        current_step: None,
        steps: StepCounts::default(),
        items: ItemCounts::default(),
        error: None,
        head: None,
        fork: None,
        labels: Labels::default(),
        actor: None,
    }
}

/// Returns an event at a seq, with a unique id.
pub fn recorded(seq: Seq, event: Event) -> Recorded {
    static LAST_EVENT_ID: AtomicI64 = AtomicI64::new(0);
    let event_id = EventId(LAST_EVENT_ID.fetch_add(1, Ordering::Relaxed) + 1);
    Recorded { seq, event_id, at: T0, event, prev: None }
}

/// Returns an arbitrary event.
pub fn event() -> Event {
    Event::Reported { name: "note".into(), step: None, body: Value::Null }
}

/// Returns an event whose JSON is slightly larger than `len` bytes.
pub fn sized(len: usize) -> Event {
    Event::Reported { name: "note".into(), step: None, body: Value::String("x".repeat(len)) }
}

/// Appends `count` events after `expected` and changes nothing else.
pub fn events_after(execution: ExecutionId, expected: Seq, count: u64) -> Append {
    let last = Seq(expected.0 + count);
    Append {
        execution,
        expected,
        events: (expected.0 + 1..=last.0).map(|seq| recorded(Seq(seq), event())).collect(),
        summary: summary(execution, last),
        queue: Vec::new(),
        timers: Vec::new(),
        outbox: Vec::new(),
        index: Vec::new(),
        payloads: Vec::new(),
        key: None,
    }
}

/// Appends a log of external events, from a document `{execution_id, events}` in the public API's
/// format.
pub fn told_log(published: &Value) -> Append {
    let execution = ExecutionId(published["execution_id"].as_i64().expect("an id"));
    let told = published["events"].as_array().expect("a list of events");
    let events = (1..).zip(told).map(|(seq, event)| Recorded {
        seq: Seq(seq),
        event_id: EventId(event["event_id"].as_i64().expect("an id")),
        at: T0,
        prev: None,
        event: Event::Reported {
            name: event["event_type"].as_str().expect("a name").to_owned(),
            step: event["node_name"].as_str().map(StepName::new),
            body: event.clone(),
        },
    });
    let count = u64::try_from(told.len()).expect("a length fits");
    Append { events: events.collect(), ..events_after(execution, Seq::ZERO, count) }
}

/// Starts an execution with one event.
pub fn start(execution: ExecutionId) -> Append {
    events_after(execution, Seq::ZERO, 1)
}

/// Appends one event after seq `expected`.
pub fn after(execution: ExecutionId, expected: u64) -> Append {
    events_after(execution, Seq(expected), 1)
}

pub fn add(command: u64) -> QueueChange {
    add_to(Pool::shared(), command)
}

pub fn add_to(pool: Pool, command: u64) -> QueueChange {
    QueueChange::Add {
        command: CommandId(command),
        pool,
        step: "fetch".into(),
        priority: Priority::default(),
        is_parked: false,
    }
}

/// Adds a command of the shared pool with a priority.
pub fn add_with(priority: u8, command: u64) -> QueueChange {
    QueueChange::Add {
        command: CommandId(command),
        pool: Pool::shared(),
        step: "fetch".into(),
        priority: Priority::try_from(priority).expect("a priority"),
        is_parked: false,
    }
}

/// Adds a parked command of the shared pool.
pub fn add_parked(command: u64) -> QueueChange {
    QueueChange::Add {
        command: CommandId(command),
        pool: Pool::shared(),
        step: "fetch".into(),
        priority: Priority::default(),
        is_parked: true,
    }
}

pub fn unpark(command: u64) -> QueueChange {
    QueueChange::Unpark { command: CommandId(command) }
}

/// Leases a command as the given attempt, for some seconds.
pub fn lease(command: u64, attempt: u32, seconds: u64) -> QueueChange {
    QueueChange::Lease {
        command: CommandId(command),
        attempt: Attempt(attempt),
        worker: WorkerId::new("worker-1"),
        lease: Duration::from_secs(seconds),
    }
}

pub fn park(command: u64) -> QueueChange {
    QueueChange::Park { command: CommandId(command) }
}

pub fn remove(command: u64) -> QueueChange {
    QueueChange::Remove { command: CommandId(command) }
}

pub fn held(execution: ExecutionId, command: u64, attempt: u32) -> Held {
    Held { execution, command: CommandId(command), attempt: Attempt(attempt) }
}
