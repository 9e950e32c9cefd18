//! Which appends of a batch are accepted, and the rows they leave.
//!
//! The writer is alone, so what it reads at the beginning of a transaction holds to its end: every
//! rule is checked here, in memory, before the first row is written, and a refused append leaves
//! nothing to undo.

use std::collections::{BTreeMap, HashMap, HashSet};

use noetl_model::{
    CommandId, Digest, EventId, ExecutionId, Message, Recorded, Seq, Summary, TimerId, Timestamp,
};
use noetl_store::{Append, AppendError, OpenCommand, TimerChange, stage};

pub(crate) type CommandKey = (ExecutionId, CommandId);

/// What the store holds of all that a batch touches.
#[derive(Default)]
pub(crate) struct Known {
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

/// What a batch comes to: an answer for each append, and the rows of those that are accepted.
#[derive(Default)]
pub(crate) struct Plan<'a> {
    pub(crate) answers: Vec<Result<(), AppendError>>,
    pub(crate) events: Vec<(ExecutionId, &'a Recorded)>,
    pub(crate) executions: BTreeMap<ExecutionId, (&'a Summary, LogEnd)>,
    /// In the order in which they were added; `None` for those that are over.
    pub(crate) commands: Vec<(CommandKey, Option<OpenCommand>)>,
    /// `None` for those that are over.
    pub(crate) timers: BTreeMap<(ExecutionId, TimerId), Option<Timestamp>>,
    pub(crate) messages: Vec<(ExecutionId, &'a Message)>,
    pub(crate) payloads: Vec<&'a (Digest, Vec<u8>)>,
}

impl<'a> Plan<'a> {
    pub(crate) fn of(batch: &'a [Append], mut known: Known, now: Timestamp) -> Self {
        let mut plan = Plan::default();
        let mut touched = Touched::default();
        for append in batch {
            let answer = plan.accept(append, &mut known, &mut touched, now);
            plan.answers.push(answer);
        }
        let keys = touched.in_order().into_iter();
        plan.commands = keys.map(|key| (key, known.commands.remove(&key))).collect();
        plan
    }

    fn accept(
        &mut self,
        append: &'a Append,
        known: &mut Known,
        touched: &mut Touched,
        now: Timestamp,
    ) -> Result<(), AppendError> {
        let execution = append.execution;
        let end = known.check_log(append)?;
        known.check_child(append)?;
        let current = |command| known.commands.get(&(execution, command));
        let staged = stage(&append.queue, current, now)?;

        known.logs.insert(execution, end);
        known.event_ids.extend(append.events.iter().map(|recorded| recorded.event_id));
        if let Some(parent) = append.summary.parent {
            known.children.insert((parent.execution, parent.command), execution);
        }
        for (command, open) in staged {
            let key = (execution, command);
            let before = match open {
                Some(open) => known.commands.insert(key, open),
                None => known.commands.remove(&key),
            };
            touched.add(key, before.is_some());
        }
        self.executions.insert(execution, (&append.summary, end));
        self.events.extend(append.events.iter().map(|recorded| (execution, recorded)));
        self.timers.extend(append.timers.iter().map(|change| match *change {
            TimerChange::Set { timer, due_at } => ((execution, timer), Some(due_at)),
            TimerChange::Remove { timer } => ((execution, timer), None),
        }));
        self.messages.extend(append.outbox.iter().map(|message| (execution, message)));
        self.payloads.extend(&append.payloads);
        Ok(())
    }
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
    /// ids nobody has used.
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

    fn check_child(&self, append: &Append) -> Result<(), AppendError> {
        let Some(parent) = append.summary.parent else {
            return Ok(());
        };
        match self.children.get(&(parent.execution, parent.command)) {
            Some(&child) if child != append.execution => Err(AppendError::ChildExists { child }),
            Some(_) | None => Ok(()),
        }
    }
}
