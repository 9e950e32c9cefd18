//! The ledger: every run of a tool, and every answer that a caller got, recorded outside the
//! system.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use noetl_model::{
    Attempt, CommandId, Event, ExecutionId, ExecutionStatus, Lease, LimitName, Outcome,
    ReportAnswer, Seq, Summary, WorkerId,
};
use noetl_store::{Append, AppendError, MemoryStore, Snapshot};
use tokio::time::Instant;

use crate::oracle::summaries;

/// The key of one attempt at one command.
pub(crate) type AttemptKey = (ExecutionId, CommandId, Attempt);

/// A run of a tool.
#[derive(Debug, Clone)]
pub(crate) struct ToolRun {
    pub(crate) worker: WorkerId,
    pub(crate) outcome: Outcome,
}

/// A job that a worker has started elsewhere.
#[derive(Debug, Clone)]
pub(crate) struct StartedJob {
    pub(crate) execution: ExecutionId,
    pub(crate) command: CommandId,
    pub(crate) outcome: Outcome,
}

/// The records of one world.
#[derive(Debug, Default)]
pub(crate) struct LedgerRecords {
    /// The runs of each attempt: one, unless the store was restored from a backup.
    pub(crate) runs: BTreeMap<AttemptKey, Vec<ToolRun>>,
    /// The jobs that workers have started, by their uid.
    pub(crate) jobs: BTreeMap<String, StartedJob>,
    /// The first answer to each report.
    pub(crate) answers: BTreeMap<AttemptKey, ReportAnswer>,
    /// The executions whose start was acknowledged.
    pub(crate) started: BTreeSet<ExecutionId>,
    /// The number of forks among the started executions.
    pub(crate) forks: u64,
    /// The executions that were ended by hand, with their status.
    pub(crate) interrupted: BTreeMap<ExecutionId, ExecutionStatus>,
    /// The commands of each task, to count its earlier runs.
    commands: BTreeMap<(ExecutionId, String, String), BTreeSet<CommandId>>,
    /// True once the store was restored from a backup.
    pub(crate) restored: bool,
    /// True once the store's clock was set back: the times of two logs do not say which was first.
    pub(crate) clock_set_back: bool,
    /// True once the store's clock was set.
    pub(crate) clock_set: bool,
    /// The slots that limits have granted, in order.
    pub(crate) grants: Vec<(Instant, LimitName)>,
    /// The claims of commands, in the order in which they were written.
    pub(crate) claims: Vec<(Instant, ExecutionId, CommandId)>,
    /// The times in which the shared pool was paused.
    pub(crate) pool_pauses: Vec<(Instant, Instant)>,
    /// The numbers of the shared signals that were assigned to waits, in order.
    pub(crate) assigned: Vec<u64>,
    /// Violations found while the world was running.
    pub(crate) complaints: Vec<String>,
    /// The summary of an execution after an event, as shown until its next events.
    pub(crate) shown: BTreeMap<(ExecutionId, Seq), Summary>,
    /// Every snapshot that a server has saved, including those that were out of date.
    pub(crate) snapshots: Vec<(ExecutionId, Snapshot)>,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pages: Mutex<LedgerRecords>,
}

impl Ledger {
    pub(crate) fn pages(&self) -> MutexGuard<'_, LedgerRecords> {
        self.pages.lock().expect("nothing panics while it writes")
    }

    /// Removes the summaries of events that a restore has lost.
    pub(crate) async fn restored(&self, store: &MemoryStore) {
        let ends: BTreeMap<ExecutionId, Seq> =
            summaries(store).await.iter().map(|it| (it.execution, it.seq)).collect();
        let mut pages = self.pages();
        pages.restored = true;
        pages.shown.retain(|(execution, seq), _| ends.get(execution).is_some_and(|end| seq <= end));
    }

    /// Returns all records.
    pub(crate) fn close(&self) -> LedgerRecords {
        std::mem::take(&mut self.pages())
    }
}

impl LedgerRecords {
    /// Records the summaries of written appends.
    pub(crate) fn written(&mut self, batch: &[Append], outcomes: &[Result<(), AppendError>]) {
        for (append, outcome) in batch.iter().zip(outcomes) {
            if outcome.is_ok() {
                let summary = append.summary.clone();
                self.shown.insert((append.execution, summary.seq), summary);
                let claims = append.events.iter().filter_map(|recorded| match &recorded.event {
                    Event::CommandClaimed { command, .. } => Some(*command),
                    _ => None,
                });
                let now = Instant::now();
                self.claims.extend(claims.map(|command| (now, append.execution, command)));
            }
        }
    }

    /// Returns the number of commands that the lease's task had before this one. The number is the
    /// same for every attempt, so that a tool behaves the same when it is run again.
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
