//! Metrics of the server's own work, in the Prometheus format.
//!
//! Invariant: every label has a bounded set of values; a value chosen by clients is shown only if
//! it is listed here, and is `other` otherwise.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;

use crate::state::AppState;

/// Buckets of histograms of seconds.
const SECONDS: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];
/// Buckets of histograms of sizes.
const SIZES: &[f64] = &[1.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1000.0];

/// Routes that are also counted as writes, and their label there.
const WRITES: &[(&str, &str)] = &[
    ("/api/catalog/register", "catalog_register"),
    ("/api/credentials", "credentials_upsert"),
    ("/api/keychain/{catalog_id}/{name}", "keychain_set"),
    ("/api/worker/pool/register", "runtime_register"),
    ("/api/worker/pool/heartbeat", "runtime_heartbeat"),
];

/// Routes with a counter of their own: method, path, counter name and help text.
const COUNTED_ROUTES: &[(&str, &str, &str, &str)] = &[
    (
        "GET",
        "/api/credentials/{identifier}/sealed",
        "noetl_credentials_sealed_total",
        "Credentials that were delivered sealed, or could not be.",
    ),
    (
        "PUT",
        "/api/result/{execution_id}",
        "noetl_result_store_put_total",
        "Values that workers stored.",
    ),
    (
        "GET",
        "/api/result/resolve",
        "noetl_result_store_resolve_total",
        "Values that workers fetched by reference.",
    ),
];

/// Counters of `COUNTED_ROUTES` that also have a histogram of durations, and its name.
const TIMED_ROUTES: &[(&str, &str)] = &[
    ("noetl_result_store_put_total", "noetl_result_store_put_duration_seconds"),
    ("noetl_result_store_resolve_total", "noetl_result_store_resolve_duration_seconds"),
];

/// Event names used as labels; others are `other`.
const EVENT_TYPES: &[&str] = &[
    "call.done",
    "call.error",
    "command.claimed",
    "command.completed",
    "command.failed",
    "command.heartbeat",
    "command.started",
    "step.exit",
];

#[derive(Debug, Default)]
pub(crate) struct Meters {
    families: Mutex<BTreeMap<&'static str, Family>>,
}

#[derive(Debug)]
struct Family {
    help: &'static str,
    series: BTreeMap<String, Series>,
}

#[derive(Debug)]
enum Series {
    Counter(u64),
    Histogram { ends: &'static [f64], counts: Vec<u64>, sum: f64, count: u64 },
}

impl Meters {
    fn count(&self, name: &'static str, help: &'static str, labels: String) {
        self.count_many(name, help, labels, 1);
    }

    fn count_many(&self, name: &'static str, help: &'static str, labels: String, more: u64) {
        let mut families = self.families();
        match series(&mut families, name, help, labels, || Series::Counter(0)) {
            Series::Counter(count) => *count += more,
            Series::Histogram { .. } => unreachable!("a name stands for one kind of measure"),
        }
    }

    fn observe(
        &self,
        name: &'static str,
        help: &'static str,
        labels: String,
        ends: &'static [f64],
        value: f64,
    ) {
        let mut families = self.families();
        let fresh = || Series::Histogram { ends, counts: vec![0; ends.len()], sum: 0.0, count: 0 };
        match series(&mut families, name, help, labels, fresh) {
            Series::Histogram { ends, counts, sum, count } => {
                let classes = ends.iter().zip(counts.iter_mut());
                classes.filter(|(end, _)| value <= **end).for_each(|(_, count)| *count += 1);
                *sum += value;
                *count += 1;
            }
            Series::Counter(_) => unreachable!("a name stands for one kind of measure"),
        }
    }

    fn families(&self) -> MutexGuard<'_, BTreeMap<&'static str, Family>> {
        self.families.lock().expect("nothing panics while it holds the meters")
    }

    /// Counts an event posted by another program, and its duration.
    pub(crate) fn event(&self, name: &str, taken: bool, took: Duration) {
        let known = EVENT_TYPES.iter().find(|known| **known == name).copied().unwrap_or("other");
        let status = if taken { "ok" } else { "error" };
        self.count(
            "noetl_events_ingested_total",
            "Events that other programs posted.",
            format!("event_type=\"{known}\",status=\"{status}\""),
        );
        self.observe(
            "noetl_event_ingest_duration_seconds",
            "How long taking an event took.",
            format!("event_type=\"{known}\""),
            SECONDS,
            took.as_secs_f64(),
        );
    }

    /// Counts a request to start an execution, by its outcome.
    pub(crate) fn execute(&self, entry: &'static str, outcome: &'static str) {
        self.count(
            "noetl_execute_outcomes_total",
            "Executions asked for, by what became of it.",
            format!("entry=\"{entry}\",outcome=\"{outcome}\""),
        );
    }

    /// Records the size of a batch of starts.
    pub(crate) fn batch(&self, size: usize) {
        let size = f64::from(u32::try_from(size).unwrap_or(u32::MAX));
        self.observe(
            "noetl_execute_batch_size",
            "How many executions were asked for at once.",
            String::new(),
            SIZES,
            size,
        );
    }

    /// Counts a callback of a job; stale if no command waited for it.
    pub(crate) fn callback(&self, state: &'static str, stale: bool) {
        let labels = format!("state=\"{state}\"");
        if stale {
            self.count(
                "noetl_container_callback_stale_total",
                "Ends of jobs that nothing waited for.",
                labels.clone(),
            );
        }
        self.count("noetl_container_callback_total", "Ends of jobs that were told.", labels);
    }

    /// Counts the lookup of a secret, and its duration.
    pub(crate) fn secret(&self, provider: &'static str, is_found: bool, took: Duration) {
        let status = if is_found { "ok" } else { "error" };
        // The server has no region.
        let labels = format!("provider=\"{provider}\",region=\"\"");
        self.count(
            "noetl_secret_resolve_total",
            "Secrets that were asked for, by where they were found.",
            format!("{labels},status=\"{status}\""),
        );
        self.observe(
            "noetl_secret_resolve_duration_seconds",
            "How long finding a secret took.",
            labels,
            SECONDS,
            took.as_secs_f64(),
        );
    }

    /// Counts secrets of a table that were re-encrypted with the current key, or could not be.
    pub(crate) fn rotation(&self, table: &'static str, rewrapped: u64, failed: u64) {
        for (status, count) in [("ok", rewrapped), ("error", failed)] {
            self.count_many(
                "noetl_wallet_rotate_total",
                "Secrets brought under the current key, or not.",
                format!("table=\"{table}\",status=\"{status}\""),
                count,
            );
        }
    }

    /// Counts a start that was refused because the backlog is full.
    pub(crate) fn refused_start(&self) {
        self.count(
            "noetl_starts_refused_total",
            "Requests to start executions that were refused because the backlog is full.",
            String::new(),
        );
    }

    fn errand(&self, method: &str, route: &str, status: &str, took: Duration) {
        let errand = COUNTED_ROUTES.iter().find(|(of, path, ..)| *of == method && *path == route);
        let Some((_, _, name, help)) = errand else { return };
        let labels = format!("status=\"{status}\"");
        self.count(name, help, labels.clone());
        if let Some((_, timed)) = TIMED_ROUTES.iter().find(|(counted, _)| counted == name) {
            self.observe(timed, "How long it took.", labels, SECONDS, took.as_secs_f64());
        }
    }

    fn request(&self, method: &str, route: &str, status: u16, took: Duration) {
        let class = status / 100;
        self.count(
            "noetl_http_requests_total",
            "Requests by route and class of the answer.",
            format!("method=\"{method}\",route=\"{route}\",status=\"{class}xx\""),
        );
        self.observe(
            "noetl_http_request_duration_seconds",
            "How long requests took until the answer began.",
            format!("method=\"{method}\",route=\"{route}\""),
            SECONDS,
            took.as_secs_f64(),
        );
        self.errand(method, route, if class == 2 { "ok" } else { "error" }, took);
        let write = WRITES.iter().find(|(path, _)| *path == route && method == "POST");
        if let Some((_, endpoint)) = write {
            let status = if class == 2 { "ok" } else { "error" };
            self.count(
                "noetl_write_requests_total",
                "Requests that write, by what they write to.",
                format!("endpoint=\"{endpoint}\",status=\"{status}\""),
            );
            self.observe(
                "noetl_write_request_duration_seconds",
                "How long requests that write took.",
                format!("endpoint=\"{endpoint}\""),
                SECONDS,
                took.as_secs_f64(),
            );
        }
    }

    /// Returns all metrics in the text format of Prometheus.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (name, family) in self.families().iter() {
            let kind = match family.series.values().next() {
                Some(Series::Histogram { .. }) => "histogram",
                Some(Series::Counter(_)) | None => "counter",
            };
            writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", family.help)
                .expect("a string takes everything");
            for (labels, series) in &family.series {
                series.write(&mut text, name, labels);
            }
        }
        text
    }
}

fn series<'a>(
    families: &'a mut BTreeMap<&'static str, Family>,
    name: &'static str,
    help: &'static str,
    labels: String,
    fresh: impl FnOnce() -> Series,
) -> &'a mut Series {
    let family = families.entry(name).or_insert(Family { help, series: BTreeMap::new() });
    family.series.entry(labels).or_insert_with(fresh)
}

impl Series {
    fn write(&self, text: &mut String, name: &str, labels: &str) {
        let braced = |labels: &str| match labels {
            "" => String::new(),
            labels => format!("{{{labels}}}"),
        };
        let mut line = |suffix: &str, labels: &str, value: &dyn std::fmt::Display| {
            writeln!(text, "{name}{suffix}{} {value}", braced(labels))
                .expect("a string takes everything");
        };
        match self {
            Series::Counter(count) => line("", labels, count),
            Series::Histogram { ends, counts, sum, count } => {
                let comma = if labels.is_empty() { "" } else { "," };
                for (end, counted) in ends.iter().zip(counts) {
                    line("_bucket", &format!("{labels}{comma}le=\"{end}\""), counted);
                }
                line("_bucket", &format!("{labels}{comma}le=\"+Inf\""), count);
                line("_sum", labels, sum);
                line("_count", labels, count);
            }
        }
    }
}

/// Counts and times a request by its route.
pub(crate) async fn measure(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let method = match request.method().as_str() {
        method @ ("GET" | "POST" | "PUT" | "DELETE") => method.to_owned(),
        _ => "other".to_owned(),
    };
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or_else(|| "other".to_owned(), |route| route.as_str().to_owned());
    let response = next.run(request).await;
    state.meters().request(&method, &route, response.status().as_u16(), begun.elapsed());
    response
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn counters_and_histograms_are_told_by_name() {
        let meters = Meters::default();
        meters.execute("single", "new");
        meters.execute("single", "new");
        meters.batch(7);
        expect![[r#"
            # HELP noetl_execute_batch_size How many executions were asked for at once.
            # TYPE noetl_execute_batch_size histogram
            noetl_execute_batch_size_bucket{le="1"} 0
            noetl_execute_batch_size_bucket{le="5"} 0
            noetl_execute_batch_size_bucket{le="10"} 1
            noetl_execute_batch_size_bucket{le="50"} 1
            noetl_execute_batch_size_bucket{le="100"} 1
            noetl_execute_batch_size_bucket{le="500"} 1
            noetl_execute_batch_size_bucket{le="1000"} 1
            noetl_execute_batch_size_bucket{le="+Inf"} 1
            noetl_execute_batch_size_sum 7
            noetl_execute_batch_size_count 1
            # HELP noetl_execute_outcomes_total Executions asked for, by what became of it.
            # TYPE noetl_execute_outcomes_total counter
            noetl_execute_outcomes_total{entry="single",outcome="new"} 2
        "#]]
        .assert_eq(&meters.text());
    }

    #[test]
    fn a_name_that_somebody_else_has_chosen_is_no_label() {
        let meters = Meters::default();
        for number in 0..1000 {
            meters.event(&format!("custom.{number}"), true, Duration::ZERO);
        }
        meters.event("call.done", false, Duration::ZERO);
        let text = meters.text();
        let counted: Vec<&str> =
            text.lines().filter(|line| line.starts_with("noetl_events_ingested_total{")).collect();
        assert_eq!(
            counted,
            [
                r#"noetl_events_ingested_total{event_type="call.done",status="error"} 1"#,
                r#"noetl_events_ingested_total{event_type="other",status="ok"} 1000"#,
            ]
        );
    }
}
