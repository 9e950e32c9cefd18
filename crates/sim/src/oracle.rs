//! The oracle: the rules that must hold when a world has ended.

mod holds;
mod limits;
mod log;
mod past;
mod results;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use noetl_control::{Control, Fault, verify};
use noetl_engine::replay;
use noetl_model::{
    Cutoff, Digest, ExecutionId, Outcome, Parent, ParentCommand, Payload, Recorded, ReportAnswer,
    Seq, Summary,
};
use noetl_store::{
    EventLog as _, ExecutionFilter, Executions as _, Held, MemoryStore, Outbox as _, PAGE_MAX,
    Page, READ_EVENTS_MAX, WorkQueue as _,
};
use serde_json::Value;

use crate::ledger::LedgerRecords;
use crate::playbooks::WorldPlan;
use crate::{ExecutionLog, WorldCounts};
use log::{CommandAccount, ReportedEnd};

/// An execution as found in the store.
pub(crate) struct StoredExecution {
    pub(crate) summary: Summary,
    pub(crate) log: Vec<Recorded>,
    account: CommandAccount,
}

/// A world after its end.
pub(crate) struct EndedWorld<'a> {
    pub(crate) store: &'a MemoryStore,
    /// A new control plane on the same store, without faults and caches.
    pub(crate) control: &'a Control,
    pub(crate) plan: &'a WorldPlan,
    pub(crate) pages: &'a LedgerRecords,
}

/// Checks all rules. Returns the first violation as the error.
pub(crate) async fn examine(
    ended: &EndedWorld<'_>,
) -> Result<(WorldCounts, Vec<ExecutionLog>), String> {
    if let Some(complaint) = ended.pages.complaints.first() {
        return Err(complaint.clone());
    }
    let mut found = BTreeMap::new();
    for summary in summaries(ended.store).await {
        let execution = summary.execution;
        let examined = ended.execution(summary).await;
        let examined = examined.map_err(|problem| format!("execution {execution}: {problem}"))?;
        found.insert(execution, examined);
    }
    one_child_each(&found)?;
    // Requests that were acknowledged before or during a restore may be lost.
    if !ended.pages.restored {
        ended.promises(&found)?;
    }
    ended.executions_have_no_open_rows(&found).await?;
    // The slots that a restore forgets are granted again. Holders are compared by the times of their logs.
    let is_comparable = !ended.pages.restored && !ended.pages.clock_set_back;
    let grants = if is_comparable { limits::check(&found)? } else { 0 };
    let is_timed = !ended.pages.restored && !ended.pages.clock_set;
    let rated = if is_timed { holds::rates(ended.pages, &found)? } else { 0 };
    let shared = match ended.pages.restored {
        true => 0,
        false => {
            holds::pool_pauses(ended.pages)?;
            holds::shared_signals(ended.pages, &found)?
        }
    };
    // The outcome of a tool depends on its number of earlier runs, which a restore changes.
    let compared = match ended.pages.restored {
        true => 0,
        false => results::compare(ended, &found).await?,
    };
    let pool_pauses = u64::try_from(ended.pages.pool_pauses.len()).expect("few");
    let counted = tally(&found, compared);
    let forks = ended.pages.forks;
    let tally = WorldCounts { forks, grants, rated, shared, pool_pauses, ..counted };
    let history = |StoredExecution { summary, log, account: _ }| ExecutionLog { summary, log };
    Ok((tally, found.into_values().map(history).collect()))
}

/// Checks that a command has at most one child.
fn one_child_each(found: &BTreeMap<ExecutionId, StoredExecution>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (child, known) in found {
        let parent = known.summary.parent.and_then(Parent::command);
        let Some(ParentCommand { execution, command }) = parent else { continue };
        if !seen.insert((execution, command)) {
            return Err(format!("{child} is a second child of command {command} of {execution}"));
        }
    }
    Ok(())
}

/// Returns all executions of a store.
pub(crate) async fn summaries(store: &MemoryStore) -> Vec<Summary> {
    let page = Page { before: None, limit: PAGE_MAX };
    let listed = store.list(&ExecutionFilter::default(), page).await;
    listed.expect("a store in memory answers")
}

pub(crate) async fn log_of(store: &MemoryStore, execution: ExecutionId) -> Vec<Recorded> {
    let mut log = Vec::new();
    loop {
        let after = log.last().map_or(Seq::ZERO, |recorded: &Recorded| recorded.seq);
        let page = store.read(execution, after, READ_EVENTS_MAX).await;
        let page = page.expect("a store in memory answers");
        if page.is_empty() {
            return log;
        }
        log.extend(page);
    }
}

/// Counts the faults and executions of a world.
fn tally(found: &BTreeMap<ExecutionId, StoredExecution>, compared: u64) -> WorldCounts {
    let logs: Vec<&Vec<Recorded>> = found.values().map(|found| &found.log).collect();
    let text = serde_json::to_vec(&logs).expect("events have a stored form");
    let count =
        |of: fn(&CommandAccount) -> u64| found.values().map(|found| of(&found.account)).sum();
    WorldCounts {
        logs: Digest::of(&text),
        executions: u64::try_from(found.len()).expect("a count in memory fits"),
        compared,
        takeovers: count(|account| account.takeovers),
        superseded: count(|account| account.superseded),
        parked: count(|account| account.parks),
        signals: count(|account| account.deliveries),
        called_back: count(|account| {
            u64::try_from(account.called_back.len()).expect("a count in memory fits")
        }),
        lost: count(|account| account.lost),
        deaths: 0,
        forks: 0,
        grants: 0,
        rated: 0,
        shared: 0,
        pool_pauses: 0,
        reuses: count(|account| account.reuses),
        pauses: count(|account| account.pauses),
        restored: 0,
        losses: count(|account| account.losses),
    }
}

impl EndedWorld<'_> {
    /// Checks one execution: its log is legal and agrees with its row, its snapshot and its fold.
    async fn execution(&self, summary: Summary) -> Result<StoredExecution, String> {
        let execution = summary.execution;
        let log = log_of(self.store, execution).await;
        let account = CommandAccount::of(&log)?;
        let state = replay(execution, log.clone())
            .map_err(|illegal| format!("the log cannot be folded: {illegal}"))?
            .ok_or("the log is empty")?;
        if state.summary() != summary {
            return Err(format!("the row says {summary:?}, the log {:?}", state.summary()));
        }
        let saved = self.control.state(execution, Cutoff::Latest).await;
        let saved = saved.map_err(|error| format!("the state cannot be read: {error:?}"))?;
        if saved != state {
            return Err("the snapshot and what came after is not the fold of the log".to_owned());
        }
        self.past(execution, &log).await?;
        self.runs(&self.lineage(&summary).await, &account).await?;
        self.proof(execution).await?;
        Ok(StoredExecution { summary, log, account })
    }

    /// Returns an execution and the origins whose events it shares.
    async fn lineage(&self, summary: &Summary) -> Vec<ExecutionId> {
        let mut lineage = vec![summary.execution];
        let mut fork = summary.fork;
        while let Some(origin) = fork.map(|fork| fork.execution) {
            lineage.push(origin);
            let summary = self.store.summary(origin).await.expect("a store in memory answers");
            fork = summary.and_then(|summary| summary.fork);
        }
        lineage
    }

    /// Checks the digest chain of the log, and that all derived rows follow from it.
    async fn proof(&self, execution: ExecutionId) -> Result<(), String> {
        let verdict = verify(self.store, execution, |_| ()).await;
        let verdict = verdict.expect("a store in memory answers").ok_or("it is not there")?;
        match verdict.fault {
            // The snapshot was being written when the store was restored; no server uses it.
            Some(Fault::Snapshot(_) | Fault::UselessSnapshot { .. }) if self.pages.restored => {
                Ok(())
            }
            Some(fault) => Err(format!("it cannot be proved: {fault}")),
            None => Ok(()),
        }
    }

    /// Checks that every outcome comes from a run by the worker that held the command, or from a job
    /// that a worker had started for it.
    async fn runs(&self, lineage: &[ExecutionId], account: &CommandAccount) -> Result<(), String> {
        for (command, (job, applied)) in &account.called_back {
            let outcome = self.outcome(applied).await?;
            let started = self.pages.jobs.get(job).ok_or(format!("nobody started job {job}"))?;
            let is_own = lineage.contains(&started.execution) && started.command == *command;
            if !is_own || started.outcome != outcome {
                return Err(format!(
                    "command {command} was ended as {outcome:?} by job {job}, which is {started:?}"
                ));
            }
        }
        for (&(command, attempt), (worker, applied)) in &account.outcomes {
            let ran_for = |execution| self.pages.runs.get(&(execution, command, attempt));
            let ran = lineage.iter().find_map(|execution| ran_for(*execution));
            let ran = ran.ok_or(format!("nobody ran attempt {attempt} of command {command}"))?;
            let outcome = self.outcome(applied).await?;
            if !ran.iter().any(|ran| ran.worker == *worker && ran.outcome == outcome) {
                return Err(format!(
                    "attempt {attempt} of command {command} was run as {ran:?}, but the log has \
                     {outcome:?} by {worker}"
                ));
            }
        }
        Ok(())
    }

    async fn outcome(&self, applied: &ReportedEnd) -> Result<Outcome, String> {
        Ok(match applied {
            ReportedEnd::Completed(output) => Outcome::completed(self.value(output).await?),
            ReportedEnd::Failed { error, output } => {
                let output = match output {
                    Some(output) => Some(Arc::new(self.value(output).await?)),
                    None => None,
                };
                Outcome::Failed { error: error.clone(), output }
            }
        })
    }

    async fn value(&self, payload: &Payload) -> Result<Value, String> {
        match payload {
            Payload::Inline(value) => Ok((**value).clone()),
            Payload::Ref(reference) => {
                let value = self.control.payload(reference.digest).await;
                value.map(Arc::unwrap_or_clone).map_err(|error| error.to_string())
            }
        }
    }

    /// Checks that every acknowledged request is in the log.
    fn promises(&self, found: &BTreeMap<ExecutionId, StoredExecution>) -> Result<(), String> {
        for execution in &self.pages.started {
            if !found.contains_key(execution) {
                return Err(format!("execution {execution} was started and is not there"));
            }
        }
        for (&(execution, command, attempt), answer) in &self.pages.answers {
            let known = found.get(&execution).ok_or(format!("no execution {execution}"))?;
            let account = &known.account;
            let applied = account.outcomes.contains_key(&(command, attempt));
            let ended_otherwise =
                account.given_up.contains(&command) || account.called_back.contains_key(&command);
            let fits = match answer {
                ReportAnswer::Accepted | ReportAnswer::Continued(_) => applied || ended_otherwise,
                ReportAnswer::Superseded => !applied,
                ReportAnswer::Unknown | ReportAnswer::Refused { .. } => false,
            };
            if !fits {
                return Err(format!(
                    "attempt {attempt} of command {command} of {execution} was answered {answer:?}"
                ));
            }
        }
        for (execution, status) in &self.pages.interrupted {
            let ended = found.get(execution).map(|found| found.summary.status);
            if ended != Some(*status) {
                return Err(format!("{execution} was ended by hand as {status}, but {ended:?}"));
            }
        }
        Ok(())
    }

    /// Checks that no command is open, no timer is set and no message is pending.
    async fn executions_have_no_open_rows(
        &self,
        found: &BTreeMap<ExecutionId, StoredExecution>,
    ) -> Result<(), String> {
        for (&execution, known) in found {
            for (&command, &attempt) in &known.account.attempts {
                let held = [Held { execution, command, attempt }];
                let answers = self.store.extend(&held, std::time::Duration::ZERO).await;
                let answers = answers.expect("a store in memory answers");
                if answers != [noetl_store::HeldAnswer::Gone] {
                    return Err(format!("command {command} of {execution} is still in the queue"));
                }
            }
        }
        let timer = self.store.next_due().await.expect("a store in memory answers");
        let owed = self.store.owed().await.expect("a store in memory answers");
        match (timer, owed) {
            (None, 0) => Ok(()),
            _ => Err(format!("the next timer is due at {timer:?}, {owed} messages are owed")),
        }
    }
}
