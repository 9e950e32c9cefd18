//! Forks: a new execution that shares the events of another up to one of them.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_api::wire::{ForkAnswer, ForkBody};
use noetl_app::{ForkPlaybook, version_of};
use noetl_control::{ForkAt, ForkError, ForkRequest, PlaybookChoice};
use noetl_model::{ExecutionId, PermittedPaths, Seq};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{CallerPaths, WritablePaths};
use crate::request::actor::RequestActor;
use crate::request::extract::InPath;
use crate::request::strict::MaybeStrictBody;
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(fork_execution))
}

/// Forks an execution at an event, or, if none is named, where the failed part can be run again.
#[utoipa::path(
    post, path = "/api/executions/{execution_id}/fork", tag = "executions",
    params(("execution_id" = String, Path)), request_body = ForkBody,
    responses((status = 200, body = ForkAnswer))
)]
async fn fork_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    RequestActor(actor): RequestActor,
    CallerPaths(paths): CallerPaths,
    WritablePaths(writable): WritablePaths,
    MaybeStrictBody(body): MaybeStrictBody<ForkBody>,
) -> Result<Json<ForkAnswer>, ApiError> {
    check_playbook(&body, &paths, &writable)?;
    let origin = ExecutionId::from(id);
    let at = body.at_event.map_or(ForkAt::Failure, |seq| ForkAt::Event(Seq(seq)));
    let playbook = match (body.catalog_id, body.version) {
        (Some(id), _) => Some(PlaybookChoice::Id(id.into())),
        (None, Some(version)) => {
            let path = state.app().execution(origin).await?.playbook.path;
            Some(PlaybookChoice::Path { path, version: version_of(Some(&version))? })
        }
        (None, None) => None,
    };
    let context: BTreeMap<_, _> = body.context.unwrap_or_default().into_iter().collect();
    let workload = body.workload.unwrap_or_default();
    let request = ForkRequest { origin, at, playbook, workload, context, actor };
    let document = |content| ForkPlaybook::Document { file: "the playbook", content };
    let playbook = body.content.as_deref().map_or(ForkPlaybook::Registered, document);
    let fork = state.app().fork(request, playbook).await?;
    Ok(Json(ForkAnswer {
        execution_id: AnyId(fork.execution.0),
        status: "started".to_owned(),
        forked_from: AnyId(origin.0),
        forked_at: fork.fork.map_or(0, |fork| fork.seq.0),
    }))
}

/// Refuses a fork onto a document that the sender may not register, or onto a playbook whose path is
/// not known here to a sender who is restricted to some paths.
fn check_playbook(
    body: &ForkBody,
    paths: &PermittedPaths,
    writable: &PermittedPaths,
) -> Result<(), ApiError> {
    let refused =
        |detail| Err(ApiError::new(axum::http::StatusCode::FORBIDDEN, "forbidden", detail));
    if body.content.is_some() && *writable != PermittedPaths::All {
        return refused("a fork with `content` registers a playbook; this token may not do so");
    }
    if body.catalog_id.is_some() && *paths != PermittedPaths::All {
        return refused(
            "the roles of this token are restricted to some paths; fork with `version` instead of \
             `catalog_id`",
        );
    }
    Ok(())
}

impl From<ForkError> for ApiError {
    fn from(error: ForkError) -> Self {
        match error {
            ForkError::UnknownEvent(..) => Self::not_found("unknown-event", error.to_string()),
            ForkError::NotFailed { .. } => {
                let detail = format!("{error}; name an event with `at_event` to fork it there");
                Self::conflict("not-failed", detail)
            }
            ForkError::TooManyForks(_) => Self::conflict("too-many-forks", error.to_string()),
            ForkError::Unforkable(ref reason) => {
                Self::conflict("unforkable", format!("{reason}; fork at an earlier event"))
            }
            ForkError::Register(error) => error.into(),
            ForkError::Start(error) => error.into(),
        }
    }
}
