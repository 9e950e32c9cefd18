//! Which appends of a batch are accepted, and the rows they leave.
//!
//! The executions and commands of a batch are locked while it is planned, so what was read holds until
//! the commit: every rule is checked here, in memory, and a refused append leaves nothing to undo.
//! What cannot be locked because it does not exist yet is left to the tables' keys.

use std::collections::{BTreeMap, HashMap, HashSet};

use noetl_model::{
    CommandId, Digest, EventId, ExecutionId, Message, Recorded, Seq, Summary, TimerId, Timestamp,
};
use noetl_store::{Append, AppendError, OpenCommand, TimerChange, stage};

pub(crate) type CommandKey = (ExecutionId, CommandId);

/// What the store holds of all that a batch touches.
pub(crate) struct Known {
    pub(crate) now: Timestamp,
    pub(crate) logs: HashMap<ExecutionId, LogEnd>,
    pub(crate) event_ids: HashSet<EventId>,
    pub(crate) children: HashMap<CommandKey, ExecutionId>,
    pub(crate) commands: HashMap<CommandKey, OpenCommand>,
}

/// Where an execution's log ends.
#[derive(Clone, Copy)]
pub(crate) struct LogEnd {
    pub(crate) seq: Seq,
    pub(crate) at: Timestamp,
}

/// What becomes of an execution.
pub(crate) struct ExecutionChange<'a> {
    pub(crate) summary: &'a Summary,
    pub(crate) end: LogEnd,
    pub(crate) is_new: bool,
}

/// What a batch comes to: an answer for each append, and the rows of those that are accepted.
#[derive(Default)]
pub(crate) struct Plan<'a> {
    pub(crate) answers: Vec<Result<(), AppendError>>,
    pub(crate) events: Vec<(ExecutionId, &'a Recorded)>,
    pub(crate) executions: BTreeMap<ExecutionId, ExecutionChange<'a>>,
    pub(crate) children: Vec<(CommandKey, ExecutionId)>,
    /// In the order in which they were added; `None` for those that are over.
    pub(crate) commands: Vec<(CommandKey, Option<OpenCommand>)>,
    /// `None` for those that are over.
    pub(crate) timers: BTreeMap<(ExecutionId, TimerId), Option<Timestamp>>,
    pub(crate) messages: Vec<(ExecutionId, &'a Message)>,
    pub(crate) payloads: Vec<(ExecutionId, &'a Digest, &'a [u8])>,
}

impl<'a> Plan<'a> {
    pub(crate) fn of(batch: &[&'a Append], mut known: Known) -> Self {
        let mut plan = Plan::default();
        let mut touched = Touched::default();
        for append in batch {
            let answer = plan.accept(append, &mut known, &mut touched);
            plan.answers.push(answer);
        }
        let keys = touched.in_order().into_iter();
        plan.commands = keys.map(|key| (key, known.commands.remove(&key))).collect();
        // Rivals that insert the same keys do it in the same order, so the second waits for the first
        // and neither for each other.
        plan.events.sort_by_key(|(execution, _)| *execution);
        plan.children.sort();
        plan
    }

    fn accept(
        &mut self,
        append: &'a Append,
        known: &mut Known,
        touched: &mut Touched,
    ) -> Result<(), AppendError> {
        let execution = append.execution;
        let end = known.check_log(append)?;
        let parent = child_start(append);
        if let Some(&child) = parent.and_then(|parent| known.children.get(&parent)) {
            return Err(AppendError::ChildExists { child });
        }
        let current = |command| known.commands.get(&(execution, command));
        let staged = stage(&append.queue, current, known.now)?;

        let is_new = known.logs.insert(execution, end).is_none();
        known.event_ids.extend(append.events.iter().map(|recorded| recorded.event_id));
        if let Some(parent) = parent {
            known.children.insert(parent, execution);
            self.children.push((parent, execution));
        }
        for (command, open) in staged {
            let key = (execution, command);
            let before = match open {
                Some(open) => known.commands.insert(key, open),
                None => known.commands.remove(&key),
            };
            touched.add(key, before.is_some());
        }
        self.executions
            .entry(execution)
            .and_modify(|change| (change.summary, change.end) = (&append.summary, end))
            .or_insert(ExecutionChange { summary: &append.summary, end, is_new });
        self.events.extend(append.events.iter().map(|recorded| (execution, recorded)));
        self.timers.extend(append.timers.iter().map(|change| match *change {
            TimerChange::Set { timer, due_at } => ((execution, timer), Some(due_at)),
            TimerChange::Remove { timer } => ((execution, timer), None),
        }));
        self.messages.extend(append.outbox.iter().map(|message| (execution, message)));
        let payloads = append.payloads.iter();
        self.payloads.extend(payloads.map(|(digest, bytes)| (execution, digest, &bytes[..])));
        Ok(())
    }
}

/// The command that an append starts an execution for.
pub(crate) fn child_start(append: &Append) -> Option<CommandKey> {
    let parent = append.summary.parent.filter(|_| append.expected == Seq::ZERO)?;
    Some((parent.execution, parent.command))
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
    /// Where the log ends once `append` is written, if it continues the log without a gap and under
    /// ids that are not known to be used.
    fn check_log(&self, append: &Append) -> Result<LogEnd, AppendError> {
        let end = self.logs.get(&append.execution).copied();
        let end = end.unwrap_or(LogEnd { seq: Seq::ZERO, at: append.summary.started_at });
        let seq = append.last_seq().ok_or(AppendError::Conflict)?;
        let used = append.events.iter().any(|event| self.event_ids.contains(&event.event_id));
        if append.expected != end.seq || used {
            return Err(AppendError::Conflict);
        }
        Ok(LogEnd { seq, at: append.events.last().map_or(end.at, |event| event.at) })
    }
}
