//! Variables on PostgreSQL.

use noetl_model::{ExecutionId, Timestamp};
use noetl_store::from_row;
use noetl_store::{StoreError, VARIABLES_MAX, Variable};
use sqlx::query;

use crate::PgStore;
use crate::instant::Instant;
use crate::row::{Named, at_most, plain, store_error};

impl PgStore {
    pub(crate) async fn put_variables(
        &self,
        execution: ExecutionId,
        variables: &[Variable],
    ) -> Result<(), StoreError> {
        let texts = |text: &dyn Fn(&Variable) -> String| -> Vec<String> {
            variables.iter().map(|it| plain(&text(it)).into_owned()).collect()
        };
        let steps = variables
            .iter()
            .map(|it| it.source_step.as_deref().map(|step| plain(step).into_owned()));
        let created: Vec<Instant> = variables.iter().map(|it| Instant(it.created_at)).collect();
        query(include_str!("../../sql/put_variables.sql"))
            .bind(execution.0)
            .bind(texts(&|it| it.name.clone()))
            .bind(texts(&|it| it.kind.as_str().to_owned()))
            .bind(texts(&|it| it.value.to_string()))
            .bind(steps.collect::<Vec<_>>())
            .bind(created)
            .execute(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(())
    }

    pub(crate) async fn variables(
        &self,
        execution: ExecutionId,
    ) -> Result<Vec<Variable>, StoreError> {
        let rows = query(include_str!("../../sql/list_variables.sql"))
            .bind(execution.0)
            .bind(at_most(VARIABLES_MAX, VARIABLES_MAX))
            .fetch_all(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        rows.iter().map(Named).map(from_row::variable).collect()
    }

    pub(crate) async fn variable(
        &self,
        execution: ExecutionId,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<Variable>, StoreError> {
        let row = query(include_str!("../../sql/find_variable.sql"))
            .bind(execution.0)
            .bind(plain(name))
            .bind(Instant(now))
            .fetch_optional(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        row.as_ref().map(Named).map(from_row::variable).transpose()
    }

    pub(crate) async fn remove_variables(
        &self,
        execution: ExecutionId,
        name: Option<&str>,
    ) -> Result<u64, StoreError> {
        let removed = query(include_str!("../../sql/remove_variables.sql"))
            .bind(execution.0)
            .bind(name.map(plain))
            .execute(&mut *self.pool.connection().await?)
            .await
            .map_err(store_error)?;
        Ok(removed.rows_affected())
    }
}
