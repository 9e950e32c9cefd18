//! Schedules on PostgreSQL.

use noetl_model::{ScheduleEvent, Seq, Timestamp};
use noetl_store::from_row;
use noetl_store::to_row::{at_most, stored, to_json};
use noetl_store::{PAGE_MAX, READ_EVENTS_MAX, ScheduleRecord, ScheduleRow, StoreError};
use sqlx::{query, query_scalar};

use crate::PgStore;
use crate::instant::Instant;
use crate::row::{Named, is_rivalry, plain, store_error};

impl PgStore {
    pub(crate) async fn record_schedule(
        &self,
        row: &ScheduleRow,
        event: &ScheduleEvent,
    ) -> Result<bool, StoreError> {
        let written = query(include_str!("../sql/put_schedule.sql"))
            .bind(plain(&row.path))
            .bind(stored(row.seq.0))
            .bind(to_json(&row.standing))
            .bind(plain(&row.playbook))
            .bind(plain(&row.timing))
            .bind(row.next_at.map(Instant))
            .bind(row.standing.queued.is_some())
            .bind(Instant(row.updated_at))
            .bind(to_json(event))
            .execute(&mut *self.pool.connection().await?)
            .await;
        match written {
            Ok(written) => Ok(written.rows_affected() > 0),
            Err(error) if is_rivalry(&error) => Ok(false),
            Err(error) => Err(store_error(error)),
        }
    }

    pub(crate) async fn schedule(&self, path: &str) -> Result<Option<ScheduleRow>, StoreError> {
        let statement = query(include_str!("../sql/find_schedule.sql")).bind(plain(path));
        let row = self.row(statement).await?;
        row.as_ref().map(Named).map(from_row::schedule_row).transpose()
    }

    pub(crate) async fn list_schedules(
        &self,
        after: Option<&str>,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        let statement = query(include_str!("../sql/list_schedules.sql"))
            .bind(plain(after.unwrap_or_default()))
            .bind(at_most(PAGE_MAX, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(Named).map(from_row::schedule_row).collect()
    }

    pub(crate) async fn due_schedules(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        let statement = query(include_str!("../sql/due_schedules.sql"))
            .bind(Instant(now))
            .bind(at_most(limit, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(Named).map(from_row::schedule_row).collect()
    }

    pub(crate) async fn next_schedule(&self) -> Result<Option<Timestamp>, StoreError> {
        let next: Option<Instant> = query_scalar(include_str!("../sql/next_schedule.sql"))
            .fetch_one(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(next.map(|Instant(at)| at))
    }

    pub(crate) async fn waiting_schedules(
        &self,
        after: Option<&str>,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        let statement = query(include_str!("../sql/waiting_schedules.sql"))
            .bind(plain(after.unwrap_or_default()))
            .bind(at_most(PAGE_MAX, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(Named).map(from_row::schedule_row).collect()
    }

    pub(crate) async fn schedule_events(
        &self,
        path: &str,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<ScheduleRecord>, StoreError> {
        let statement = query(include_str!("../sql/read_schedule_events.sql"))
            .bind(plain(path))
            .bind(before.map_or(i64::MAX, |seq| stored(seq.0)))
            .bind(at_most(limit, READ_EVENTS_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(|row| from_row::schedule_record(Named(row), path)).collect()
    }
}
