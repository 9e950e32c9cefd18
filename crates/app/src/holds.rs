//! Pauses of executions, playbooks and pools, and limits with their queues.

use noetl_api::wire::{LimitDetail, LimitList, LimitView, PauseList, PauseView, SlotView};
use noetl_control::{MailboxAnswer, PauseCaller, SetPauseError, SubmitError};
use noetl_engine::Refusal;
use noetl_model::{ExecutionId, LimitAmount, LimitName, Pool, Timestamp};
use noetl_store::{LimitFigures, PauseRow, SlotRow, StoreError};

use crate::app::App;
use crate::catalog::EntryChoice;

/// Maximum length of the name of a caller, in bytes.
const ACTOR_MAX: usize = 200;
/// Maximum length of a reason, in bytes.
const PAUSE_REASON_MAX: usize = 1000;
/// Maximum number of holders and of requests that are shown of a limit.
const SLOTS_SHOWN_MAX: usize = 100;
/// Maximum number of limits on a page.
const LIMITS_PAGE_MAX: usize = 200;

/// The reason why nothing was paused or resumed.
#[derive(Debug, thiserror::Error)]
pub enum PauseError {
    #[error("the name of a caller has at most {ACTOR_MAX} bytes")]
    ActorTooLong,
    #[error("a reason has at most {PAUSE_REASON_MAX} bytes")]
    ReasonTooLong,
    #[error("there is no playbook {0}")]
    UnknownPlaybook(String),
    #[error("{0}")]
    TooMany(String),
    #[error(transparent)]
    Refused(Refusal),
    #[error(transparent)]
    Submit(#[from] SubmitError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<SetPauseError> for PauseError {
    fn from(error: SetPauseError) -> Self {
        match error {
            SetPauseError::TooMany => Self::TooMany(error.to_string()),
            SetPauseError::Store(error) => Self::Store(error),
            SetPauseError::Submit(error) => Self::Submit(error),
        }
    }
}

impl App {
    /// Pauses an execution and its children: running commands end, and nothing new starts.
    pub async fn pause_execution(
        &self,
        execution: ExecutionId,
        caller: PauseCaller,
    ) -> Result<(), PauseError> {
        let caller = checked(caller)?;
        self.execution(execution).await.map_err(SubmitError::Load)?;
        accepted(self.control().pause(execution, caller).await?)
    }

    /// Resumes a paused execution and its children. One that is not paused stays as it is.
    pub async fn resume_execution(
        &self,
        execution: ExecutionId,
        caller: PauseCaller,
    ) -> Result<(), PauseError> {
        let caller = checked(caller)?;
        self.execution(execution).await.map_err(SubmitError::Load)?;
        accepted(self.control().resume(execution, caller).await?)
    }

    /// Pauses a playbook: its running executions are paused, new ones wait. Returns the number of
    /// running executions.
    pub async fn pause_playbook(&self, path: &str, caller: PauseCaller) -> Result<u64, PauseError> {
        let caller = checked(caller)?;
        let choice = EntryChoice::Path { path: path.to_owned(), version: None };
        if self.reader().find_entry(&choice).await?.is_none() {
            return Err(PauseError::UnknownPlaybook(path.to_owned()));
        }
        Ok(self.control().pause_playbook(path, caller).await?)
    }

    /// Resumes a playbook and its executions. Returns the number of running executions; `None` if
    /// the playbook was not paused.
    pub async fn resume_playbook(
        &self,
        path: &str,
        caller: PauseCaller,
    ) -> Result<Option<u64>, PauseError> {
        Ok(self.control().resume_playbook(path, checked(caller)?).await?)
    }

    /// Pauses a pool: its workers get no further commands.
    pub async fn pause_pool(
        &self,
        pool: &Pool,
        caller: PauseCaller,
    ) -> Result<PauseView, PauseError> {
        Ok(pause_view(self.control().pause_pool(pool, checked(caller)?).await?))
    }

    /// Resumes a pool. Returns false if it was not paused.
    pub async fn resume_pool(&self, pool: &Pool, caller: PauseCaller) -> Result<bool, PauseError> {
        let PauseCaller { actor, reason } = checked(caller)?;
        let was_paused = self.control().resume_pool(pool).await?;
        if was_paused {
            tracing::info!(%pool, actor, reason, "pool resumed");
        }
        Ok(was_paused)
    }

    /// Lists the paused playbooks and pools.
    pub async fn pause_list(&self) -> Result<PauseList, StoreError> {
        let pauses = self.control().pauses().await?;
        Ok(PauseList { pauses: pauses.into_iter().map(pause_view).collect() })
    }

    /// Lists a page of limits: those that steps name, by name, then those of playbooks, by name. A
    /// playbook with a key has a limit for each value, which must not hide the others.
    pub async fn limit_list(&self, after: Option<&LimitName>) -> Result<LimitList, StoreError> {
        let found = if after.is_some_and(LimitName::is_of_playbook) {
            self.limits_of_playbooks(after, LIMITS_PAGE_MAX).await?
        } else {
            let mut named = self.named_limits(after).await?;
            let left = LIMITS_PAGE_MAX - named.len();
            named.extend(self.limits_of_playbooks(None, left).await?);
            named
        };
        let now = self.now();
        let next_after = match found.last() {
            Some(last) if found.len() == LIMITS_PAGE_MAX => Some(last.name.to_string()),
            Some(_) | None => None,
        };
        let limits = found.into_iter().map(|figures| limit_view(figures, now)).collect();
        Ok(LimitList { limits, next_after })
    }

    /// Lists limits after a name that are not of playbooks, at most a page.
    async fn named_limits(
        &self,
        after: Option<&LimitName>,
    ) -> Result<Vec<LimitFigures>, StoreError> {
        let (begin, end) = LimitName::around_playbooks();
        let mut named = Vec::new();
        if after.is_none_or(|after| *after < begin) {
            named = self.store().limits(after, LIMITS_PAGE_MAX).await?;
            named.retain(|figures| figures.name < begin);
        }
        let after = after.filter(|after| **after > end).unwrap_or(&end);
        let left = LIMITS_PAGE_MAX - named.len();
        if left > 0 {
            named.extend(self.store().limits(Some(after), left).await?);
        }
        Ok(named)
    }

    /// Lists at most `limit` limits of playbooks after a name.
    async fn limits_of_playbooks(
        &self,
        after: Option<&LimitName>,
        limit: usize,
    ) -> Result<Vec<LimitFigures>, StoreError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let (begin, _) = LimitName::around_playbooks();
        let mut found = self.store().limits(after.or(Some(&begin)), limit).await?;
        found.retain(|figures| figures.name.is_of_playbook());
        Ok(found)
    }

    /// Returns a limit with its holders and its queue, if it is in use.
    pub async fn limit_detail(&self, name: &LimitName) -> Result<Option<LimitDetail>, StoreError> {
        let store = self.store();
        let Some(figures) = store.limit(name).await? else { return Ok(None) };
        let holders = store.slot_holders(name, SLOTS_SHOWN_MAX).await?;
        let queue = store.slot_queue(name, SLOTS_SHOWN_MAX).await?;
        let now = self.now();
        let views = |rows: Vec<SlotRow>| rows.into_iter().map(|row| slot_view(&row, now)).collect();
        let (limit, slots, queue) = (limit_view(figures, now), views(holders), views(queue));
        Ok(Some(LimitDetail { limit, slots, queue }))
    }
}

fn checked(caller: PauseCaller) -> Result<PauseCaller, PauseError> {
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let caller = PauseCaller { actor: given(caller.actor), reason: given(caller.reason) };
    let is_long = |text: &Option<String>, max| text.as_ref().is_some_and(|text| text.len() > max);
    if is_long(&caller.actor, ACTOR_MAX) {
        return Err(PauseError::ActorTooLong);
    }
    if is_long(&caller.reason, PAUSE_REASON_MAX) {
        return Err(PauseError::ReasonTooLong);
    }
    Ok(caller)
}

fn accepted(answer: MailboxAnswer) -> Result<(), PauseError> {
    match answer {
        MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_) => Ok(()),
        MailboxAnswer::Refused(refusal) => Err(PauseError::Refused(refusal)),
    }
}

fn pause_view(row: PauseRow) -> PauseView {
    PauseView {
        kind: row.kind.as_str().to_owned(),
        name: row.name,
        actor: row.actor,
        reason: row.reason,
        since: row.since,
        is_ending: !row.progress.stops_work(),
    }
}

fn limit_view(figures: LimitFigures, now: Timestamp) -> LimitView {
    let LimitFigures { name, amount, holders, queued, oldest_at } = figures;
    let (max, rate, per_ms, burst) = match amount {
        LimitAmount::Slots { max } => (Some(max), None, None, None),
        LimitAmount::Rate { count, per_ms, burst } => {
            (None, Some(count), Some(per_ms), Some(burst))
        }
    };
    LimitView {
        name: name.to_string(),
        allows: amount.to_string(),
        max,
        rate,
        per_ms,
        burst,
        holders,
        queued,
        oldest_wait_seconds: oldest_at.map(|at| now.since(at).as_secs_f64()),
    }
}

fn slot_view(row: &SlotRow, now: Timestamp) -> SlotView {
    let since = row.granted_at.unwrap_or(row.asked_at);
    SlotView {
        execution_id: row.key.execution.into(),
        command: row.key.command.map(|command| command.0),
        priority: row.priority.level(),
        since,
        seconds: now.since(since).as_secs_f64(),
    }
}
