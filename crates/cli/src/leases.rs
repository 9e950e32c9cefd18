//! Leases of earlier processes.
//!
//! Only one process writes to a database, so when one opens it, whoever held a lease in another
//! process's embedded worker is gone. Such leases are given up at once instead of waiting for them
//! to run out. Leases of other workers are left alone.

use std::collections::BTreeMap;
use std::time::Duration;

use noetl_model::{CommandId, Event, ExecutionId, ExecutionStatus, Recorded, Seq, WorkerId};
use noetl_store::{ExecutionFilter, Held, PAGE_MAX, Page, READ_EVENTS_MAX, Store, StoreError};

use crate::failure::Failure;

/// How the names of embedded workers begin.
const EMBEDDED: &str = "embedded-";

/// The name of this process's worker.
pub(crate) fn worker_name() -> String {
    format!("{EMBEDDED}{}", std::process::id())
}

/// Makes the commands that embedded workers of earlier processes held available again.
pub(crate) async fn release(store: &dyn Store) -> Result<(), Failure> {
    release_all(store).await.map_err(Failure::broken)
}

async fn release_all(store: &dyn Store) -> Result<(), StoreError> {
    let filter = ExecutionFilter { status: Some(ExecutionStatus::Running), ..Default::default() };
    let mut before = None;
    loop {
        let page = store.list(&filter, Page { before, limit: PAGE_MAX }).await?;
        let Some(last) = page.last() else { return Ok(()) };
        before = Some(last.execution);
        for summary in &page {
            let held = held(store, summary.execution).await?;
            if !held.is_empty() {
                store.extend(&held, Duration::ZERO).await?;
            }
        }
    }
}

/// The commands of an execution that embedded workers hold.
async fn held(store: &dyn Store, execution: ExecutionId) -> Result<Vec<Held>, StoreError> {
    let mut claims = BTreeMap::new();
    let mut after = Seq::ZERO;
    loop {
        let page = store.read(execution, after, READ_EVENTS_MAX).await?;
        let Some(last) = page.last() else { return Ok(claims.into_values().collect()) };
        after = last.seq;
        page.iter().for_each(|recorded| see(&mut claims, execution, recorded));
    }
}

fn see(claims: &mut BTreeMap<CommandId, Held>, execution: ExecutionId, recorded: &Recorded) {
    match &recorded.event {
        Event::CommandClaimed { command, attempt, worker, .. } if is_embedded(worker) => {
            claims.insert(*command, Held { execution, command: *command, attempt: *attempt });
        }
        Event::CommandClaimed { command, .. }
        | Event::CommandCompleted { command, .. }
        | Event::CommandFailed { command, .. }
        | Event::CommandCancelled { command, .. } => {
            claims.remove(command);
        }
        Event::ExecutionStarted { .. }
        | Event::StepEntered { .. }
        | Event::StepSkipped { .. }
        | Event::StepAwaited { .. }
        | Event::LoopOpened { .. }
        | Event::FrameOpened { .. }
        | Event::IterationCompleted { .. }
        | Event::IterationFailed { .. }
        | Event::CommandIssued { .. }
        | Event::AttemptSuperseded { .. }
        | Event::ChildStarted { .. }
        | Event::ContextUpdated { .. }
        | Event::TimerSet { .. }
        | Event::TimerFired { .. }
        | Event::TimerCancelled { .. }
        | Event::StepCompleted { .. }
        | Event::StepFailed { .. }
        | Event::ExecutionCompleted { .. }
        | Event::ExecutionFailed { .. }
        | Event::ExecutionCancelled { .. }
        | Event::ExecutionStalled { .. }
        | Event::Reported { .. } => {}
    }
}

fn is_embedded(worker: &WorkerId) -> bool {
    worker.as_str().starts_with(EMBEDDED)
}
