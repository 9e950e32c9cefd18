//! Schedules of the faulty store.

use async_trait::async_trait;
use noetl_model::{ScheduleEvent, Seq, Timestamp};
use noetl_store::{ScheduleRecord, ScheduleRow, Schedules, StoreError};

use super::FaultyStore;

#[async_trait]
impl Schedules for FaultyStore {
    async fn record_schedule(
        &self,
        row: &ScheduleRow,
        event: &ScheduleEvent,
    ) -> Result<bool, StoreError> {
        self.store.record_schedule(row, event).await
    }

    async fn schedule(&self, path: &str) -> Result<Option<ScheduleRow>, StoreError> {
        self.store.schedule(path).await
    }

    async fn list_schedules(&self, after: Option<&str>) -> Result<Vec<ScheduleRow>, StoreError> {
        self.store.list_schedules(after).await
    }

    async fn due_schedules(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        self.store.due_schedules(now, limit).await
    }

    async fn next_schedule(&self) -> Result<Option<Timestamp>, StoreError> {
        self.store.next_schedule().await
    }

    async fn waiting_schedules(&self, after: Option<&str>) -> Result<Vec<ScheduleRow>, StoreError> {
        self.store.waiting_schedules(after).await
    }

    async fn schedule_events(
        &self,
        path: &str,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<ScheduleRecord>, StoreError> {
        self.store.schedule_events(path, before, limit).await
    }
}
