//! Bodies of the routes about executions.

use noetl_model::{Actor, Labels, LogOrigin};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{AnyId, PublicEvent};

/// An execution in a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ExecutionItem {
    pub execution_id: AnyId,
    /// `native`; `imported` if it is known only from projected events; `subscription`.
    #[schema(value_type = String)]
    pub origin: LogOrigin,
    pub catalog_id: AnyId,
    pub path: String,
    pub version: u32,
    pub status: String,
    pub started_at: String,
    pub completed_at: Option<String>,
    /// The same as `started_at`, under the name that existing clients read.
    pub start_time: String,
    /// The same as `completed_at`, under the name that existing clients read.
    pub end_time: Option<String>,
    /// Time from the start to the end, or to now.
    pub duration_seconds: f64,
    /// The duration as text, such as `1h 2m 3s`.
    pub duration_human: String,
    /// Share of the steps entered so far that have completed, in percent; 100 once completed.
    pub progress: u32,
    pub parent_execution_id: Option<AnyId>,
    /// The id of the execution this one was forked from, and (`forked_at`) the last shared event.
    pub forked_from: Option<String>,
    pub forked_at: Option<u64>,
    pub event_count: u64,
    pub error: Option<String>,
    /// The labels of the execution, by key.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    #[schema(value_type = Option<Object>)]
    pub labels: Labels,
    /// The person or program that requested the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub actor: Option<Actor>,
    /// The reason why a running execution does not advance: a pause, the queue of a limit, a pool without
    /// a worker or without an idle one, a callback, a time, a signal, an approval, a child or a retry that
    /// it waits for. Lists have it with `hints=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// An execution with its latest events.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ExecutionDetail {
    #[serde(flatten)]
    pub execution: ExecutionItem,
    /// The execution's parameters, or a reference to fetch them from.
    #[schema(value_type = Object)]
    pub workload: Value,
    /// The output of a completed execution, or a reference to fetch it from.
    #[schema(value_type = Object)]
    pub result: Option<Value>,
    /// The latest events, oldest first; a page that was asked for has the newest first.
    pub events: Vec<PublicEvent>,
    /// URL of the list of all events.
    pub events_endpoint: String,
    pub pagination: Pagination,
}

/// Position of a page among all events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Pagination {
    /// Page number from 1, which has the newest events.
    pub page: u64,
    pub page_size: u64,
    pub total_events: u64,
    pub total_pages: u64,
    pub has_next: bool,
    pub has_prev: bool,
}

impl Pagination {
    /// Computes a page of `page_size` out of `total_events`; the first if `page` is `None`.
    pub fn of(page: Option<u64>, page_size: u64, total_events: u64) -> Self {
        let page_size = page_size.max(1);
        let total_pages = total_events.div_ceil(page_size).max(1);
        let page = page.unwrap_or(1).max(1);
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
    pub execution_id: AnyId,
    pub events: Vec<PublicEvent>,
    /// Number of events of the execution.
    pub total: u64,
    /// Pass as `after` for the next page; null on the last page.
    pub next_after: Option<u64>,
    /// Pass as `before` for the next page, if the latest events come first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_before: Option<u64>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ExecutionState {
    pub execution_id: AnyId,
    /// `native`, `imported` or `subscription`.
    #[schema(value_type = String)]
    pub origin: LogOrigin,
    pub path: String,
    pub status: String,
    pub current_step: Option<String>,
    pub progress: Progress,
    /// Names of the steps that have completed.
    pub completed_steps: Vec<String>,
    pub is_cancelled: bool,
    /// True if the execution has ended.
    pub completed: bool,
    /// True if the execution has failed or was cancelled.
    pub failed: bool,
    pub error: Option<String>,
    pub start_time: String,
    pub end_time: Option<String>,
    pub duration_seconds: f64,
    /// The duration as text, such as `1h 2m 3s`.
    pub duration_human: String,
    /// The time at which the execution was found to be late by `expect` of its playbook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_at: Option<String>,
    /// The reason why a running execution does not advance: a pause, the queue of a limit, a pool without
    /// a worker, a callback, a time, a signal, an approval, a child or a retry that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Numbers of steps and loop items by status.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Progress {
    pub total_steps: u32,
    pub completed_steps: u32,
    pub running_steps: u32,
    pub failed_steps: u32,
    /// Items of all loops that were started, as far as known.
    pub total_items: u64,
    pub completed_items: u64,
    pub failed_items: u64,
}

#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
pub struct CancelRequest {
    #[serde(default)]
    pub reason: Option<String>,
    /// True (the default) to cancel the descendants too.
    #[serde(default)]
    pub cascade: Option<bool>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CancelAnswer {
    pub execution_id: AnyId,
    pub status: &'static str,
    pub message: String,
    /// The execution and its descendants that were running.
    pub cancelled_executions: Vec<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CancellationCheck {
    pub execution_id: AnyId,
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
    pub execution_id: AnyId,
    pub status: String,
    pub message: String,
}

/// The record that remains of a deleted execution.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TombstoneView {
    pub execution_id: AnyId,
    pub path: String,
    pub version: u32,
    pub status: String,
    /// The number of events.
    pub events: u64,
    /// The digest of the last event.
    pub head: Option<String>,
    pub started_at: String,
    pub ended_at: Option<String>,
    pub deleted_at: String,
    /// The person or program that requested the deletion; null for the retention settings.
    pub deleted_by: Option<String>,
}

/// A mark that protects an execution from deletion.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct KeepRequest {
    /// At most 1000 bytes.
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct KeepAnswer {
    pub execution_id: AnyId,
    pub is_kept: bool,
    pub since: Option<String>,
    pub reason: Option<String>,
    pub actor: Option<String>,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct CleanupRequest {
    /// Selects executions that were started more than this long ago.
    pub older_than_minutes: u64,
    /// True to only list the executions that would be cancelled.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CleanupAnswer {
    pub cancelled_count: usize,
    pub execution_ids: Vec<String>,
    pub message: String,
}
