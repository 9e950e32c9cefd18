//! Open work of an execution on PostgreSQL.

use noetl_model::{ExecutionId, TimerId};
use noetl_store::from_row::{self, Columns as _};
use noetl_store::{OpenWork, StoreError};
use sqlx::query;

use crate::PgStore;
use crate::row::Named;

impl PgStore {
    pub(crate) async fn open_work(&self, execution: ExecutionId) -> Result<OpenWork, StoreError> {
        let statement = query(include_str!("../sql/open_commands.sql")).bind(execution.0);
        let rows = self.rows(statement).await?;
        let commands = rows.iter().map(|row| {
            let ((_, command), open) = from_row::open_command(Named(row))?;
            Ok((command, open))
        });
        let commands = commands.collect::<Result<_, StoreError>>()?;
        let statement = query(include_str!("../sql/open_timers.sql")).bind(execution.0);
        let rows = self.rows(statement).await?;
        let timers = rows.iter().map(|row| {
            Ok((TimerId(Named(row).number("timer_id")?), Named(row).instant("due_at")?))
        });
        Ok(OpenWork { commands, timers: timers.collect::<Result<_, StoreError>>()? })
    }
}
