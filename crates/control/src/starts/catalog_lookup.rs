//! Catalog lookups by path: concurrent starts share one store query.
//!
//! Invariant: a query starts after all of its callers asked, so a start finds every version that
//! was registered before it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use noetl_model::ExecutionId;
use noetl_store::{CatalogEntry, StoreError};
use tokio::sync::oneshot;

use crate::tasks::OnPanic;
use crate::{Control, LoadError};

/// A path and its version; the newest if none is named.
type CatalogKey = (String, Option<u32>);
type FoundEntry = Result<Option<Arc<CatalogEntry>>, Arc<StoreError>>;

/// The waiting callers by query. An entry exists as long as a task answers it.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    waiting: Mutex<BTreeMap<CatalogKey, Vec<oneshot::Sender<FoundEntry>>>>,
}

impl Lookups {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<CatalogKey, Vec<oneshot::Sender<FoundEntry>>>> {
        self.waiting.lock().expect("nothing panics while it holds the questions")
    }

    /// Adds a caller. Returns true if no task answers this query yet.
    fn ask(&self, asked: &CatalogKey, answer: oneshot::Sender<FoundEntry>) -> bool {
        let mut waiting = self.waiting();
        let is_first = !waiting.contains_key(asked);
        waiting.entry(asked.clone()).or_default().push(answer);
        is_first
    }

    /// Takes the callers so far; removes the entry if there are none.
    fn take(&self, asked: &CatalogKey) -> Vec<oneshot::Sender<FoundEntry>> {
        let mut waiting = self.waiting();
        let taken = waiting.get_mut(asked).map(std::mem::take).unwrap_or_default();
        if taken.is_empty() {
            waiting.remove(asked);
        }
        taken
    }

    /// Drops the waiting callers, so that the next one starts a new task.
    fn forget(&self, asked: &CatalogKey) {
        self.waiting().remove(asked);
    }
}

impl Control {
    /// Returns the catalog entry at a path.
    pub(crate) async fn entry_at(
        &self,
        execution: ExecutionId,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<Arc<CatalogEntry>>, LoadError> {
        let asked = (path.to_owned(), version);
        let (answer, answered) = oneshot::channel();
        if self.parts.lookups.ask(&asked, answer) {
            let control = self.clone();
            self.parts.tasks.spawn(async move { control.answer_lookups(&asked).await });
        }
        let found = answered.await.unwrap_or_else(|_| {
            Err(Arc::new(StoreError::Unavailable("the control plane has stopped".into())))
        });
        found.map_err(|error| LoadError::of_shared(execution, error))
    }

    /// Answers a query for all its callers until none is left.
    async fn answer_lookups(&self, asked: &CatalogKey) {
        let lookups = &self.parts.lookups;
        let _forget = OnPanic(|| lookups.forget(asked));
        loop {
            // Yields, so that concurrent callers join the query.
            tokio::task::yield_now().await;
            let answers = lookups.take(asked);
            if answers.is_empty() {
                return;
            }
            let (path, version) = asked;
            let found = self.parts.store.by_path(path, *version).await;
            let found: FoundEntry = match found {
                Ok(entry) => Ok(entry.map(Arc::new)),
                Err(error) => Err(Arc::new(error)),
            };
            for answer in answers {
                // The caller may be gone.
                let _gone = answer.send(found.clone());
            }
        }
    }
}
