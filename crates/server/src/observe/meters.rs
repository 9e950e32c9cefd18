//! Metrics of the server's own work.
//!
//! Invariant: every label has a bounded set of values; a value chosen by clients is shown only if
//! it is listed here, and is `other` otherwise.

use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use prometheus::proto::MetricFamily;
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, Registry};
use tokio::time::Instant;

use super::registration::{register_counters, register_histograms};
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

/// The metrics of one server. Several servers in one process count apart.
#[derive(Debug)]
pub(crate) struct Meters {
    registry: Registry,
    requests: RequestMeters,
    events: IntCounterVec,
    event_seconds: HistogramVec,
    starts: IntCounterVec,
    refused_starts: IntCounter,
    start_batches: Histogram,
    callbacks: IntCounterVec,
    stale_callbacks: IntCounterVec,
    secrets: IntCounterVec,
    secret_seconds: HistogramVec,
    rotations: IntCounterVec,
}

/// The metrics of requests.
#[derive(Debug)]
struct RequestMeters {
    requests: IntCounterVec,
    seconds: HistogramVec,
    writes: IntCounterVec,
    write_seconds: HistogramVec,
    routes: [RouteMeters; 3],
}

/// The metrics of a route that has its own.
#[derive(Debug)]
struct RouteMeters {
    method: &'static str,
    path: &'static str,
    requests: IntCounterVec,
    seconds: Option<HistogramVec>,
}

impl Default for Meters {
    fn default() -> Self {
        let registry = Registry::new();
        let counters =
            |name, help, labels: &[&str]| register_counters(&registry, name, help, labels);
        let seconds = |name, help, labels: &[&str]| {
            register_histograms(&registry, name, help, labels, SECONDS)
        };
        Self {
            requests: RequestMeters::new(&registry),
            events: counters(
                "noetl_events_ingested_total",
                "Events that other programs posted.",
                &["event_type", "status"],
            ),
            event_seconds: seconds(
                "noetl_event_ingest_duration_seconds",
                "Duration of the ingestion of a posted event.",
                &["event_type"],
            ),
            starts: counters(
                "noetl_execute_outcomes_total",
                "Start requests by outcome.",
                &["entry", "outcome"],
            ),
            refused_starts: counters(
                "noetl_starts_refused_total",
                "Requests to start executions that were refused because the backlog is full.",
                &[],
            )
            .with_label_values::<&str>(&[]),
            start_batches: register_histograms(
                &registry,
                "noetl_execute_batch_size",
                "Executions per start request.",
                &[],
                SIZES,
            )
            .with_label_values::<&str>(&[]),
            callbacks: counters(
                "noetl_container_callback_total",
                "Callbacks of jobs received.",
                &["state"],
            ),
            stale_callbacks: counters(
                "noetl_container_callback_stale_total",
                "Callbacks of jobs that no command waited for.",
                &["state"],
            ),
            secrets: counters(
                "noetl_secret_resolve_total",
                "Secrets that were asked for, by where they were found.",
                &["provider", "region", "status"],
            ),
            secret_seconds: seconds(
                "noetl_secret_resolve_duration_seconds",
                "How long finding a secret took.",
                &["provider", "region"],
            ),
            rotations: counters(
                "noetl_wallet_rotate_total",
                "Secrets brought under the current key, or not.",
                &["table", "status"],
            ),
            registry,
        }
    }
}

impl RequestMeters {
    fn new(registry: &Registry) -> Self {
        let counters =
            |name, help, labels: &[&str]| register_counters(registry, name, help, labels);
        let seconds = |name, help, labels: &[&str]| {
            register_histograms(registry, name, help, labels, SECONDS)
        };
        Self {
            requests: counters(
                "noetl_http_requests_total",
                "Requests by route and class of the answer.",
                &["method", "route", "status"],
            ),
            seconds: seconds(
                "noetl_http_request_duration_seconds",
                "How long requests took until the answer began.",
                &["method", "route"],
            ),
            writes: counters(
                "noetl_write_requests_total",
                "Requests that write, by what they write to.",
                &["endpoint", "status"],
            ),
            write_seconds: seconds(
                "noetl_write_request_duration_seconds",
                "How long requests that write took.",
                &["endpoint"],
            ),
            routes: RouteMeters::all(registry),
        }
    }

    fn count(&self, method: &str, route: &str, code: u16, took: Duration) {
        let (class, seconds) = (code / 100, took.as_secs_f64());
        self.requests.with_label_values(&[method, route, &format!("{class}xx")]).inc();
        self.seconds.with_label_values(&[method, route]).observe(seconds);
        let status = status(class == 2);
        if let Some(own) = self.routes.iter().find(|it| it.method == method && it.path == route) {
            own.requests.with_label_values(&[status]).inc();
            if let Some(durations) = &own.seconds {
                durations.with_label_values(&[status]).observe(seconds);
            }
        }
        let write = WRITES.iter().find(|(path, _)| *path == route && method == "POST");
        if let Some((_, endpoint)) = write {
            self.writes.with_label_values(&[*endpoint, status]).inc();
            self.write_seconds.with_label_values(&[endpoint]).observe(seconds);
        }
    }
}

impl RouteMeters {
    fn all(registry: &Registry) -> [Self; 3] {
        let of_status = |name, help| register_counters(registry, name, help, &["status"]);
        let seconds =
            |name| register_histograms(registry, name, "How long it took.", &["status"], SECONDS);
        [
            Self {
                method: "GET",
                path: "/api/credentials/{identifier}/sealed",
                requests: of_status(
                    "noetl_credentials_sealed_total",
                    "Credentials that were delivered sealed, or could not be.",
                ),
                seconds: None,
            },
            Self {
                method: "PUT",
                path: "/api/result/{execution_id}",
                requests: of_status("noetl_result_store_put_total", "Values that workers stored."),
                seconds: Some(seconds("noetl_result_store_put_duration_seconds")),
            },
            Self {
                method: "GET",
                path: "/api/result/resolve",
                requests: of_status(
                    "noetl_result_store_resolve_total",
                    "Values that workers fetched by reference.",
                ),
                seconds: Some(seconds("noetl_result_store_resolve_duration_seconds")),
            },
        ]
    }
}

impl Meters {
    /// Counts an event posted by another program, and its duration.
    pub(crate) fn event(&self, name: &str, taken: bool, took: Duration) {
        let known = EVENT_TYPES.iter().find(|known| **known == name).copied().unwrap_or("other");
        self.events.with_label_values(&[known, status(taken)]).inc();
        self.event_seconds.with_label_values(&[known]).observe(took.as_secs_f64());
    }

    /// Counts a request to start an execution, by its outcome.
    pub(crate) fn execute(&self, entry: &'static str, outcome: &'static str) {
        self.starts.with_label_values(&[entry, outcome]).inc();
    }

    /// Records the size of a batch of starts.
    pub(crate) fn batch(&self, size: usize) {
        self.start_batches.observe(f64::from(u32::try_from(size).unwrap_or(u32::MAX)));
    }

    /// Counts a callback of a job; stale if no command waited for it.
    pub(crate) fn callback(&self, state: &'static str, stale: bool) {
        if stale {
            self.stale_callbacks.with_label_values(&[state]).inc();
        }
        self.callbacks.with_label_values(&[state]).inc();
    }

    /// Counts the lookup of a secret, and its duration.
    pub(crate) fn secret(&self, provider: &'static str, is_found: bool, took: Duration) {
        // The server has no region.
        self.secrets.with_label_values(&[provider, "", status(is_found)]).inc();
        self.secret_seconds.with_label_values(&[provider, ""]).observe(took.as_secs_f64());
    }

    /// Counts secrets of a table that were re-encrypted with the current key, or could not be.
    pub(crate) fn rotation(&self, table: &'static str, rewrapped: u64, failed: u64) {
        self.rotations.with_label_values(&[table, status(true)]).inc_by(rewrapped);
        self.rotations.with_label_values(&[table, status(false)]).inc_by(failed);
    }

    /// Counts a start that was refused because the backlog is full.
    pub(crate) fn refused_start(&self) {
        self.refused_starts.inc();
    }

    /// Returns all metrics, sorted by name.
    pub(crate) fn gather(&self) -> Vec<MetricFamily> {
        self.registry.gather()
    }
}

fn status(is_ok: bool) -> &'static str {
    if is_ok { "ok" } else { "error" }
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
    state.meters().requests.count(&method, &route, response.status().as_u16(), begun.elapsed());
    response
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::observe::registration::text;

    #[test]
    fn counters_and_histograms_are_distinguished_by_name() {
        let meters = Meters::default();
        meters.execute("single", "new");
        meters.execute("single", "new");
        meters.batch(7);
        expect![[r#"
            # HELP noetl_execute_batch_size Executions per start request.
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
            # HELP noetl_execute_outcomes_total Start requests by outcome.
            # TYPE noetl_execute_outcomes_total counter
            noetl_execute_outcomes_total{entry="single",outcome="new"} 2
            # HELP noetl_starts_refused_total Requests to start executions that were refused because the backlog is full.
            # TYPE noetl_starts_refused_total counter
            noetl_starts_refused_total 0
        "#]]
        .assert_eq(&text(&meters.gather()));
    }

    #[test]
    fn a_name_chosen_by_a_client_is_no_metric_label() {
        let meters = Meters::default();
        for number in 0..1000 {
            meters.event(&format!("custom.{number}"), true, Duration::ZERO);
        }
        meters.event("call.done", false, Duration::ZERO);
        let text = text(&meters.gather());
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
