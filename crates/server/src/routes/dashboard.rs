//! Figures for a dashboard.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use noetl_model::{ExecutionStatus, Summary, Timestamp};
use noetl_store::{ExecutionFilter, PAGE_MAX, Page};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::catalog::PATHS_MAX;
use crate::error::ApiError;
use crate::state::AppState;

/// Maximum count of executions per status; `bounded` is set if it is reached.
const COUNTED_MAX: u64 = 100_000;
/// Number of executions listed in the widgets.
const RECENT_MAX: usize = 10;
/// Width of a column of the trend, in microseconds.
const HOUR_MICROS: i64 = 3_600_000_000;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(dashboard_stats)).routes(routes!(dashboard_widgets))
}

#[derive(Debug, Serialize, ToSchema)]
struct Dashboard {
    status: &'static str,
    stats: Stats,
}

#[derive(Debug, Serialize, ToSchema)]
struct Stats {
    total_executions: u64,
    successful_executions: u64,
    failed_executions: u64,
    cancelled_executions: u64,
    running_executions: u64,
    total_playbooks: usize,
    /// Workers that are online.
    total_workers: usize,
    /// True if a count has reached its maximum, so that there may be more.
    bounded: bool,
    counted_max: u64,
}

/// Counts executions, playbooks and workers.
#[utoipa::path(
    get, path = "/api/dashboard/stats", tag = "dashboard",
    responses((status = 200, body = Dashboard))
)]
async fn dashboard_stats(State(state): State<AppState>) -> Result<Json<Dashboard>, ApiError> {
    let count = |status| state.store().count(status, COUNTED_MAX);
    let (completed, failed, cancelled, running) = tokio::try_join!(
        count(ExecutionStatus::Completed),
        count(ExecutionStatus::Failed),
        count(ExecutionStatus::Cancelled),
        count(ExecutionStatus::Running),
    )?;
    let counts = [completed, failed, cancelled, running];
    let total_playbooks = super::catalog::newest_entries(&state, PATHS_MAX).await?.len();
    let silence = state.settings().lease * super::pools::SILENT_LEASES;
    let (now, workers) =
        (state.now(), state.records().runtimes(noetl_api::wire::WORKER_KIND).await?);
    let stats = Stats {
        total_executions: counts.iter().sum(),
        successful_executions: completed,
        failed_executions: failed,
        cancelled_executions: cancelled,
        running_executions: running,
        total_playbooks,
        total_workers: workers.iter().filter(|it| now.since(it.heartbeat) <= silence).count(),
        bounded: counts.contains(&COUNTED_MAX) || total_playbooks == PATHS_MAX,
        counted_max: COUNTED_MAX,
    };
    Ok(Json(Dashboard { status: "ok", stats }))
}

#[derive(Debug, Serialize, ToSchema)]
struct Widgets {
    widgets: Vec<Widget>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Widget {
    id: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    #[schema(value_type = Object)]
    config: Value,
    #[schema(value_type = Vec<Object>)]
    data: Value,
}

/// Shows the newest executions: the last ones in a list, the last 500 by hour.
#[utoipa::path(
    get, path = "/api/dashboard/widgets", tag = "dashboard",
    responses((status = 200, body = Widgets))
)]
async fn dashboard_widgets(State(state): State<AppState>) -> Result<Json<Widgets>, ApiError> {
    let page = Page { before: None, limit: PAGE_MAX };
    let newest = state.control().list(&ExecutionFilter::default(), page).await?;
    let recent = newest.iter().take(RECENT_MAX).map(|summary| {
        json!({
            "execution_id": summary.execution.to_string(),
            "path": summary.playbook.path,
            "status": summary.status.as_str(),
            "started_at": summary.started_at.to_string(),
            "completed_at": summary.ended_at.map(|at| at.to_string()),
        })
    });
    let trend = Widget {
        id: "execution-trend",
        kind: "chart",
        title: "Executions by the hour",
        config: json!({ "x": "hour", "of_newest": PAGE_MAX, "bounded": newest.len() == PAGE_MAX }),
        data: by_the_hour(&newest),
    };
    let recent = Widget {
        id: "recent-executions",
        kind: "table",
        title: "Recent executions",
        config: json!({ "columns": ["path", "status", "started_at"] }),
        data: recent.collect(),
    };
    Ok(Json(Widgets { widgets: vec![trend, recent] }))
}

/// Counts the executions started in each hour by status, oldest hour first.
fn by_the_hour(summaries: &[Summary]) -> Value {
    let mut hours: BTreeMap<i64, BTreeMap<&str, u64>> = BTreeMap::new();
    for summary in summaries {
        let hour = summary.started_at.as_micros().div_euclid(HOUR_MICROS);
        *hours.entry(hour).or_default().entry(summary.status.as_str()).or_default() += 1;
    }
    let columns = hours.into_iter().map(|(hour, counts)| {
        let at = Timestamp::from_micros(hour * HOUR_MICROS);
        json!({ "hour": at.to_string(), "counts": counts })
    });
    columns.collect()
}
