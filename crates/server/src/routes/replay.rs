//! Replays of an execution: its state at a cutoff, differences, and its timeline.

mod compare;
mod resolve;
mod seed;
mod state;
mod timeline;

use noetl_model::{Cutoff, ExecutionId, Recorded, Seq};
use noetl_replay::Wanted;
use noetl_store::READ_EVENTS_MAX;
use utoipa_axum::router::OpenApiRouter;

use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().merge(state::routes()).merge(compare::routes()).merge(timeline::routes())
}

/// Reads a log in order, in pages, until it ends or `see` has enough.
async fn read_log(
    state: &AppState,
    execution: ExecutionId,
    mut see: impl FnMut(&Recorded) -> Result<Wanted, ApiError>,
) -> Result<(), ApiError> {
    let mut after = Seq::ZERO;
    loop {
        let page = state.control().events(execution, after, READ_EVENTS_MAX).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.seq;
        for recorded in &page {
            if see(recorded)? == Wanted::Enough {
                return Ok(());
            }
        }
    }
}

/// Parses the cutoff in a parameter.
fn cutoff_of(name: &str, text: Option<&str>) -> Result<Cutoff, ApiError> {
    let Some(text) = text else { return Ok(Cutoff::Latest) };
    text.parse().map_err(|error| {
        let detail = format!("`{name}`: {error}");
        ApiError::new(axum::http::StatusCode::BAD_REQUEST, "invalid-cutoff", detail)
    })
}
