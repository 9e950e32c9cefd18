//! A live stream of an execution's events.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event as SentEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, Stream};
use noetl_api::AnyId;
use noetl_compat::EventConverter;
use noetl_control::{Follow, LoadError};
use noetl_model::{Event, ExecutionId, Seq};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{InPath, InQuery};
use crate::response::error::ApiError;
use crate::state::AppState;

/// Interval of keep-alive messages on an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(follow_execution))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct StreamQuery {
    /// Stream events after this seq; `Last-Event-ID` takes precedence.
    #[serde(default)]
    after: u64,
}

/// Streams the events of an execution until its end; an event's id is its seq, to resume after.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/stream", tag = "executions",
    params(("execution_id" = String, Path), StreamQuery),
    responses(
        (status = 200, content_type = "text/event-stream", body = String),
        (status = 204, description = "the execution has ended and there is no event left")
    )
)]
async fn follow_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let execution = ExecutionId::from(id);
    let summary = state.app().execution(execution).await?;
    let after = Seq(resumed(&headers).unwrap_or(query.after));
    if summary.status.is_terminal() && after >= summary.seq {
        // Status 204 tells a browser not to reconnect.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    if after > summary.seq {
        return Err(LoadError::Rewound { execution, seq: after }.into());
    }
    let converter = state.app().converter_at(execution, after).await?;
    let events = state.control().events_follow(execution, after);
    let sent = sent_events(state, events, converter);
    Ok(Sse::new(sent).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

/// Returns the seq after which a reconnecting client resumes.
fn resumed(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.parse().ok()
}

struct FollowedEvents {
    state: AppState,
    events: Follow,
    converter: EventConverter,
    is_over: bool,
}

fn sent_events(
    state: AppState,
    events: Follow,
    converter: EventConverter,
) -> impl Stream<Item = Result<SentEvent, Infallible>> {
    let following = FollowedEvents { state, events, converter, is_over: false };
    stream::unfold(following, |mut following| async move {
        if following.is_over {
            return None;
        }
        let draining = following.state.draining().clone();
        let recorded = tokio::select! {
            recorded = following.events.next() => recorded,
            () = draining.cancelled() => return None,
        };
        // On an error the stream ends; the client reconnects and resumes.
        let recorded = recorded.ok()?;
        following.is_over = ends(&recorded.event);
        let event = following.converter.convert(&recorded);
        let sent = SentEvent::default()
            .id(event.seq.to_string())
            .event(event.event_type.clone())
            .json_data(&event)
            .expect("an event is JSON");
        Some((Ok(sent), following))
    })
}

fn ends(event: &Event) -> bool {
    matches!(
        event,
        Event::ExecutionCompleted { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. }
    )
}
