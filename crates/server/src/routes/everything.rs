//! A live stream of the events of all executions.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use noetl_api::wire::FeedFilter;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::feeds::{PAGE_SIZE, resumed, stream_of};
use crate::request::extract::InQuery;
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(follow_everything))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AllEventsQuery {
    /// Names of events, separated by commas; a trailing `*` matches any rest.
    #[serde(default, rename = "type", alias = "types")]
    #[param(rename = "type")]
    types: String,
    /// The playbook's path; a trailing `*` matches any rest.
    path: Option<String>,
    /// Statuses of events, separated by commas, ignoring case.
    #[serde(default, alias = "statuses")]
    status: String,
    /// Start position: `start`, `end` (the default), a time, or the id of an event of this stream;
    /// `Last-Event-ID` takes precedence.
    #[serde(alias = "after")]
    from: Option<String>,
}

impl AllEventsQuery {
    fn filter(self) -> FeedFilter {
        let words = |text: &str| {
            let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
            words.map(str::to_owned).collect()
        };
        let path = self.path.filter(|path| !path.is_empty());
        FeedFilter { types: words(&self.types), path, statuses: words(&self.status) }
    }
}

/// Streams the events of all executions; an event's id is the position to resume after it.
#[utoipa::path(
    get, path = "/api/stream", tag = "executions",
    params(AllEventsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "go on after this event")),
    responses((status = 200, content_type = "text/event-stream", body = String))
)]
async fn follow_everything(
    State(state): State<AppState>,
    InQuery(query): InQuery<AllEventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let from = resumed(&headers).or(query.from.as_deref()).unwrap_or("end").to_owned();
    let mut reading = state.app().read_all_events(query.filter(), &from, PAGE_SIZE).await?;
    reading.check_cursor().await?;
    Ok(stream_of(reading, state.draining().clone()))
}
