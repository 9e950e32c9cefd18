//! Pauses of executions, playbooks and pools.
//!
//! The pause of an execution is an event of its log. The pauses of playbooks and pools are rows that
//! every server reads at least each [`NOTICED_AFTER`]; a request to pause is answered after that
//! time, so that no server acts on what it read before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use noetl_bus::Hint;
use noetl_engine::{Input, PauseRequest};
use noetl_model::{ExecutionId, ExecutionStatus, PauseScope, Pool, StartPause};
use noetl_store::{
    ExecutionFilter, PAGE_MAX, Page, PathFilter, PauseProgress, PauseRow, PausedKind, StoreError,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::loops::relay::known;
use crate::tasks::rest;
use crate::{Control, MailboxAnswer, SubmitError};

/// The longest time for which a server acts on pauses that it has read.
const NOTICED_AFTER: Duration = Duration::from_secs(1);
/// The time until the answer to a request that pauses or resumes a playbook or a pool.
const ANSWERED_AFTER: Duration = Duration::from_millis(1200);
/// The age of an unfinished resumption from which another server carries it on.
const CARRIED_ON_AFTER: Duration = Duration::from_secs(30);

/// The pauses of playbooks and pools, as last read.
#[derive(Default)]
pub(crate) struct PauseCache {
    known: Mutex<Option<(Instant, Arc<KnownPauses>)>>,
}

/// Pauses by kind and name.
pub(crate) type KnownPauses = BTreeMap<(PausedKind, String), PauseRow>;

/// The caller of a pause, and its reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PauseCaller {
    pub actor: Option<String>,
    pub reason: Option<String>,
}

/// The reason why a playbook was not paused or resumed on all of its executions.
#[derive(Debug, thiserror::Error)]
pub enum PausePlaybookError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

impl Control {
    /// Pauses an execution: running commands end, and no further one is claimed.
    pub async fn pause(
        &self,
        execution: ExecutionId,
        caller: PauseCaller,
    ) -> Result<MailboxAnswer, SubmitError> {
        let request = request(PauseScope::Execution, caller);
        self.submit(execution, Input::Pause(request)).await
    }

    /// Resumes an execution, whatever has paused it.
    pub async fn resume(
        &self,
        execution: ExecutionId,
        caller: PauseCaller,
    ) -> Result<MailboxAnswer, SubmitError> {
        let request = request(PauseScope::Execution, caller);
        self.submit(execution, Input::Resume(request)).await
    }

    /// Returns the pauses of playbooks and pools.
    pub async fn pauses(&self) -> Result<Vec<PauseRow>, StoreError> {
        self.parts.store.pauses().await
    }

    /// Pauses a pool: once this returns, no server leases its commands.
    pub async fn pause_pool(
        &self,
        pool: &Pool,
        caller: PauseCaller,
    ) -> Result<PauseRow, StoreError> {
        let row = self.put_pause(PausedKind::Pool, pool.as_str(), caller).await?;
        tokio::time::sleep(ANSWERED_AFTER).await;
        Ok(row)
    }

    /// Resumes a pool. Returns false if it was not paused.
    pub async fn resume_pool(&self, pool: &Pool) -> Result<bool, StoreError> {
        let was_paused = self.parts.store.remove_pause(PausedKind::Pool, pool.as_str()).await?;
        self.forget_pauses();
        if was_paused {
            tokio::time::sleep(ANSWERED_AFTER).await;
            self.parts.ready_polls.clear();
            self.parts.bus.publish(Hint::CommandReady { pool: pool.clone() }).await;
        }
        Ok(was_paused)
    }

    /// Pauses a playbook: its running executions are paused, and new ones wait for its resumption.
    /// Returns the number of executions that run.
    pub async fn pause_playbook(
        &self,
        path: &str,
        caller: PauseCaller,
    ) -> Result<u64, PausePlaybookError> {
        let row = self.put_pause(PausedKind::Playbook, path, caller).await?;
        tokio::time::sleep(ANSWERED_AFTER).await;
        let caller = PauseCaller { actor: row.actor, reason: row.reason };
        let request = request(PauseScope::Playbook, caller);
        self.tell_all(path, &Input::Pause(request)).await
    }

    /// Resumes a playbook and the executions that its pause has stopped. Returns the number of
    /// executions that run; `None` if it was not paused.
    pub async fn resume_playbook(
        &self,
        path: &str,
        caller: PauseCaller,
    ) -> Result<Option<u64>, PausePlaybookError> {
        let known = self.parts.store.pauses().await?;
        let known = known.into_iter().find(|it| it.kind == PausedKind::Playbook && it.name == path);
        let Some(row) = known else { return Ok(None) };
        let row = PauseRow { progress: PauseProgress::Resuming, ..row };
        self.parts.store.put_pause(&row).await?;
        self.forget_pauses();
        tokio::time::sleep(ANSWERED_AFTER).await;
        self.finish_resumption(path, caller).await.map(Some)
    }

    async fn finish_resumption(
        &self,
        path: &str,
        caller: PauseCaller,
    ) -> Result<u64, PausePlaybookError> {
        let request = request(PauseScope::Playbook, caller);
        let told = self.tell_all(path, &Input::Resume(request)).await?;
        self.parts.store.remove_pause(PausedKind::Playbook, path).await?;
        self.forget_pauses();
        Ok(told)
    }

    /// Carries on resumptions of playbooks that a server has not finished, until `stop`.
    pub(crate) async fn carry_on_pauses(self, stop: CancellationToken) {
        while rest(&stop, CARRIED_ON_AFTER).await {
            let known = self.known_pauses().await;
            let left = known.values().filter(|row| row.progress == PauseProgress::Resuming);
            for row in left {
                let caller = PauseCaller { actor: row.actor.clone(), reason: None };
                if let Err(error) = self.finish_resumption(&row.name, caller).await {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, path = row.name, "executions not resumed");
                }
            }
        }
    }

    /// Gives an input to every running execution of a playbook. Returns their number.
    async fn tell_all(&self, path: &str, input: &Input) -> Result<u64, PausePlaybookError> {
        let filter = ExecutionFilter {
            status: Some(ExecutionStatus::Running),
            path: Some(PathFilter::Whole(path.to_owned())),
            ..ExecutionFilter::default()
        };
        let mut told = 0;
        let mut before = None;
        loop {
            let page = Page { before, limit: PAGE_MAX };
            let found = self.parts.store.list(&filter, page).await?;
            let Some(last) = found.last() else { return Ok(told) };
            before = Some(last.execution);
            for summary in &found {
                let answer = self.submit(summary.execution, input.clone()).await;
                known(answer.map(|_| ()))?;
                told += 1;
            }
        }
    }

    async fn put_pause(
        &self,
        kind: PausedKind,
        name: &str,
        caller: PauseCaller,
    ) -> Result<PauseRow, StoreError> {
        let row = PauseRow {
            kind,
            name: name.to_owned(),
            progress: PauseProgress::Paused,
            actor: caller.actor,
            reason: caller.reason,
            since: self.parts.stamps.now(),
        };
        let row = self.parts.store.put_pause(&row).await?;
        self.forget_pauses();
        Ok(row)
    }

    /// True if no command of the pool may be leased.
    pub(crate) async fn is_pool_paused(&self, pool: &Pool) -> bool {
        let known = self.known_pauses().await;
        !known.is_empty() && known.contains_key(&(PausedKind::Pool, pool.as_str().to_owned()))
    }

    /// Returns the pause of a playbook, with which a new execution starts.
    pub(crate) async fn playbook_pause(&self, path: &str) -> Option<StartPause> {
        let known = self.known_pauses().await;
        if known.is_empty() {
            return None;
        }
        let row = known.get(&(PausedKind::Playbook, path.to_owned()))?;
        match row.progress {
            PauseProgress::Paused => {
                Some(StartPause { actor: row.actor.clone(), reason: row.reason.clone() })
            }
            PauseProgress::Resuming => None,
        }
    }

    /// Returns the pauses, read at most [`NOTICED_AFTER`] ago; older ones if the store is silent.
    async fn known_pauses(&self) -> Arc<KnownPauses> {
        let known = self.cached_pauses();
        if let Some((read_at, known)) = &known
            && read_at.elapsed() < NOTICED_AFTER
        {
            return Arc::clone(known);
        }
        // The time before the read, so that the answer is not older than it seems.
        let read_at = Instant::now();
        match self.parts.store.pauses().await {
            Ok(rows) => {
                let rows = rows.into_iter().map(|row| ((row.kind, row.name.clone()), row));
                let rows = Arc::new(rows.collect::<KnownPauses>());
                let mut cache = self.parts.pauses.known.lock().expect("nothing panics with it");
                *cache = Some((read_at, Arc::clone(&rows)));
                rows
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "pauses not read");
                known.map(|(_, known)| known).unwrap_or_default()
            }
        }
    }

    fn cached_pauses(&self) -> Option<(Instant, Arc<KnownPauses>)> {
        self.parts.pauses.known.lock().expect("nothing panics with it").clone()
    }

    fn forget_pauses(&self) {
        *self.parts.pauses.known.lock().expect("nothing panics with it") = None;
    }
}

fn request(scope: PauseScope, caller: PauseCaller) -> PauseRequest {
    let PauseCaller { actor, reason } = caller;
    PauseRequest { scope, actor, reason }
}
