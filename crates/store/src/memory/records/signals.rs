//! In-memory signals that are sent by a correlation key.

use noetl_model::{IndexKey, Timestamp};

use super::super::MemoryStore;
use crate::{PAGE_MAX, SignalState, SignalTarget, StoreError, StoredSignal};

impl MemoryStore {
    pub(crate) async fn add_signal(
        &self,
        signal: &StoredSignal,
    ) -> Result<StoredSignal, StoreError> {
        let mut tables = self.lock();
        let signals = &mut tables.records.signals;
        let is_same = |other: &&StoredSignal| signal.once.is_some() && other.once == signal.once;
        if let Some(existing) = signals.values().find(is_same) {
            return Ok(existing.clone());
        }
        let undelivered = signals.values().rev().find(|it| {
            it.index_key == signal.index_key && !matches!(it.state, SignalState::Delivered(_))
        });
        let mut id = signal.id.max(undelivered.map_or(signal.id, |it| it.id + 1));
        while signals.contains_key(&id) {
            id += 1;
        }
        let stored = StoredSignal { id, ..signal.clone() };
        signals.insert(id, stored.clone());
        Ok(stored)
    }

    pub(crate) async fn find_signal(&self, id: i64) -> Result<Option<StoredSignal>, StoreError> {
        Ok(self.lock().records.signals.get(&id).cloned())
    }

    pub(crate) async fn undelivered_signals(
        &self,
        index_key: &IndexKey,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StoredSignal>, StoreError> {
        let tables = self.lock();
        let later = tables.records.signals.range(after.saturating_add(1)..).map(|(_, it)| it);
        let of_key = later.filter(|it| it.index_key == *index_key);
        let undelivered = of_key.filter(|it| !matches!(it.state, SignalState::Delivered(_)));
        Ok(undelivered.take(limit.min(PAGE_MAX)).cloned().collect())
    }

    pub(crate) async fn open_signals(
        &self,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StoredSignal>, StoreError> {
        let tables = self.lock();
        let later = tables.records.signals.range(after.saturating_add(1)..).map(|(_, it)| it);
        let open = later.filter(|it| !matches!(it.state, SignalState::Delivered(_)));
        Ok(open.take(limit.min(PAGE_MAX)).cloned().collect())
    }

    pub(crate) async fn assign_signal(
        &self,
        id: i64,
        target: SignalTarget,
    ) -> Result<bool, StoreError> {
        Ok(self.move_signal(id, SignalState::Kept, SignalState::Assigned(target)))
    }

    pub(crate) async fn release_signal(
        &self,
        id: i64,
        target: SignalTarget,
    ) -> Result<bool, StoreError> {
        Ok(self.move_signal(id, SignalState::Assigned(target), SignalState::Kept))
    }

    pub(crate) async fn settle_signal(
        &self,
        id: i64,
        target: SignalTarget,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let (from, to) = (SignalState::Assigned(target), SignalState::Delivered(target));
        let is_moved = self.move_signal(id, from, to);
        if is_moved && let Some(signal) = self.lock().records.signals.get_mut(&id) {
            signal.expires_at = signal.expires_at.min(expires_at);
        }
        Ok(is_moved)
    }

    fn move_signal(&self, id: i64, from: SignalState, to: SignalState) -> bool {
        let mut tables = self.lock();
        match tables.records.signals.get_mut(&id) {
            Some(signal) if signal.state == from => {
                signal.state = to;
                true
            }
            Some(_) | None => false,
        }
    }

    pub(crate) async fn drop_signal(&self, id: i64) -> Result<bool, StoreError> {
        let mut tables = self.lock();
        let signals = &mut tables.records.signals;
        let is_kept = signals.get(&id).is_some_and(|it| it.state == SignalState::Kept);
        if is_kept {
            signals.remove(&id);
        }
        Ok(is_kept)
    }

    pub(crate) async fn count_signals(&self, max: u64) -> Result<u64, StoreError> {
        let tables = self.lock();
        let signals = tables.records.signals.values();
        let open = signals.filter(|it| !matches!(it.state, SignalState::Delivered(_))).count();
        Ok(u64::try_from(open).unwrap_or(u64::MAX).min(max))
    }

    pub(crate) async fn count_signals_of(
        &self,
        index_key: &IndexKey,
        max: u64,
    ) -> Result<u64, StoreError> {
        let tables = self.lock();
        let of_key = tables.records.signals.values().filter(|it| it.index_key == *index_key);
        let open = of_key.filter(|it| !matches!(it.state, SignalState::Delivered(_))).count();
        Ok(u64::try_from(open).unwrap_or(u64::MAX).min(max))
    }

    pub(crate) async fn forget_signals(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, StoreError> {
        let mut tables = self.lock();
        let signals = &mut tables.records.signals;
        let is_over = |it: &&StoredSignal| {
            it.expires_at < before && !matches!(it.state, SignalState::Assigned(_))
        };
        let over: Vec<i64> =
            signals.values().filter(is_over).map(|it| it.id).take(limit.min(PAGE_MAX)).collect();
        over.iter().for_each(|id| drop(signals.remove(id)));
        Ok(over.len() as u64)
    }
}
