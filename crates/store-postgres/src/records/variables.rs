//! Variables on PostgreSQL.

use noetl_model::{ExecutionId, Timestamp};
use noetl_store::from_row;
use noetl_store::to_row::at_most;
use noetl_store::{StoreError, VARIABLES_MAX, Variable};
use sqlx::query;

use crate::PgStore;
use crate::instant::Instant;
use crate::row::{Named, plain};

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
        let statement = query(include_str!("../../sql/put_variables.sql"))
            .bind(execution.0)
            .bind(texts(&|it| it.name.clone()))
            .bind(texts(&|it| it.kind.as_str().to_owned()))
            .bind(texts(&|it| it.value.to_string()))
            .bind(steps.collect::<Vec<_>>())
            .bind(created);
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
        rows.iter().map(Named).map(from_row::variable).collect()
    }

    pub(crate) async fn variable(
        &self,
        execution: ExecutionId,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<Variable>, StoreError> {
        let statement = query(include_str!("../../sql/find_variable.sql"))
            .bind(execution.0)
            .bind(plain(name))
            .bind(Instant(now));
        let row = self.row(statement).await?;
        row.as_ref().map(Named).map(from_row::variable).transpose()
    }

    pub(crate) async fn remove_variables(
        &self,
        execution: ExecutionId,
        name: Option<&str>,
    ) -> Result<u64, StoreError> {
        let statement = query(include_str!("../../sql/remove_variables.sql"))
            .bind(execution.0)
            .bind(name.map(plain));
        self.write(statement).await
    }
}
