//! Routes for senders that post messages, and for gateways that ask how to verify senders.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use noetl_api::wire::{IngressAccepted, IngressConfig, IngressDispatch, IngressVerify};
use noetl_app::{Listener, PostedError, SignalError, SubscriptionRow, TakenMessage};
use noetl_playbook::{DispatchTarget, Verify};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use zeroize::Zeroizing;

pub(super) use crate::ingress::MESSAGE_MAX;
use crate::ingress::{HeadProof, Unknown, other_type, posted_request, verify_head};
use crate::request::extract::InPath;
use crate::response::error::ApiError;
use crate::state::AppState;

/// The route that takes a message.
pub(super) const MESSAGE: &str = "/ingress/{*path}";
/// `Retry-After` for a sender while the subscription takes no messages.
const RETRY_AFTER: Duration = Duration::from_secs(30);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(ingress_config)).route(MESSAGE, post(take_message))
}

/// Takes a message of a verified sender and starts the execution that it asks for, or delivers it as a
/// signal.
#[utoipa::path(
    post, path = "/ingress/{path}", tag = "subscriptions",
    params(("path" = String, Path, description = "`ingress.gateway_path` of a subscription, after `/ingress/`; with its slashes")),
    request_body(content = String, description = "The message, at most 1 MiB; JSON unless the subscription says otherwise"),
    responses(
        (status = 202, body = IngressAccepted, description = "The execution of the message; the same one if the message came before"),
        (status = 401, description = "The signature or token is missing or wrong, or no subscription has this path; the server's log says which"),
        (status = 503, description = "The subscription is paused, or too many messages are arriving; see `Retry-After`"),
    )
)]
pub(super) async fn take_message(
    State(state): State<AppState>,
    InPath(path): InPath<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let (head, body) = request.into_parts();
    let taken = take(&state, &path, &head.headers, body).await;
    let posted = taken.map_err(|Refused { answer, reason }| {
        if let Some(left_out) = state.ingress().refusals.admit(path.clone()) {
            let status = answer.status().as_u16();
            tracing::warn!(path, status, reason, left_out, "a posted message was refused");
        }
        answer
    })?;
    let (status, execution) = match posted {
        TakenMessage::Started(execution) => ("accepted", Some(execution)),
        TakenMessage::Signalled(Some(execution)) => ("delivered", Some(execution)),
        TakenMessage::Signalled(None) => ("kept", None),
    };
    let execution_id = execution.map(|execution| execution.to_string());
    let accepted = IngressAccepted { status, execution_id };
    Ok((StatusCode::ACCEPTED, Json(accepted)).into_response())
}

/// A rejected message: the answer to its sender, and the reason for the operator.
struct Refused {
    answer: ApiError,
    reason: String,
}

impl From<ApiError> for Refused {
    fn from(answer: ApiError) -> Self {
        Self { reason: answer.detail().to_owned(), answer }
    }
}

impl From<Unknown> for Refused {
    fn from(unknown: Unknown) -> Self {
        Self { answer: unknown_sender(), reason: unknown.to_string() }
    }
}

fn unknown_sender() -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "the sender is not known")
}

/// Refuses a message for a path without a subscription like one of an unknown sender, so that nobody
/// finds out which paths exist.
fn unknown_path(path: &str) -> Refused {
    Refused { answer: unknown_sender(), reason: unknown(path).detail().to_owned() }
}

/// Takes a message. The headers are checked before the body is read.
async fn take(
    state: &AppState,
    path: &str,
    headers: &HeaderMap,
    body: Body,
) -> Result<TakenMessage, Refused> {
    let ingress = state.ingress();
    let address = format!("/ingress/{path}");
    let listener = state.app().listener_at(&address).await.map_err(ApiError::from)?;
    let listener = listener.ok_or_else(|| unknown_path(path))?;
    let rule = &listener.ingress.verify;
    let secret = match rule {
        Verify::Hmac { secret, .. } | Verify::Bearer { secret, .. } => {
            secret_of(state, &listener, secret).await?
        }
        Verify::PubsubOidc { .. } => Zeroizing::default(),
    };
    let (proof, row, message) = match verify_head(rule, secret.as_bytes(), headers, state.now())? {
        HeadProof::Known(proof) => {
            let row = open_row(state, &listener, headers).await?;
            (proof, row, ingress.bodies.read(headers, body).await?)
        }
        HeadProof::Signature(head) => {
            let message = ingress.bodies.read(headers, body).await?;
            let proof = head.verify(secret.as_bytes(), message.bytes())?;
            (proof, open_row(state, &listener, headers).await?, message)
        }
    };
    let id = state.next_id().to_string();
    let requested =
        posted_request(&listener.path, &listener.subscription, rule, &id, headers, message.bytes())
            .map_err(|error| ApiError::invalid("bad-message", error.to_string()))?;
    drop(message);
    let taken = state.app().take_posted(&listener, &row, requested, proof.signed()).await;
    Ok(taken.map_err(ApiError::from)?)
}

/// Loads the subscription of a listener; fails if it takes no messages, or not of this content
/// type.
async fn open_row(
    state: &AppState,
    listener: &Listener,
    headers: &HeaderMap,
) -> Result<SubscriptionRow, ApiError> {
    let row = state.app().listening_subscription(listener).await?;
    if !row.state().takes_messages() {
        return Err(sent_away(&row));
    }
    if let Some(other) = other_type(&listener.subscription, headers) {
        let detail =
            format!("this takes JSON, not `{other}`; say `content-type: application/json`");
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", detail));
    }
    Ok(row)
}

async fn secret_of(
    state: &AppState,
    listener: &Listener,
    name: &str,
) -> Result<Zeroizing<String>, ApiError> {
    state.ingress().secrets.secret(name).await.map_err(|reason| {
        if let Some(left_out) = state.ingress().refusals.admit(format!("secret {name}")) {
            let path = &listener.path;
            tracing::error!(path, reason, left_out, "the secret of a subscription is missing");
        }
        let detail = "this subscription is not set up yet; its operator finds why in the log";
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "no-credential", detail)
    })
}

fn sent_away(row: &SubscriptionRow) -> ApiError {
    let detail = format!("the subscription is {}; send the message again later", row.state());
    let status = StatusCode::SERVICE_UNAVAILABLE;
    ApiError::later(status, "not-taking-messages", detail, RETRY_AFTER)
}

fn unknown(name: &str) -> ApiError {
    ApiError::not_found("unknown-listener", format!("nobody takes messages at {name}"))
}

/// Shows the settings with which a gateway verifies senders, and the playbook that messages start.
#[utoipa::path(
    get, path = "/api/internal/ingress/{listener}", tag = "subscriptions",
    params(("listener" = String, Path)), responses((status = 200, body = IngressConfig))
)]
async fn ingress_config(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
) -> Result<Response, ApiError> {
    let listener = state.app().listener_named(&name).await?;
    let listener = listener.ok_or_else(|| unknown(&name))?;
    let row = state.app().listening_subscription(&listener).await?;
    if !row.state().takes_messages() {
        return Err(sent_away(&row));
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
            playbook: match &subscription.dispatch.target {
                DispatchTarget::Playbook(playbook) => Some(playbook.clone()),
                DispatchTarget::Signal(_) => None,
            },
            payload_from: subscription.dispatch.payload_from.as_str(),
            execution_pool: subscription.dispatch.pool.clone(),
        },
        directives: subscription.spec.get("headers").cloned(),
    };
    Ok(Json(config).into_response())
}

impl From<PostedError> for ApiError {
    fn from(error: PostedError) -> Self {
        match error {
            PostedError::Pool(error) => error.into(),
            PostedError::Start(error) => error.into(),
            PostedError::Signal(error) => SignalError::Send(error).into(),
        }
    }
}
