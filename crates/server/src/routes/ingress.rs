//! Where senders post messages, and where gateways ask how to know a sender.

use std::time::Duration;

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use noetl_api::wire::{IngressAccepted, IngressConfig, IngressDispatch, IngressVerify};
use noetl_control::{PlaybookChoice, StartError, StartRequest};
use noetl_engine::Wish;
use noetl_model::ExecutionId;
use noetl_playbook::Verify;
use noetl_store::{StartKey, SubscriptionRow};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use zeroize::Zeroizing;

use super::execute::pool_of;
use crate::error::ApiError;
use crate::extract::{InPath, Raw};
use crate::ingress::{Listener, Proof, other_type, verify, wish};
use crate::state::AppState;

/// How many bytes a message may have.
pub(super) const MESSAGE_MAX: usize = 1024 * 1024;
/// The route that takes one.
pub(super) const MESSAGE: &str = "/ingress/{*path}";
/// When a sender that is sent away should come back, in seconds.
const RETRY_AFTER: &str = "30";
/// For how long an idempotency key of a header is known, where the subscription does not say.
const KEY_KEEP: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    let posted = post(take_message).layer(DefaultBodyLimit::max(MESSAGE_MAX));
    OpenApiRouter::new().routes(routes!(ingress_config)).route(MESSAGE, posted)
}

/// Takes a message: known sender, then state, then what it says.
async fn take_message(
    State(state): State<AppState>,
    InPath(path): InPath<String>,
    headers: HeaderMap,
    Raw(body): Raw,
) -> Result<Response, ApiError> {
    let listeners = &state.ingress().listeners;
    let listener =
        listeners.at(&format!("/ingress/{path}"), state.control(), state.store()).await?;
    let listener = listener.ok_or_else(|| unknown(&path))?;
    let proof = known_sender(&state, &listener, &headers, &body).await?;
    let row = state.control().subscription_for(&listener.path).await?;
    if !row.state().takes_messages() {
        return Ok(sent_away(&row));
    }
    if let Some(other) = other_type(&listener.subscription, &headers) {
        let detail =
            format!("this takes JSON, not `{other}`; say `content-type: application/json`");
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", detail));
    }
    let id = state.next_id().to_string();
    let rule = &listener.ingress.verify;
    let wished = wish(&listener.path, &listener.subscription, rule, &id, &headers, &body)
        .map_err(|error| ApiError::invalid("bad-message", error.to_string()))?;
    let execution = start(&state, &listener, &row, wished, proof).await?;
    let accepted = IngressAccepted { status: "accepted", execution_id: execution.to_string() };
    Ok((StatusCode::ACCEPTED, Json(accepted)).into_response())
}

async fn known_sender(
    state: &AppState,
    listener: &Listener,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Proof, ApiError> {
    let rule = &listener.ingress.verify;
    let secret = match rule {
        Verify::Hmac { secret, .. } | Verify::Bearer { secret, .. } => {
            secret_of(state, listener, secret).await?
        }
        Verify::PubsubOidc { .. } => Zeroizing::default(),
    };
    verify(rule, secret.as_bytes(), headers, body, state.now()).map_err(|reason| {
        tracing::info!(path = listener.path, ?reason, "message refused");
        ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "the sender is not known")
    })
}

async fn secret_of(
    state: &AppState,
    listener: &Listener,
    name: &str,
) -> Result<Zeroizing<String>, ApiError> {
    state.ingress().secrets.secret(name).await.map_err(|reason| {
        tracing::error!(path = listener.path, reason, "the secret of a subscription is missing");
        let detail = "this subscription is not set up yet; its operator finds why in the log";
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "no-credential", detail)
    })
}

/// One execution for each message: by its idempotency key, else by its signature.
async fn start(
    state: &AppState,
    listener: &Listener,
    row: &SubscriptionRow,
    wished: Wish,
    proof: Proof,
) -> Result<ExecutionId, ApiError> {
    let keep = listener.subscription.dedup.unwrap_or(KEY_KEEP);
    let key = match (wished.idempotency_key, proof.once) {
        (Some(name), _) => Some((name, keep)),
        (None, Some((signature, keep))) => Some((format!("signature {signature}"), keep)),
        (None, None) => None,
    };
    let scope = format!("subscription {}", row.id);
    let key = key.map(|(name, keep)| StartKey { scope, name, keep, request: None });
    let choice = PlaybookChoice::Path { path: wished.playbook, version: None };
    let mut request = StartRequest::new(choice, wished.payload);
    if let Some(pool) = wished.pool {
        request.pool = pool_of(&pool)?;
    }
    (request.trace, request.key) = (wished.trace, key);
    match state.control().start(request).await {
        Ok(execution) => Ok(execution),
        Err(StartError::KeyTaken(holder)) => Ok(holder.execution),
        Err(error) => Err(error.into()),
    }
}

fn sent_away(row: &SubscriptionRow) -> Response {
    let detail = format!("the subscription is {}; send the message again later", row.state());
    let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not-taking-messages", detail);
    ([(header::RETRY_AFTER, RETRY_AFTER)], error).into_response()
}

fn unknown(name: &str) -> ApiError {
    ApiError::not_found("unknown-listener", format!("nobody takes messages at {name}"))
}

/// Tells a gateway how to know the senders of a listener, and what their messages start.
#[utoipa::path(
    get, path = "/api/internal/ingress/{listener}", tag = "subscriptions",
    params(("listener" = String, Path)), responses((status = 200, body = IngressConfig))
)]
async fn ingress_config(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
) -> Result<Response, ApiError> {
    let listeners = &state.ingress().listeners;
    let listener = listeners.named(&name, state.control(), state.store()).await?;
    let listener = listener.ok_or_else(|| unknown(&name))?;
    let row = state.control().subscription_for(&listener.path).await?;
    if !row.state().takes_messages() {
        return Ok(sent_away(&row));
    }
    let verify = match &listener.ingress.verify {
        Verify::Hmac { header, secret, .. } => IngressVerify {
            header: Some(header.clone()),
            secret: Some(secret_of(&state, &listener, secret).await?.to_string()),
            ..IngressVerify::of("hmac_sha256")
        },
        Verify::Bearer { header, secret } => IngressVerify {
            header: Some(header.clone()),
            secret: Some(secret_of(&state, &listener, secret).await?.to_string()),
            ..IngressVerify::of("bearer")
        },
        Verify::PubsubOidc { audience, service_account } => IngressVerify {
            audience: Some(audience.clone()),
            service_account: Some(service_account.clone()),
            ..IngressVerify::of("pubsub_oidc")
        },
    };
    let subscription = &listener.subscription;
    let config = IngressConfig {
        listener: name,
        catalog_path: listener.path.clone(),
        source: subscription.source.as_str(),
        subscription_id: row.id.to_string(),
        verify,
        dispatch: IngressDispatch {
            playbook: subscription.dispatch.playbook.clone(),
            payload_from: subscription.dispatch.payload_from.as_str(),
            execution_pool: subscription.dispatch.pool.clone(),
        },
        directives: subscription.spec.get("headers").cloned(),
    };
    Ok(Json(config).into_response())
}
