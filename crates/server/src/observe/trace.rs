//! Tracing of requests: log lines carry the request's id, spans its trace.
//!
//! A request may name its W3C trace; if spans are exported, a request without one starts a trace.
//! The executions that the request starts belong to the same trace.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use noetl_model::Digest;
use serde_json::{Map, Value, json};
use tracing::Instrument as _;

use crate::request::shown_path::shown_path;
use crate::state::{AppState, Spans};

/// The header with the request's id.
const REQUEST_ID: &str = "x-request-id";
/// The headers of a W3C trace context; the others are ignored without the first.
const TRACE_HEADERS: [&str; 3] = ["traceparent", "tracestate", "baggage"];
/// Maximum length of a trace header, in bytes.
const TRACE_HEADER_MAX: usize = 8192;

/// Runs a request in a span of its own; the query is left out, because it may contain secrets.
pub(crate) async fn trace_request(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    match state.settings().spans {
        Spans::Exported if parent(request.headers()).is_none() => begin(request.headers_mut()),
        Spans::Exported | Spans::Hidden => {}
    }
    let id = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or("-");
    // The highest level, so that every filter keeps the span.
    let span = tracing::error_span!(
        "request",
        request_id = id,
        method = %request.method(),
        path = shown_path(request.uri().path()),
        traceparent = parent(request.headers()),
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

/// Returns the valid `traceparent` of a request.
fn parent(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(TRACE_HEADERS[0])?.to_str().ok()?;
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    match parts[..] {
        [version, trace, span, flags, ..] => {
            let lengths = [version, trace, span, flags].map(str::len) == [2, 32, 16, 2];
            (lengths && [version, trace, span, flags].into_iter().all(is_hex)).then_some(text)
        }
        _ => None,
    }
}

/// Starts a trace whose id is derived from the request's id.
fn begin(headers: &mut HeaderMap) {
    let id = headers.get(REQUEST_ID).map(HeaderValue::as_bytes).unwrap_or_default();
    let digest = Digest::of(id).to_string();
    let context = format!("00-{}-{}-01", &digest[..32], &digest[32..48]);
    if let Ok(context) = HeaderValue::from_str(&context) {
        headers.insert(TRACE_HEADERS[0], context);
    }
}

/// Returns the trace context of a request, in the form stored with an execution.
pub(crate) fn context(headers: &HeaderMap) -> Option<Value> {
    parent(headers)?;
    let said = TRACE_HEADERS.iter().filter_map(|name| {
        let text = headers.get(*name)?.to_str().ok()?;
        (text.len() <= TRACE_HEADER_MAX).then(|| ((*name).to_owned(), json!(text)))
    });
    Some(Value::Object(said.collect::<Map<String, Value>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
        pairs.collect()
    }

    #[test]
    fn a_context_is_kept_with_all_it_says() {
        let told = headers(&[("traceparent", PARENT), ("tracestate", "a=1"), ("x", "y")]);
        assert_eq!(context(&told), Some(json!({ "traceparent": PARENT, "tracestate": "a=1" })));
    }

    #[test]
    fn an_invalid_trace_context_is_dropped() {
        for parent in ["", "00", "00-x-y-z", &PARENT.replace('f', "g"), &PARENT[1..]] {
            assert_eq!(context(&headers(&[("traceparent", parent)])), None, "{parent}");
        }
        assert_eq!(context(&headers(&[("tracestate", "a=1")])), None);
    }

    #[test]
    fn a_trace_that_begins_here_is_a_context() {
        let mut told = headers(&[("x-request-id", "1")]);
        begin(&mut told);
        assert!(context(&told).is_some());
    }
}
