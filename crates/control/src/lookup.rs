//! Playbooks looked up by path: starts that come together share one question to the store.
//!
//! Invariant: an answer is read from the store after its question was asked, so a version that was
//! registered before a start is found by it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use noetl_model::ExecutionId;
use noetl_store::{CatalogEntry, StoreError};
use tokio::sync::oneshot;

use crate::tasks::OnPanic;
use crate::{Control, LoadError};

/// A path and its version; the newest if none is named.
type Asked = (String, Option<u32>);
type Found = Result<Option<Arc<CatalogEntry>>, Arc<StoreError>>;

/// The questions that wait, by what is asked. An entry exists as long as a task answers it.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    waiting: Mutex<BTreeMap<Asked, Vec<oneshot::Sender<Found>>>>,
}

impl Lookups {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<Asked, Vec<oneshot::Sender<Found>>>> {
        self.waiting.lock().expect("nothing panics while it holds the questions")
    }

    /// Adds a question; whether nobody is answering the same one yet.
    fn ask(&self, asked: &Asked, answer: oneshot::Sender<Found>) -> bool {
        let mut waiting = self.waiting();
        let is_first = !waiting.contains_key(asked);
        waiting.entry(asked.clone()).or_default().push(answer);
        is_first
    }

    /// Takes the questions that have come so far; the entry is gone if there are none.
    fn take(&self, asked: &Asked) -> Vec<oneshot::Sender<Found>> {
        let mut waiting = self.waiting();
        let taken = waiting.get_mut(asked).map(std::mem::take).unwrap_or_default();
        if taken.is_empty() {
            waiting.remove(asked);
        }
        taken
    }

    /// Gives up whoever asks, so that the next one is the first.
    fn forget(&self, asked: &Asked) {
        self.waiting().remove(asked);
    }
}

impl Control {
    /// The entry of the catalog at a path.
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

    /// Answers a question for all who ask it, until nobody does.
    async fn answer_lookups(&self, asked: &Asked) {
        let lookups = &self.parts.lookups;
        let _forget = OnPanic(|| lookups.forget(asked));
        loop {
            // Lets in whoever is about to ask the same.
            tokio::task::yield_now().await;
            let answers = lookups.take(asked);
            if answers.is_empty() {
                return;
            }
            let (path, version) = asked;
            let found = self.parts.store.by_path(path, *version).await;
            let found: Found = match found {
                Ok(entry) => Ok(entry.map(Arc::new)),
                Err(error) => Err(Arc::new(error)),
            };
            for answer in answers {
                // A caller that has gone does not want to know.
                let _gone = answer.send(found.clone());
            }
        }
    }
}
