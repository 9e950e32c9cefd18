//! Pages of events in the public words.

use noetl_api::{PublicEvent, Teller};
use noetl_model::{ExecutionId, Seq};
use noetl_store::READ_EVENTS_MAX;

use crate::error::ApiError;
use crate::state::AppState;

/// How far back is read for the names of what an event is about.
const LOOK_BACK_MAX: u64 = 1000;

/// A teller that knows what the events just before a place have named.
pub(crate) async fn teller_at(
    state: &AppState,
    execution: ExecutionId,
    after: Seq,
) -> Result<Teller, ApiError> {
    let mut teller = Teller::new(execution);
    let from = after.0.saturating_sub(LOOK_BACK_MAX);
    let count = usize::try_from(after.0 - from).unwrap_or(READ_EVENTS_MAX);
    if count > 0 {
        let earlier = state.control().events(execution, Seq(from), count).await?;
        earlier.iter().for_each(|recorded| teller.learn(recorded));
    }
    Ok(teller)
}

/// Up to `limit` events after a place, told.
pub(crate) async fn events_after(
    state: &AppState,
    execution: ExecutionId,
    after: Seq,
    limit: usize,
) -> Result<Vec<PublicEvent>, ApiError> {
    let mut teller = teller_at(state, execution, after).await?;
    let mut told = Vec::new();
    let mut last = after;
    while told.len() < limit {
        let page = state.control().events(execution, last, limit - told.len()).await?;
        let Some(end) = page.last() else { break };
        last = end.seq;
        told.extend(page.iter().map(|recorded| teller.tell(recorded)));
    }
    Ok(told)
}
