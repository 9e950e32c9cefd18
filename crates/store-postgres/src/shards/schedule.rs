//! Schedules of a sharded store, in the cluster's database.

use async_trait::async_trait;
use noetl_model::{ScheduleEvent, Seq, Timestamp};
use noetl_store::{ScheduleRecord, ScheduleRow, Schedules, StoreError};

use super::Shards;

#[async_trait]
impl Schedules for Shards {
    async fn record_schedule(
        &self,
        row: &ScheduleRow,
        event: &ScheduleEvent,
    ) -> Result<bool, StoreError> {
        self.in_cluster(self.cluster.record_schedule(row, event)).await
    }

    async fn schedule(&self, path: &str) -> Result<Option<ScheduleRow>, StoreError> {
        self.in_cluster(self.cluster.schedule(path)).await
    }

    async fn list_schedules(&self, after: Option<&str>) -> Result<Vec<ScheduleRow>, StoreError> {
        self.in_cluster(self.cluster.list_schedules(after)).await
    }

    async fn due_schedules(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        self.in_cluster(self.cluster.due_schedules(now, limit)).await
    }

    async fn next_schedule(&self) -> Result<Option<Timestamp>, StoreError> {
        self.in_cluster(self.cluster.next_schedule()).await
    }

    async fn waiting_schedules(&self, after: Option<&str>) -> Result<Vec<ScheduleRow>, StoreError> {
        self.in_cluster(self.cluster.waiting_schedules(after)).await
    }

    async fn schedule_events(
        &self,
        path: &str,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<ScheduleRecord>, StoreError> {
        self.in_cluster(self.cluster.schedule_events(path, before, limit)).await
    }
}
