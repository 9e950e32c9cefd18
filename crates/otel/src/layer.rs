//! A tracing layer that records spans as they open and close.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use tokio::sync::mpsc;
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::context::TraceContext;
use crate::span::{Fields, Span};

/// The target prefix of exported spans.
const TARGET: &str = "noetl";

/// Passes closed spans to an exporter without waiting.
#[derive(Clone)]
pub struct Traces {
    pub(crate) spans: mpsc::Sender<Span>,
    /// The number of spans dropped because the exporter was behind.
    pub(crate) dropped: Arc<AtomicU64>,
}

/// The recorded part of an open span.
struct OpenSpan(Span);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Traces {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata: &'static Metadata<'static> = attributes.metadata();
        if !metadata.target().starts_with(TARGET) {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let around = span.parent().and_then(|parent| {
            parent.extensions().get::<OpenSpan>().map(|OpenSpan(span)| span.context)
        });
        let above = fields.context.or(around);
        let now = SystemTime::now();
        let open = Span {
            context: above.map_or_else(TraceContext::begin, TraceContext::below),
            above: above.map(|above| above.span),
            name: metadata.name(),
            attributes: fields.attributes,
            begun: now,
            ended: now,
        };
        span.extensions_mut().insert(OpenSpan(open));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut extensions = span.extensions_mut();
        let Some(OpenSpan(open)) = extensions.get_mut::<OpenSpan>() else { return };
        let mut fields = Fields::default();
        values.record(&mut fields);
        open.attributes.append(&mut fields.attributes);
        if let Some(above) = fields.context {
            open.context = above.below();
            open.above = Some(above.span);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(OpenSpan(mut closed)) = span.extensions_mut().remove::<OpenSpan>() else { return };
        if !closed.context.is_sampled {
            return;
        }
        closed.ended = SystemTime::now();
        if self.spans.try_send(closed).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
