//! What every answer says about itself: to browsers, that it is data and nothing to run or to frame.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::state::AppState;

/// Said unless the answer has said it by itself.
const SAID: &[(HeaderName, &str)] = &[
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
];

/// For a year, this host is asked over TLS only.
const TLS_ONLY: &str = "max-age=31536000";

pub(crate) async fn say(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in SAID {
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
