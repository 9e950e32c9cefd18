//! A span and its OTLP encoding.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tracing::field::{Field, Visit};

use crate::context::{TraceContext, hex};

/// The maximum number of attributes of a span.
const ATTRIBUTES_MAX: usize = 32;
/// The maximum length of an attribute's text, in bytes.
const TEXT_MAX: usize = 1024;

/// A timed operation.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) context: TraceContext,
    pub(crate) above: Option<[u8; 8]>,
    pub(crate) name: &'static str,
    pub(crate) attributes: Vec<(&'static str, Value)>,
    pub(crate) begun: SystemTime,
    pub(crate) ended: SystemTime,
}

impl Span {
    pub(crate) fn to_json(&self) -> Value {
        let attributes: Vec<Value> = self
            .attributes
            .iter()
            .map(|(key, value)| json!({ "key": key, "value": value }))
            .collect();
        let mut span = json!({
            "traceId": hex(&self.context.trace),
            "spanId": hex(&self.context.span),
            "name": self.name,
            "kind": self.kind(),
            "startTimeUnixNano": nanos(self.begun),
            "endTimeUnixNano": nanos(self.ended),
            "attributes": attributes,
            "status": { "code": if self.has_failed() { 2 } else { 0 } },
        });
        if let Some(above) = self.above {
            span["parentSpanId"] = json!(hex(&above));
        }
        span
    }

    /// Returns the OTLP span kind: 2 (server) for a request, 1 (internal) otherwise.
    fn kind(&self) -> u8 {
        if self.name == "request" { 2 } else { 1 }
    }

    fn has_failed(&self) -> bool {
        self.attributes.iter().any(|(key, value)| match *key {
            "error" => true,
            "status" => value["intValue"]
                .as_str()
                .and_then(|status| status.parse::<u16>().ok())
                .is_some_and(|status| status >= 500),
            _ => false,
        })
    }
}

/// Formats a time as text, because JSON has no 64-bit integers.
fn nanos(at: SystemTime) -> String {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

/// Collects the fields of a span, with the trace context separate.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub(crate) attributes: Vec<(&'static str, Value)>,
    pub(crate) context: Option<TraceContext>,
}

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        if self.attributes.len() < ATTRIBUTES_MAX {
            self.attributes.push((field.name(), value));
        }
    }

    fn text(&mut self, field: &Field, text: &str) {
        if field.name() == "traceparent" {
            self.context = text.parse().ok();
            return;
        }
        let mut end = text.len().min(TEXT_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.put(field, json!({ "stringValue": text[..end] }));
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, json!({ "intValue": value.to_string() }));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, json!({ "intValue": value.to_string() }));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, json!({ "boolValue": value }));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, json!({ "doubleValue": value }));
    }
}
