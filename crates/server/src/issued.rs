//! Finds a command and its worker by the event that issued the command.

use noetl_compat::{AttemptSource, Issued, LatestClaim};
use noetl_model::{Attempt, EventId, WorkerId};
use noetl_store::READ_EVENTS_MAX;

use crate::response::error::ApiError;
use crate::state::AppState;

pub(crate) async fn find_issued(state: &AppState, event: EventId) -> Result<Issued, ApiError> {
    let found = state.store().find(event).await?;
    found.and_then(|(execution, recorded)| Issued::of(execution, recorded)).ok_or_else(|| {
        ApiError::not_found("unknown-command", format!("event {event} issued no command"))
    })
}

/// Returns the attempt, and its worker, under which `by` (or the last worker) holds or held a
/// command.
pub(crate) async fn attempt_of(
    state: &AppState,
    issued: &Issued,
    by: Option<&WorkerId>,
) -> Result<Option<(Attempt, WorkerId)>, ApiError> {
    let holder = state.control().holder_status(issued.execution, issued.command, by).await?;
    match AttemptSource::of(holder, by) {
        AttemptSource::Known(attempt, worker) => Ok(Some((attempt, worker))),
        AttemptSource::Never => Ok(None),
        AttemptSource::Log => attempt_in_log(state, issued, by).await,
    }
}

async fn attempt_in_log(
    state: &AppState,
    issued: &Issued,
    by: Option<&WorkerId>,
) -> Result<Option<(Attempt, WorkerId)>, ApiError> {
    let mut claim = LatestClaim::new(issued.command, by);
    let mut after = issued.recorded.seq;
    loop {
        let page = state.control().events(issued.execution, after, READ_EVENTS_MAX).await?;
        page.iter().for_each(|recorded| claim.see(recorded));
        match page.last() {
            Some(last) => after = last.seq,
            None => return Ok(claim.finish()),
        }
    }
}
