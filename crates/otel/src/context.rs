//! The W3C trace context: the trace of a span and its parent span.

use std::fmt;
use std::str::FromStr;

/// A position in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    pub(crate) trace: [u8; 16],
    pub(crate) span: [u8; 8],
    pub(crate) is_sampled: bool,
}

/// The error for a text that is not a `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoContext;

impl TraceContext {
    /// Starts a new trace.
    pub fn begin() -> Self {
        Self { trace: random(), span: random(), is_sampled: true }
    }

    /// Returns the context of a new child span.
    pub(crate) fn below(self) -> Self {
        Self { span: random(), ..self }
    }
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Without a random source, ids are counted: this is rare, and better than none.
    if getrandom::fill(&mut bytes).is_err() {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_be_bytes();
        bytes[N - next.len()..].copy_from_slice(&next);
    }
    bytes
}

/// Formats `00-<trace>-<span>-<flags>`.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.is_sampled);
        write!(f, "00-{}-{}-{flags:02x}", hex(&self.trace), hex(&self.span))
    }
}

impl FromStr for TraceContext {
    type Err = NoContext;

    fn from_str(text: &str) -> Result<Self, NoContext> {
        let mut parts = text.trim().split('-');
        let mut part = || parts.next().ok_or(NoContext);
        let (version, trace, span, flags) = (part()?, part()?, part()?, part()?);
        let is_version = version.len() == 2 && version != "ff";
        let context = Self {
            trace: bytes(trace)?,
            span: bytes(span)?,
            is_sampled: u8::from_str_radix(flags, 16).map_err(|_| NoContext)? & 1 == 1,
        };
        let is_named = context.trace != [0; 16] && context.span != [0; 8];
        if is_version && is_named && flags.len() == 2 { Ok(context) } else { Err(NoContext) }
    }
}

fn bytes<const N: usize>(text: &str) -> Result<[u8; N], NoContext> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.is_ascii() {
        return Err(NoContext);
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        let digits = &text[2 * index..2 * index + 2];
        *byte = u8::from_str_radix(digits, 16).map_err(|_| NoContext)?;
    }
    Ok(bytes)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_context_is_written_as_it_is_read() {
        let context: TraceContext = PARENT.parse().expect("a context");
        assert_eq!(context.to_string(), PARENT);
        assert!(context.is_sampled);
        let unsampled = PARENT.replace("-01", "-00");
        assert!(!unsampled.parse::<TraceContext>().expect("a context").is_sampled);
    }

    #[test]
    fn a_later_version_may_say_more() {
        assert!(format!("01{}-more", &PARENT[2..]).parse::<TraceContext>().is_ok());
    }

    #[test]
    fn an_invalid_trace_context_is_an_error() {
        let none = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
        for text in
            ["", "00", "ff", none, "00-xyz-1-01", &PARENT[1..], &format!("ff{}", &PARENT[2..])]
        {
            assert!(text.parse::<TraceContext>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_span_below_another_is_of_the_same_trace() {
        let above = TraceContext::begin();
        let below = above.below();
        assert_eq!(below.trace, above.trace);
        assert_ne!(below.span, above.span);
    }
}
