//! Imported executions: those that are known only from events of other programs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use noetl_compat::imported_change;
use noetl_model::{Envelope, ExecutionId};
use noetl_store::{ImportFold, PAGE_MAX, ProjectedEvent, ProjectedOnto, StoreError};

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

    /// Folds the events of other programs that were stored before there were imported executions;
    /// returns the number of executions. A server does so when it starts; where nothing is left to
    /// fold, it costs one look at an empty table.
    pub async fn fold_old_imports(&self) -> Result<u64, StoreError> {
        let mut folded = 0;
        loop {
            let executions = self.records().unfolded_imports(PAGE_MAX).await?;
            if executions.is_empty() {
                return Ok(folded);
            }
            for execution in executions {
                let fold = match self.exists_natively(execution).await? {
                    true => ImportFold::Existing,
                    false => ImportFold::Imported(imported_change),
                };
                self.records().fold_import(execution, fold).await?;
                folded += 1;
            }
        }
    }

    /// True if an execution has a log of its own, or the id names none.
    async fn exists_natively(&self, execution: ExecutionId) -> Result<bool, StoreError> {
        Ok(execution.0 <= 0
            || self.control().summary(execution).await?.is_some()
            || self.store().subscription(execution).await?.is_some())
    }
}
