//! What is logged because of a request carries the request's id.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument as _;

/// The header in which a request brings its id, or gets one.
const REQUEST_ID: &str = "x-request-id";

/// Runs a request in a span of its own; the query is left out, since it may hold secrets.
pub(crate) async fn in_span(request: Request, next: Next) -> Response {
    let id = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or("-");
    // Of the highest level, so that every filter keeps it.
    let span = tracing::error_span!(
        "request",
        request_id = id,
        method = %request.method(),
        path = request.uri().path(),
        status = tracing::field::Empty,
    );
    let recorded = span.clone();
    async move {
        let response = next.run(request).await;
        recorded.record("status", response.status().as_u16());
        tracing::debug!("answered");
        response
    }
    .instrument(span)
    .await
}
