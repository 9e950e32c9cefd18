//! In-memory named locks.

use std::time::Duration;

use super::super::MemoryStore;
use crate::StoreError;

impl MemoryStore {
    pub(crate) async fn acquire_lock(
        &self,
        name: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let mut tables = self.lock();
        let locks = &mut tables.records.locks;
        let is_anothers =
            locks.get(name).is_some_and(|(other, until)| other != holder && now < *until);
        if !is_anothers {
            locks.insert(name.to_owned(), (holder.to_owned(), now.after(lease)));
        }
        Ok(!is_anothers)
    }

    pub(crate) async fn release_lock(&self, name: &str, holder: &str) -> Result<(), StoreError> {
        let mut tables = self.lock();
        let locks = &mut tables.records.locks;
        if locks.get(name).is_some_and(|(has, _)| has == holder) {
            locks.remove(name);
        }
        Ok(())
    }
}
