//! In-memory bulk jobs.

use noetl_model::Timestamp;

use super::super::MemoryStore;
use crate::{BulkItem, BulkItemPage, BulkJob, BulkState, PAGE_MAX, StoreError};

impl MemoryStore {
    pub(crate) async fn add_bulk_job(&self, job: &BulkJob) -> Result<BulkJob, StoreError> {
        let mut tables = self.lock();
        let jobs = &mut tables.records.bulk_jobs;
        let name = job.key.as_ref().map(|key| &key.name);
        let existing = jobs
            .values()
            .find(|other| name.is_some() && other.key.as_ref().map(|key| &key.name) == name);
        if let Some(existing) = existing {
            return Ok(existing.clone());
        }
        jobs.insert(job.id, job.clone());
        Ok(job.clone())
    }

    pub(crate) async fn bulk_job(&self, id: i64) -> Result<Option<BulkJob>, StoreError> {
        Ok(self.lock().records.bulk_jobs.get(&id).cloned())
    }

    pub(crate) async fn bulk_jobs(
        &self,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<BulkJob>, StoreError> {
        let tables = self.lock();
        let newest_first = tables.records.bulk_jobs.iter().rev();
        let listed = newest_first.filter(|(id, _)| before.is_none_or(|before| **id < before));
        Ok(listed.take(limit.min(PAGE_MAX)).map(|(_, job)| job.clone()).collect())
    }

    pub(crate) async fn open_bulk_jobs(&self) -> Result<Vec<BulkJob>, StoreError> {
        let tables = self.lock();
        let open = tables.records.bulk_jobs.values().filter(|job| job.state == BulkState::Running);
        Ok(open.take(PAGE_MAX).cloned().collect())
    }

    pub(crate) async fn record_bulk(
        &self,
        job: &BulkJob,
        items: &[BulkItem],
    ) -> Result<bool, StoreError> {
        let mut tables = self.lock();
        let records = &mut tables.records;
        let Some(stored) = records.bulk_jobs.get_mut(&job.id) else { return Ok(false) };
        if stored.seq.next() != job.seq {
            return Ok(false);
        }
        *stored = job.clone();
        for item in items {
            records.bulk_items.entry((job.id, item.execution)).or_insert_with(|| item.clone());
        }
        Ok(true)
    }

    pub(crate) async fn bulk_items(
        &self,
        job: i64,
        page: BulkItemPage,
    ) -> Result<Vec<BulkItem>, StoreError> {
        let tables = self.lock();
        let items = tables.records.bulk_items.iter().rev().filter(|((of, execution), item)| {
            *of == job
                && page.before.is_none_or(|before| *execution < before)
                && page.outcome.is_none_or(|outcome| item.outcome == outcome)
        });
        Ok(items.take(page.limit.min(PAGE_MAX)).map(|(_, item)| item.clone()).collect())
    }

    pub(crate) async fn forget_bulk_jobs(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, StoreError> {
        let mut tables = self.lock();
        let records = &mut tables.records;
        let is_old = |job: &BulkJob| job.ended_at.is_some_and(|ended_at| ended_at < before);
        let old = records.bulk_jobs.values().filter(|job| is_old(job)).map(|job| job.id);
        let old: Vec<i64> = old.take(limit.min(PAGE_MAX)).collect();
        records.bulk_jobs.retain(|id, _| !old.contains(id));
        records.bulk_items.retain(|(job, _), _| !old.contains(job));
        Ok(old.len() as u64)
    }
}
