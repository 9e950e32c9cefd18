//! Imported executions: those that are known only from events of other programs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use noetl_compat::imported_change;
use noetl_model::{Envelope, ExecutionId};
use noetl_store::{ProjectedEvent, ProjectedOnto, StoreError};

use crate::app::App;

impl App {
    /// Stores events of other programs, each once; returns the number of new ones. An execution
    /// that is known only from such events becomes an imported one.
    pub(crate) async fn import_events(&self, events: Vec<Envelope>) -> Result<u64, StoreError> {
        let mut existing = BTreeMap::new();
        for event in &events {
            let execution = ExecutionId(event.execution_id);
            if let Entry::Vacant(entry) = existing.entry(execution) {
                entry.insert(self.exists_natively(execution).await?);
            }
        }
        let events = events.into_iter().map(|envelope| {
            let onto = match existing.get(&ExecutionId(envelope.execution_id)) {
                Some(true) | None => ProjectedOnto::Existing,
                Some(false) => ProjectedOnto::Imported(imported_change(&envelope)),
            };
            ProjectedEvent { envelope, onto }
        });
        self.records().project(&events.collect::<Vec<_>>()).await
    }

    /// True if an execution has a log of its own, or the id names none.
    async fn exists_natively(&self, execution: ExecutionId) -> Result<bool, StoreError> {
        Ok(execution.0 <= 0
            || self.control().summary(execution).await?.is_some()
            || self.store().subscription(execution).await?.is_some())
    }
}
