//! Limits: slots that commands and executions need before they start.
//!
//! Requests and releases arrive as messages of the outbox. A request that its execution does not await
//! any more is dropped. The store changes a limit in one transaction, and the holders are told
//! afterwards. A slot therefore exists from before its holder knows of it until after the end of the
//! holder, or for a rate the claim of its command, is committed: no more hold slots than the limit
//! allows. A grant that
//! its holder does not acknowledge is told again, and a slot whose holder does not need it is
//! released: no slot is lost. A request that the limit does not know, such as after a restore of a
//! database, is made again by the log: no command waits for ever.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use noetl_engine::{Input, Refusal, grant_slots};
use noetl_model::{Cutoff, IndexKind, Timestamp};
use noetl_store::{
    IndexRow, LimitChange, LimitChanges, LimitOutcome, OpenIndexPlace, PAGE_MAX, SlotKey,
    SlotRequest, SlotRow, StoreError,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::LoadError;
use crate::loops::relay::known;
use crate::tasks::pause;
use crate::{Control, MailboxAnswer, SubmitError};

/// The age of a grant from which its holder is told again.
const TELL_AGAIN_AFTER: Duration = Duration::from_secs(5);
/// The age from which it is checked that the holder of a slot still needs it, and that the limit still
/// knows a request.
const CHECKED_AFTER: Duration = Duration::from_secs(60);
/// The largest number of slots checked at once.
const CHECKED_MAX: usize = 100;
/// The shortest wait of the loop, so that a clock that differs does not make it spin.
const WAIT_MIN: Duration = Duration::from_millis(1);

/// The answer of a holder to a grant.
enum GrantAnswer {
    Known,
    /// The execution has ended, or the command does not need the slot any more.
    NotNeeded,
    /// The holder is told again later.
    Later,
}

/// The use of a granted slot, by the log of its execution.
enum SlotUse {
    Held,
    /// The log does not have the grant: the database of the execution was restored.
    Awaited,
    NotNeeded,
    /// The log cannot be read now.
    Unknown,
}

/// The times of the checks that the loop makes besides its grants.
struct LimitChecks {
    tell_again_at: Instant,
    check_at: Instant,
    /// The last slot that was checked.
    checked: Option<SlotKey>,
    /// The last request that was checked.
    checked_request: Option<OpenIndexPlace>,
}

impl Control {
    /// Grants what becomes due, and repairs what a crash has left, until `stop`.
    pub(crate) async fn watch_limits(self, stop: CancellationToken) {
        let now = Instant::now();
        let mut checks =
            LimitChecks { tell_again_at: now, check_at: now, checked: None, checked_request: None };
        loop {
            let wait = match self.look_at_limits(&mut checks).await {
                Ok(wait) => wait,
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, "limits not looked at");
                    self.parts.settings.poll
                }
            };
            if !pause(&stop, &self.parts.wakes.limits, wait).await {
                return;
            }
        }
    }

    /// Grants what is due. Returns the time until the next grant, at most the poll interval.
    async fn look_at_limits(&self, checks: &mut LimitChecks) -> Result<Duration, StoreError> {
        let store = &self.parts.store;
        let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= self.parts.stamps.now());
        if is_due(store.next_limit().await?) {
            for limit in store.due_limits(PAGE_MAX).await? {
                self.change_limit(LimitChanges::none(limit)).await?;
            }
        }
        let now = Instant::now();
        if now >= checks.tell_again_at {
            checks.tell_again_at = now + TELL_AGAIN_AFTER;
            self.tell_again().await?;
        }
        if now >= checks.check_at {
            checks.check_at = now + self.parts.settings.stall_after;
            checks.checked = self.check_holders(checks.checked.take()).await?;
            checks.checked_request = self.check_requests(checks.checked_request.take()).await?;
        }
        let wait = match store.next_limit().await? {
            Some(next_at) => next_at.since(self.parts.stamps.now()).max(WAIT_MIN),
            None => self.parts.settings.poll,
        };
        Ok(wait.min(self.parts.settings.poll))
    }

    /// Changes a limit, and tells the holders of the consequences.
    pub(crate) async fn change_limit(&self, changes: LimitChanges) -> Result<(), StoreError> {
        let limit = changes.limit().clone();
        let mut changes = changes;
        loop {
            let outcome = self.parts.store.change_limit(&changes, grant_slots).await?;
            if outcome.next_at.is_some() {
                self.parts.wakes.limits.notify_one();
            }
            let is_changed = !outcome.granted.is_empty() || !outcome.denied.is_empty();
            // Each further look takes requests from the queue, so this ends.
            let looks_again = is_changed && outcome.is_cut;
            let not_needed = self.tell_of(outcome).await?;
            if not_needed.is_empty() && !looks_again {
                return Ok(());
            }
            changes = LimitChanges::released(limit.clone(), not_needed);
        }
    }

    /// Tells executions of the consequences of a change. Returns the slots that are not needed.
    async fn tell_of(&self, outcome: LimitOutcome) -> Result<Vec<SlotKey>, StoreError> {
        let LimitOutcome { granted, denied, ending, holders, next_at: _, is_cut: _ } = outcome;
        let answers = join_all(granted.iter().map(|key| self.tell_granted(key))).await;
        let (mut told, mut not_needed) = (Vec::new(), Vec::new());
        for (key, answer) in granted.into_iter().zip(answers) {
            match answer {
                GrantAnswer::Known => told.push(key),
                GrantAnswer::NotNeeded => not_needed.push(key),
                GrantAnswer::Later => {}
            }
        }
        for key in denied {
            let limit = key.limit.clone();
            let input = Input::SlotDenied { limit, holders };
            if let Err(error) = known(self.submit(key.execution, input).await.map(|_| ())) {
                // A request that its limit does not know is made again.
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, execution = %key.execution, "denial of a slot not told");
            }
        }
        told.extend(self.end_holders(ending).await);
        self.parts.store.acknowledge_slots(&told).await?;
        Ok(not_needed)
    }

    /// Cancels holders that have to make room. Returns those that were told.
    async fn end_holders(&self, ending: Vec<SlotKey>) -> Vec<SlotKey> {
        let mut told = Vec::new();
        for key in ending {
            let reason = format!(
                "a newer execution needs its slot of limit `{}` (`on_conflict: cancel_running`)",
                key.limit
            );
            match known(self.cancel(key.execution, reason).await.map(|_| ())) {
                Ok(()) => told.push(key),
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, execution = %key.execution, "holder not cancelled");
                }
            }
        }
        told
    }

    async fn tell_granted(&self, key: &SlotKey) -> GrantAnswer {
        let input = Input::SlotGranted { command: key.command, limit: key.limit.clone() };
        match self.submit(key.execution, input).await {
            Ok(
                MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_),
            ) => GrantAnswer::Known,
            Ok(MailboxAnswer::Refused(Refusal::Finished(_) | Refusal::SlotNotAwaited(_))) => {
                GrantAnswer::NotNeeded
            }
            Ok(MailboxAnswer::Refused(refusal)) => {
                tracing::warn!(execution = %key.execution, %refusal, "grant refused");
                GrantAnswer::Later
            }
            Err(SubmitError::Load(LoadError::NotFound(_))) => GrantAnswer::NotNeeded,
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, execution = %key.execution, "grant not told");
                GrantAnswer::Later
            }
        }
    }

    /// Tells holders again of grants that they have not acknowledged.
    async fn tell_again(&self) -> Result<(), StoreError> {
        let before = before(self.parts.stamps.now(), TELL_AGAIN_AFTER);
        let unanswered = self.parts.store.unanswered_slots(before, CHECKED_MAX).await?;
        let (ending, granted): (Vec<SlotRow>, Vec<SlotRow>) =
            unanswered.into_iter().partition(|row| row.is_ending);
        let outcome = LimitOutcome {
            granted: granted.into_iter().map(|row| row.key).collect(),
            ending: ending.into_iter().map(|row| row.key).collect(),
            ..LimitOutcome::default()
        };
        let not_needed = self.tell_of(outcome).await?;
        for changes in LimitChanges::grouped(not_needed.into_iter().map(LimitChange::Release)) {
            self.change_limit(changes).await?;
        }
        Ok(())
    }

    /// Releases slots that their holders do not need any more, and tells holders again that have
    /// lost the grant. Returns the last slot that was checked; `None` after the last of all.
    async fn check_holders(&self, after: Option<SlotKey>) -> Result<Option<SlotKey>, StoreError> {
        let held = self.parts.store.held_slots(after.as_ref(), CHECKED_MAX).await?;
        let last = (held.len() == CHECKED_MAX).then(|| held.last().map(|row| row.key.clone()));
        let old = before(self.parts.stamps.now(), CHECKED_AFTER);
        for row in held {
            let SlotRow { key, granted_at, .. } = row;
            if granted_at.is_none_or(|at| at >= old) {
                continue;
            }
            match self.use_of_slot(&key).await {
                SlotUse::Held | SlotUse::Unknown => {}
                SlotUse::Awaited => {
                    tracing::info!(limit = %key.limit, execution = %key.execution, "slot granted again");
                    let granted = LimitOutcome { granted: vec![key], ..LimitOutcome::default() };
                    self.tell_of(granted).await?;
                }
                SlotUse::NotNeeded => {
                    tracing::info!(limit = %key.limit, execution = %key.execution, "slot released");
                    self.change_limit(LimitChange::Release(key).into()).await?;
                }
            }
        }
        Ok(last.flatten())
    }

    /// Makes requests again that their limits do not know. Returns the last request that was checked;
    /// `None` after the last of all.
    async fn check_requests(
        &self,
        after: Option<OpenIndexPlace>,
    ) -> Result<Option<OpenIndexPlace>, StoreError> {
        let kind = IndexKind::AwaitedSlot;
        let found = self.parts.store.open_index(kind, after.as_ref(), PAGE_MAX).await?;
        let is_full = found.len() == PAGE_MAX;
        let old = before(self.parts.stamps.now(), CHECKED_AFTER);
        let last = found.last().filter(|last| is_full && last.at < old);
        let next = last.and_then(IndexRow::open_place);
        let keys: Vec<SlotKey> =
            found.iter().filter(|row| row.at < old).filter_map(awaited_slot).collect();
        let known: BTreeSet<SlotKey> =
            self.parts.store.known_slots(&keys).await?.into_iter().collect();
        for key in keys.into_iter().filter(|key| !known.contains(key)) {
            match self.awaited_request(&key).await {
                Ok(Some(request)) => {
                    tracing::info!(limit = %key.limit, execution = %key.execution, "slot asked for again");
                    self.change_limit(LimitChange::Request(request).into()).await?;
                }
                Ok(None) => {}
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, execution = %key.execution, "awaited slot not checked");
                }
            }
        }
        Ok(next)
    }

    /// Returns the request of a command, or of the execution itself, that still waits for its slot, by
    /// the log.
    pub(crate) async fn awaited_request(
        &self,
        key: &SlotKey,
    ) -> Result<Option<SlotRequest>, LoadError> {
        let state = match self.state(key.execution, Cutoff::Latest).await {
            Ok(state) => state,
            Err(LoadError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let slot = state.slot(key.command);
        let slot = slot.filter(|it| it.limit.name == key.limit && it.granted_at.is_none());
        Ok(slot.map(|slot| SlotRequest {
            limit: slot.limit.clone(),
            defined_by: state.playbook().catalog_id,
            execution: key.execution,
            command: key.command,
            priority: state.priority(),
            on_conflict: slot.on_conflict,
            asked_at: slot.asked_at,
        }))
    }

    /// Returns the use that the holder of a slot has for it, by the log.
    async fn use_of_slot(&self, key: &SlotKey) -> SlotUse {
        match self.state(key.execution, Cutoff::Latest).await {
            Ok(state) => {
                match state.counted_slot(key.command).filter(|it| it.limit.name == key.limit) {
                    Some(slot) if slot.granted_at.is_none() => SlotUse::Awaited,
                    Some(_) => SlotUse::Held,
                    None => SlotUse::NotNeeded,
                }
            }
            Err(LoadError::NotFound(_)) => SlotUse::NotNeeded,
            Err(_) => SlotUse::Unknown,
        }
    }
}

/// Returns the slot that an index entry names.
fn awaited_slot(row: &IndexRow) -> Option<SlotKey> {
    let limit = row.entry.key.as_str().parse().ok()?;
    Some(SlotKey { limit, execution: row.execution, command: row.entry.command })
}

fn before(now: Timestamp, age: Duration) -> Timestamp {
    let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(now.as_micros().saturating_sub(age))
}
