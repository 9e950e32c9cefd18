//! The histograms of the control plane as metric families.

use noetl_control::{DURATION_BOUNDS, DurationHistogram, DurationTable};
use prometheus::proto::{Bucket, Histogram, LabelPair, Metric, MetricFamily, MetricType};

/// Returns the durations of executions and commands, without families that have no value yet.
pub(crate) fn durations(table: &DurationTable) -> Vec<MetricFamily> {
    let executions = table.executions.iter().map(|(status, histogram)| {
        metric(vec![("outcome", status.as_str().to_lowercase())], histogram)
    });
    let commands = table.commands.iter().map(|((pool, tool, end), histogram)| {
        let labels = vec![
            ("outcome", end.as_str().to_owned()),
            ("pool", pool.to_string()),
            ("tool", tool.to_string()),
        ];
        metric(labels, histogram)
    });
    let queued = table.queued.iter().map(|((pool, priority), histogram)| {
        let labels = vec![("pool", pool.to_string()), ("priority", priority.level().to_string())];
        metric(labels, histogram)
    });
    let families = [
        family(
            "noetl_command_duration_seconds",
            "From the claim of a command, or the start of its wait, to its end.",
            commands.collect(),
        ),
        family(
            "noetl_command_queue_seconds",
            "From the issue of a command to its claim by a worker.",
            queued.collect(),
        ),
        family(
            "noetl_execution_duration_seconds",
            "From the start of an execution to its end.",
            executions.collect(),
        ),
    ];
    families.into_iter().filter(|family| !family.get_metric().is_empty()).collect()
}

fn family(name: &str, help: &str, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_help(help.to_owned());
    family.set_field_type(MetricType::HISTOGRAM);
    family.set_metric(metrics);
    family
}

/// Returns a histogram with its labels, which are ordered by name.
fn metric(labels: Vec<(&str, String)>, durations: &DurationHistogram) -> Metric {
    let labels = labels.into_iter().map(|(name, value)| {
        let mut label = LabelPair::default();
        label.set_name(name.to_owned());
        label.set_value(value);
        label
    });
    let mut below = 0;
    let buckets = DURATION_BOUNDS.iter().zip(durations.buckets).map(|(bound, count)| {
        below += count;
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(*bound);
        bucket.set_cumulative_count(below);
        bucket
    });
    let mut histogram = Histogram::default();
    histogram.set_bucket(buckets.collect());
    histogram.set_sample_count(durations.count);
    histogram.set_sample_sum(durations.sum.as_secs_f64());
    let mut metric = Metric::from_label(labels.collect());
    metric.set_histogram(histogram);
    metric
}
