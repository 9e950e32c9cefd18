//! Records that take two statements on SQLite: a row and its event, a result and its payload.

use noetl_model::{EventId, ScheduleEvent, Seq};
use noetl_store::from_row;
use noetl_store::sql::{
    SqlArgument, SqlDatabase as _, SqlTransaction as _, TransactionKind, result_arguments,
    schedule_arguments, subscription_arguments,
};
use noetl_store::{NamedResult, ScheduleRow, StoreError, SubscriptionRow, row_body};

use crate::SqliteStore;
use crate::database::STATEMENTS;

impl SqliteStore {
    pub(crate) async fn record(
        &self,
        row: &SubscriptionRow,
        event: EventId,
    ) -> Result<bool, StoreError> {
        let first = if row.seq == Seq::ZERO.next() {
            include_str!("../sql/start_subscription.sql")
        } else {
            include_str!("../sql/move_subscription.sql")
        };
        let second = include_str!("../sql/put_subscription_event.sql");
        self.write_both(first, second, &subscription_arguments(row, event)).await
    }

    pub(crate) async fn record_schedule(
        &self,
        row: &ScheduleRow,
        event: &ScheduleEvent,
    ) -> Result<bool, StoreError> {
        let first = if row.seq == Seq::ZERO.next() {
            include_str!("../sql/start_schedule.sql")
        } else {
            include_str!("../sql/move_schedule.sql")
        };
        let second = include_str!("../sql/put_schedule_event.sql");
        self.write_both(first, second, &schedule_arguments(row, event)).await
    }

    /// Runs two statements with the same arguments in one transaction. Returns false and writes
    /// nothing if the first one writes no row.
    async fn write_both(
        &self,
        first: &'static str,
        second: &'static str,
        arguments: &[SqlArgument<'_>],
    ) -> Result<bool, StoreError> {
        let mut transaction = self.begin(TransactionKind::Durable).await?;
        let is_written = transaction.write(first, arguments).await? > 0;
        if is_written {
            transaction.write(second, arguments).await?;
        }
        transaction.commit().await?;
        Ok(is_written)
    }

    pub(crate) async fn put_result(
        &self,
        result: &NamedResult,
        body: &[u8],
    ) -> Result<Option<NamedResult>, StoreError> {
        let body = row_body(self.blobs(), &result.digest, body).await?;
        let arguments = result_arguments(result, body);
        let mut transaction = self.begin(TransactionKind::Durable).await?;
        transaction.write(include_str!("../sql/put_loose_payload.sql"), &arguments).await?;
        let rows = transaction.rows(&STATEMENTS.put_result, &arguments).await?;
        transaction.commit().await?;
        rows.first().map(from_row::named_result).transpose()
    }
}
