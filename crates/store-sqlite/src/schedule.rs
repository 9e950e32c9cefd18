//! Schedules on SQLite.

use noetl_model::{ScheduleEvent, Seq, Timestamp};
use noetl_store::from_row;
use noetl_store::to_row::{at_most, stored};
use noetl_store::{PAGE_MAX, READ_EVENTS_MAX, ScheduleRecord, ScheduleRow, StoreError};
use sqlx::{query, query_scalar};

use crate::SqliteStore;
use crate::row::{NamedRow, store_error};
use crate::store::begin;

impl SqliteStore {
    pub(crate) async fn record_schedule(
        &self,
        row: &ScheduleRow,
        event: &ScheduleEvent,
    ) -> Result<bool, StoreError> {
        let mut writer = self.writer().await?;
        let mut transaction = begin(&mut writer).await?;
        let statement = if row.seq == Seq::ZERO.next() {
            query(include_str!("../sql/start_schedule.sql"))
        } else {
            query(include_str!("../sql/move_schedule.sql"))
        };
        let written = statement
            .bind(&row.path)
            .bind(stored(row.seq.0))
            .bind(to_json(&row.standing))
            .bind(&row.playbook)
            .bind(&row.timing)
            .bind(row.next_at.map(Timestamp::as_micros))
            .bind(row.standing.queued.is_some())
            .bind(row.updated_at.as_micros())
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        if written.rows_affected() == 0 {
            return Ok(false);
        }
        query(include_str!("../sql/put_schedule_event.sql"))
            .bind(&row.path)
            .bind(stored(row.seq.0))
            .bind(to_json(event))
            .bind(row.updated_at.as_micros())
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        transaction.commit().await.map_err(store_error)?;
        Ok(true)
    }

    pub(crate) async fn schedule(&self, path: &str) -> Result<Option<ScheduleRow>, StoreError> {
        let row = self.row(query(include_str!("../sql/find_schedule.sql")).bind(path)).await?;
        row.as_ref().map(NamedRow).map(from_row::schedule_row).transpose()
    }

    pub(crate) async fn list_schedules(
        &self,
        after: Option<&str>,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        let statement = query(include_str!("../sql/list_schedules.sql"))
            .bind(after.unwrap_or_default())
            .bind(at_most(PAGE_MAX, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(NamedRow).map(from_row::schedule_row).collect()
    }

    pub(crate) async fn due_schedules(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        let statement = query(include_str!("../sql/due_schedules.sql"))
            .bind(now.as_micros())
            .bind(at_most(limit, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(NamedRow).map(from_row::schedule_row).collect()
    }

    pub(crate) async fn next_schedule(&self) -> Result<Option<Timestamp>, StoreError> {
        let next: Option<i64> = query_scalar(include_str!("../sql/next_schedule.sql"))
            .fetch_one(&self.readers)
            .await
            .map_err(store_error)?;
        Ok(next.map(Timestamp::from_micros))
    }

    pub(crate) async fn waiting_schedules(
        &self,
        after: Option<&str>,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        let statement = query(include_str!("../sql/waiting_schedules.sql"))
            .bind(after.unwrap_or_default())
            .bind(at_most(PAGE_MAX, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(NamedRow).map(from_row::schedule_row).collect()
    }

    pub(crate) async fn schedule_events(
        &self,
        path: &str,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<ScheduleRecord>, StoreError> {
        let statement = query(include_str!("../sql/read_schedule_events.sql"))
            .bind(path)
            .bind(before.map_or(i64::MAX, |seq| stored(seq.0)))
            .bind(at_most(limit, READ_EVENTS_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(|row| from_row::schedule_record(NamedRow(row), path)).collect()
    }
}

fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("the model's words are JSON")
}
