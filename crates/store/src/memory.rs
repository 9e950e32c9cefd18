//! An in-memory store: the whole contract except durability.
//!
//! One lock guards all tables, so an append is atomic. Every rule is checked before the first row
//! changes; nothing is ever rolled back.

mod bytes;
mod catalog;
mod executions;
mod feed;
mod index;
mod layout;
mod limits;
mod open_work;
mod outbox;
mod ports;
mod queue;
mod records;
mod retention;
mod schedule;
mod step_logs;
mod subscription;
mod timers;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use noetl_model::{Digest, EventId, ExecutionId, Recorded, Seq, Summary, TimerId, Timestamp};

use crate::{
    Append, AppendError, CatalogEntry, Clock, CommandKey, KeptKey, KeyName, OwnEvents, PageSpace,
    PauseRow, PausedKind, SavedReplay, Snapshot, StartKey, StoreError, TimerChange, json_len,
    read_shared,
};
use feed::FeedTable;
use index::IndexTable;
use limits::LimitTable;
use outbox::OutboxTable;
use queue::CommandTable;
use records::RecordTables;
use retention::ErasureTables;
use schedule::ScheduleTable;
use step_logs::LogTable;
use subscription::SubscriptionTable;

/// An in-memory store. Its contents end with the process.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    tables: Mutex<MemoryTables>,
}

/// A copy of all contents of an in-memory store.
pub struct MemoryBackup(MemoryTables);

/// A large payload.
#[derive(Clone)]
struct KeptPayload {
    bytes: Vec<u8>,
    /// The time a payload that no event log refers to was last named; `None` if a log refers to it.
    loose_since: Option<Timestamp>,
}

impl KeptPayload {
    fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), loose_since: None }
    }
}

#[derive(Clone, Default)]
struct MemoryTables {
    executions: BTreeMap<ExecutionId, MemoryExecution>,
    /// The execution and seq of each event.
    places: HashMap<EventId, (ExecutionId, Seq)>,
    children: HashMap<CommandKey, ExecutionId>,
    commands: CommandTable,
    timers: BTreeMap<(ExecutionId, TimerId), Timestamp>,
    index: IndexTable,
    outbox: OutboxTable,
    feed: FeedTable,
    subscriptions: SubscriptionTable,
    schedules: ScheduleTable,
    payloads: HashMap<Digest, KeptPayload>,
    /// The payloads that were written with the events of an execution.
    written_payloads: BTreeSet<(ExecutionId, Digest)>,
    erasure: ErasureTables,
    /// The versions of each path, the first at index zero.
    catalog: BTreeMap<String, Vec<CatalogEntry>>,
    snapshots: HashMap<ExecutionId, Snapshot>,
    replays: BTreeMap<(ExecutionId, String, Seq), SavedReplay>,
    keys: HashMap<KeyName, KeptKey>,
    pauses: BTreeMap<(PausedKind, String), PauseRow>,
    limits: LimitTable,
    records: RecordTables,
    step_logs: BTreeMap<ExecutionId, LogTable>,
}

#[derive(Clone)]
struct MemoryExecution {
    summary: Summary,
    /// The execution's own events, without the shared events of a fork's origin.
    log: Vec<Recorded>,
}

impl MemoryStore {
    /// Creates an empty store that reads `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, tables: Mutex::new(MemoryTables::default()) }
    }

    /// Copies all contents, like a database backup.
    pub fn backup(&self) -> MemoryBackup {
        MemoryBackup(self.lock().clone())
    }

    /// Replaces all contents with those of a backup; later writes are lost.
    pub fn restore(&self, backup: &MemoryBackup) {
        *self.lock() = backup.0.clone();
    }

    fn lock(&self) -> MutexGuard<'_, MemoryTables> {
        self.tables.lock().expect("nothing panics while it holds the tables")
    }
}

impl MemoryTables {
    fn append(&mut self, append: &Append, now: Timestamp) -> Result<(), AppendError> {
        self.check_log(append)?;
        self.check_origin(append)?;
        self.check_child(append)?;
        let commands = self.commands.stage(append.execution, &append.queue, now)?;
        self.take_key(append, now)?;

        self.commands.commit(append.execution, commands);
        for change in &append.timers {
            match *change {
                TimerChange::Set { timer, due_at } => {
                    self.timers.insert((append.execution, timer), due_at);
                }
                TimerChange::Remove { timer } => {
                    self.timers.remove(&(append.execution, timer));
                }
            }
        }
        self.index.change(append.execution, &append.index);
        for message in &append.outbox {
            self.outbox.add(append.execution, message.clone(), now);
        }
        for (digest, bytes) in &append.payloads {
            let kept = self.payloads.entry(*digest).or_insert_with(|| KeptPayload::of(bytes));
            kept.loose_since = None;
            self.written_payloads.insert((append.execution, *digest));
        }
        if let Some(parent) = append.starts_child_of() {
            self.children.insert(parent, append.execution);
        }
        let places = append.events.iter().map(|it| (it.event_id, (append.execution, it.seq)));
        self.places.extend(places);
        let row = self.executions.entry(append.execution).or_insert_with(|| MemoryExecution {
            summary: append.summary.clone(),
            log: Vec::new(),
        });
        row.summary = append.summary.clone();
        row.log.extend_from_slice(&append.events);
        let places = append.events.iter().map(|recorded| (append.execution, recorded.seq));
        self.feed.add(places.collect(), now);
        Ok(())
    }

    fn own_events(&self, execution: ExecutionId, after: Seq, limit: usize) -> OwnEvents {
        let Some(row) = self.executions.get(&execution) else {
            return OwnEvents::default();
        };
        let seen = row.log.partition_point(|recorded| recorded.seq <= after);
        let shared = row.summary.fork.filter(|fork| after < fork.seq);
        let mut own = OwnEvents { shared, ..OwnEvents::default() };
        let mut room = PageSpace::default();
        for recorded in row.log.iter().skip(seen).take(limit) {
            own.events.push(recorded.clone());
            if !room.take(json_len(&recorded.event)) {
                own.is_cut = true;
                break;
            }
        }
        own
    }

    /// Checks that the append continues the log without a gap and with unused event ids.
    fn check_log(&self, append: &Append) -> Result<(), AppendError> {
        let row = self.executions.get(&append.execution);
        let begins_after = append.summary.fork.map_or(Seq::ZERO, |fork| fork.seq);
        let last = row.and_then(|row| row.log.last()).map_or(begins_after, |recorded| recorded.seq);
        let fresh =
            append.events.iter().all(|recorded| !self.places.contains_key(&recorded.event_id));
        let continues = append.expected == last
            && append.last_seq().is_some()
            && append.follows(row.and_then(|row| row.summary.head));
        if continues && fresh { Ok(()) } else { Err(AppendError::Conflict) }
    }

    /// Checks that the origin of a new fork has the event of the fork point.
    fn check_origin(&self, append: &Append) -> Result<(), AppendError> {
        let Some(point) = append.starts_fork_at() else { return Ok(()) };
        let log = self.executions.get(&point.execution).map(|row| (row, row.log.last()));
        let digest = match log {
            Some((row, Some(last))) if last.seq == point.seq => row.summary.head,
            Some((row, Some(last))) if last.seq > point.seq => {
                row.log.iter().find(|next| next.seq == point.seq.next()).and_then(|it| it.prev)
            }
            Some((_, _)) | None => return Err(AppendError::Conflict),
        };
        if append.follows(digest) { Ok(()) } else { Err(AppendError::Conflict) }
    }

    /// Takes the start key of the append unless it is held. Runs after all other checks.
    fn take_key(&mut self, append: &Append, now: Timestamp) -> Result<(), AppendError> {
        let Some(key) = append.start_key_used() else {
            return Ok(());
        };
        let name = key.qualified();
        if let Some(holder) = self.keys.get(&name).and_then(|kept| kept.holder_at(now)) {
            return Err(AppendError::KeyTaken(holder));
        }
        self.keys.retain(|_, kept| kept.holder_at(now).is_some());
        self.keys.insert(name, KeptKey::of(key, append.execution, now));
        Ok(())
    }

    fn check_child(&self, append: &Append) -> Result<(), AppendError> {
        match append.starts_child_of().and_then(|parent| self.children.get(&parent)) {
            Some(&child) if child != append.execution => Err(AppendError::ChildExists { child }),
            Some(_) | None => Ok(()),
        }
    }
}

impl MemoryStore {
    pub(crate) async fn append(
        &self,
        batch: &[Append],
    ) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        let now = self.clock.now();
        let mut tables = self.lock();
        Ok(batch.iter().map(|append| tables.append(append, now)).collect())
    }

    pub(crate) async fn read(
        &self,
        execution: ExecutionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        let read = |execution, after, limit| {
            std::future::ready(Ok(self.lock().own_events(execution, after, limit)))
        };
        read_shared(execution, after, limit, read).await
    }

    pub(crate) fn admits(&self, _execution: ExecutionId, _key: &StartKey) -> bool {
        true
    }

    pub(crate) async fn find(
        &self,
        event: EventId,
    ) -> Result<Option<(ExecutionId, Recorded)>, StoreError> {
        let tables = self.lock();
        let found = tables.places.get(&event).and_then(|(execution, seq)| {
            let log = &tables.executions.get(execution)?.log;
            let place = log.binary_search_by_key(seq, |recorded| recorded.seq).ok()?;
            Some((*execution, log.get(place)?.clone()))
        });
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::TestClock;

    async fn fresh(clock: TestClock) -> (MemoryStore, ()) {
        (MemoryStore::new(Arc::new(clock)), ())
    }

    crate::conformance!(fresh);
}
