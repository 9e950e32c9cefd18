//! In-memory tokens and audit trail.

use noetl_model::{Timestamp, TrailEntry, TrailFact, TrailPlace};

use super::super::MemoryStore;
use crate::{PAGE_MAX, StoreError, StoredToken, TrailSpan};

/// The audit trail, and the place of the last deleted entry.
#[derive(Clone)]
pub(in crate::memory) struct TrailTable {
    before: TrailPlace,
    entries: Vec<TrailEntry>,
}

impl Default for TrailTable {
    fn default() -> Self {
        Self { before: TrailPlace::START, entries: Vec::new() }
    }
}

impl TrailTable {
    fn last(&self) -> TrailPlace {
        self.entries.last().map_or(self.before, TrailEntry::place)
    }
}

impl MemoryStore {
    pub(crate) async fn add_token(&self, token: &StoredToken) -> Result<bool, StoreError> {
        let mut tables = self.lock();
        let tokens = &mut tables.records.tokens;
        let is_taken = tokens.values().any(|it| it.name == token.name || it.digest == token.digest);
        if !is_taken {
            tokens.insert(token.name.as_str().to_owned(), token.clone());
        }
        Ok(!is_taken)
    }

    pub(crate) async fn tokens(
        &self,
        after: &str,
        limit: usize,
    ) -> Result<Vec<StoredToken>, StoreError> {
        let tables = self.lock();
        let tokens = tables.records.tokens.iter().filter(|(name, _)| name.as_str() > after);
        Ok(tokens.take(limit.min(PAGE_MAX)).map(|(_, token)| token.clone()).collect())
    }

    pub(crate) async fn touch_token(&self, id: i64, at: Timestamp) -> Result<(), StoreError> {
        let mut tables = self.lock();
        if let Some(token) = tables.records.tokens.values_mut().find(|it| it.id == id) {
            token.used_at = token.used_at.max(Some(at));
        }
        Ok(())
    }

    pub(crate) async fn remove_token(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.lock().records.tokens.remove(name).is_some())
    }

    pub(crate) async fn append_trail(&self, facts: &[TrailFact]) -> Result<(), StoreError> {
        let mut tables = self.lock();
        let trail = &mut tables.records.trail;
        for fact in facts {
            let entry = trail.last().followed_by(fact.clone());
            trail.entries.push(entry);
        }
        Ok(())
    }

    pub(crate) async fn trail(
        &self,
        after: u64,
        limit: usize,
    ) -> Result<Vec<TrailEntry>, StoreError> {
        let tables = self.lock();
        let entries = tables.records.trail.entries.iter().filter(|it| it.number > after);
        Ok(entries.take(limit.min(PAGE_MAX)).cloned().collect())
    }

    pub(crate) async fn trail_span(&self) -> Result<TrailSpan, StoreError> {
        let tables = self.lock();
        let trail = &tables.records.trail;
        Ok(TrailSpan { before: trail.before, last: trail.last() })
    }

    pub(crate) async fn forget_trail(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, StoreError> {
        let mut tables = self.lock();
        let trail = &mut tables.records.trail;
        let old = trail.entries.iter().take(limit.min(PAGE_MAX));
        let count = old.take_while(|it| it.fact.at < before).count();
        if let Some(last) = trail.entries.drain(..count).next_back() {
            trail.before = last.place();
        }
        Ok(count as u64)
    }
}
