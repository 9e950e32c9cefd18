//! Replays of an execution: its state at a cutoff, differences, and its timeline.

mod compare;
mod state;
mod timeline;

use noetl_model::Cutoff;
use utoipa_axum::router::OpenApiRouter;

use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().merge(state::routes()).merge(compare::routes()).merge(timeline::routes())
}

/// Parses the cutoff in a parameter.
fn cutoff_of(name: &str, text: Option<&str>) -> Result<Cutoff, ApiError> {
    let Some(text) = text else { return Ok(Cutoff::Latest) };
    text.parse().map_err(|error| {
        let detail = format!("`{name}`: {error}");
        ApiError::new(axum::http::StatusCode::BAD_REQUEST, "invalid-cutoff", detail)
    })
}
