//! Variables on SQLite.

use noetl_model::{ExecutionId, Timestamp};
use noetl_store::from_row;
use noetl_store::to_row::at_most;
use noetl_store::{StoreError, VARIABLES_MAX, Variable};
use sqlx::query;

use crate::SqliteStore;
use crate::row::{NamedRow, array, store_error};

impl SqliteStore {
    pub(crate) async fn put_variables(
        &self,
        execution: ExecutionId,
        variables: &[Variable],
    ) -> Result<(), StoreError> {
        let rows = array(variables.iter().map(|it| {
            let value = it.value.to_string();
            (&it.name, it.kind.as_str(), value, &it.source_step, it.created_at.as_micros())
        }));
        let statement =
            query(include_str!("../../sql/put_variables.sql")).bind(execution.0).bind(rows);
        self.write(statement).await?;
        Ok(())
    }

    pub(crate) async fn variables(
        &self,
        execution: ExecutionId,
    ) -> Result<Vec<Variable>, StoreError> {
        let statement = query(include_str!("../../sql/list_variables.sql"))
            .bind(execution.0)
            .bind(at_most(VARIABLES_MAX, VARIABLES_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(NamedRow).map(from_row::variable).collect()
    }

    pub(crate) async fn variable(
        &self,
        execution: ExecutionId,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<Variable>, StoreError> {
        let mut writer = self.lazy_writer().await?;
        let row = query(include_str!("../../sql/find_variable.sql"))
            .bind(execution.0)
            .bind(name)
            .bind(now.as_micros())
            .fetch_optional(&mut *writer)
            .await
            .map_err(store_error)?;
        row.as_ref().map(NamedRow).map(from_row::variable).transpose()
    }

    pub(crate) async fn remove_variables(
        &self,
        execution: ExecutionId,
        name: Option<&str>,
    ) -> Result<u64, StoreError> {
        let statement =
            query(include_str!("../../sql/remove_variables.sql")).bind(execution.0).bind(name);
        self.write(statement).await
    }
}
