//! Projected events on PostgreSQL.

use noetl_model::{Envelope, Timestamp};
use noetl_store::from_row::Columns as _;
use noetl_store::to_row::{at_most, to_json};
use noetl_store::{PROJECT_MAX, StoreError};
use sqlx::query;

use crate::PgStore;
use crate::instant::Instant;
use crate::row::{Named, plain};

impl PgStore {
    pub(crate) async fn project(&self, events: &[Envelope]) -> Result<u64, StoreError> {
        let column =
            |number: &dyn Fn(&Envelope) -> i64| events.iter().map(number).collect::<Vec<_>>();
        let created: Vec<Instant> = events.iter().map(|event| Instant(event.created_at)).collect();
        let texts = events.iter().map(|event| plain(&to_json(event)).into_owned());
        let statement = query(include_str!("../../sql/project_events.sql"))
            .bind(column(&|event| event.event_id))
            .bind(column(&|event| event.execution_id))
            .bind(created)
            .bind(texts.collect::<Vec<String>>());
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
        rows.iter().map(|row| Named(row).json("envelope", what)).collect()
    }

    pub(crate) async fn forget_projected(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, StoreError> {
        let statement = query(include_str!("../../sql/forget_projected.sql"))
            .bind(Instant(before))
            .bind(at_most(limit, PROJECT_MAX));
        self.write(statement).await
    }
}
