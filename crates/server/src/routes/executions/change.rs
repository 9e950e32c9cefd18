//! Events of an execution explained: the change each made, its cause and effects, and the values
//! that templates and guards read.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_api::wire::{EvaluateAnswer, EvaluateRequest, EventLinks, GuardsAnswer, PositionChange};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{Body, InPath, InQuery};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(position_change))
        .routes(routes!(event_links))
        .routes(routes!(evaluate_template))
        .routes(routes!(event_guards))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ChangeQuery {
    /// The change that the event with this seq made; the last event if left out.
    at: Option<u64>,
    /// The two positions to compare instead; 0 is before the first event.
    from: Option<u64>,
    to: Option<u64>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct EventQueryAt {
    /// The seq of the event.
    at: u64,
}

/// Shows the change that an event made, or the difference between two positions: steps, variables,
/// arcs and open work.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/position/change", tag = "executions",
    params(("execution_id" = String, Path), ChangeQuery),
    responses(
        (status = 200, body = PositionChange),
        (status = 400, description = "`at` together with `from` or `to`, or one of them alone"),
        (status = 404, description = "the execution has no such event"),
    )
)]
async fn position_change(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<ChangeQuery>,
) -> Result<Json<PositionChange>, ApiError> {
    let app = state.app();
    Ok(Json(match (query.at, query.from, query.to) {
        (at, None, None) => app.position_change(id.into(), at).await?,
        (None, Some(from), Some(to)) => app.position_difference(id.into(), from, to).await?,
        (Some(_), Some(_), _)
        | (Some(_), _, Some(_))
        | (None, Some(_), None)
        | (None, None, Some(_)) => {
            let detail = "give `at`, or both `from` and `to`";
            return Err(ApiError::new(StatusCode::BAD_REQUEST, "invalid-positions", detail));
        }
    }))
}

/// Shows the event that led to an event, and the events that followed from it.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/position/links", tag = "executions",
    params(("execution_id" = String, Path), EventQueryAt),
    responses(
        (status = 200, body = EventLinks),
        (status = 404, description = "the execution has no such event"),
    )
)]
async fn event_links(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<EventQueryAt>,
) -> Result<Json<EventLinks>, ApiError> {
    Ok(Json(state.app().event_links(id.into(), query.at).await?))
}

/// Evaluates a template with the variables at a position. Nothing is changed, and secrets are not
/// resolved.
#[utoipa::path(
    post, path = "/api/executions/{execution_id}/position/evaluate", tag = "executions",
    params(("execution_id" = String, Path)), request_body = EvaluateRequest,
    responses(
        (status = 200, body = EvaluateAnswer),
        (status = 404, description = "the execution has no such event"),
        (status = 409, description = "the step has no open run at the position"),
        (status = 422, description = "the template cannot be parsed, or is too long"),
    )
)]
async fn evaluate_template(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    Body(request): Body<EvaluateRequest>,
) -> Result<Json<EvaluateAnswer>, ApiError> {
    Ok(Json(state.app().evaluate_at(id.into(), &request).await?))
}

/// Evaluates the guards behind an event of a step again, with the values they read: why the step
/// was entered or skipped, and which of its arcs were taken.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/position/guards", tag = "executions",
    params(("execution_id" = String, Path), EventQueryAt),
    responses(
        (status = 200, body = GuardsAnswer),
        (status = 404, description = "the execution has no such event"),
    )
)]
async fn event_guards(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<EventQueryAt>,
) -> Result<Json<GuardsAnswer>, ApiError> {
    Ok(Json(state.app().guards_at(id.into(), query.at).await?))
}
