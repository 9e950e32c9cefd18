//! The events of an execution, in pages, from either end.

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_api::wire::EventPage;
use noetl_app::{EventOrder, EventQuery};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{InPath, InQuery};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_events))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ExecutionEventsQuery {
    /// List events after this seq.
    #[serde(default)]
    after: u64,
    /// List events before this seq.
    before: Option<u64>,
    limit: Option<usize>,
    /// `asc` (the default), or `desc` for the latest first.
    #[serde(default)]
    #[param(inline)]
    order: Order,
    /// List events of this type.
    event_type: Option<String>,
    /// List events of this step.
    node_name: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    #[default]
    Asc,
    Desc,
}

/// Lists the events of an execution in pages, from either end. A page has fewer than `limit` events
/// if they are large; `next_after` or `next_before` is the position of the next page.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/events", tag = "executions",
    params(("execution_id" = String, Path), ExecutionEventsQuery),
    responses((status = 200, body = EventPage))
)]
async fn list_events(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<ExecutionEventsQuery>,
) -> Result<Json<EventPage>, ApiError> {
    let query = EventQuery {
        after: query.after,
        before: query.before,
        limit: query.limit,
        order: match query.order {
            Order::Asc => EventOrder::OldestFirst,
            Order::Desc => EventOrder::NewestFirst,
        },
        event_type: query.event_type,
        node_name: query.node_name,
    };
    Ok(Json(state.app().execution_events(id.into(), &query).await?))
}
