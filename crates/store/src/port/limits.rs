//! The storage ports of limits and pauses.

use async_trait::async_trait;

use crate::signature::*;

/// Pauses of playbooks and pools.
#[async_trait]
pub trait Pauses: Send + Sync {
    /// Stores a pause and returns the stored row. A stored pause keeps its caller, reason and time
    /// unless it was ending.
    async fn put_pause(&self, pause: &PauseRow) -> Result<PauseRow, StoreError>;

    /// Records that a pause or resumption is applied to all executions: a pause that is pausing
    /// becomes paused, one that is resuming is deleted. Returns false and changes nothing if the
    /// stored pause has begun at another time or has other progress.
    async fn settle_pause(&self, pause: &PauseRow) -> Result<bool, StoreError>;

    /// Deletes a pause. Returns false if there was no such pause.
    async fn remove_pause(&self, kind: PausedKind, name: &str) -> Result<bool, StoreError>;

    /// Lists the pauses after one, ordered by kind and name, at most `limit` (and at most
    /// `PAGE_MAX`).
    async fn pauses(
        &self,
        after: Option<&PauseRow>,
        limit: usize,
    ) -> Result<Vec<PauseRow>, StoreError>;
}

/// Limits that executions share, with their holders and queues.
#[async_trait]
pub trait SlotLimits: Send + Sync {
    /// Changes a limit, and grants, denies and ends slots as `rule` decides, in one transaction that
    /// excludes all other changes of this limit. Requests are added before slots are released. The
    /// rule sees the first [`LIMIT_QUEUE_MAX`] requests: by priority, then in the order they were
    /// asked for. The amount of a limit is that of the newest playbook version that has asked for it.
    async fn change_limit(
        &self,
        changes: &LimitChanges,
        rule: GrantRule,
    ) -> Result<LimitOutcome, StoreError>;

    /// Records that holders know of their grant, or that they were told to end.
    async fn acknowledge_slots(&self, slots: &[SlotKey]) -> Result<(), StoreError>;

    /// Returns limits that can grant again by the store's clock, longest due first.
    async fn due_limits(&self, limit: usize) -> Result<Vec<LimitName>, StoreError>;

    /// Returns the time at which the first limit can grant again.
    async fn next_limit(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Returns slots granted before a time that are not acknowledged, oldest first.
    async fn unanswered_slots(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<SlotRow>, StoreError>;

    /// Lists the slots that are held after a key, ordered by key.
    async fn held_slots(
        &self,
        after: Option<&SlotKey>,
        limit: usize,
    ) -> Result<Vec<SlotRow>, StoreError>;

    /// Lists the limits after a name, ordered by name.
    async fn limits(
        &self,
        after: Option<&LimitName>,
        limit: usize,
    ) -> Result<Vec<LimitFigures>, StoreError>;

    async fn limit(&self, name: &LimitName) -> Result<Option<LimitFigures>, StoreError>;

    /// Lists the holders of a limit, longest held first.
    async fn slot_holders(
        &self,
        name: &LimitName,
        limit: usize,
    ) -> Result<Vec<SlotRow>, StoreError>;

    /// Lists the requests that wait, in the order they are granted.
    async fn slot_queue(&self, name: &LimitName, limit: usize) -> Result<Vec<SlotRow>, StoreError>;

    /// Returns those of some slots that are stored, held or waiting, in any order.
    async fn known_slots(&self, slots: &[SlotKey]) -> Result<Vec<SlotKey>, StoreError>;

    /// Returns the place of a request in the queue, from 1 on; `None` if it does not wait.
    async fn slot_place(&self, key: &SlotKey) -> Result<Option<u64>, StoreError>;
}
