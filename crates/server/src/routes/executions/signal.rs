//! Signals to executions.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use noetl_api::AnyId;
use noetl_api::wire::{KeyedSignalAnswer, KeyedSignalQuery, SignalAnswer, SignalQuery};
use noetl_app::{KeyedSignalResult, SignalError, checked_key};
use noetl_control::{SendSignalError, SentSignal, SignalByKey};
use noetl_model::{BadSignalKey, BadSignalName, SignalKey, SignalName};
use noetl_playbook::duration_of;
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::execute::idempotency_key;
use crate::request::actor::RequestActor;
use crate::request::extract::{InPath, InQuery, MaybeBody};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(send_signal)).routes(routes!(send_keyed_signal))
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
    RequestActor(actor): RequestActor,
    MaybeBody(body): MaybeBody<Value>,
) -> Result<Json<SignalAnswer>, ApiError> {
    let name: SignalName =
        name.parse().map_err(|error| ApiError::invalid("invalid-signal", format!("{error}")))?;
    let key = match (idempotency_key(&headers)?, query.idempotency_key) {
        (Some(key), _) => Some(key),
        (None, Some(key)) => Some(checked_key(&key)?),
        (None, None) => None,
    };
    let sent = SentSignal { name: name.clone(), body, sender: query.sender, key, actor };
    state.app().signal(id.into(), sent).await?;
    Ok(Json(SignalAnswer { execution_id: id, signal: name.to_string(), status: "accepted" }))
}

/// Sends a signal to the oldest step that waits for its name with this correlation key, in any
/// execution. If none waits, the signal is kept for the next one that does. One signal ends one wait;
/// signals of one key are delivered in order.
#[utoipa::path(
    post, path = "/api/signals/{name}", tag = "executions",
    params(
        ("name" = String, Path, description = "The name that the step waits for"),
        KeyedSignalQuery,
        ("Idempotency-Key" = Option<String>, Header,
            description = "A repeated request with this key changes nothing while the signal is kept"),
    ),
    request_body = Option<Value>,
    responses((status = 200, body = KeyedSignalAnswer))
)]
async fn send_keyed_signal(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
    InQuery(query): InQuery<KeyedSignalQuery>,
    headers: HeaderMap,
    RequestActor(actor): RequestActor,
    MaybeBody(body): MaybeBody<Value>,
) -> Result<Json<KeyedSignalAnswer>, ApiError> {
    let invalid = |error: String| ApiError::invalid("invalid-signal", error);
    let name: SignalName =
        name.parse().map_err(|error: BadSignalName| invalid(error.to_string()))?;
    let key: SignalKey =
        query.key.parse().map_err(|error: BadSignalKey| invalid(error.to_string()))?;
    let once = match (idempotency_key(&headers)?, query.idempotency_key) {
        (Some(once), _) => Some(once),
        (None, Some(once)) => Some(checked_key(&once)?),
        (None, None) => None,
    };
    let kept_for = query.kept_for.map(|text| {
        duration_of(&Value::String(text.clone())).ok_or_else(|| {
            let detail = format!("`kept_for` is a duration such as 3600, 30m or 2d, not `{text}`");
            ApiError::invalid("invalid-duration", detail)
        })
    });
    let kept_for = kept_for.transpose()?;
    let (signal, sent_key) = (name.to_string(), key.to_string());
    let sent = SignalByKey { name, key, body, sender: query.sender, actor, once, kept_for };
    let (status, execution_id) = match state.app().signal_by_key(sent).await? {
        KeyedSignalResult::Delivered(execution) => ("delivered", Some(execution.into())),
        KeyedSignalResult::Kept => ("kept", None),
    };
    Ok(Json(KeyedSignalAnswer { signal, key: sent_key, status: status.to_owned(), execution_id }))
}

impl From<SignalError> for ApiError {
    fn from(error: SignalError) -> Self {
        let detail = error.to_string();
        match error {
            SignalError::SenderTooLong => Self::invalid("sender-too-long", detail),
            SignalError::KeptTooLong => Self::invalid("kept-too-long", detail),
            SignalError::Refused(refusal) => refusal.into(),
            SignalError::Send(SendSignalError::TooMany | SendSignalError::TooManyOfKey(..)) => {
                Self::conflict("too-many-signals", detail)
            }
            SignalError::Send(SendSignalError::KeyReused { .. }) => {
                Self::conflict("key-reused", detail)
            }
            SignalError::Send(SendSignalError::Store(error)) => error.into(),
            SignalError::Send(SendSignalError::Body(_)) => Self::invalid("invalid-body", detail),
            SignalError::Send(SendSignalError::Submit(error)) => error.into(),
        }
    }
}
