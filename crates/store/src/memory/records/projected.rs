//! In-memory projected events and imported executions.

use noetl_model::{Envelope, ExecutionId, Timestamp};

use super::super::MemoryStore;
use crate::{
    EventPlace, EventSpan, ExecutionFilter, ImportFold, ImportedExecution, PAGE_MAX, PROJECT_MAX,
    Page, ProjectedEvent, ProjectedOnto, StoreError,
};

impl MemoryStore {
    pub(crate) async fn project(&self, events: &[ProjectedEvent]) -> Result<u64, StoreError> {
        let mut tables = self.lock();
        let records = &mut tables.records;
        let before = records.projected.len();
        for ProjectedEvent { envelope, onto } in events {
            if records.projected.contains_key(&envelope.event_id) {
                continue;
            }
            records.projected.insert(envelope.event_id, envelope.clone());
            match onto {
                ProjectedOnto::Existing => {}
                ProjectedOnto::Imported(change) => {
                    let execution = ExecutionId(envelope.execution_id);
                    let known = records.imported.remove(&execution);
                    let imported = ImportedExecution::with(known, envelope, change);
                    records.imported.insert(execution, imported);
                }
            }
        }
        Ok((records.projected.len() - before) as u64)
    }

    pub(crate) async fn projected(
        &self,
        execution: i64,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError> {
        let tables = self.lock();
        let later = tables.records.projected.values().filter(|event| event.event_id > after);
        let found = later.filter(|event| event.execution_id == execution);
        Ok(found.take(limit.min(PROJECT_MAX)).cloned().collect())
    }

    pub(crate) async fn projected_from(
        &self,
        execution: i64,
        skipped: u64,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError> {
        let tables = self.lock();
        let all = tables.records.projected.values();
        let found = all.filter(|event| event.execution_id == execution);
        let found = found.skip(usize::try_from(skipped).unwrap_or(usize::MAX));
        Ok(found.take(limit.min(PROJECT_MAX)).cloned().collect())
    }

    pub(crate) async fn projected_within(
        &self,
        execution: i64,
        span: EventSpan,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError> {
        let tables = self.lock();
        let is_within = |event: &&Envelope| {
            let place = EventPlace::of(event);
            event.execution_id == execution && span.after < place && place <= span.until
        };
        let mut found: Vec<Envelope> =
            tables.records.projected.values().filter(is_within).cloned().collect();
        found.sort_by_key(EventPlace::of);
        found.truncate(limit.min(PROJECT_MAX));
        Ok(found)
    }

    pub(crate) async fn imported(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<ImportedExecution>, StoreError> {
        Ok(self.lock().records.imported.get(&execution).cloned())
    }

    pub(crate) async fn list_imported(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<ImportedExecution>, StoreError> {
        let tables = self.lock();
        let end = page.before.unwrap_or(ExecutionId(i64::MAX));
        let newest_first = tables.records.imported.range(..end).rev();
        let found = newest_first
            .map(|(_, imported)| imported)
            .filter(|imported| filter.admits(&imported.summary));
        Ok(found.take(page.limit.min(PAGE_MAX)).cloned().collect())
    }

    /// Returns nothing: a store in memory is never older than the program.
    pub(crate) async fn unfolded_imports(
        &self,
        _limit: usize,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        Ok(Vec::new())
    }

    pub(crate) async fn fold_import(
        &self,
        execution: ExecutionId,
        fold: ImportFold,
    ) -> Result<(), StoreError> {
        let mut tables = self.lock();
        let records = &mut tables.records;
        let ImportFold::Imported(change) = fold else { return Ok(()) };
        let events = records.projected.values().filter(|it| it.execution_id == execution.0);
        let folded = events
            .fold(None, |known, event| Some(ImportedExecution::with(known, event, &change(event))));
        if let Some(imported) = folded {
            records.imported.insert(execution, imported);
        }
        Ok(())
    }

    pub(crate) async fn forget_projected(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, StoreError> {
        let mut tables = self.lock();
        let records = &mut tables.records;
        let old = records.projected.values().filter(|event| event.created_at < before).take(limit);
        let old: Vec<i64> = old.map(|event| event.event_id).collect();
        old.iter().for_each(|id| drop(records.projected.remove(id)));
        records.imported.retain(|_, imported| imported.last_at >= before);
        Ok(old.len() as u64)
    }
}
