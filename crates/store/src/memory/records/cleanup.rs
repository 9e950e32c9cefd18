//! In-memory deletion of expired records.

use std::collections::{BTreeMap, HashSet};

use noetl_model::{Digest, Timestamp};

use super::super::{KeptPayload, MemoryStore, MemoryTables};
use crate::{Collected, Horizon, StoreError};

impl MemoryStore {
    pub(crate) async fn collect(
        &self,
        horizon: &Horizon,
        limit: usize,
    ) -> Result<Collected, StoreError> {
        let mut tables = self.lock();
        let MemoryTables { records, payloads, .. } = &mut *tables;
        let ended = |end: Option<_>| end.is_some_and(|end| end < horizon.expired);
        let results = drain(&mut records.results, limit, |it| ended(it.expires_at));
        let named: HashSet<Digest> = records.results.values().map(|it| it.digest).collect();
        let is_over = |digest: &Digest, kept: &KeptPayload| {
            kept.loose_since.is_some_and(|since| since < horizon.payloads)
                && !named.contains(digest)
        };
        let over = payloads.iter().filter(|(digest, kept)| is_over(digest, kept));
        let over: Vec<Digest> = over.map(|(digest, _)| *digest).take(limit).collect();
        over.iter().for_each(|digest| drop(payloads.remove(digest)));
        let payloads = over.len() as u64;
        Ok(Collected {
            results,
            payloads,
            objects: drain(&mut records.objects, limit, |it| ended(it.expires_at)),
            keychain: drain(&mut records.keychain, limit, |it| it.expires_at < horizon.keychain),
            runtimes: drain(&mut records.runtimes, limit, |it| it.heartbeat < horizon.runtimes),
            audit: drain(&mut records.audit, limit, |it| it.at < horizon.audit),
            feed: tables.feed.forget(horizon.feed, limit),
            history: tables.schedules.forget(horizon.history, limit)
                + tables.forget_subscriptions(horizon.history, limit),
        })
    }

    pub(crate) async fn expire(&self, _before: Timestamp) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    pub(crate) async fn collect_blobs(&self, _: u8, _: Timestamp) -> Result<u64, StoreError> {
        Ok(0)
    }
}

/// Removes up to `limit` rows that match `is_over`. Returns their number.
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
