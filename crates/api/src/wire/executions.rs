//! Bodies of the routes about executions.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::PublicEvent;

/// An execution in a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ExecutionItem {
    pub execution_id: i64,
    pub catalog_id: i64,
    pub path: String,
    pub version: u32,
    pub status: String,
    pub started_at: String,
    pub completed_at: Option<String>,
    pub parent_execution_id: Option<i64>,
    /// The execution whose past it shares, and the last event of that.
    pub forked_from: Option<String>,
    pub forked_at: Option<u64>,
    pub event_count: u64,
    pub error: Option<String>,
}

/// An execution with its latest events.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ExecutionDetail {
    #[serde(flatten)]
    pub execution: ExecutionItem,
    /// The parameters it runs with, or where to fetch them.
    #[schema(value_type = Object)]
    pub workload: Value,
    /// The latest events, or the page that was asked for, oldest first.
    pub events: Vec<PublicEvent>,
    /// Why it does not go on, if no worker takes its commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Where all of them are.
    pub events_endpoint: String,
    pub pagination: Pagination,
}

/// Which events of how many are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Pagination {
    /// From one; the last page if none was asked for.
    pub page: u64,
    pub page_size: u64,
    pub total_events: u64,
    pub total_pages: u64,
    pub has_next: bool,
    pub has_prev: bool,
}

impl Pagination {
    /// A page of so many events of a log of `total_events`; the last one unless one is named.
    pub fn of(page: Option<u64>, page_size: u64, total_events: u64) -> Self {
        let page_size = page_size.max(1);
        let total_pages = total_events.div_ceil(page_size).max(1);
        let page = page.unwrap_or(total_pages).max(1);
        Self {
            page,
            page_size,
            total_events,
            total_pages,
            has_next: page < total_pages,
            has_prev: page > 1,
        }
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EventPage {
    pub execution_id: i64,
    pub events: Vec<PublicEvent>,
    /// How many the execution has.
    pub total: u64,
    /// To be passed as `after` for the next page; null if this is the last.
    pub next_after: Option<u64>,
    /// To be passed as `before` for the next page, where the latest come first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_before: Option<u64>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ExecutionState {
    pub execution_id: i64,
    pub path: String,
    pub status: String,
    pub current_step: Option<String>,
    pub progress: Progress,
    pub is_cancelled: bool,
    /// Whether it has ended.
    pub completed: bool,
    pub failed: bool,
    pub error: Option<String>,
    pub start_time: String,
    pub end_time: Option<String>,
    pub duration_seconds: f64,
    /// Why it does not go on, if no worker takes its commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How many steps and items of loops have reached which status.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Progress {
    pub total_steps: u32,
    pub completed_steps: u32,
    pub running_steps: u32,
    pub failed_steps: u32,
    /// The items of every loop that was begun, as far as is known.
    pub total_items: u64,
    pub completed_items: u64,
    pub failed_items: u64,
}

#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
pub struct CancelRequest {
    #[serde(default)]
    pub reason: Option<String>,
    /// Whether what stands below it is cancelled too: yes, unless this says `false`.
    #[serde(default)]
    pub cascade: Option<bool>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CancelAnswer {
    pub execution_id: i64,
    pub status: &'static str,
    pub message: String,
    /// The execution itself, and those below it that were running.
    pub cancelled_executions: Vec<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CancellationCheck {
    pub execution_id: i64,
    pub is_cancelled: bool,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct FinalizeRequest {
    /// `COMPLETED` or `FAILED`.
    pub status: String,
    #[serde(default, alias = "reason")]
    pub error: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct FinalizeAnswer {
    pub execution_id: i64,
    pub status: String,
    pub message: String,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct CleanupRequest {
    /// Only executions that were started longer ago than this.
    pub older_than_minutes: u64,
    /// Only says what would be cancelled.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CleanupAnswer {
    pub cancelled_count: usize,
    pub execution_ids: Vec<String>,
    pub message: String,
}
