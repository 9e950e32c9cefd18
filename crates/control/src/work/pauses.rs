//! Pauses of executions, playbooks and pools.
//!
//! The pause of an execution is an event of its log. The pauses of playbooks and pools are rows that
//! every server reads at least each [`NOTICED_AFTER`]; a request to pause is answered after that
//! time, so that no server acts on what it read before. A server that cannot read them neither
//! leases commands nor starts executions.
//!
//! The row of a playbook says if its executions are still being paused or resumed. Any server carries
//! on what another one has not finished.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
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
/// The time between two looks for pauses and resumptions that a server has not finished.
const CARRIED_ON_EVERY: Duration = Duration::from_secs(30);
/// The largest number of playbooks and pools that are paused.
pub const PAUSES_MAX: usize = 5000;
/// The number of executions of a playbook that are told of its pause or resumption at the same time.
const TOLD_AT_ONCE: usize = 64;
/// The largest number of changes of one pause by others that one request follows.
const CHANGES_MAX: usize = 16;

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

/// The reason why a playbook or a pool was not paused, or a playbook not resumed on all of its
/// executions.
#[derive(Debug, thiserror::Error)]
pub enum SetPauseError {
    #[error(
        "{PAUSES_MAX} playbooks and pools (PAUSES_MAX) are paused; resume some before another one is \
         paused"
    )]
    TooMany,
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
        let mut rows: Vec<PauseRow> = Vec::new();
        for _ in 0..=PAUSES_MAX / PAGE_MAX {
            let page = self.parts.store.pauses(rows.last(), PAGE_MAX).await?;
            let is_last = page.len() < PAGE_MAX;
            rows.extend(page);
            if is_last {
                break;
            }
        }
        Ok(rows)
    }

    /// Pauses a pool: once this returns, no server leases its commands.
    pub async fn pause_pool(
        &self,
        pool: &Pool,
        caller: PauseCaller,
    ) -> Result<PauseRow, SetPauseError> {
        let (kind, progress) = (PausedKind::Pool, PauseProgress::Paused);
        let row = self.put_pause((kind, progress), pool.as_str(), caller).await?;
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
    ) -> Result<u64, SetPauseError> {
        let (kind, progress) = (PausedKind::Playbook, PauseProgress::Pausing);
        self.put_pause((kind, progress), path, caller).await?;
        tokio::time::sleep(ANSWERED_AFTER).await;
        self.apply_playbook_pause(path).await
    }

    /// Resumes a playbook and the executions that its pause has stopped. Returns the number of
    /// executions that run; `None` if it was not paused.
    pub async fn resume_playbook(
        &self,
        path: &str,
        caller: PauseCaller,
    ) -> Result<Option<u64>, SetPauseError> {
        let Some(row) = self.stored_pause(path).await? else { return Ok(None) };
        let PauseCaller { actor: resumed_by, reason: resume_reason } = caller;
        let progress = PauseProgress::Resuming;
        let row = PauseRow { progress, resumed_by, resume_reason, ..row };
        self.parts.store.put_pause(&row).await?;
        self.forget_pauses();
        tokio::time::sleep(ANSWERED_AFTER).await;
        self.apply_playbook_pause(path).await.map(Some)
    }

    /// Pauses or resumes the executions of a playbook as its stored pause says, again if it changes
    /// meanwhile. Returns the number of executions that run.
    async fn apply_playbook_pause(&self, path: &str) -> Result<u64, SetPauseError> {
        let mut told = 0;
        let mut are_stopped = None;
        for _ in 0..CHANGES_MAX {
            let row = self.stored_pause(path).await?;
            let stops = row.as_ref().is_some_and(|row| row.progress.stops_work());
            let is_settled = row.as_ref().is_none_or(|row| row.progress == PauseProgress::Paused);
            // Without a pause there is nothing to do, except after a pause that ended meanwhile.
            let is_applied = are_stopped.map_or(row.is_none(), |are| are == stops);
            if is_settled && is_applied {
                return Ok(told);
            }
            told = self.tell_all(path, &playbook_input(row.as_ref())).await?;
            are_stopped = Some(stops);
            if let Some(row) = row
                && self.parts.store.settle_pause(&row).await?
            {
                self.forget_pauses();
                return Ok(told);
            }
        }
        tracing::warn!(path, "pause changes again and again; it is applied later");
        Ok(told)
    }

    async fn stored_pause(&self, path: &str) -> Result<Option<PauseRow>, StoreError> {
        let mut known = self.pauses().await?.into_iter();
        Ok(known.find(|it| it.kind == PausedKind::Playbook && it.name == path))
    }

    /// Carries on pauses and resumptions of playbooks that a server has not finished, until `stop`.
    pub(crate) async fn carry_on_pauses(self, stop: CancellationToken) {
        loop {
            if let Err(error) = self.carried_on_pauses().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "pauses not carried on");
            }
            if !rest(&stop, CARRIED_ON_EVERY).await {
                return;
            }
        }
    }

    async fn carried_on_pauses(&self) -> Result<(), StoreError> {
        for row in self.pauses().await? {
            let is_settled = row.progress == PauseProgress::Paused;
            if row.kind != PausedKind::Playbook || is_settled {
                continue;
            }
            if let Err(error) = self.apply_playbook_pause(&row.name).await {
                let (error, path): (&dyn std::error::Error, _) = (&error, &row.name);
                tracing::warn!(error, path, progress = row.progress.as_str(), "pause not applied");
            }
        }
        Ok(())
    }

    /// Gives an input to every running execution of a playbook. Returns their number.
    async fn tell_all(&self, path: &str, input: &Input) -> Result<u64, SetPauseError> {
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
            let running: Vec<ExecutionId> = found.iter().map(|summary| summary.execution).collect();
            let tell =
                |execution| async move { (execution, self.submit(execution, input.clone()).await) };
            let answers = stream::iter(running).map(tell).buffer_unordered(TOLD_AT_ONCE);
            let mut answers = std::pin::pin!(answers);
            while let Some((execution, answer)) = answers.next().await {
                match known(answer.map(|_| ())) {
                    Ok(()) => told += 1,
                    Err(error) if error.is_transient() => return Err(error.into()),
                    // An execution that cannot be loaded must not keep the others from it.
                    Err(error) => {
                        let error: &dyn std::error::Error = &error;
                        tracing::warn!(error, %execution, path, "execution not paused or resumed");
                    }
                }
            }
        }
    }

    async fn put_pause(
        &self,
        (kind, progress): (PausedKind, PauseProgress),
        name: &str,
        caller: PauseCaller,
    ) -> Result<PauseRow, SetPauseError> {
        let known = self.pauses().await?;
        let is_known = known.iter().any(|row| row.kind == kind && row.name == name);
        if known.len() >= PAUSES_MAX && !is_known {
            return Err(SetPauseError::TooMany);
        }
        let row = PauseRow {
            kind,
            name: name.to_owned(),
            progress,
            actor: caller.actor,
            reason: caller.reason,
            since: self.parts.stamps.now(),
            resumed_by: None,
            resume_reason: None,
        };
        let row = self.parts.store.put_pause(&row).await?;
        self.forget_pauses();
        Ok(row)
    }

    /// True if no command of the pool may be leased.
    pub(crate) async fn is_pool_paused(&self, pool: &Pool) -> Result<bool, StoreError> {
        let known = self.known_pauses().await?;
        Ok(!known.is_empty() && known.contains_key(&(PausedKind::Pool, pool.as_str().to_owned())))
    }

    /// True if a command of the pool may be leased in the commit that issues it. While the pauses
    /// cannot be read, the command stays in the queue, and the commit goes on.
    pub(crate) async fn may_lease_at_once(&self, pool: &Pool) -> bool {
        match self.is_pool_paused(pool).await {
            Ok(is_paused) => !is_paused,
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %pool, "pauses not read; the command stays in the queue");
                false
            }
        }
    }

    /// Returns the pause of a playbook, with which a new execution starts.
    pub(crate) async fn playbook_pause(
        &self,
        path: &str,
    ) -> Result<Option<StartPause>, StoreError> {
        let known = self.known_pauses().await?;
        if known.is_empty() {
            return Ok(None);
        }
        let row = known.get(&(PausedKind::Playbook, path.to_owned()));
        let row = row.filter(|row| row.progress.stops_work());
        Ok(row.map(|row| StartPause { actor: row.actor.clone(), reason: row.reason.clone() }))
    }

    /// Returns the pauses, read at most [`NOTICED_AFTER`] ago.
    async fn known_pauses(&self) -> Result<Arc<KnownPauses>, StoreError> {
        if let Some((read_at, known)) = self.cached_pauses()
            && read_at.elapsed() < NOTICED_AFTER
        {
            return Ok(known);
        }
        // The time before the read, so that the answer is not older than it seems.
        let read_at = Instant::now();
        let rows = self.pauses().await?;
        let rows = rows.into_iter().map(|row| ((row.kind, row.name.clone()), row));
        let rows = Arc::new(rows.collect::<KnownPauses>());
        let mut cache = self.parts.pauses.known.lock().expect("nothing panics with it");
        *cache = Some((read_at, Arc::clone(&rows)));
        Ok(rows)
    }

    fn cached_pauses(&self) -> Option<(Instant, Arc<KnownPauses>)> {
        self.parts.pauses.known.lock().expect("nothing panics with it").clone()
    }

    fn forget_pauses(&self) {
        *self.parts.pauses.known.lock().expect("nothing panics with it") = None;
    }
}

/// Returns the input that brings an execution into the state that the pause of its playbook asks for.
fn playbook_input(row: Option<&PauseRow>) -> Input {
    let scope = PauseScope::Playbook;
    let Some(row) = row else { return Input::Resume(request(scope, PauseCaller::default())) };
    if row.progress.stops_work() {
        let caller = PauseCaller { actor: row.actor.clone(), reason: row.reason.clone() };
        return Input::Pause(request(scope, caller));
    }
    let caller = PauseCaller { actor: row.resumed_by.clone(), reason: row.resume_reason.clone() };
    Input::Resume(request(scope, caller))
}

fn request(scope: PauseScope, caller: PauseCaller) -> PauseRequest {
    let PauseCaller { actor, reason } = caller;
    PauseRequest { scope, actor, reason }
}
