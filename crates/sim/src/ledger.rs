//! What really happened outside: every run of a tool, and everything that was promised to anybody.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use noetl_control::ReportAnswer;
use noetl_model::{
    Attempt, CommandId, ExecutionId, ExecutionStatus, Lease, Outcome, Seq, Summary, WorkerId,
};
use noetl_store::{Append, AppendError, MemoryStore, Snapshot};

use crate::oracle::summaries;

/// One attempt at one command.
pub(crate) type AttemptKey = (ExecutionId, CommandId, Attempt);

/// A run of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Ran {
    pub(crate) worker: WorkerId,
    pub(crate) outcome: Outcome,
}

/// What was written down while a world lived.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// One for each attempt, unless the store went back in time.
    pub(crate) runs: BTreeMap<AttemptKey, Vec<Ran>>,
    /// What each report was answered, the first time.
    pub(crate) answers: BTreeMap<AttemptKey, ReportAnswer>,
    /// Starts that were answered.
    pub(crate) started: BTreeSet<ExecutionId>,
    /// How many of them were forks.
    pub(crate) forks: u64,
    /// The executions that were ended by hand, and as what.
    pub(crate) interrupted: BTreeMap<ExecutionId, ExecutionStatus>,
    /// Which commands a task has had, to know how often it ran before.
    commands: BTreeMap<(ExecutionId, String, String), BTreeSet<CommandId>>,
    /// `true` once the store has gone back in time.
    pub(crate) restored: bool,
    /// What was found to be wrong on the way.
    pub(crate) complaints: Vec<String>,
    /// What lists and details said of an execution from an event on, until its next events.
    pub(crate) shown: BTreeMap<(ExecutionId, Seq), Summary>,
    /// Every fold that a server had saved, also those that others were ahead of.
    pub(crate) snapshots: Vec<(ExecutionId, Snapshot)>,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pages: Mutex<Pages>,
}

impl Ledger {
    pub(crate) fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().expect("nothing panics while it writes")
    }

    /// Takes back what was shown of events that are gone.
    pub(crate) async fn restored(&self, store: &MemoryStore) {
        let ends: BTreeMap<ExecutionId, Seq> =
            summaries(store).await.iter().map(|it| (it.execution, it.seq)).collect();
        let mut pages = self.pages();
        pages.restored = true;
        pages.shown.retain(|(execution, seq), _| ends.get(execution).is_some_and(|end| seq <= end));
    }

    /// Everything that was written down.
    pub(crate) fn close(&self) -> Pages {
        std::mem::take(&mut self.pages())
    }
}

impl Pages {
    /// What was written is shown from now on.
    pub(crate) fn written(&mut self, batch: &[Append], outcomes: &[Result<(), AppendError>]) {
        for (append, outcome) in batch.iter().zip(outcomes) {
            if outcome.is_ok() {
                let summary = append.summary.clone();
                self.shown.insert((append.execution, summary.seq), summary);
            }
        }
    }

    /// How many commands the lease's task has had before this one. The same for every attempt, so
    /// that a tool does the same again when it is run again.
    pub(crate) fn earlier_commands(&mut self, lease: &Lease) -> usize {
        let task = (lease.execution, lease.step.to_string(), lease.label.clone());
        let commands = self.commands.entry(task).or_default();
        commands.insert(lease.command);
        commands.range(..lease.command).count()
    }

    pub(crate) fn answered(&mut self, key: AttemptKey, answer: ReportAnswer) {
        let first = self.answers.entry(key).or_insert_with(|| answer.clone()).clone();
        if first != answer && !self.restored {
            let (execution, command, attempt) = key;
            self.complaints.push(format!(
                "the report of attempt {attempt} of command {command} of {execution} was answered \
                 {first:?} and then {answer:?}"
            ));
        }
    }
}
