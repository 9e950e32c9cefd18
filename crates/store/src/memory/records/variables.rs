//! In-memory variables.

use noetl_model::{ExecutionId, Timestamp};

use super::super::MemoryStore;
use crate::{StoreError, VARIABLES_MAX, Variable};

impl MemoryStore {
    pub(crate) async fn put_variables(
        &self,
        execution: ExecutionId,
        variables: &[Variable],
    ) -> Result<(), StoreError> {
        let mut tables = self.lock();
        if tables.is_erased(execution) {
            return Ok(());
        }
        for variable in variables {
            let key = (execution, variable.name.clone());
            tables.records.variables.insert(key, variable.clone());
        }
        Ok(())
    }

    pub(crate) async fn variables(
        &self,
        execution: ExecutionId,
    ) -> Result<Vec<Variable>, StoreError> {
        let tables = self.lock();
        let from = (execution, String::new());
        let found =
            tables.records.variables.range(from..).take_while(|(key, _)| key.0 == execution);
        Ok(found.map(|(_, variable)| variable.clone()).take(VARIABLES_MAX).collect())
    }

    pub(crate) async fn variable(
        &self,
        execution: ExecutionId,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<Variable>, StoreError> {
        let mut tables = self.lock();
        let key = (execution, name.to_owned());
        Ok(tables.records.variables.get_mut(&key).map(|variable| {
            variable.access_count += 1;
            variable.accessed_at = Some(now);
            variable.clone()
        }))
    }

    pub(crate) async fn remove_variables(
        &self,
        execution: ExecutionId,
        name: Option<&str>,
    ) -> Result<u64, StoreError> {
        let mut tables = self.lock();
        let variables = &mut tables.records.variables;
        let before = variables.len();
        variables.retain(|(of, named), _| *of != execution || name.is_some_and(|it| it != named));
        Ok((before - variables.len()) as u64)
    }
}
