//! Health and readiness of the server.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use noetl_bus::Reach;
use noetl_control::Skew;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(health))
        .routes(routes!(api_health))
        .routes(routes!(livez))
        .routes(routes!(readyz))
}

/// Shows that the process answers.
#[utoipa::path(get, path = "/health", tag = "health", responses((status = 200, body = Object)))]
async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// Shows that the process answers (the name used by Kubernetes).
#[utoipa::path(get, path = "/livez", tag = "health", responses((status = 200, body = Object)))]
async fn livez() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

#[derive(Serialize, ToSchema)]
struct Health {
    status: &'static str,
    database: &'static str,
    nats: &'static str,
    uptime_seconds: u64,
    version: &'static str,
    /// The time by the store's clock.
    time: String,
    /// Seconds by which this machine's clock is ahead of the store's; negative if behind.
    clock_skew_seconds: Option<f64>,
}

/// Shows if the store answers, in the form existing clients expect.
#[utoipa::path(
    get, path = "/api/health", tag = "health",
    responses((status = 200, body = Health), (status = 503, body = Health))
)]
async fn api_health(State(state): State<AppState>) -> Response {
    let connected = state.app().store_answers().await.is_ok();
    let health = Health {
        status: if connected { "ok" } else { "unhealthy" },
        database: if connected { "connected" } else { "disconnected" },
        nats: match state.bus().reach() {
            Reach::Process => "not_configured",
            Reach::Connected => "connected",
            Reach::Disconnected => "disconnected",
        },
        uptime_seconds: state.uptime().as_secs(),
        version: env!("CARGO_PKG_VERSION"),
        time: state.now().to_string(),
        clock_skew_seconds: state.control().clock_skew().map(Skew::seconds),
    };
    let status = if connected { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(health)).into_response()
}

#[derive(Serialize, ToSchema)]
struct Readiness {
    ready: bool,
    checks: Vec<HealthCheck>,
}

#[derive(Serialize, ToSchema)]
struct HealthCheck {
    name: &'static str,
    ok: bool,
    /// The cause of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
}

impl HealthCheck {
    fn of(name: &'static str, checked: Result<(), String>) -> Self {
        Self { name, ok: checked.is_ok(), cause: checked.err() }
    }
}

/// Shows the readiness of the server, and the failed checks with their causes. Answers within a
/// second.
#[utoipa::path(
    get, path = "/readyz", tag = "health",
    responses((status = 200, body = Readiness), (status = 503, body = Readiness))
)]
async fn readyz(State(state): State<AppState>) -> Response {
    let app = state.app();
    let (answers, writable) = tokio::join!(app.store_answers(), app.store_is_writable());
    let draining = state.draining().is_cancelled();
    let takes_work = if draining { Err("the server is shutting down".to_owned()) } else { Ok(()) };
    let checks = vec![
        HealthCheck::of("store", answers),
        HealthCheck::of("storage", writable),
        HealthCheck::of("not draining", takes_work),
    ];
    let ready = checks.iter().all(|check| check.ok);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Readiness { ready, checks })).into_response()
}
