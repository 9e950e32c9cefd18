//! The steps that wait for a signal, of all executions.

use noetl_model::{ExecutionId, IndexKind, SignalName, Timestamp};
use noetl_store::{PAGE_MAX, StoreError};

use crate::app::App;

/// A step that waits for a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSignalWait {
    pub execution: ExecutionId,
    pub name: SignalName,
    /// The correlation key of the wait.
    pub key: Option<String>,
    pub since: Timestamp,
}

impl App {
    /// Lists the steps that wait for a signal, oldest first.
    pub async fn open_signal_waits(&self, limit: usize) -> Result<Vec<OpenSignalWait>, StoreError> {
        let limit = limit.min(PAGE_MAX);
        let rows = self.store().open_index(IndexKind::Signal, None, limit).await?;
        let waits = rows.into_iter().filter_map(|row| {
            let (name, key) = match row.entry.key.as_str().split_once(' ') {
                Some((name, key)) => (name, Some(key.to_owned())),
                None => (row.entry.key.as_str(), None),
            };
            let (execution, since) = (row.execution, row.at);
            Some(OpenSignalWait { execution, name: name.parse().ok()?, key, since })
        });
        Ok(waits.collect())
    }
}
