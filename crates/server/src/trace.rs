//! What is logged because of a request carries the request's id, and what is measured its trace.
//!
//! A request says which W3C trace it belongs to; where spans are exported, one that does not begins a
//! trace. The executions it starts belong to the same one.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use noetl_model::Digest;
use serde_json::{Map, Value, json};
use tracing::Instrument as _;

use crate::state::{AppState, Spans};

/// The header in which a request brings its id, or gets one.
const REQUEST_ID: &str = "x-request-id";
/// The headers of a W3C trace context; without the first the others say nothing.
const TRACE_HEADERS: [&str; 3] = ["traceparent", "tracestate", "baggage"];
/// How long what one of them says may be.
const TRACE_HEADER_MAX: usize = 8192;

/// Runs a request in a span of its own; the query is left out, since it may hold secrets.
pub(crate) async fn in_span(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    match state.settings().spans {
        Spans::Exported if parent(request.headers()).is_none() => begin(request.headers_mut()),
        Spans::Exported | Spans::Unseen => {}
    }
    let id = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or("-");
    // Of the highest level, so that every filter keeps it.
    let span = tracing::error_span!(
        "request",
        request_id = id,
        method = %request.method(),
        path = request.uri().path(),
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

/// The place in a trace that a request names.
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

/// Begins a trace: its id is made of the request's.
fn begin(headers: &mut HeaderMap) {
    let id = headers.get(REQUEST_ID).map(HeaderValue::as_bytes).unwrap_or_default();
    let digest = Digest::of(id).to_string();
    let context = format!("00-{}-{}-01", &digest[..32], &digest[32..48]);
    if let Ok(context) = HeaderValue::from_str(&context) {
        headers.insert(TRACE_HEADERS[0], context);
    }
}

/// The trace context of a request, as it is kept with an execution.
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
    fn what_is_no_context_is_not_kept() {
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
