//! In-memory turns.

use std::time::Duration;

use super::super::MemoryStore;
use crate::StoreError;

impl MemoryStore {
    pub(crate) async fn take_turn(
        &self,
        name: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let mut tables = self.lock();
        let turns = &mut tables.records.turns;
        let is_anothers =
            turns.get(name).is_some_and(|(other, until)| other != holder && now < *until);
        if !is_anothers {
            turns.insert(name.to_owned(), (holder.to_owned(), now.after(lease)));
        }
        Ok(!is_anothers)
    }

    pub(crate) async fn end_turn(&self, name: &str, holder: &str) -> Result<(), StoreError> {
        let mut tables = self.lock();
        let turns = &mut tables.records.turns;
        if turns.get(name).is_some_and(|(has, _)| has == holder) {
            turns.remove(name);
        }
        Ok(())
    }
}
