//! Security headers of every response, which keep browsers from running, framing or caching it.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::state::AppState;

/// Headers that are added unless the response has them already.
const RESPONSE_HEADERS: &[(HeaderName, &str)] = &[
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
];

/// `Strict-Transport-Security` for one year.
const TLS_ONLY: &str = "max-age=31536000";

pub(crate) async fn add_response_headers(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in RESPONSE_HEADERS {
        add(headers, name, value);
    }
    if state.settings().tls.is_some() {
        add(headers, &header::STRICT_TRANSPORT_SECURITY, TLS_ONLY);
    }
    response
}

fn add(headers: &mut HeaderMap, name: &HeaderName, value: &'static str) {
    headers.entry(name.clone()).or_insert(HeaderValue::from_static(value));
}
