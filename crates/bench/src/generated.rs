//! A store filled with generated executions, written by the same append that a server uses.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use noetl_model::{
    Attempt, Bindings, CatalogId, CommandId, Digest, ErrorMode, Event, EventId, ExecutionId,
    ExecutionStatus, ItemCounts, ItemSource, Labels, Logs, LoopMode, Message, Origin, Payload,
    Place, PlaybookRef, Pool, Priority, Recorded, RunId, Seq, StepCounts, StepName, Summary,
    TaskAddress, Timestamp, ToolKind, WorkerId, first_id_at,
};
use noetl_store::{Append, Store};
use serde_json::json;

use crate::system::now;

/// The average number of events of an execution.
const EVENTS_EACH: u64 = 160;
/// The shares of all events that the two longest executions have, in ten-thousandths.
const LONGEST: u64 = 3125;
const LONG: u64 = 625;
/// The number of events written at once.
const BATCH: u64 = 5000;
/// The number of playbooks of the executions.
const PLAYBOOKS: u64 = 4;
/// One in this many executions has failed.
const FAILED_EVERY: u64 = 10;
/// The events around the items: started, entered, opened; step and execution completed.
const AROUND_ITEMS: u64 = 5;
const EVENTS_OF_ITEM: u64 = 4;
/// The number of messages of an execution with pending messages.
const MESSAGES_EACH: u64 = 5;

pub(crate) struct GeneratedStore {
    /// The executions of ordinary length.
    pub(crate) executions: Vec<ExecutionId>,
    pub(crate) longest: ExecutionId,
    /// The number of events of the longest execution.
    pub(crate) length: u64,
}

impl GeneratedStore {
    /// Fills an empty store with a number of events.
    pub(crate) async fn fill(store: &dyn Store, events: u64) -> Result<Self> {
        let count = events / EVENTS_EACH;
        ensure!(count > PLAYBOOKS * FAILED_EVERY, "{events} events are too few to measure");
        let (longest, long) = (events * LONGEST / 10_000, events * LONG / 10_000);
        let ordinary = (events - longest - long) / (count - 2);
        let begun = now()?;
        let mut executions = Vec::new();
        let mut batch = AppendBatch::default();
        for number in 0..count {
            let length = match number {
                0 => longest,
                1 => long,
                _ => ordinary,
            };
            let execution =
                GeneratedExecution::new(number, length, before(begun, count - number)?)?;
            executions.push(execution.id);
            batch.add(store, &execution).await?;
        }
        batch.write(store).await?;
        let longest_id = executions[0];
        let executions = executions.split_off(2);
        Ok(Self { executions, longest: longest_id, length: longest })
    }
}

/// Fills an empty store with executions of two events, one started every second until now.
pub(crate) async fn fill_short(store: &dyn Store, count: u64) -> Result<()> {
    let begun = now()?;
    let mut batch = AppendBatch::default();
    for number in 0..count {
        let execution = GeneratedExecution::new(number, 2, before(begun, count - number)?)?;
        batch.add(store, &execution).await?;
    }
    batch.write(store).await
}

/// Fills an empty store with pending messages, a few for each of many ended executions.
pub(crate) async fn fill_outbox(store: &dyn Store, messages: u64) -> Result<()> {
    let (begun, count) = (now()?, messages / MESSAGES_EACH);
    let mut batch = AppendBatch::default();
    for number in 0..count {
        let execution =
            GeneratedExecution::new(number, AROUND_ITEMS, before(begun, count - number)?)?;
        let mut append = execution.append(0, AROUND_ITEMS, &mut Digest::before(execution.id))?;
        append.outbox = (1..=MESSAGES_EACH).map(|command| execution.message(command)).collect();
        batch.appends.push(append);
        batch.events += AROUND_ITEMS;
        if batch.events >= BATCH {
            batch.write(store).await?;
        }
    }
    batch.write(store).await
}

/// Returns the instant some seconds before another.
fn before(instant: Timestamp, seconds: u64) -> Result<Timestamp> {
    Ok(Timestamp::from_micros(instant.as_micros() - i64::try_from(seconds * 1_000_000)?))
}

/// Appends that have not been written.
#[derive(Default)]
struct AppendBatch {
    appends: Vec<Append>,
    events: u64,
}

impl AppendBatch {
    async fn add(&mut self, store: &dyn Store, execution: &GeneratedExecution) -> Result<()> {
        let mut written = 0;
        let mut head = Digest::before(execution.id);
        while written < execution.length {
            let last = execution.length.min(written + BATCH - self.events);
            self.appends.push(execution.append(written, last, &mut head)?);
            self.events += last - written;
            written = last;
            if self.events >= BATCH {
                self.write(store).await?;
            }
        }
        Ok(())
    }

    async fn write(&mut self, store: &dyn Store) -> Result<()> {
        for answer in store.append(&self.appends).await? {
            answer.context("write what was generated")?;
        }
        *self = Self::default();
        Ok(())
    }
}

/// A generated execution: one loop over items that do nothing.
struct GeneratedExecution {
    id: ExecutionId,
    number: u64,
    length: u64,
    items: u64,
    started_at: Timestamp,
}

impl GeneratedExecution {
    fn new(number: u64, length: u64, started_at: Timestamp) -> Result<Self> {
        ensure!(length >= 2, "an execution has a first and a last event");
        let items = length.saturating_sub(AROUND_ITEMS);
        let id = ExecutionId(first_id_at(started_at));
        Ok(Self { id, number, length, items: items / EVENTS_OF_ITEM, started_at })
    }

    /// Returns the append of the events after `after` up to `last`. `head` is the digest of the
    /// event before, and is updated to that of the last.
    fn append(&self, after: u64, last: u64, head: &mut Digest) -> Result<Append> {
        let events = (after + 1..=last).map(|seq| {
            let recorded = Recorded {
                seq: Seq(seq),
                event_id: EventId(self.id.0 + i64::try_from(seq)?),
                at: self.started_at.after(Duration::from_micros(seq)),
                event: self.event(seq),
                prev: Some(*head),
            };
            *head = recorded.digest_after(head);
            Ok(recorded)
        });
        Ok(Append {
            execution: self.id,
            expected: Seq(after),
            events: events.collect::<Result<_>>()?,
            summary: Summary { head: Some(*head), ..self.summary(last) },
            queue: Vec::new(),
            timers: Vec::new(),
            outbox: Vec::new(),
            index: Vec::new(),
            payloads: Vec::new(),
            key: None,
        })
    }

    fn playbook(&self) -> PlaybookRef {
        let number = self.number % PLAYBOOKS;
        let catalog_id = CatalogId(i64::try_from(number).expect("there are a few"));
        PlaybookRef { catalog_id, path: path_of(number), version: 1 }
    }

    fn event(&self, seq: u64) -> Event {
        let (run, step) = (RunId(0), StepName::new("each"));
        match seq {
            1 => Event::ExecutionStarted {
                playbook: self.playbook(),
                workload: Payload::inline(json!({ "rows": self.items })),
                origin: Origin::Request,
                error_mode: ErrorMode::Strict,
                pool: Pool::shared(),
                priority: Priority::default(),
                paused: None,
                trace: None,
                notice: None,
                labels: Labels::default(),
                actor: None,
            },
            _ if seq == self.length => {
                Event::ExecutionCompleted { output: Payload::null(), actor: None }
            }
            2 => Event::StepEntered { run, step, from: Vec::new() },
            3 => Event::LoopOpened {
                run,
                items: ItemSource::Range(self.items),
                mode: LoopMode::Parallel,
                in_flight_max: 1,
            },
            _ if seq - 4 >= self.items * EVENTS_OF_ITEM => {
                Event::StepCompleted { run, step, output: None }
            }
            _ => item_event((seq - 4) / EVENTS_OF_ITEM, (seq - 4) % EVENTS_OF_ITEM, step),
        }
    }

    /// Returns one of several messages, each about its own event, so that the broker does not drop
    /// it as a duplicate.
    fn message(&self, command: u64) -> Message {
        let place = i64::try_from(command).expect("there are a few");
        Message::CommandReady {
            pool: Pool::shared(),
            command: CommandId(command),
            event_id: EventId(self.id.0 + place),
            step: StepName::new("each"),
            item: Some(command),
            trace: None,
        }
    }

    fn summary(&self, seq: u64) -> Summary {
        let is_over = seq == self.length;
        let status = match (is_over, self.number % FAILED_EVERY) {
            (false, _) => ExecutionStatus::Running,
            (true, 0) => ExecutionStatus::Failed,
            (true, _) => ExecutionStatus::Completed,
        };
        Summary {
            execution: self.id,
            playbook: self.playbook(),
            status,
            seq: Seq(seq),
            started_at: self.started_at,
            ended_at: is_over.then(|| self.started_at.after(Duration::from_micros(seq))),
            parent: None,
            current_step: Some(StepName::new("each")),
            steps: StepCounts { total: 1, running: 0, completed: 1, failed: 0 },
            items: ItemCounts { total: self.items, completed: self.items, failed: 0 },
            error: None,
            head: None,
            fork: None,
            labels: Labels::default(),
            actor: None,
        }
    }
}

pub(crate) fn path_of(playbook: u64) -> String {
    format!("bench/team_{playbook}/load")
}

fn item_event(index: u64, place: u64, step: StepName) -> Event {
    let (command, attempt) = (CommandId(index), Attempt(1));
    match place {
        0 => Event::CommandIssued {
            command,
            task: TaskAddress { run: RunId(0), place: Place::Item { index, task: 0 }, retry: 0 },
            step,
            tool: ToolKind::Noop,
            pool: Pool::shared(),
            bindings: Bindings::default(),
            cache: None,
        },
        1 => Event::CommandClaimed {
            command,
            attempt,
            worker: WorkerId::new("bench"),
            lease_until: Timestamp::from_micros(0),
            after: None,
        },
        2 => Event::CommandCompleted {
            command,
            attempt,
            output: Payload::inline(json!({ "row": index, "state": "loaded" })),
            logs: Logs::default(),
            job: None,
        },
        _ => Event::IterationCompleted { run: RunId(0), index, output: None, error: None },
    }
}
