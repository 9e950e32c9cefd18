//! Differential tests: random operations get the same answers as from the in-memory store.

use std::sync::Arc;
use std::time::Duration;

use noetl_model::{
    CommandId, ExecutionId, ExecutionStatus, IndexChange, IndexEntry, IndexKey, IndexKind, Message,
    Parent, Pool, Seq, TimerId,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::given::{T0, add, add_to, at, events_after, held, lease, park, remove};
use super::{Subject, TestClock};
use crate::{
    Append, Clock as _, ExecutionFilter, Failure, Held, IndexOrder, IndexPage, ListedMessage,
    MemoryStore, OutboxConsumer, OutboxListing, OutboxRow, Records, Store, Take, TimerChange,
};

const EXECUTIONS: u8 = 3;

/// Runs random operations against a store and an in-memory store, and fails the test if the answers
/// differ.
///
/// `fresh` makes an empty store on a clock, and a guard that has to live as long as the store.
/// Because a fresh store costs time, only one in `one_in` of the default number of cases is run;
/// `PROPTEST_CASES` scales them.
pub fn answers_as_memory_does<S, K>(fresh: impl AsyncFn(TestClock) -> (S, K), one_in: u32)
where
    S: Store + Records + 'static,
{
    let usual = ProptestConfig::default();
    let cases = usual.cases.div_ceil(one_in);
    let mut runner = TestRunner::new(ProptestConfig { cases, failure_persistence: None, ..usual });
    let outcome = runner.run(&(parents(), deeds()), |(parents, deeds)| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let clock = TestClock::default();
            let (store, _keep) = fresh(clock.clone()).await;
            compare(&Subject::new(store, clock), parents, deeds).await
        })
    });
    if let Err(difference) = outcome {
        panic!("{difference}");
    }
}

/// A random operation on a store.
#[derive(Debug, Clone)]
enum Deed {
    Append(Vec<Intent>),
    Wait(u64),
    /// Sets the clock back.
    WaitBack(u64),
    Extend(Vec<Held>),
    Take,
    SendFirst,
    /// A publisher takes messages and fails to send them.
    PublishInVain,
}

/// An append whose position in the log is chosen when it is built.
#[derive(Debug, Clone)]
struct Intent {
    execution: u8,
    /// The distance from the end of the log, negative or positive.
    off_by: i8,
    events: u64,
    queue: Vec<QueueIntent>,
    timers: Vec<TimerChange>,
    index: Vec<IndexChange>,
    messages: u64,
    status: ExecutionStatus,
}

#[derive(Debug, Clone)]
enum QueueIntent {
    /// Adds a command with an unused number, chosen when the append is built.
    Add,
    AddToOther,
    Lease(u64, u32, u64),
    Park(u64),
    Remove(u64),
}

fn queue_intent() -> impl Strategy<Value = QueueIntent> {
    let command = || 1u64..6;
    prop_oneof![
        3 => Just(QueueIntent::Add),
        1 => Just(QueueIntent::AddToOther),
        3 => (command(), 1u32..4, 0u64..60).prop_map(|(c, a, s)| QueueIntent::Lease(c, a, s)),
        1 => command().prop_map(QueueIntent::Park),
        2 => command().prop_map(QueueIntent::Remove),
    ]
}

fn timer_change() -> impl Strategy<Value = TimerChange> {
    prop_oneof![
        (1u64..3, 0u64..100)
            .prop_map(|(timer, s)| TimerChange::Set { timer: TimerId(timer), due_at: at(s) }),
        (1u64..3).prop_map(|timer| TimerChange::Remove { timer: TimerId(timer) }),
    ]
}

fn index_change() -> impl Strategy<Value = IndexChange> {
    let entry = || {
        let kind = prop_oneof![Just(IndexKind::Label), Just(IndexKind::Signal)];
        let command = prop::option::of((1u64..3).prop_map(CommandId));
        (kind, "[ab]", command).prop_map(|(kind, key, command)| IndexEntry::new(kind, key, command))
    };
    prop_oneof![
        2 => (entry(), 0u64..100).prop_map(|(entry, s)| IndexChange::Add { entry, at: at(s) }),
        1 => entry().prop_map(|entry| IndexChange::Remove { entry }),
    ]
}

fn intent() -> impl Strategy<Value = Intent> {
    let off_by = prop_oneof![8 => Just(0i8), 1 => Just(-1i8), 1 => Just(1i8)];
    let status =
        prop_oneof![3 => Just(ExecutionStatus::Running), 1 => Just(ExecutionStatus::Failed)];
    (
        0..EXECUTIONS,
        off_by,
        1u64..4,
        prop::collection::vec(queue_intent(), 0..4),
        prop::collection::vec(timer_change(), 0..3),
        prop::collection::vec(index_change(), 0..3),
        0u64..3,
        status,
    )
        .prop_map(|(execution, off_by, events, queue, timers, index, messages, status)| {
            Intent { execution, off_by, events, queue, timers, index, messages, status }
        })
}

fn deed() -> impl Strategy<Value = Deed> {
    let holds = (0..EXECUTIONS, 1u64..6, 1u32..4).prop_map(|(e, c, a)| held(execution(e), c, a));
    prop_oneof![
        6 => prop::collection::vec(intent(), 1..4).prop_map(Deed::Append),
        2 => (0u64..40).prop_map(Deed::Wait),
        1 => (0u64..40).prop_map(Deed::WaitBack),
        1 => prop::collection::vec(holds, 0..4).prop_map(Deed::Extend),
        1 => Just(Deed::Take),
        1 => Just(Deed::SendFirst),
        1 => Just(Deed::PublishInVain),
    ]
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    prop::collection::vec(deed(), 1..30)
}

/// Generates, for each execution, its optional parent command.
fn parents() -> impl Strategy<Value = Vec<Option<u64>>> {
    prop::collection::vec(prop::option::weighted(0.3, 1u64..3), usize::from(EXECUTIONS))
}

fn execution(number: u8) -> ExecutionId {
    ExecutionId(100 + i64::from(number))
}

/// The state of one execution of a case while appends are built.
#[derive(Clone, Copy)]
struct Sketch {
    /// The parent command, in another execution.
    parent: Option<u64>,
    last_seq: u64,
    last_command: u64,
}

/// Builds the append of an intent.
fn append_of(intent: &Intent, sketch: &mut Sketch) -> Append {
    let execution = execution(intent.execution);
    let expected = sketch.last_seq.saturating_add_signed(i64::from(intent.off_by));
    let mut append = events_after(execution, Seq(expected), intent.events);
    append.summary.status = intent.status;
    append.summary.parent =
        sketch.parent.map(|command| Parent::of(ExecutionId(1), Some(CommandId(command))));
    let mut next_command = || {
        sketch.last_command += 1;
        sketch.last_command
    };
    append.queue = intent
        .queue
        .iter()
        .map(|change| match *change {
            QueueIntent::Add => add(next_command()),
            QueueIntent::AddToOther => add_to(Pool::new("other"), next_command()),
            QueueIntent::Lease(command, attempt, seconds) => lease(command, attempt, seconds),
            QueueIntent::Park(command) => park(command),
            QueueIntent::Remove(command) => remove(command),
        })
        .collect();
    append.timers = intent.timers.clone();
    append.index = intent.index.clone();
    append.outbox = (0..intent.messages)
        .map(|command| Message::CommandCancelled { command: CommandId(command) })
        .collect();
    append
}

/// Returns the messages without their ids, because a store may skip ids.
fn nameless(rows: Vec<OutboxRow>) -> Vec<OutboxRow> {
    rows.into_iter().map(|row| OutboxRow { id: 0, ..row }).collect()
}

/// Performs one operation and returns all answers of the store, to it and to later queries.
async fn answers(subject: &Subject, deed: &Deed, batch: &[Append]) -> String {
    let store = &subject.store;
    let visibility = Duration::from_secs(15);
    let answer = match deed {
        Deed::Append(_) => format!("{:?}", subject.append_all(batch).await),
        Deed::Wait(_) | Deed::WaitBack(_) => String::new(),
        Deed::Extend(held) => format!("{:?}", store.extend(held, visibility).await),
        Deed::Take => format!("{:?}", nameless(subject.take(visibility).await)),
        Deed::SendFirst => {
            let take = Take { consumer: OutboxConsumer::Relay, limit: 1, hold: visibility };
            let taken = store.take(take).await.expect("the store hands out messages");
            let ids: Vec<i64> = taken.iter().map(|row| row.id).collect();
            format!("{:?} {:?}", nameless(taken), store.sent(&ids).await)
        }
        Deed::PublishInVain => {
            let take = Take { consumer: OutboxConsumer::Publisher, limit: 2, hold: visibility };
            let taken = store.take(take).await.expect("the store hands out messages");
            let failures = taken.iter().map(|row| Failure {
                id: row.id,
                error: "no broker".to_owned(),
                attempts: None,
                delay_max: visibility,
                is_final: false,
            });
            let failures: Vec<Failure> = failures.collect();
            format!("{:?} {:?}", nameless(taken), store.failed(&failures).await)
        }
    };
    let mut seen = vec![answer];
    for number in 0..EXECUTIONS {
        let id = execution(number);
        seen.push(format!("{:?} {:?}", subject.read(id).await, store.summary(id).await));
        let children = (1..3).map(|command| store.child_of(ExecutionId(1), CommandId(command)));
        for child in children {
            seen.push(format!("{:?}", child.await));
        }
    }
    let now = subject.clock.now();
    seen.push(format!("{:?}", subject.ready().await));
    seen.push(format!("{:?}", subject.ready_in(&Pool::new("other")).await));
    seen.push(format!("{:?}", store.exhausted(2, 0, 10).await));
    seen.push(format!("{:?} {:?}", store.due(now, 10).await, store.next_due().await));
    seen.push(format!("{} {:?}", subject.owed().await, store.stalled(at(1), 10).await));
    for (kind, key) in [(IndexKind::Label, "a"), (IndexKind::Signal, "a"), (IndexKind::Signal, "b")]
    {
        let page = IndexPage { order: IndexOrder::NewestFirst, after: None, limit: 10 };
        seen.push(format!("{:?}", store.indexed(kind, &IndexKey::new(key), page).await));
        seen.push(format!("{:?}", store.open_index(kind, None, 10).await));
    }
    let page = OutboxListing { state: None, after: 0, limit: 10 };
    let listed = store.list_messages(page).await.expect("the store lists messages").into_iter();
    let listed: Vec<ListedMessage> =
        listed.map(|it| ListedMessage { row: OutboxRow { id: 0, ..it.row }, ..it }).collect();
    seen.push(format!("{:?} {listed:?}", store.pending().await));
    seen.push(format!("{:?}", subject.list(ExecutionFilter::default(), None, 10).await));
    seen.join("\n")
}

async fn compare(
    subject: &Subject,
    parents: Vec<Option<u64>>,
    deeds: Vec<Deed>,
) -> Result<(), TestCaseError> {
    let clock = &subject.clock;
    let memory = Subject::new(MemoryStore::new(Arc::new(clock.clone())), clock.clone());
    let mut sketches: Vec<Sketch> =
        parents.into_iter().map(|parent| Sketch { parent, last_seq: 0, last_command: 0 }).collect();
    for deed in deeds {
        let now = clock.now();
        match deed {
            Deed::Wait(seconds) => clock.set(now.after(Duration::from_secs(seconds))),
            Deed::WaitBack(seconds) => {
                let back = now.since(T0).saturating_sub(Duration::from_secs(seconds));
                clock.set(T0.after(back));
            }
            Deed::Append(_)
            | Deed::Extend(_)
            | Deed::Take
            | Deed::SendFirst
            | Deed::PublishInVain => {}
        }
        let batch = match &deed {
            Deed::Append(intents) => batch_of(&memory, intents, &mut sketches).await,
            Deed::Wait(_)
            | Deed::WaitBack(_)
            | Deed::Extend(_)
            | Deed::Take
            | Deed::SendFirst
            | Deed::PublishInVain => Vec::new(),
        };
        let expected = answers(&memory, &deed, &batch).await;
        prop_assert_eq!(answers(subject, &deed, &batch).await, expected, "after {:?}", deed);
    }
    Ok(())
}

async fn batch_of(memory: &Subject, intents: &[Intent], sketches: &mut [Sketch]) -> Vec<Append> {
    for (number, sketch) in (0..EXECUTIONS).zip(sketches.iter_mut()) {
        sketch.last_seq = memory.read(execution(number)).await.len() as u64;
    }
    let sketched = |intent: &Intent| {
        let sketch = &mut sketches[usize::from(intent.execution)];
        append_of(intent, sketch)
    };
    intents.iter().map(sketched).collect()
}
