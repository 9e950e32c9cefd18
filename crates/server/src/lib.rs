//! The public HTTP API: routes, authentication, errors as problem documents, event streams.
//!
//! [`app`] is the whole of it as a value; who has a listener passes it to [`serve`].
//!
//! Invariants: nothing is decided here, a handler reads a request, tells the control plane and
//! words the answer; who may do what is settled before any route is looked for; every error is a
//! problem document.

mod access;
mod error;
mod extract;
mod issued;
mod large;
mod outcome;
mod roster;
mod routes;
mod seen;
mod serve;
mod state;
mod tell;

use axum::extract::DefaultBodyLimit;
use axum::routing::get;
use axum::{Json, Router, middleware};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use utoipa::openapi::{InfoBuilder, OpenApi, OpenApiBuilder};

pub use access::{Access, Hosts, Scope, Token};
pub use serve::serve;
pub use state::{AppState, Services, Settings};

/// How many bytes the body of a request may have, where a route does not say otherwise.
const BODY_MAX: usize = 4 * 1024 * 1024;

/// Every route, with what guards them.
pub fn app(state: AppState) -> Router {
    let (router, routes) = routes::all().split_for_parts();
    let document = described(routes);
    router
        .route("/api/openapi.json", get(async move || Json(document)))
        .method_not_allowed_fallback(error::wrong_method)
        .fallback(error::unknown_path)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(middleware::from_fn_with_state(state.clone(), access::admit))
        .layer(CatchPanicLayer::custom(error::panicked))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
        .with_state(state)
}

fn described(routes: OpenApi) -> OpenApi {
    let info = InfoBuilder::new()
        .title("noetl")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Runs playbooks. Errors are problem documents (RFC 9457)."))
        .build();
    let mut document = OpenApiBuilder::new().info(info).build();
    document.merge(routes);
    document
}

#[cfg(test)]
mod tests;
