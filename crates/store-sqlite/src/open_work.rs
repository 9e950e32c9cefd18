//! Open work of an execution on SQLite.

use noetl_model::{ExecutionId, TimerId, Timestamp};
use noetl_store::from_row;
use noetl_store::{OpenWork, StoreError};
use sqlx::{query, query_as};

use crate::SqliteStore;
use crate::row::{NamedRow, store_error};

impl SqliteStore {
    pub(crate) async fn open_work(&self, execution: ExecutionId) -> Result<OpenWork, StoreError> {
        let statement = query(include_str!("../sql/open_commands.sql")).bind(execution.0);
        let rows = self.rows(statement).await?;
        let commands = rows.iter().map(|row| {
            let ((_, command), open) = from_row::open_command(NamedRow(row))?;
            Ok((command, open))
        });
        let timers: Vec<(u64, i64)> = query_as(include_str!("../sql/open_timers.sql"))
            .bind(execution.0)
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        let timers = timers
            .into_iter()
            .map(|(timer, due_at)| (TimerId(timer), Timestamp::from_micros(due_at)));
        Ok(OpenWork {
            commands: commands.collect::<Result<_, StoreError>>()?,
            timers: timers.collect(),
        })
    }
}
