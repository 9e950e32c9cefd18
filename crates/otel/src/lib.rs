//! Export of spans to an OpenTelemetry collector: OTLP over HTTP, as JSON.
//!
//! A span with a field `traceparent` belongs to that W3C trace, whatever span encloses it; one
//! without it belongs to the enclosing span, or starts a trace. A span whose context is not sampled
//! is not sent. No code waits for the collector: spans that it does not accept in time are dropped
//! and counted.

mod context;
mod export;
mod layer;
mod span;

pub use context::TraceContext;
pub use export::{Exporter, ExporterSettings};
pub use layer::Traces;
