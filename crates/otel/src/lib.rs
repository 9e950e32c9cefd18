//! Spans to an OpenTelemetry collector: OTLP over HTTP, as JSON.
//!
//! A span with a field `traceparent` belongs to that W3C trace, whatever else is open around it; one
//! without belongs to the span around it, or begins a trace. What the context says not to sample is
//! not sent. Nothing waits for the collector: what it does not take in time is dropped and counted.

mod context;
mod export;
mod layer;
mod span;

pub use context::TraceContext;
pub use export::{Exporter, Settings};
pub use layer::Traces;
