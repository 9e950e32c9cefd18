//! In-memory schedules.

use std::collections::BTreeMap;
use std::ops::Bound;

use noetl_model::{ScheduleEvent, Seq, Timestamp};

use super::MemoryStore;
use crate::{
    PAGE_MAX, READ_EVENTS_MAX, SCHEDULE_EVENTS_KEPT, ScheduleRecord, ScheduleRow, StoreError,
};

#[derive(Clone, Default)]
pub(super) struct ScheduleTable {
    rows: BTreeMap<String, (ScheduleRow, Vec<ScheduleRecord>)>,
}

impl ScheduleTable {
    /// Deletes old events, except the last ones of each schedule. Returns their number.
    pub(super) fn forget(&mut self, before: Timestamp, limit: usize) -> u64 {
        let mut left = limit.min(PAGE_MAX);
        let mut forgotten = 0;
        for (row, events) in self.rows.values_mut() {
            let kept_from = row.seq.0.saturating_sub(SCHEDULE_EVENTS_KEPT);
            events.retain(|event| {
                let is_old = event.at < before && event.seq.0 <= kept_from && left > 0;
                left -= usize::from(is_old);
                forgotten += u64::from(is_old);
                !is_old
            });
        }
        forgotten
    }

    /// Returns the schedules after a path.
    fn after(&self, path: Option<&str>) -> impl Iterator<Item = &ScheduleRow> {
        let from = path.map_or(Bound::Unbounded, Bound::Excluded);
        self.rows.range::<str, _>((from, Bound::Unbounded)).map(|(_, (row, _))| row)
    }
}

impl MemoryStore {
    pub(crate) async fn record_schedule(
        &self,
        row: &ScheduleRow,
        event: &ScheduleEvent,
    ) -> Result<bool, StoreError> {
        let rows = &mut self.lock().schedules.rows;
        let last = rows.get(&row.path).map_or(Seq::ZERO, |(kept, _)| kept.seq);
        if row.seq != last.next() {
            return Ok(false);
        }
        let record = ScheduleRecord { seq: row.seq, event: event.clone(), at: row.updated_at };
        let kept = rows.entry(row.path.clone()).or_insert_with(|| (row.clone(), Vec::new()));
        kept.0 = row.clone();
        kept.1.push(record);
        Ok(true)
    }

    pub(crate) async fn schedule(&self, path: &str) -> Result<Option<ScheduleRow>, StoreError> {
        Ok(self.lock().schedules.rows.get(path).map(|(row, _)| row.clone()))
    }

    pub(crate) async fn list_schedules(
        &self,
        after: Option<&str>,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        Ok(self.lock().schedules.after(after).take(PAGE_MAX).cloned().collect())
    }

    pub(crate) async fn due_schedules(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        let tables = self.lock();
        let is_due = |row: &&ScheduleRow| row.next_at.is_some_and(|next| next <= now);
        let mut due: Vec<&ScheduleRow> = tables.schedules.after(None).filter(is_due).collect();
        due.sort_by_key(|row| row.next_at);
        Ok(due.into_iter().take(limit.min(PAGE_MAX)).cloned().collect())
    }

    pub(crate) async fn next_schedule(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.lock().schedules.after(None).filter_map(|row| row.next_at).min())
    }

    pub(crate) async fn waiting_schedules(
        &self,
        after: Option<&str>,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        let tables = self.lock();
        let waiting = tables.schedules.after(after).filter(|row| row.standing.queued.is_some());
        Ok(waiting.take(PAGE_MAX).cloned().collect())
    }

    pub(crate) async fn schedule_events(
        &self,
        path: &str,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<ScheduleRecord>, StoreError> {
        let tables = self.lock();
        let records = tables.schedules.rows.get(path).map_or(&[][..], |(_, records)| records);
        let earlier = records.iter().rev().filter(|it| before.is_none_or(|seq| it.seq < seq));
        Ok(earlier.take(limit.min(READ_EVENTS_MAX)).cloned().collect())
    }
}
