//! The public HTTP API: routes, authentication, errors as problem documents, event streams.
//!
//! [`app`] builds the router; [`serve`] runs it on a listener.
//!
//! Invariants: handlers make no decisions: they parse a request, call the control plane and format
//! the answer. Authorization is checked before routing. Every error is a problem document.

mod access;
mod description;
mod ingress;
mod listen;
mod observe;
mod pages;
mod request;
mod response;
mod routes;
mod state;
mod statements;
mod tokens;

use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::routing::get;
use axum::{Json, Router, middleware};
use tower::util::option_layer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::CorsLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};

use observe::{meters, trace};
use request::body;
use response::{error, headers};

pub use access::{Authentication, Hosts, Origins};
pub use ingress::SecretSource;
pub use listen::limits::Limits;
pub use listen::rate::Rate;
pub use listen::serve::serve;
pub use listen::tls::{Tls, TlsError, TlsFiles};
pub use noetl_web::Wire;
pub use state::{AppState, MetricsRoute, Pages, ServerSettings, Spans};
pub use statements::{Statement, Statements};
pub use tokens::{Scope, Token, TokenError};

/// Builds the router of all routes, with its middleware.
pub fn app(state: AppState) -> Router {
    let (router, routes) = routes::all(state.settings().figures).split_for_parts();
    let document = description::of(routes);
    router
        .merge(pages::routes(&state))
        .route("/api/openapi.json", get(async move || Json(document)))
        .method_not_allowed_fallback(error::wrong_method)
        .fallback(error::unknown_path)
        .layer(DefaultBodyLimit::max(body::BODY_MAX))
        .layer(middleware::from_fn_with_state(state.clone(), body::limit_body_time))
        .layer(middleware::from_fn(body::reject_oversized_body))
        .layer(middleware::from_fn_with_state(state.clone(), access::admit))
        .layer(middleware::from_fn_with_state(state.clone(), meters::measure))
        .layer(CatchPanicLayer::custom(error::panicked))
        .layer(option_layer(cors(&state.settings().origins)))
        .layer(middleware::from_fn_with_state(state.clone(), headers::add_response_headers))
        .layer(middleware::from_fn_with_state(state.clone(), trace::trace_request))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
        .with_state(state)
}

/// The header with which existing web interfaces send a session; allowed so that their requests pass
/// the preflight.
const SESSION_TOKEN: HeaderName = HeaderName::from_static("x-session-token");

/// Allows pages of these origins to send requests.
fn cors(Origins(origins): &Origins) -> Option<CorsLayer> {
    let origins: Vec<HeaderValue> = origins.iter().filter_map(|it| it.parse().ok()).collect();
    let asked = [header::AUTHORIZATION, header::CONTENT_TYPE, SESSION_TOKEN];
    let methods = [Method::GET, Method::POST, Method::PUT, Method::DELETE];
    let layer = || CorsLayer::new().allow_methods(methods).allow_headers(asked);
    (!origins.is_empty()).then(|| layer().allow_origin(origins))
}

#[cfg(test)]
mod tests;
