//! Planning of a batch: the appends that are accepted, and the rows they write.
//!
//! A store reads the rows that a batch touches ([`StoredRows`]), locks them until the batch is
//! committed, and writes the rows of the [`Plan`]. Every rule is checked here, in memory, before
//! the first row is written, so a rejected append leaves nothing to undo.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use noetl_model::{
    CommandId, Digest, EventId, ExecutionId, ForkPoint, IndexChange, IndexEntry, Message, Recorded,
    Seq, Summary, TimerId, Timestamp,
};

use crate::{Append, AppendError, KeptKey, OpenCommand, TimerChange, stage};

/// The key of a command across all executions.
pub type CommandKey = (ExecutionId, CommandId);
/// The key of a timer across all executions.
pub type TimerKey = (ExecutionId, TimerId);

/// The key of a start key: scope and name.
pub type KeyName = (String, String);

/// The stored rows that a batch touches. A row that a store leaves out counts as missing, and the
/// unique keys of its tables have to reject duplicates.
#[derive(Debug)]
pub struct StoredRows {
    /// The time by the store's clock.
    pub now: Timestamp,
    pub logs: HashMap<ExecutionId, LogEnd>,
    /// The event ids of the batch that are already used.
    pub event_ids: HashSet<EventId>,
    /// The child executions of the parent commands in the batch.
    pub children: HashMap<CommandKey, ExecutionId>,
    pub commands: HashMap<CommandKey, OpenCommand>,
    /// The fork points of the batch whose event is stored, with the digest of that event; `None` if
    /// the digest is not known.
    pub origins: HashMap<ForkPoint, Option<Digest>>,
    /// The start keys of the batch that have a row, expired or not.
    pub keys: HashMap<KeyName, KeptKey>,
}

/// The end of an execution's log.
#[derive(Debug, Clone, Copy)]
pub struct LogEnd {
    pub seq: Seq,
    pub at: Timestamp,
    /// The digest of the last event; `None` for an event that was written without a digest.
    pub head: Option<Digest>,
}

/// The change to one execution row.
#[derive(Debug)]
pub struct ExecutionChange<'a> {
    pub summary: &'a Summary,
    pub end: LogEnd,
    /// The end of the log before the batch.
    pub before: LogEnd,
    /// True if the batch starts the execution.
    pub is_new: bool,
}

/// The result of planning a batch: an answer for each append, and the rows of the accepted ones.
#[derive(Debug, Default)]
pub struct Plan<'a> {
    pub answers: Vec<Result<(), AppendError>>,
    pub events: Vec<(ExecutionId, &'a Recorded)>,
    pub executions: BTreeMap<ExecutionId, ExecutionChange<'a>>,
    /// The child executions that the batch starts.
    pub children: BTreeMap<CommandKey, ExecutionId>,
    /// The touched commands in the order they were added; `None` for ended ones.
    commands: Vec<(CommandKey, Option<OpenCommand>)>,
    /// The touched timers; `None` for ended ones.
    timers: BTreeMap<TimerKey, Option<Timestamp>>,
    /// The touched index entries; `None` for removed ones.
    index: BTreeMap<(ExecutionId, &'a IndexEntry), Option<Timestamp>>,
    pub messages: Vec<(ExecutionId, &'a Message)>,
    /// The large values, each once for its execution.
    pub payloads: Vec<(ExecutionId, &'a Digest, &'a [u8])>,
    stored: HashSet<(ExecutionId, &'a Digest)>,
    /// The large values that the events refer to, stored by this batch or earlier.
    pub references: BTreeSet<(ExecutionId, Digest)>,
    /// The start keys of the new executions, in order.
    pub keys: BTreeMap<KeyName, KeptKey>,
}

impl<'a> Plan<'a> {
    /// Plans a batch; each append sees the changes of the appends before it.
    pub fn of(batch: impl IntoIterator<Item = &'a Append>, mut known: StoredRows) -> Self {
        let mut plan = Plan::default();
        let mut touched = Touched::default();
        for append in batch {
            let answer = plan.accept(append, &mut known, &mut touched);
            plan.answers.push(answer);
        }
        let keys = touched.in_order().into_iter();
        plan.commands = keys.map(|key| (key, known.commands.remove(&key))).collect();
        plan
    }

    /// Empties the payload bodies, for a store whose blob storage already has the bytes.
    pub fn without_bodies(&mut self) {
        self.payloads.iter_mut().for_each(|(.., body)| *body = &[]);
    }

    /// Plans a batch without stored rows. The plan presumes that every log ends at the expected
    /// seq, every added command is new and every start key is free; the store has to reject the
    /// whole batch otherwise. Returns `None` if stored rows are needed, for a child execution, the
    /// origin of a fork or the holder of a command.
    pub fn presumed(
        batch: impl IntoIterator<Item = &'a Append> + Clone,
        now: Timestamp,
    ) -> Option<Self> {
        let mut seen = HashSet::new();
        let mut logs = HashMap::new();
        for append in batch.clone() {
            if !append.needs_only_its_key() {
                return None;
            }
            if seen.insert(append.execution) && append.expected != append.begins_after() {
                let head = append.events.first().and_then(|event| event.prev);
                let at = append.summary.started_at;
                logs.insert(append.execution, LogEnd { seq: append.expected, at, head });
            }
        }
        let known = StoredRows {
            now,
            logs,
            event_ids: HashSet::new(),
            children: HashMap::new(),
            commands: HashMap::new(),
            origins: HashMap::new(),
            keys: HashMap::new(),
        };
        let plan = Plan::of(batch, known);
        let is_settled = |answer: &Result<(), AppendError>| match answer {
            // An earlier append of the same batch takes the key.
            Ok(()) | Err(AppendError::KeyTaken(_)) => true,
            Err(
                AppendError::Conflict
                | AppendError::ChildExists { .. }
                | AppendError::Unanswered(_),
            ) => false,
        };
        plan.answers.iter().all(is_settled).then_some(plan)
    }

    /// Returns the new and changed commands, in the order they were added.
    pub fn open_commands(&self) -> impl Iterator<Item = (CommandKey, &OpenCommand)> {
        self.commands.iter().filter_map(|(key, open)| Some((*key, open.as_ref()?)))
    }

    /// Returns the ended commands.
    pub fn ended_commands(&self) -> impl Iterator<Item = CommandKey> {
        self.commands.iter().filter(|(_, open)| open.is_none()).map(|(key, _)| *key)
    }

    /// Returns the set timers with their due times.
    pub fn set_timers(&self) -> impl Iterator<Item = (TimerKey, Timestamp)> {
        self.timers.iter().filter_map(|(key, due_at)| Some((*key, (*due_at)?)))
    }

    /// Returns the ended timers.
    pub fn ended_timers(&self) -> impl Iterator<Item = TimerKey> {
        self.timers.iter().filter(|(_, due_at)| due_at.is_none()).map(|(key, _)| *key)
    }

    /// Returns the added index entries with their times, ordered by execution.
    pub fn added_index(&self) -> impl Iterator<Item = (ExecutionId, &'a IndexEntry, Timestamp)> {
        self.index.iter().filter_map(|((execution, entry), at)| Some((*execution, *entry, (*at)?)))
    }

    /// Returns the removed index entries, ordered by execution.
    pub fn removed_index(&self) -> impl Iterator<Item = (ExecutionId, &'a IndexEntry)> {
        self.index.iter().filter(|(_, at)| at.is_none()).map(|(key, _)| *key)
    }

    fn accept(
        &mut self,
        append: &'a Append,
        known: &mut StoredRows,
        touched: &mut Touched,
    ) -> Result<(), AppendError> {
        let execution = append.execution;
        let before = known.log_end(append);
        let end = known.check_log(append)?;
        known.check_origin(append)?;
        known.check_child(append)?;
        let current = |command| known.commands.get(&(execution, command));
        let staged = stage(&append.queue, current, known.now)?;
        let key = known.check_key(append)?;

        let is_new = known.logs.insert(execution, end).is_none();
        if let Some((name, kept)) = key {
            known.keys.insert(name.clone(), kept);
            self.keys.insert(name, kept);
        }
        known.event_ids.extend(append.events.iter().map(|recorded| recorded.event_id));
        if let Some(parent) = append.starts_child_of() {
            known.children.insert(parent, execution);
            if is_new {
                self.children.insert(parent, execution);
            }
        }
        for (command, open) in staged {
            let key = (execution, command);
            let was = match open {
                Some(open) => known.commands.insert(key, open),
                None => known.commands.remove(&key),
            };
            touched.add(key, was.is_some());
        }
        self.executions
            .entry(execution)
            .and_modify(|change| (change.summary, change.end) = (&append.summary, end))
            .or_insert(ExecutionChange { summary: &append.summary, end, before, is_new });
        self.events.extend(append.events.iter().map(|recorded| (execution, recorded)));
        let referred = append.events.iter().flat_map(|recorded| recorded.event.payload_digests());
        self.references.extend(referred.map(|digest| (execution, digest)));
        self.timers.extend(append.timers.iter().map(|change| match *change {
            TimerChange::Set { timer, due_at } => ((execution, timer), Some(due_at)),
            TimerChange::Remove { timer } => ((execution, timer), None),
        }));
        self.index.extend(append.index.iter().map(|change| match change {
            IndexChange::Add { entry, at } => ((execution, entry), Some(*at)),
            IndexChange::Remove { entry } => ((execution, entry), None),
        }));
        self.messages.extend(append.outbox.iter().map(|message| (execution, message)));
        for (digest, bytes) in &append.payloads {
            if self.stored.insert((execution, digest)) {
                self.payloads.push((execution, digest, &bytes[..]));
                self.references.insert((execution, *digest));
            }
        }
        Ok(())
    }
}

/// The commands that a batch touches, and the order in which new ones are added.
#[derive(Default)]
struct Touched {
    places: HashMap<CommandKey, usize>,
    next_place: usize,
}

impl Touched {
    fn add(&mut self, key: CommandKey, was_open: bool) {
        if was_open {
            self.places.entry(key).or_insert(self.next_place);
        } else {
            self.places.insert(key, self.next_place);
        }
        self.next_place += 1;
    }

    fn in_order(self) -> Vec<CommandKey> {
        let mut places: Vec<_> = self.places.into_iter().collect();
        places.sort_by_key(|(_, place)| *place);
        places.into_iter().map(|(key, _)| key).collect()
    }
}

impl StoredRows {
    /// Returns the end of the execution's log before the append.
    fn log_end(&self, append: &Append) -> LogEnd {
        let end = self.logs.get(&append.execution).copied();
        let at = append.summary.started_at;
        end.unwrap_or(LogEnd { seq: append.begins_after(), at, head: None })
    }

    /// Returns the end of the log after `append`. Conflicts unless the append continues the log
    /// without a gap and with unused event ids.
    fn check_log(&self, append: &Append) -> Result<LogEnd, AppendError> {
        let end = self.log_end(append);
        let seq = append.last_seq().ok_or(AppendError::Conflict)?;
        let used = append.events.iter().any(|event| self.event_ids.contains(&event.event_id));
        if append.expected != end.seq || used || !append.follows(end.head) {
            return Err(AppendError::Conflict);
        }
        let at = append.events.last().map_or(end.at, |event| event.at);
        Ok(LogEnd { seq, at, head: append.summary.head })
    }

    /// Conflicts if the append starts a fork whose origin does not have the event of the fork point.
    fn check_origin(&self, append: &Append) -> Result<(), AppendError> {
        let Some(point) = append.starts_fork_at() else { return Ok(()) };
        match self.origins.get(&point) {
            Some(digest) if append.follows(*digest) => Ok(()),
            Some(_) | None => Err(AppendError::Conflict),
        }
    }

    /// Returns the start key row of an append that starts an execution. Fails if the key is held.
    fn check_key(&self, append: &Append) -> Result<Option<(KeyName, KeptKey)>, AppendError> {
        let Some(key) = append.start_key_used() else {
            return Ok(None);
        };
        let name = key.qualified();
        match self.keys.get(&name).and_then(|kept| kept.holder_at(self.now)) {
            Some(holder) => Err(AppendError::KeyTaken(holder)),
            None => Ok(Some((name, KeptKey::of(key, append.execution, self.now)))),
        }
    }

    fn check_child(&self, append: &Append) -> Result<(), AppendError> {
        match append.starts_child_of().and_then(|parent| self.children.get(&parent)) {
            Some(&child) if child != append.execution => Err(AppendError::ChildExists { child }),
            Some(_) | None => Ok(()),
        }
    }
}
