//! A store wrapper that gives every call a deadline, for waits on connections, locks, networks and
//! disks.
//!
//! A write whose deadline has passed has an unknown outcome, like a write whose connection was
//! lost.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use crate::{Access, Append, AppendError, EventLog, Layout, StoreError, Unanswered, Wrapper};

/// The deadline of one maintenance call. Dropping a month of executions unlinks large files.
pub const MAINTENANCE_MAX: Duration = Duration::from_secs(300);

/// A store whose calls fail with [`StoreError::TimedOut`] after their deadline, and which keeps the
/// last write that the disk refused.
#[derive(Debug)]
pub struct Bounded<S> {
    store: Arc<S>,
    deadline: Duration,
    write_fault: Mutex<Option<String>>,
}

impl<S> Bounded<S> {
    pub fn new(store: Arc<S>, deadline: Duration) -> Self {
        Self { store, deadline, write_fault: Mutex::new(None) }
    }

    fn observe(&self, error: &StoreError) {
        match error {
            StoreError::Unwritable { .. } => *self.fault() = Some(error.to_string()),
            StoreError::Unavailable(_)
            | StoreError::TimedOut { .. }
            | StoreError::OutOfReach { .. }
            | StoreError::Corrupt { .. } => {}
        }
    }

    fn fault(&self) -> MutexGuard<'_, Option<String>> {
        self.write_fault.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Send + Sync> Wrapper for Bounded<S> {
    type Inner = S;

    fn inner(&self) -> &S {
        &self.store
    }

    async fn call<T: Send>(
        &self,
        access: Access,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let deadline = match access {
            Access::Read | Access::Write => self.deadline,
            Access::Maintenance => MAINTENANCE_MAX,
        };
        let answered = timeout(deadline, answer).await;
        let answered = answered.unwrap_or(Err(StoreError::TimedOut { deadline }));
        if let Err(error) = &answered {
            self.observe(error);
        }
        answered
    }

    async fn append(&self, batch: &[Append]) -> Result<Vec<Result<(), AppendError>>, StoreError>
    where
        S: EventLog,
    {
        let outcomes = self.call(Access::Write, self.store.append(batch)).await?;
        for outcome in &outcomes {
            match outcome {
                Err(AppendError::Unanswered(Unanswered(error))) => self.observe(error),
                Err(
                    AppendError::Conflict
                    | AppendError::ChildExists { .. }
                    | AppendError::KeyTaken(_),
                )
                | Ok(()) => {}
            }
        }
        Ok(outcomes)
    }

    async fn check_writable(&self) -> Result<(), StoreError>
    where
        S: Layout,
    {
        // Takes the fault before the check, so that a write failing during the check stays
        // recorded.
        let before = self.fault().take();
        let checked = self.call(Access::Write, self.store.check_writable()).await;
        if checked.is_err() {
            let mut fault = self.fault();
            *fault = fault.take().or(before);
        }
        checked
    }

    fn write_fault(&self) -> Option<String>
    where
        S: Layout,
    {
        self.fault().clone().or_else(|| self.store.write_fault())
    }
}

#[cfg(test)]
mod tests;
