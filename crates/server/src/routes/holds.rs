//! Pauses of executions, playbooks and pools, and limits with their queues.

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_api::wire::{
    LimitDetail, LimitList, PauseAnswer, PauseBody, PauseList, PausePlaybookBody,
};
use noetl_app::{PauseError, pool_of};
use noetl_control::PauseCaller;
use noetl_model::LimitName;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::actor::MarkedCaller;
use crate::request::extract::{Body, InPath, InQuery, MaybeBody};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(pause_execution))
        .routes(routes!(resume_execution))
        .routes(routes!(pause_playbook))
        .routes(routes!(resume_playbook))
        .routes(routes!(pause_pool))
        .routes(routes!(resume_pool))
        .routes(routes!(list_pauses))
        .routes(routes!(list_limits))
        .routes(routes!(show_limit))
}

fn pauser(caller: MarkedCaller, actor: Option<String>, reason: Option<String>) -> PauseCaller {
    PauseCaller { actor: caller.name_or(actor), reason }
}

fn answer(status: &str, message: String) -> Json<PauseAnswer> {
    Json(PauseAnswer { status: status.to_owned(), message })
}

/// Pauses an execution and its children: running commands end, and no further one starts. Time
/// limits go on.
#[utoipa::path(
    post, path = "/api/executions/{execution_id}/pause", tag = "executions",
    params(
        ("execution_id" = String, Path),
        ("X-Noetl-Actor" = Option<String>, Header, description = "The name of the caller"),
    ),
    request_body = Option<PauseBody>,
    responses((status = 200, body = PauseAnswer))
)]
async fn pause_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    caller: MarkedCaller,
    MaybeBody(PauseBody { actor, reason }): MaybeBody<PauseBody>,
) -> Result<Json<PauseAnswer>, ApiError> {
    state.app().pause_execution(id.into(), pauser(caller, actor, reason)).await?;
    Ok(answer("paused", format!("execution {id} is paused")))
}

/// Resumes a paused execution and its children.
#[utoipa::path(
    post, path = "/api/executions/{execution_id}/resume", tag = "executions",
    params(
        ("execution_id" = String, Path),
        ("X-Noetl-Actor" = Option<String>, Header, description = "The name of the caller"),
    ),
    request_body = Option<PauseBody>,
    responses((status = 200, body = PauseAnswer))
)]
async fn resume_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    caller: MarkedCaller,
    MaybeBody(PauseBody { actor, reason }): MaybeBody<PauseBody>,
) -> Result<Json<PauseAnswer>, ApiError> {
    state.app().resume_execution(id.into(), pauser(caller, actor, reason)).await?;
    Ok(answer("resumed", format!("execution {id} is resumed")))
}

/// Pauses a playbook: its running executions are paused, and new ones do not begin until it is
/// resumed.
#[utoipa::path(
    post, path = "/api/catalog/pause", tag = "catalog", request_body = PausePlaybookBody,
    responses((status = 200, body = PauseAnswer))
)]
async fn pause_playbook(
    State(state): State<AppState>,
    caller: MarkedCaller,
    Body(PausePlaybookBody { path, actor, reason }): Body<PausePlaybookBody>,
) -> Result<Json<PauseAnswer>, ApiError> {
    let running = state.app().pause_playbook(&path, pauser(caller, actor, reason)).await?;
    Ok(answer("paused", format!("{path} is paused with {running} running executions")))
}

/// Resumes a playbook and the executions that its pause has stopped.
#[utoipa::path(
    post, path = "/api/catalog/resume", tag = "catalog", request_body = PausePlaybookBody,
    responses((status = 200, body = PauseAnswer))
)]
async fn resume_playbook(
    State(state): State<AppState>,
    caller: MarkedCaller,
    Body(PausePlaybookBody { path, actor, reason }): Body<PausePlaybookBody>,
) -> Result<Json<PauseAnswer>, ApiError> {
    let running = state.app().resume_playbook(&path, pauser(caller, actor, reason)).await?;
    Ok(match running {
        Some(running) => {
            answer("resumed", format!("{path} is resumed, with {running} running executions"))
        }
        None => answer("running", format!("{path} was not paused")),
    })
}

/// Pauses a pool: its workers get no further commands. Answers once every server knows.
#[utoipa::path(
    post, path = "/api/pools/{name}/pause", tag = "workers",
    params(
        ("name" = String, Path),
        ("X-Noetl-Actor" = Option<String>, Header, description = "The name of the caller"),
    ),
    request_body = Option<PauseBody>,
    responses((status = 200, body = PauseAnswer))
)]
async fn pause_pool(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
    caller: MarkedCaller,
    MaybeBody(PauseBody { actor, reason }): MaybeBody<PauseBody>,
) -> Result<Json<PauseAnswer>, ApiError> {
    let pool =
        pool_of(&name).map_err(|error| ApiError::invalid("invalid-pool", error.to_string()))?;
    state.app().pause_pool(&pool, pauser(caller, actor, reason)).await?;
    Ok(answer("paused", format!("pool {name} is paused")))
}

/// Resumes a pool.
#[utoipa::path(
    post, path = "/api/pools/{name}/resume", tag = "workers",
    params(
        ("name" = String, Path),
        ("X-Noetl-Actor" = Option<String>, Header, description = "The name of the caller"),
    ),
    request_body = Option<PauseBody>,
    responses((status = 200, body = PauseAnswer))
)]
async fn resume_pool(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
    caller: MarkedCaller,
    MaybeBody(PauseBody { actor, reason }): MaybeBody<PauseBody>,
) -> Result<Json<PauseAnswer>, ApiError> {
    let pool =
        pool_of(&name).map_err(|error| ApiError::invalid("invalid-pool", error.to_string()))?;
    Ok(if state.app().resume_pool(&pool, pauser(caller, actor, reason)).await? {
        answer("resumed", format!("pool {name} is resumed"))
    } else {
        answer("running", format!("pool {name} was not paused"))
    })
}

/// Lists the paused playbooks and pools.
#[utoipa::path(
    get, path = "/api/pauses", tag = "workers", responses((status = 200, body = PauseList))
)]
async fn list_pauses(State(state): State<AppState>) -> Result<Json<PauseList>, ApiError> {
    Ok(Json(state.app().pause_list().await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct LimitsQuery {
    /// Lists the limits after this name.
    after: Option<String>,
}

/// Lists the limits that are in use, with the number of their holders and waiting requests.
#[utoipa::path(
    get, path = "/api/limits", tag = "limits", params(LimitsQuery),
    responses((status = 200, body = LimitList))
)]
async fn list_limits(
    State(state): State<AppState>,
    InQuery(query): InQuery<LimitsQuery>,
) -> Result<Json<LimitList>, ApiError> {
    let after = query.after.as_deref().map(named).transpose()?;
    Ok(Json(state.app().limit_list(after.as_ref()).await?))
}

/// Shows a limit with its holders and its queue.
#[utoipa::path(
    get, path = "/api/limits/{name}", tag = "limits", params(("name" = String, Path)),
    responses((status = 200, body = LimitDetail))
)]
async fn show_limit(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
) -> Result<Json<LimitDetail>, ApiError> {
    let found = state.app().limit_detail(&named(&name)?).await?;
    let unknown = || ApiError::not_found("unknown-limit", format!("limit `{name}` is not in use"));
    found.map(Json).ok_or_else(unknown)
}

fn named(name: &str) -> Result<LimitName, ApiError> {
    name.parse().map_err(|error: noetl_model::BadLimitName| {
        ApiError::invalid("invalid-limit", error.to_string())
    })
}

impl From<PauseError> for ApiError {
    fn from(error: PauseError) -> Self {
        let detail = error.to_string();
        match error {
            PauseError::ActorTooLong => Self::invalid("actor-too-long", detail),
            PauseError::ReasonTooLong => Self::invalid("reason-too-long", detail),
            PauseError::UnknownPlaybook(_) => Self::not_found("unknown-playbook", detail),
            PauseError::TooMany(_) => Self::conflict("too-many-pauses", detail),
            PauseError::Refused(refusal) => refusal.into(),
            PauseError::Submit(error) => error.into(),
            PauseError::Store(error) => error.into(),
        }
    }
}
