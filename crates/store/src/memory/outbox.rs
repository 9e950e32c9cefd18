//! In-memory outbox.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use noetl_model::{CommandId, ExecutionId, Message, Timestamp};

use super::MemoryStore;
use crate::{
    AttemptOutcome, Failure, ListedMessage, MessageState, OUTBOX_ATTEMPTS_MAX, OUTBOX_TAKE_MAX,
    OutboxConsumer, OutboxListing, OutboxRow, Sent, StoreError, Take, is_execution_notice,
    ready_command,
};

#[derive(Clone, Default)]
pub(super) struct OutboxTable {
    rows: BTreeMap<i64, Owed>,
    last_id: i64,
}

#[derive(Clone)]
struct Owed {
    row: OutboxRow,
    hold: Hold,
    last_error: Option<String>,
    created_at: Timestamp,
}

/// The reason a message cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    Nothing,
    /// A consumer holds the message until this instant.
    Taken(Timestamp),
    /// The last attempt failed; no retry before this instant.
    Failed(Timestamp),
    Dead,
}

impl Hold {
    fn until(self) -> Option<Timestamp> {
        match self {
            Hold::Taken(until) | Hold::Failed(until) => Some(until),
            Hold::Nothing | Hold::Dead => None,
        }
    }

    fn state(self) -> MessageState {
        match self {
            Hold::Nothing => MessageState::Pending,
            Hold::Taken(_) => MessageState::InFlight,
            Hold::Failed(_) => MessageState::Failed,
            Hold::Dead => MessageState::Dead,
        }
    }

    /// True if a hold or backoff has passed.
    fn is_due(self, now: Timestamp) -> bool {
        self.until().is_some_and(|until| until <= now)
    }
}

impl OutboxTable {
    pub(super) fn add(&mut self, execution: ExecutionId, message: Message, now: Timestamp) {
        self.last_id += 1;
        let row = OutboxRow { id: self.last_id, execution, message, attempts: 0 };
        let owed = Owed { row, hold: Hold::Nothing, last_error: None, created_at: now };
        self.rows.insert(self.last_id, owed);
    }

    /// True if an execution has a message in the outbox.
    pub(super) fn any_of(&self, execution: ExecutionId) -> bool {
        self.rows.values().any(|owed| owed.row.execution == execution)
    }

    fn takeable(&self, take: Take, now: Timestamp) -> BTreeSet<i64> {
        match take.consumer {
            OutboxConsumer::Relay => self.for_relay(take, now, |it| !is_execution_notice(it)),
            OutboxConsumer::InternalRelay => self
                .for_relay(take, now, |it| ready_command(it).is_none() && !is_execution_notice(it)),
            OutboxConsumer::Notifier => self.for_relay(take, now, is_execution_notice),
            OutboxConsumer::Publisher => self.for_publisher(take, now),
        }
    }

    fn for_relay(
        &self,
        take: Take,
        now: Timestamp,
        sends: impl Fn(&Message) -> bool,
    ) -> BTreeSet<i64> {
        let rows = || self.rows.iter().filter(|(_, owed)| sends(&owed.row.message));
        let fresh = rows().filter(|(_, owed)| owed.hold == Hold::Nothing);
        let fresh: Vec<i64> = fresh.map(|(id, _)| *id).collect();
        let mut due: Vec<(Option<Timestamp>, i64)> = rows()
            .filter(|(_, owed)| owed.hold.is_due(now))
            .map(|(id, owed)| (owed.hold.until(), *id))
            .collect();
        due.sort_unstable();
        let due: Vec<i64> = due.into_iter().map(|(_, id)| id).collect();
        let (first, rest) = due.split_at(due.len().min(take.retries_first()));
        first.iter().chain(&fresh).chain(rest).copied().take(take.limit()).collect()
    }

    fn for_publisher(&self, take: Take, now: Timestamp) -> BTreeSet<i64> {
        let mut blocked = BTreeSet::new();
        let mut found = BTreeSet::new();
        let for_bus =
            self.rows.iter().filter(|(_, owed)| ready_command(&owed.row.message).is_some());
        for (id, owed) in for_bus.filter(|(_, owed)| owed.hold != Hold::Dead) {
            if owed.hold.until().is_some_and(|until| until > now) {
                blocked.insert(owed.row.execution);
            } else if found.len() < take.limit() && !blocked.contains(&owed.row.execution) {
                found.insert(*id);
            }
        }
        found
    }

    fn unknown(&self, id: i64) -> bool {
        !(1..=self.last_id).contains(&id)
    }
}

impl Owed {
    /// Takes the message, or marks it dead if it was taken too often.
    fn take(&mut self, until: Timestamp) -> Option<OutboxRow> {
        if self.row.attempts >= OUTBOX_ATTEMPTS_MAX {
            self.hold = Hold::Dead;
            return None;
        }
        self.row.attempts += 1;
        self.hold = Hold::Taken(until);
        Some(self.row.clone())
    }

    fn listed(&self) -> ListedMessage {
        ListedMessage {
            row: self.row.clone(),
            state: self.hold.state(),
            available_at: self.hold.until(),
            last_error: self.last_error.clone(),
            created_at: self.created_at,
        }
    }
}

impl MemoryStore {
    pub(crate) async fn take(&self, take: Take) -> Result<Vec<OutboxRow>, StoreError> {
        let now = self.clock.now();
        let mut tables = self.lock();
        let ids = tables.outbox.takeable(take, now);
        let rows = &mut tables.outbox.rows;
        let taken = ids.iter().filter_map(|id| rows.get_mut(id)?.take(now.after(take.hold)));
        Ok(taken.collect())
    }

    pub(crate) async fn sent(&self, ids: &[i64]) -> Result<Sent, StoreError> {
        let mut tables = self.lock();
        let mut sent = Sent::default();
        for id in ids {
            if tables.outbox.rows.remove(id).is_some() {
                sent.marked += 1;
            } else if tables.outbox.unknown(*id) {
                sent.unknown.push(*id);
            }
        }
        Ok(sent)
    }

    pub(crate) async fn failed(
        &self,
        failures: &[Failure],
    ) -> Result<Vec<AttemptOutcome>, StoreError> {
        let now = self.clock.now();
        let outbox = &mut self.lock().outbox;
        let attempt_outcomes = failures.iter().map(|failure| {
            let unknown = outbox.unknown(failure.id);
            let owed = outbox.rows.get_mut(&failure.id).filter(|owed| owed.hold != Hold::Dead);
            let Some(owed) = owed else {
                return if unknown { AttemptOutcome::Unknown } else { AttemptOutcome::Over };
            };
            let outcome = failure.outcome(owed.row.attempts);
            owed.row.attempts = owed.row.attempts.max(1);
            owed.last_error = Some(failure.kept_error());
            owed.hold = match outcome {
                AttemptOutcome::RetryIn(delay) => Hold::Failed(now.after(delay)),
                AttemptOutcome::Dead | AttemptOutcome::Over | AttemptOutcome::Unknown => Hold::Dead,
            };
            outcome
        });
        Ok(attempt_outcomes.collect())
    }

    pub(crate) async fn postpone(&self, ids: &[i64], delay: Duration) -> Result<(), StoreError> {
        let until = self.clock.now().after(delay);
        let mut tables = self.lock();
        for id in ids {
            let owed = tables.outbox.rows.get_mut(id);
            if let Some(owed) = owed.filter(|owed| matches!(owed.hold, Hold::Taken(_))) {
                owed.hold = Hold::Taken(until);
                owed.row.attempts = owed.row.attempts.saturating_sub(1).max(1);
            }
        }
        Ok(())
    }

    pub(crate) async fn remind(
        &self,
        execution: ExecutionId,
        command: CommandId,
        notification: &Message,
    ) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let outbox = &mut self.lock().outbox;
        let is_pending = outbox.rows.values().any(|owed| {
            owed.hold != Hold::Dead
                && owed.row.execution == execution
                && ready_command(&owed.row.message) == Some(command)
        });
        if !is_pending {
            outbox.add(execution, notification.clone(), now);
        }
        Ok(!is_pending)
    }

    pub(crate) async fn owed(&self) -> Result<u64, StoreError> {
        let tables = self.lock();
        let owed = tables.outbox.rows.values().filter(|owed| owed.hold != Hold::Dead);
        Ok(u64::try_from(owed.count()).expect("a count of rows in memory fits"))
    }

    pub(crate) async fn pending(&self) -> Result<u64, StoreError> {
        let now = self.clock.now();
        let tables = self.lock();
        let rows = tables.outbox.rows.values();
        let pending = rows.filter(|owed| owed.hold == Hold::Nothing || owed.hold.is_due(now));
        Ok(u64::try_from(pending.count()).expect("a count of rows in memory fits"))
    }

    pub(crate) async fn list_messages(
        &self,
        page: OutboxListing,
    ) -> Result<Vec<ListedMessage>, StoreError> {
        let tables = self.lock();
        let listed = tables
            .outbox
            .rows
            .range(page.after.saturating_add(1)..)
            .map(|(_, owed)| owed.listed())
            .filter(|listed| page.state.is_none_or(|state| listed.state == state));
        Ok(listed.take(page.limit.min(OUTBOX_TAKE_MAX)).collect())
    }

    pub(crate) async fn revive(&self, ids: &[i64]) -> Result<u64, StoreError> {
        let mut tables = self.lock();
        let mut revived = 0;
        for id in ids {
            let owed = tables.outbox.rows.get_mut(id);
            let failed = |owed: &&mut Owed| matches!(owed.hold, Hold::Failed(_) | Hold::Dead);
            if let Some(owed) = owed.filter(failed) {
                (owed.hold, owed.row.attempts) = (Hold::Nothing, 0);
                revived += 1;
            }
        }
        Ok(revived)
    }

    pub(crate) async fn discard(&self, ids: &[i64]) -> Result<u64, StoreError> {
        let mut tables = self.lock();
        let mut discarded = 0;
        for id in ids {
            if tables.outbox.rows.get(id).is_some_and(|owed| owed.hold == Hold::Dead) {
                tables.outbox.rows.remove(id);
                discarded += 1;
            }
        }
        Ok(discarded)
    }
}
