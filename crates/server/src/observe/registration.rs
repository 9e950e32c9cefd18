//! Registration of metrics, and their text in version 0.0.4 of the Prometheus format.

use prometheus::proto::MetricFamily;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts};
use prometheus::{Registry, TextEncoder};

/// Names and labels are constants of this crate and each is registered once.
const VALID: &str = "a metric has a valid name of its own and valid labels";

/// Registers counters that differ in the values of `labels`.
pub(crate) fn register_counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> IntCounterVec {
    let counters = IntCounterVec::new(Opts::new(name, help), labels).expect(VALID);
    registry.register(Box::new(counters.clone())).expect(VALID);
    counters
}

/// Registers gauges that differ in the values of `labels`.
pub(crate) fn register_gauges(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> IntGaugeVec {
    let gauges = IntGaugeVec::new(Opts::new(name, help), labels).expect(VALID);
    registry.register(Box::new(gauges.clone())).expect(VALID);
    gauges
}

/// Registers histograms that differ in the values of `labels`; `ends` are the upper bounds of their
/// buckets.
pub(crate) fn register_histograms(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
    ends: &[f64],
) -> HistogramVec {
    let options = HistogramOpts::new(name, help).buckets(ends.to_vec());
    let histograms = HistogramVec::new(options, labels).expect(VALID);
    registry.register(Box::new(histograms.clone())).expect(VALID);
    histograms
}

/// Returns metrics as text.
pub(crate) fn text(metrics: &[MetricFamily]) -> String {
    TextEncoder::new().encode_to_string(metrics).expect("every family has a name and a metric")
}
