//! In-memory deletion of ended executions.

use std::collections::{BTreeMap, BTreeSet};

use noetl_model::{Digest, ExecutionId, ExecutionStatus, Parent, TimerId};

use super::{MemoryStore, MemoryTables};
use crate::{EraseAnswer, KeepMark, KeepReason, StoreError, Tombstone};

/// The deletions, and the marks that protect from them.
#[derive(Clone, Default)]
pub(super) struct ErasureTables {
    tombstones: BTreeMap<ExecutionId, Tombstone>,
    /// The payloads of deleted executions that were not looked at yet.
    references: BTreeSet<(ExecutionId, Digest)>,
    /// The deleted executions with rows that are left.
    pending: BTreeSet<ExecutionId>,
    marks: BTreeMap<ExecutionId, KeepMark>,
}

impl MemoryTables {
    /// True if an execution is deleted: what comes late for it is not stored.
    pub(super) fn is_erased(&self, execution: ExecutionId) -> bool {
        self.erasure.tombstones.contains_key(&execution)
    }

    fn is_running(&self, execution: ExecutionId) -> bool {
        let row = self.executions.get(&execution);
        row.is_some_and(|row| row.summary.status == ExecutionStatus::Running)
    }

    fn relative(&self, execution: ExecutionId) -> Option<KeepReason> {
        let others = || self.executions.values().map(|row| &row.summary);
        let fork = others().find(|it| it.fork.is_some_and(|point| point.execution == execution));
        let child = others().find(|it| {
            it.parent.map(Parent::execution) == Some(execution) && self.is_running(it.execution)
        });
        let own = self.executions.get(&execution);
        let parent = own.and_then(|row| row.summary.parent).map(Parent::execution);
        let parent = parent.filter(|parent| self.is_running(*parent));
        fork.map(|fork| KeepReason::Fork(fork.execution))
            .or(child.map(|child| KeepReason::RunningChild(child.execution)))
            .or(parent.map(KeepReason::RunningParent))
    }

    fn has_open_work(&self, execution: ExecutionId) -> bool {
        let timers = (execution, TimerId(0))..=(execution, TimerId(u64::MAX));
        self.commands.any_of(execution)
            || self.outbox.any_of(execution)
            || self.timers.range(timers).next().is_some()
    }

    fn erase(&mut self, execution: ExecutionId, tombstone: &Tombstone) -> EraseAnswer {
        let Some(row) = self.executions.get(&execution) else { return EraseAnswer::Missing };
        let reason = if self.is_running(execution) {
            Some(KeepReason::Running)
        } else if self.erasure.marks.contains_key(&execution) {
            Some(KeepReason::Marked)
        } else if self.has_open_work(execution) {
            Some(KeepReason::OpenWork)
        } else if row.summary.seq != tombstone.seq {
            Some(KeepReason::Changed)
        } else {
            self.relative(execution)
        };
        if let Some(reason) = reason {
            return EraseAnswer::Kept(reason);
        }
        let referred = row.log.iter().flat_map(|recorded| recorded.event.payload_digests());
        let noted = self.written_payloads.range((execution, Digest::from_bytes([0; 32]))..);
        let noted = noted.take_while(|(of, _)| *of == execution).copied();
        let referred: BTreeSet<_> =
            referred.map(|digest| (execution, digest)).chain(noted).collect();
        self.erasure.references.extend(referred);
        self.erasure.tombstones.insert(execution, tombstone.clone());
        self.erasure.pending.insert(execution);
        self.index.remove_all(execution);
        self.executions.remove(&execution);
        EraseAnswer::Erased
    }

    /// True if an execution that is not deleted refers to a payload.
    fn is_referred(&self, digest: &Digest) -> bool {
        let is_written = self
            .written_payloads
            .iter()
            .any(|(execution, it)| it == digest && self.executions.contains_key(execution));
        let mut events = self.executions.values().flat_map(|row| &row.log);
        is_written || events.any(|recorded| recorded.event.payload_digests().contains(digest))
    }
}

impl MemoryStore {
    pub(crate) async fn erase(
        &self,
        execution: ExecutionId,
        tombstone: &Tombstone,
    ) -> Result<EraseAnswer, StoreError> {
        Ok(self.lock().erase(execution, tombstone))
    }

    pub(crate) async fn keep_reason(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<KeepReason>, StoreError> {
        Ok(self.lock().relative(execution))
    }

    pub(crate) async fn tombstone(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<Tombstone>, StoreError> {
        Ok(self.lock().erasure.tombstones.get(&execution).cloned())
    }

    pub(crate) async fn erase_payloads(&self, limit: usize) -> Result<u64, StoreError> {
        let now = self.clock.now();
        let mut tables = self.lock();
        let erased: Vec<_> = tables.erasure.references.iter().take(limit).copied().collect();
        for (execution, digest) in &erased {
            tables.erasure.references.remove(&(*execution, *digest));
            tables.written_payloads.remove(&(*execution, *digest));
            if !tables.is_referred(digest)
                && let Some(kept) = tables.payloads.get_mut(digest)
            {
                kept.loose_since.get_or_insert(now);
            }
        }
        Ok(erased.len() as u64)
    }

    /// Deletes the rows of deleted executions: here, all of them at once.
    pub(crate) async fn erase_rows(&self, _limit: usize) -> Result<u64, StoreError> {
        let mut tables = self.lock();
        let MemoryTables { erasure, places, children, snapshots, replays, step_logs, .. } =
            &mut *tables;
        let open: BTreeSet<_> =
            erasure.references.iter().map(|(execution, _)| *execution).collect();
        let done: BTreeSet<_> = erasure.pending.difference(&open).copied().collect();
        erasure.pending.retain(|execution| !done.contains(execution));
        places.retain(|_, (execution, _)| !done.contains(execution));
        children.retain(|(execution, _), _| !done.contains(execution));
        snapshots.retain(|execution, _| !done.contains(execution));
        replays.retain(|(execution, ..), _| !done.contains(execution));
        step_logs.retain(|execution, _| !done.contains(execution));
        tables.records.forget_executions(&done);
        Ok(done.len() as u64)
    }

    pub(crate) async fn return_space(&self, _limit: usize) -> Result<u64, StoreError> {
        Ok(0)
    }

    pub(crate) async fn put_keep_mark(
        &self,
        execution: ExecutionId,
        mark: &KeepMark,
    ) -> Result<bool, StoreError> {
        let mut tables = self.lock();
        let is_there = tables.executions.contains_key(&execution);
        if is_there {
            tables.erasure.marks.insert(execution, mark.clone());
        }
        Ok(is_there)
    }

    pub(crate) async fn remove_keep_mark(
        &self,
        execution: ExecutionId,
    ) -> Result<bool, StoreError> {
        Ok(self.lock().erasure.marks.remove(&execution).is_some())
    }

    pub(crate) async fn keep_mark(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<KeepMark>, StoreError> {
        Ok(self.lock().erasure.marks.get(&execution).cloned())
    }
}
