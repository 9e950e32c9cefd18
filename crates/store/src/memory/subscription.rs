//! In-memory subscriptions.

use std::collections::BTreeMap;

use noetl_model::{EventId, ExecutionId, Seq, SubscriptionState, Timestamp};

use super::{MemoryStore, MemoryTables};
use crate::{PAGE_MAX, READ_EVENTS_MAX, StoreError, SubscriptionRecord, SubscriptionRow};

#[derive(Clone, Default)]
pub(super) struct SubscriptionTable {
    rows: BTreeMap<ExecutionId, (SubscriptionRow, Vec<SubscriptionRecord>)>,
}

impl SubscriptionTable {
    fn live_at<'a>(&'a self, path: &'a str) -> Option<&'a SubscriptionRow> {
        self.at(path).find(|row| is_live(row))
    }

    /// Returns the subscriptions of a path, newest first.
    fn at<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a SubscriptionRow> {
        self.rows.values().rev().map(|(row, _)| row).filter(move |row| row.path == path)
    }
}

impl MemoryTables {
    /// Deletes subscriptions that were deactivated before an instant. Returns their number.
    pub(super) fn forget_subscriptions(&mut self, before: Timestamp, limit: usize) -> u64 {
        let rows = self.subscriptions.rows.values().map(|(row, _)| row);
        let old = rows.filter(|row| !is_live(row) && row.updated_at < before).map(|row| row.id);
        let old: Vec<ExecutionId> = old.take(limit.min(PAGE_MAX)).collect();
        self.subscriptions.rows.retain(|id, _| !old.contains(id));
        self.records.forget_failed_messages(&old);
        old.len() as u64
    }
}

fn is_live(row: &SubscriptionRow) -> bool {
    row.state() != SubscriptionState::Deactivated
}

impl MemoryStore {
    pub(crate) async fn record(
        &self,
        row: &SubscriptionRow,
        event: EventId,
    ) -> Result<bool, StoreError> {
        let table = &mut self.lock().subscriptions;
        let last = table.rows.get(&row.id).map_or(Seq::ZERO, |(kept, _)| kept.seq);
        let rival = table.live_at(&row.path).is_some_and(|live| live.id != row.id);
        if row.seq != last.next() || (is_live(row) && rival) {
            return Ok(false);
        }
        let record = SubscriptionRecord {
            seq: row.seq,
            event_id: event,
            event: row.last_event,
            at: row.updated_at,
        };
        let (kept, records) = table.rows.entry(row.id).or_insert_with(|| (row.clone(), Vec::new()));
        *kept = row.clone();
        records.push(record);
        Ok(true)
    }

    pub(crate) async fn subscription(
        &self,
        id: ExecutionId,
    ) -> Result<Option<SubscriptionRow>, StoreError> {
        Ok(self.lock().subscriptions.rows.get(&id).map(|(row, _)| row.clone()))
    }

    pub(crate) async fn subscription_at(
        &self,
        path: &str,
    ) -> Result<Option<SubscriptionRow>, StoreError> {
        let tables = self.lock();
        let table = &tables.subscriptions;
        Ok(table.live_at(path).or_else(|| table.at(path).next()).cloned())
    }

    pub(crate) async fn subscriptions(
        &self,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<SubscriptionRow>, StoreError> {
        let tables = self.lock();
        let end = before.unwrap_or(ExecutionId(i64::MAX));
        let rows = tables.subscriptions.rows.range(..end).rev();
        Ok(rows.take(limit.min(PAGE_MAX)).map(|(_, (row, _))| row.clone()).collect())
    }

    pub(crate) async fn subscription_events(
        &self,
        id: ExecutionId,
        after: Seq,
    ) -> Result<Vec<SubscriptionRecord>, StoreError> {
        let tables = self.lock();
        let records = tables.subscriptions.rows.get(&id).map_or(&[][..], |(_, records)| records);
        let later = records.iter().filter(|record| record.seq > after);
        Ok(later.take(READ_EVENTS_MAX).copied().collect())
    }
}
