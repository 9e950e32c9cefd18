//! Projected events on SQLite.

use noetl_model::{Envelope, Timestamp};
use noetl_store::from_row::Columns as _;
use noetl_store::to_row::at_most;
use noetl_store::{PROJECT_MAX, StoreError};
use sqlx::query;

use crate::SqliteStore;
use crate::row::{NamedRow, array};

impl SqliteStore {
    pub(crate) async fn project(&self, events: &[Envelope]) -> Result<u64, StoreError> {
        let rows = array(events.iter().map(|event| {
            let text = serde_json::to_string(event).expect("an event is plain data");
            (event.event_id, event.execution_id, event.created_at.as_micros(), text)
        }));
        let statement = query(include_str!("../../sql/project_events.sql")).bind(rows);
        self.write(statement).await
    }

    pub(crate) async fn projected(
        &self,
        execution: i64,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError> {
        let statement = query(include_str!("../../sql/read_projected.sql"))
            .bind(execution)
            .bind(after)
            .bind(at_most(limit, PROJECT_MAX));
        let rows = self.rows(statement).await?;
        let what = || format!("a projected event of execution {execution}");
        rows.iter().map(|row| NamedRow(row).json("envelope", what)).collect()
    }

    pub(crate) async fn forget_projected(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, StoreError> {
        let statement = query(include_str!("../../sql/forget_projected.sql"))
            .bind(before.as_micros())
            .bind(at_most(limit, PROJECT_MAX));
        self.write(statement).await
    }
}
