//! A store that fails like a real one: before the write, or after it with the answer lost.

use std::sync::atomic::{AtomicUsize, Ordering};

use noetl_store::{Access, Append, AppendError, EventLog as _, StoreError, Wrapper};

use super::*;

#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    BeforeWrite,
    AnswerLost,
    /// Another writer is always faster.
    Conflict,
    Panic,
}

/// A store that fails every `period`-th append.
pub(super) struct FaultyStore {
    store: Arc<MemoryStore>,
    fault: Fault,
    period: usize,
    appends: AtomicUsize,
}

impl FaultyStore {
    pub(super) fn new(store: Arc<MemoryStore>, fault: Fault, period: usize) -> Self {
        Self { store, fault, period, appends: AtomicUsize::new(0) }
    }
}

impl Wrapper for FaultyStore {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.store
    }

    async fn call<T: Send>(
        &self,
        _access: Access,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        answer.await
    }

    async fn append(&self, batch: &[Append]) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        let count = self.appends.fetch_add(1, Ordering::Relaxed) + 1;
        if !count.is_multiple_of(self.period) {
            return self.store.append(batch).await;
        }
        match self.fault {
            Fault::BeforeWrite => {}
            Fault::AnswerLost => {
                self.store.append(batch).await?;
            }
            Fault::Conflict => return Ok(vec![Err(AppendError::Conflict); batch.len()]),
            Fault::Panic => panic!("the store has a bug"),
        }
        Err(StoreError::Unavailable("connection reset".into()))
    }
}
