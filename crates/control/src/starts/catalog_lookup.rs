//! Catalog lookups: concurrent starts share one store query.
//!
//! Invariant: a query starts after all of its callers asked, so a start finds every version that
//! was registered before it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use noetl_model::ExecutionId;
use noetl_store::{CatalogEntry, StoreError};
use tokio::sync::oneshot;

use crate::tasks::OnPanic;
use crate::{Control, LoadError, PlaybookChoice};

type FoundEntry = Result<Option<Arc<CatalogEntry>>, Arc<StoreError>>;

/// The waiting callers by query. An entry exists as long as a task answers it.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    waiting: Mutex<BTreeMap<PlaybookChoice, Vec<oneshot::Sender<FoundEntry>>>>,
}

impl Lookups {
    fn waiting(
        &self,
    ) -> MutexGuard<'_, BTreeMap<PlaybookChoice, Vec<oneshot::Sender<FoundEntry>>>> {
        self.waiting.lock().expect("nothing panics while it holds the questions")
    }

    /// Adds a caller. Returns true if no task answers this query yet.
    fn ask(&self, asked: &PlaybookChoice, answer: oneshot::Sender<FoundEntry>) -> bool {
        let mut waiting = self.waiting();
        let is_first = !waiting.contains_key(asked);
        waiting.entry(asked.clone()).or_default().push(answer);
        is_first
    }

    /// Takes the callers so far; removes the entry if there are none.
    fn take(&self, asked: &PlaybookChoice) -> Vec<oneshot::Sender<FoundEntry>> {
        let mut waiting = self.waiting();
        let taken = waiting.get_mut(asked).map(std::mem::take).unwrap_or_default();
        if taken.is_empty() {
            waiting.remove(asked);
        }
        taken
    }

    /// Drops the waiting callers, so that the next one starts a new task.
    fn forget(&self, asked: &PlaybookChoice) {
        self.waiting().remove(asked);
    }
}

impl Control {
    /// Returns the catalog entry of a choice.
    pub(crate) async fn entry_at(
        &self,
        execution: ExecutionId,
        asked: PlaybookChoice,
    ) -> Result<Option<Arc<CatalogEntry>>, LoadError> {
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
    async fn answer_lookups(&self, asked: &PlaybookChoice) {
        let lookups = &self.parts.lookups;
        let _forget = OnPanic(|| lookups.forget(asked));
        loop {
            // Yields, so that concurrent callers join the query.
            tokio::task::yield_now().await;
            let answers = lookups.take(asked);
            if answers.is_empty() {
                return;
            }
            let store = &self.parts.store;
            let found = match asked {
                PlaybookChoice::Id(id) => store.by_id(*id).await,
                PlaybookChoice::Path { path, version }
                | PlaybookChoice::Named { name: path, version } => {
                    store.by_path(path, *version).await
                }
            };
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
