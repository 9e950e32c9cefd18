//! Records that need more than the functions that all SQL databases share: writes that another
//! server may do at the same time, results, and the deletion of whole months.

use noetl_model::{EventId, ScheduleEvent, Timestamp};
use noetl_store::from_row;
use noetl_store::sql::{
    SqlArgument, SqlDatabase as _, result_arguments, schedule_arguments, subscription_arguments,
};
use noetl_store::{NamedResult, ScheduleRow, StoreError, SubscriptionRow, row_body};

use crate::PgStore;
use crate::database::STATEMENTS;
use crate::row::{is_conflict, store_error};

impl PgStore {
    pub(crate) async fn record(
        &self,
        row: &SubscriptionRow,
        event: EventId,
    ) -> Result<bool, StoreError> {
        let statement = include_str!("../sql/put_subscription.sql");
        self.write_first(statement, &subscription_arguments(row, event)).await
    }

    pub(crate) async fn record_schedule(
        &self,
        row: &ScheduleRow,
        event: &ScheduleEvent,
    ) -> Result<bool, StoreError> {
        let statement = include_str!("../sql/put_schedule.sql");
        self.write_first(statement, &schedule_arguments(row, event)).await
    }

    /// Runs a statement. Returns false if it writes no row or if another writer was first.
    async fn write_first(
        &self,
        text: &'static str,
        arguments: &[SqlArgument<'_>],
    ) -> Result<bool, StoreError> {
        match self.written(text, arguments).await? {
            Ok(written) => Ok(written > 0),
            Err(error) if is_conflict(&error) => Ok(false),
            Err(error) => Err(store_error(error)),
        }
    }

    pub(crate) async fn put_result(
        &self,
        result: &NamedResult,
        body: &[u8],
    ) -> Result<Option<NamedResult>, StoreError> {
        let body = row_body(self.blobs(), &result.digest, body).await?;
        let row = self.row(&STATEMENTS.put_result, &result_arguments(result, body)).await?;
        row.as_ref().map(from_row::named_result).transpose()
    }

    pub(crate) async fn expire(&self, before: Timestamp) -> Result<Vec<String>, StoreError> {
        let months = self.drop_expired(before).await?;
        self.drop_feed_batches(before).await?;
        Ok(months)
    }
}
