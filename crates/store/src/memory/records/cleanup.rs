//! The end of what has one, in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::super::MemoryStore;
use crate::{Cleanup, Collected, Horizon, StoreError};

#[async_trait]
impl Cleanup for MemoryStore {
    async fn collect(&self, horizon: &Horizon, limit: usize) -> Result<Collected, StoreError> {
        let mut tables = self.tables();
        let records = &mut tables.records;
        let ended = |end: Option<_>| end.is_some_and(|end| end < horizon.expired);
        Ok(Collected {
            results: drain(&mut records.results, limit, |it| ended(it.expires_at)),
            objects: drain(&mut records.objects, limit, |it| ended(it.expires_at)),
            keychain: drain(&mut records.keychain, limit, |it| it.expires_at < horizon.keychain),
            runtimes: drain(&mut records.runtimes, limit, |it| it.heartbeat < horizon.runtimes),
            audit: drain(&mut records.audit, limit, |it| it.at < horizon.audit),
        })
    }
}

/// Removes up to `limit` rows that are over; the answer is how many.
fn drain<K: Ord + Clone, V>(
    rows: &mut BTreeMap<K, V>,
    limit: usize,
    is_over: impl Fn(&V) -> bool,
) -> u64 {
    let over = rows.iter().filter(|(_, row)| is_over(row)).map(|(key, _)| key.clone());
    let over: Vec<K> = over.take(limit).collect();
    over.iter().for_each(|key| drop(rows.remove(key)));
    over.len() as u64
}
