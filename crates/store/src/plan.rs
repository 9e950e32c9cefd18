//! Which appends of a batch are accepted, and the rows they leave.
//!
//! A store reads what it holds of all that a batch touches ([`Known`]), keeps it from other writers
//! until the batch is committed, and writes what the [`Plan`] says. Every rule is checked here, in
//! memory, before the first row is written, so a refused append leaves nothing to undo.

use std::collections::{BTreeMap, HashMap, HashSet};

use noetl_model::{
    CommandId, Digest, EventId, ExecutionId, Message, Parent, Recorded, Seq, Summary, TimerId,
    Timestamp,
};

use crate::{Append, AppendError, KeptKey, OpenCommand, TimerChange, stage};

/// A command among those of all executions.
pub type CommandKey = (ExecutionId, CommandId);
/// A timer among those of all executions.
pub type TimerKey = (ExecutionId, TimerId);

/// A start key among those of all scopes: the scope and the name.
pub type KeyName = (String, String);

/// What a store holds of all that a batch touches. What a store leaves out is taken not to be there,
/// and has to be refused by the keys of its tables.
#[derive(Debug)]
pub struct Known {
    /// The time by the store's clock.
    pub now: Timestamp,
    pub logs: HashMap<ExecutionId, LogEnd>,
    /// Those of the batch that are used already.
    pub event_ids: HashSet<EventId>,
    /// The executions that were started for a command.
    pub children: HashMap<CommandKey, ExecutionId>,
    pub commands: HashMap<CommandKey, OpenCommand>,
    /// Those of the batch that are there, kept or not.
    pub keys: HashMap<KeyName, KeptKey>,
}

/// Where an execution's log ends.
#[derive(Debug, Clone, Copy)]
pub struct LogEnd {
    pub seq: Seq,
    pub at: Timestamp,
    /// The digest of its last event; none if that was written before there were digests.
    pub head: Option<Digest>,
}

/// What becomes of an execution.
#[derive(Debug)]
pub struct ExecutionChange<'a> {
    pub summary: &'a Summary,
    pub end: LogEnd,
    /// Where its log ended before the batch.
    pub before: LogEnd,
    /// Whether the batch starts it.
    pub is_new: bool,
}

/// What a batch comes to: an answer for each append, and the rows of those that are accepted.
#[derive(Debug, Default)]
pub struct Plan<'a> {
    pub answers: Vec<Result<(), AppendError>>,
    pub events: Vec<(ExecutionId, &'a Recorded)>,
    pub executions: BTreeMap<ExecutionId, ExecutionChange<'a>>,
    /// The new executions that were started for a command.
    pub children: BTreeMap<CommandKey, ExecutionId>,
    /// In the order in which they were added; `None` for those that are over.
    commands: Vec<(CommandKey, Option<OpenCommand>)>,
    /// `None` for those that are over.
    timers: BTreeMap<TimerKey, Option<Timestamp>>,
    pub messages: Vec<(ExecutionId, &'a Message)>,
    /// Each value once for its execution.
    pub payloads: Vec<(ExecutionId, &'a Digest, &'a [u8])>,
    stored: HashSet<(ExecutionId, &'a Digest)>,
    /// The keys of the new executions, in order.
    pub keys: BTreeMap<KeyName, KeptKey>,
}

impl<'a> Plan<'a> {
    /// Plans a batch, each append on what those before it leave.
    pub fn of(batch: impl IntoIterator<Item = &'a Append>, mut known: Known) -> Self {
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

    /// Leaves the large values to the place that has them already: their rows are empty.
    pub fn without_bodies(&mut self) {
        self.payloads.iter_mut().for_each(|(.., body)| *body = &[]);
    }

    /// Plans a batch on what it says itself: that every log ends where it is expected to, that every
    /// command it adds is new and that nobody holds the keys it starts executions under. The store has
    /// to refuse all of it if that is not so. Nothing if more has to be known: whether a child is there,
    /// or who holds a command.
    pub fn presumed(
        batch: impl IntoIterator<Item = &'a Append> + Clone,
        now: Timestamp,
    ) -> Option<Self> {
        let mut seen = HashSet::new();
        let mut logs = HashMap::new();
        for append in batch.clone() {
            if !append.stands_alone_but_for_its_key() {
                return None;
            }
            if seen.insert(append.execution) && append.expected != append.begins_after() {
                let head = append.events.first().and_then(|event| event.prev);
                let at = append.summary.started_at;
                logs.insert(append.execution, LogEnd { seq: append.expected, at, head });
            }
        }
        let known = Known {
            now,
            logs,
            event_ids: HashSet::new(),
            children: HashMap::new(),
            commands: HashMap::new(),
            keys: HashMap::new(),
        };
        let plan = Plan::of(batch, known);
        let is_settled = |answer: &Result<(), AppendError>| match answer {
            // The batch itself takes the key, for an earlier one of its appends.
            Ok(()) | Err(AppendError::KeyTaken(_)) => true,
            Err(
                AppendError::Conflict
                | AppendError::ChildExists { .. }
                | AppendError::Unanswered(_),
            ) => false,
        };
        plan.answers.iter().all(is_settled).then_some(plan)
    }

    /// The commands that are new or changed, in the order in which they were added.
    pub fn open_commands(&self) -> impl Iterator<Item = (CommandKey, &OpenCommand)> {
        self.commands.iter().filter_map(|(key, open)| Some((*key, open.as_ref()?)))
    }

    /// The commands that are over.
    pub fn ended_commands(&self) -> impl Iterator<Item = CommandKey> {
        self.commands.iter().filter(|(_, open)| open.is_none()).map(|(key, _)| *key)
    }

    /// The timers that are set, with when they come due.
    pub fn set_timers(&self) -> impl Iterator<Item = (TimerKey, Timestamp)> {
        self.timers.iter().filter_map(|(key, due_at)| Some((*key, (*due_at)?)))
    }

    /// The timers that are over.
    pub fn ended_timers(&self) -> impl Iterator<Item = TimerKey> {
        self.timers.iter().filter(|(_, due_at)| due_at.is_none()).map(|(key, _)| *key)
    }

    fn accept(
        &mut self,
        append: &'a Append,
        known: &mut Known,
        touched: &mut Touched,
    ) -> Result<(), AppendError> {
        let execution = append.execution;
        let before = known.log_end(append);
        let end = known.check_log(append)?;
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
        if let Some(parent) = parent_of(append) {
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
        self.timers.extend(append.timers.iter().map(|change| match *change {
            TimerChange::Set { timer, due_at } => ((execution, timer), Some(due_at)),
            TimerChange::Remove { timer } => ((execution, timer), None),
        }));
        self.messages.extend(append.outbox.iter().map(|message| (execution, message)));
        for (digest, bytes) in &append.payloads {
            if self.stored.insert((execution, digest)) {
                self.payloads.push((execution, digest, &bytes[..]));
            }
        }
        Ok(())
    }
}

/// The command that an append's execution was started for.
fn parent_of(append: &Append) -> Option<CommandKey> {
    append.summary.parent.and_then(Parent::command).map(|it| (it.execution, it.command))
}

/// Which commands a batch touches, and in which order it adds those that are new.
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

impl Known {
    /// Where the log of an append's execution ends before it.
    fn log_end(&self, append: &Append) -> LogEnd {
        let end = self.logs.get(&append.execution).copied();
        let at = append.summary.started_at;
        end.unwrap_or(LogEnd { seq: append.begins_after(), at, head: None })
    }

    /// Where the log ends once `append` is written, if it continues the log without a gap and under
    /// ids that are not known to be used.
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

    /// The key that an append starts an execution under, if nobody holds it.
    fn check_key(&self, append: &Append) -> Result<Option<(KeyName, KeptKey)>, AppendError> {
        let Some(key) = append.starts_under() else {
            return Ok(None);
        };
        let name = key.qualified();
        match self.keys.get(&name).and_then(|kept| kept.holder_at(self.now)) {
            Some(holder) => Err(AppendError::KeyTaken(holder)),
            None => Ok(Some((name, KeptKey::of(key, append.execution, self.now)))),
        }
    }

    fn check_child(&self, append: &Append) -> Result<(), AppendError> {
        match parent_of(append).and_then(|parent| self.children.get(&parent)) {
            Some(&child) if child != append.execution => Err(AppendError::ChildExists { child }),
            Some(_) | None => Ok(()),
        }
    }
}
