//! Figures for a dashboard.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use noetl_app::NewestExecutions;
use noetl_model::{Summary, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::response::error::ApiError;
use crate::state::AppState;

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
    let counts = state.app().dashboard_counts().await?;
    let stats = Stats {
        total_executions: counts.completed + counts.failed + counts.cancelled + counts.running,
        successful_executions: counts.completed,
        failed_executions: counts.failed,
        cancelled_executions: counts.cancelled,
        running_executions: counts.running,
        total_playbooks: counts.playbooks,
        total_workers: counts.workers,
        bounded: counts.is_bounded,
        counted_max: counts.counted_max,
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
    let NewestExecutions { executions: newest, max } = state.app().newest_executions().await?;
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
        config: json!({ "x": "hour", "of_newest": max, "bounded": newest.len() == max }),
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
