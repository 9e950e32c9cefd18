//! Metrics for operators and autoscalers, in the Prometheus format.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderName, header};
use noetl_app::{LogCounts, MessageBacklog, NoticeCounts, OpenWaits, PoolBacklog, pool_of};
use noetl_control::OutcomeCounts;
use noetl_model::Pool;
use prometheus::Registry;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::observe::durations::durations;
use crate::observe::registration::{register_counters, register_gauges, text};
use crate::request::extract::InQuery;
use crate::response::error::ApiError;
use crate::state::AppState;

const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(metrics))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct MetricsQuery {
    /// A pool whose commands are counted even if it has none; the shared one if absent.
    pool: Option<String>,
}

/// Shows metrics, with the backlogs of at most 64 pools that have commands and of one that is named. While the store does not answer, the backlog is the
/// last known one.
#[utoipa::path(
    get, path = "/metrics", tag = "health", params(MetricsQuery),
    responses((status = 200, content_type = "text/plain", body = String))
)]
async fn metrics(
    State(state): State<AppState>,
    InQuery(query): InQuery<MetricsQuery>,
) -> Result<([(HeaderName, &'static str); 1], String), ApiError> {
    let pool = match query.pool {
        Some(name) => pool_of(&name)?,
        None => Pool::shared(),
    };
    let gauges = Registry::new();
    tokio::join!(add_gauges(&gauges, &state, &pool), add_limits(&gauges, &state));
    add_counters(&gauges, &state);
    let mut metrics = gauges.gather();
    metrics.extend(durations(&state.control().durations()));
    metrics.extend(state.meters().gather());
    Ok(([(header::CONTENT_TYPE, PROMETHEUS_TEXT)], text(&metrics)))
}

/// Adds the values of this moment.
async fn add_gauges(registry: &Registry, state: &AppState, pool: &Pool) {
    let add = |name: &str, labels: &[(&str, &str)], help: &str, value: u64| {
        let (names, values): (Vec<&str>, Vec<&str>) = labels.iter().copied().unzip();
        let gauge = register_gauges(registry, name, help, &names).with_label_values(&values);
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    };
    let name = pool.to_string();
    let of_pool: &[(&str, &str)] = &[("pool", &name)];
    let asked = state.app().backlog(pool).await;
    let others = state.app().pool_backlogs().await.unwrap_or_default();
    let first = asked.as_ref().map(|(MessageBacklog { ready, oldest, .. }, _)| PoolBacklog {
        pool: pool.clone(),
        ready: *ready,
        oldest: *oldest,
        by_priority: others
            .iter()
            .find(|it| it.pool == *pool)
            .map(|it| it.by_priority.clone())
            .unwrap_or_default(),
    });
    let others = others.into_iter().filter(|backlog| backlog.pool != *pool);
    add_pools(registry, &first.into_iter().chain(others).collect::<Vec<_>>());
    if let Some((MessageBacklog { owed, .. }, age)) = asked {
        add("noetl_messages_owed", &[], "Pending messages (outbox).", owed);
        let age = age.as_secs();
        add(
            "noetl_store_gauges_age_seconds",
            &[],
            "Age of the figures of commands and messages.",
            age,
        );
    }
    if let Some(waiting) = state.control().backlog(pool) {
        let help = "Executions that wait for a worker, as last counted for admission.";
        add("noetl_backlog_executions", of_pool, help, waiting);
    }
    if let Some(OpenWaits { approvals, signals }) = state.app().open_waits().await {
        let help = "Approvals that wait for a decision, counted up to 10,000.";
        add("noetl_approvals_open", &[], help, approvals as u64);
        let help = "Steps that wait for a signal, counted up to 10,000.";
        add("noetl_signal_waits_open", &[], help, signals as u64);
    }
    let uptime = state.uptime().as_secs();
    add("noetl_uptime_seconds", &[], "Time since the start of this server.", uptime);
    if let Some(skew) = state.control().clock_skew() {
        let help = "Difference between the clocks of this machine and of the store.";
        add("noetl_clock_skew_milliseconds", &[], help, skew.millis());
    }
    if let Some(it) = state.app().store_connections() {
        let in_use = u64::from(it.open.saturating_sub(it.idle));
        let max = it.max.into();
        add("noetl_store_connections_max", &[], "Maximum number of connections to the store.", max);
        add("noetl_store_connections_in_use", &[], "Connections to the store in use.", in_use);
    }
}

/// Adds the backlogs of pools.
fn add_pools(registry: &Registry, pools: &[PoolBacklog]) {
    if pools.is_empty() {
        return;
    }
    let gauges = |name, help| register_gauges(registry, name, help, &["pool"]);
    let ready = gauges("noetl_commands_ready", "Commands that wait for a worker.");
    let help = "Age of the oldest command that waits for a worker.";
    let oldest = gauges("noetl_commands_ready_oldest_seconds", help);
    let set = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    for backlog in pools {
        let name = [backlog.pool.as_str()];
        ready.with_label_values(&name).set(set(backlog.ready));
        oldest.with_label_values(&name).set(set(backlog.oldest.as_secs()));
    }
    add_priorities(registry, pools);
}

/// Adds the backlogs of pools by priority. They are families of their own: the sum over a label that is
/// added to a gauge of the pool would surprise those who scale by its maximum over all servers.
fn add_priorities(registry: &Registry, pools: &[PoolBacklog]) {
    if pools.iter().all(|pool| pool.by_priority.is_empty()) {
        return;
    }
    let gauges = |name, help| register_gauges(registry, name, help, &["pool", "priority"]);
    let help = "Commands that wait for a worker, by priority.";
    let ready = gauges("noetl_commands_ready_by_priority", help);
    let help = "Age of the oldest command of a priority that waits for a worker.";
    let oldest = gauges("noetl_commands_ready_by_priority_oldest_seconds", help);
    let set = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    for pool in pools {
        for backlog in &pool.by_priority {
            let priority = backlog.priority.level().to_string();
            let labels = [pool.pool.as_str(), &priority];
            ready.with_label_values(&labels).set(set(backlog.ready));
            oldest.with_label_values(&labels).set(set(backlog.oldest.as_secs()));
        }
    }
}

/// Adds the figures of the first limits by name; the last known ones while the store does not answer.
async fn add_limits(registry: &Registry, state: &AppState) {
    let Some(list) = state.app().limit_figures().await.filter(|list| !list.limits.is_empty())
    else {
        return;
    };
    let gauges = |name, help| register_gauges(registry, name, help, &["limit"]);
    let holders = gauges("noetl_limit_holders", "Slots of a limit that are held.");
    let queued = gauges("noetl_limit_queued", "Requests that wait for a slot of a limit.");
    let oldest = gauges("noetl_limit_oldest_wait_seconds", "Age of the oldest request for a slot.");
    for limit in list.limits {
        let name = [limit.name.as_str()];
        let set = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        holders.with_label_values(&name).set(set(limit.holders));
        queued.with_label_values(&name).set(set(limit.queued));
        let wait = Duration::try_from_secs_f64(limit.oldest_wait_seconds.unwrap_or_default());
        oldest.with_label_values(&name).set(set(wait.unwrap_or_default().as_secs()));
    }
}

/// Adds what the control loops have counted.
fn add_counters(registry: &Registry, state: &AppState) {
    let counters = |name, help, labels: &[&str]| register_counters(registry, name, help, labels);
    let rewinds = counters(
        "noetl_log_rewinds_total",
        "Logs found to have lost events that this server had seen committed.",
        &[],
    );
    rewinds.with_label_values::<&str>(&[]).inc_by(state.control().rewinds());
    let LogCounts { chunks, bytes, over_limit, failed } = state.app().log_counts();
    let logs = [
        ("noetl_step_log_chunks_total", "Chunks of output of running steps stored.", chunks),
        ("noetl_step_log_bytes_total", "Bytes of output of running steps stored.", bytes),
        (
            "noetl_step_log_over_limit_total",
            "Chunks of output beyond a limit, not stored.",
            over_limit,
        ),
        (
            "noetl_step_log_failures_total",
            "Calls to store output of running steps that failed.",
            failed,
        ),
    ];
    for (name, help, count) in logs {
        counters(name, help, &[]).with_label_values::<&str>(&[]).inc_by(count);
    }
    let OutcomeCounts { started, completed, failed, cancelled, late } = state.control().outcomes();
    let starts =
        counters("noetl_executions_started_total", "Executions that this server has started.", &[]);
    starts.with_label_values::<&str>(&[]).inc_by(started);
    let lates = counters(
        "noetl_executions_late_total",
        "Executions that did not end by the time their playbook expects.",
        &[],
    );
    lates.with_label_values::<&str>(&[]).inc_by(late);
    let notices = counters(
        "noetl_notifications_total",
        "Notifications by target and outcome: sent, failed (an attempt) or dead.",
        &["target", "outcome"],
    );
    for NoticeCounts { kind, sent, failed, dead } in state.app().notice_counts() {
        for (outcome, count) in [("sent", sent), ("failed", failed), ("dead", dead)] {
            notices.with_label_values(&[kind.as_str(), outcome]).inc_by(count);
        }
    }
    let ends = counters(
        "noetl_executions_ended_total",
        "Executions that this server has ended, by outcome.",
        &["outcome"],
    );
    for (outcome, count) in [("completed", completed), ("failed", failed), ("cancelled", cancelled)]
    {
        ends.with_label_values(&[outcome]).inc_by(count);
    }
}
