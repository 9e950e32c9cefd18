//! The things that are due, in the order of virtual time.

use std::collections::BTreeMap;

use noetl_engine::CommandResult;
use noetl_model::{CommandId, Timestamp};

/// The place of something in the order of time. At the same time, results of tools come first, so
/// that a timeout does not overtake a result that is just in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DueKey {
    pub(crate) at: Timestamp,
    pub(crate) rank: DueRank,
    /// The index of the execution.
    pub(crate) execution: usize,
    /// The number of the command, timer, signal or decision.
    pub(crate) number: u64,
}

/// The order of things that are due at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DueRank {
    Result,
    Signal,
    Decision,
    Timer,
}

/// Something that is due at a time.
#[derive(Debug, Clone)]
pub(crate) enum Due {
    /// A tool has ended.
    Report { command: CommandId, ended: CommandResult },
    /// The mock of a child has ended.
    ChildEnd { command: CommandId, ended: CommandResult },
    /// The signal of this index in the test.
    Signal(usize),
    /// The decision of this index in the test.
    Decision { command: CommandId, decision: usize },
}

/// Everything that is due, apart from the timers of the executions.
#[derive(Debug, Default)]
pub(crate) struct Agenda(BTreeMap<DueKey, Due>);

impl Agenda {
    pub(crate) fn add(&mut self, key: DueKey, due: Due) {
        self.0.insert(key, due);
    }

    pub(crate) fn first(&self) -> Option<DueKey> {
        self.0.keys().next().copied()
    }

    pub(crate) fn take(&mut self, key: DueKey) -> Option<Due> {
        self.0.remove(&key)
    }
}
