//! Deletion of ended executions, and the marks that protect them from it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_api::wire::{KeepAnswer, KeepRequest, TombstoneView};
use noetl_app::{DeleteError, KeepMark, Tombstone};
use noetl_model::ExecutionId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::actor::RequestActor;
use crate::request::extract::InPath;
use crate::request::strict::MaybeStrictBody;
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(delete_execution))
        .routes(routes!(show_tombstone))
        .routes(routes!(keep_execution, end_keeping))
}

/// Deletes an ended execution with its events, payloads and output. Its tombstone remains.
#[utoipa::path(
    delete, path = "/api/executions/{execution_id}", tag = "executions",
    params(("execution_id" = String, Path)),
    responses(
        (status = 200, body = TombstoneView),
        (status = 404, description = "there is no such execution"),
        (status = 409, description = "the execution is kept: it runs, has a fork, or is marked"),
        (status = 410, description = "the execution was deleted before"),
    )
)]
async fn delete_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    RequestActor(actor): RequestActor,
) -> Result<Json<TombstoneView>, ApiError> {
    let tombstone = state.app().delete_execution(id.into(), actor).await?;
    Ok(Json(view_of(tombstone)))
}

/// Shows what remains of a deleted execution.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/tombstone", tag = "executions",
    params(("execution_id" = String, Path)),
    responses(
        (status = 200, body = TombstoneView),
        (status = 404, description = "no such execution was deleted"),
    )
)]
async fn show_tombstone(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<TombstoneView>, ApiError> {
    let execution = ExecutionId::from(id);
    match state.app().tombstone(execution).await? {
        Some(tombstone) => Ok(Json(view_of(tombstone))),
        None => {
            let detail = format!("no execution {execution} was deleted");
            Err(ApiError::not_found("unknown-tombstone", detail))
        }
    }
}

/// Marks an execution to be kept: neither a request nor the retention settings delete it.
#[utoipa::path(
    put, path = "/api/executions/{execution_id}/keep", tag = "executions",
    params(("execution_id" = String, Path)), request_body = KeepRequest,
    responses((status = 200, body = KeepAnswer))
)]
async fn keep_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    RequestActor(actor): RequestActor,
    MaybeStrictBody(request): MaybeStrictBody<KeepRequest>,
) -> Result<Json<KeepAnswer>, ApiError> {
    let KeepMark { since, reason, actor } =
        state.app().keep_execution(id.into(), request.reason, actor).await?;
    let kept = KeepAnswer {
        execution_id: id,
        is_kept: true,
        since: Some(since.to_string()),
        reason,
        actor: actor.map(|actor| actor.to_string()),
    };
    Ok(Json(kept))
}

/// Removes the mark of an execution.
#[utoipa::path(
    delete, path = "/api/executions/{execution_id}/keep", tag = "executions",
    params(("execution_id" = String, Path)), responses((status = 200, body = KeepAnswer))
)]
async fn end_keeping(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<KeepAnswer>, ApiError> {
    state.app().end_keeping(id.into()).await?;
    Ok(Json(KeepAnswer {
        execution_id: id,
        is_kept: false,
        since: None,
        reason: None,
        actor: None,
    }))
}

fn view_of(tombstone: Tombstone) -> TombstoneView {
    TombstoneView {
        execution_id: tombstone.execution.into(),
        path: tombstone.path,
        version: tombstone.version,
        status: tombstone.status.to_string(),
        events: tombstone.seq.0,
        head: tombstone.head.map(|head| head.to_string()),
        started_at: tombstone.started_at.to_string(),
        ended_at: tombstone.ended_at.map(|at| at.to_string()),
        deleted_at: tombstone.deleted_at.to_string(),
        deleted_by: tombstone.actor.map(|actor| actor.to_string()),
    }
}

impl From<DeleteError> for ApiError {
    fn from(error: DeleteError) -> Self {
        let detail = error.to_string();
        match error {
            DeleteError::Kept { .. } => Self::new(StatusCode::CONFLICT, "execution-kept", detail),
            DeleteError::ReasonTooLong => Self::invalid("reason-too-long", detail),
            DeleteError::Load(error) => error.into(),
            DeleteError::Store(error) => error.into(),
        }
    }
}
