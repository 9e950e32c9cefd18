//! Proof: whether what is stored about an execution is what was written.

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_api::wire::{Verification, VerificationQuery};
use noetl_control::{Verdict, verify};
use noetl_model::{Digest, ExecutionId};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{InPath, InQuery};
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(verify_execution))
}

/// Checks an execution's log and everything that is kept beside it.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/verify", tag = "executions",
    params(("execution_id" = String, Path), VerificationQuery),
    responses((status = 200, body = Verification))
)]
async fn verify_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<VerificationQuery>,
) -> Result<Json<Verification>, ApiError> {
    let execution = ExecutionId::from(id);
    let expected = query.expect.as_deref().map(str::parse::<Digest>).transpose();
    let expected =
        expected.map_err(|error| ApiError::invalid("invalid-digest", error.to_string()))?;
    let verdict = verify(state.store(), execution, |_| ()).await?.ok_or_else(|| {
        ApiError::not_found("unknown-execution", format!("there is no execution {execution}"))
    })?;
    let verdict = match expected {
        Some(kept) => verdict.against(kept),
        None => verdict,
    };
    let note = verdict.note();
    let Verdict { execution, events, proven_from, head, foreign_snapshot: _, fault } = verdict;
    Ok(Json(Verification {
        execution_id: execution.to_string(),
        valid: fault.is_none(),
        events,
        proven_from: proven_from.map(|seq| seq.0),
        head: head.map(|head| head.to_string()),
        fault: fault.map(|fault| fault.to_string()),
        note,
    }))
}
