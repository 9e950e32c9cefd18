//! Signals to executions.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use noetl_api::AnyId;
use noetl_api::wire::{SignalAnswer, SignalQuery};
use noetl_app::{SignalError, checked_key};
use noetl_control::{SendSignalError, SentSignal};
use noetl_model::SignalName;
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::execute::idempotency_key;
use crate::request::extract::{InPath, InQuery, MaybeBody};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(send_signal))
}

/// Sends a signal to an execution. A step that waits for a signal of this name ends with it; if none
/// waits, the signal is kept for the next one that does.
#[utoipa::path(
    post, path = "/api/executions/{execution_id}/signals/{name}", tag = "executions",
    params(
        ("execution_id" = String, Path),
        ("name" = String, Path, description = "The name that the step waits for"),
        SignalQuery,
        ("Idempotency-Key" = Option<String>, Header,
            description = "A repeated request with this key changes nothing"),
    ),
    request_body = Option<Value>,
    responses((status = 200, body = SignalAnswer))
)]
async fn send_signal(
    State(state): State<AppState>,
    InPath((id, name)): InPath<(AnyId, String)>,
    InQuery(query): InQuery<SignalQuery>,
    headers: HeaderMap,
    MaybeBody(body): MaybeBody<Value>,
) -> Result<Json<SignalAnswer>, ApiError> {
    let name: SignalName =
        name.parse().map_err(|error| ApiError::invalid("invalid-signal", format!("{error}")))?;
    let key = match (idempotency_key(&headers)?, query.idempotency_key) {
        (Some(key), _) => Some(key),
        (None, Some(key)) => Some(checked_key(&key)?),
        (None, None) => None,
    };
    let sent = SentSignal { name: name.clone(), body, sender: query.sender, key };
    state.app().signal(id.into(), sent).await?;
    Ok(Json(SignalAnswer { execution_id: id, signal: name.to_string(), status: "accepted" }))
}

impl From<SignalError> for ApiError {
    fn from(error: SignalError) -> Self {
        let detail = error.to_string();
        match error {
            SignalError::SenderTooLong => Self::invalid("sender-too-long", detail),
            SignalError::Refused(refusal) => refusal.into(),
            SignalError::Send(SendSignalError::Body(_)) => Self::invalid("invalid-body", detail),
            SignalError::Send(SendSignalError::Submit(error)) => error.into(),
        }
    }
}
