//! Metrics for operators and autoscalers, in the Prometheus format.

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::{HeaderName, header};
use noetl_app::{MessageBacklog, pool_of};
use noetl_control::OutcomeCounts;
use noetl_model::Pool;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

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
    /// The pool whose commands are counted; the shared one if absent.
    pool: Option<String>,
}

/// Shows metrics, with the backlog of one pool. While the store does not answer, the backlog is the
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
    let known = state.app().backlog(&pool).await;
    let mut text = String::new();
    let mut add = |name: &str, labels: &str, help: &str, value: u64| {
        writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name}{labels} {value}")
            .expect("a string takes everything");
    };
    let of_pool = format!("{{pool=\"{pool}\"}}");
    if let Some((MessageBacklog { ready, owed }, age)) = known {
        add("noetl_commands_ready", &of_pool, "Commands that wait for a worker.", ready);
        add("noetl_messages_owed", "", "Messages to others that are not sent yet.", owed);
        let age = age.as_secs();
        add("noetl_store_gauges_age_seconds", "", "How old these two figures are.", age);
    }
    if let Some(waiting) = state.control().backlog(&pool) {
        let help = "Executions that wait for a worker, as last counted for admission.";
        add("noetl_backlog_executions", &of_pool, help, waiting);
    }
    let uptime = state.uptime().as_secs();
    add("noetl_uptime_seconds", "", "How long this server has been up.", uptime);
    if let Some(skew) = state.control().clock_skew() {
        let help = "How far this machine's clock is from the store's, either way.";
        add("noetl_clock_skew_milliseconds", "", help, skew.millis());
    }
    if let Some(it) = state.app().store_connections() {
        let in_use = u64::from(it.open.saturating_sub(it.idle));
        add("noetl_store_connections_max", "", "Connections to the store, at most.", it.max.into());
        add("noetl_store_connections_in_use", "", "Connections to the store in use.", in_use);
    }
    let (rewinds, name) = (state.control().rewinds(), "noetl_log_rewinds_total");
    let help = "Logs found to have lost events that this server had seen committed.";
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {rewinds}")
        .expect("a string takes everything");
    text.push_str(&outcomes(state.control().outcomes()));
    text.push_str(&state.meters().text());
    Ok(([(header::CONTENT_TYPE, PROMETHEUS_TEXT)], text))
}

/// Returns the counters of executions that this server has started and ended.
fn outcomes(counts: OutcomeCounts) -> String {
    let OutcomeCounts { started, completed, failed, cancelled } = counts;
    let mut text = format!(
        "# HELP noetl_executions_started_total Executions that this server has started.\n\
         # TYPE noetl_executions_started_total counter\n\
         noetl_executions_started_total {started}\n\
         # HELP noetl_executions_ended_total Executions that this server has ended, by outcome.\n\
         # TYPE noetl_executions_ended_total counter\n"
    );
    for (outcome, count) in [("completed", completed), ("failed", failed), ("cancelled", cancelled)]
    {
        writeln!(text, "noetl_executions_ended_total{{outcome=\"{outcome}\"}} {count}")
            .expect("a string takes everything");
    }
    text
}
