//! Rows as arguments of the statements: JSON objects with column names as keys.

use noetl_model::{
    Actor, Digest, Event, EventId, EventTag, ExecutionId, Labels, Parent, Recorded, Seq, StepName,
    Timestamp, ToolError,
};
use noetl_store::{CommandKey, ExecutionChange, Holder, OpenCommand};
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct EventRow<'a> {
    event_id: EventId,
    execution_id: ExecutionId,
    seq: Seq,
    event_type: &'static str,
    node_name: Option<&'a StepName>,
    created_at: Timestamp,
    body: &'a Event,
    prev_digest: Option<Digest>,
}

impl<'a> EventRow<'a> {
    pub(crate) fn of(execution_id: ExecutionId, recorded: &'a Recorded) -> Self {
        let Recorded { seq, event_id, at, event, prev } = recorded;
        Self {
            event_id: *event_id,
            execution_id,
            seq: *seq,
            event_type: EventTag::as_str(event.tag()),
            node_name: event.step(),
            created_at: *at,
            body: event,
            prev_digest: *prev,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct ExecutionRow<'a> {
    execution_id: ExecutionId,
    catalog_id: i64,
    path: &'a str,
    path_folded: String,
    version: u32,
    status: &'static str,
    seq: Seq,
    last_event_at: Timestamp,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    parent_execution_id: Option<i64>,
    parent_command_id: Option<u64>,
    current_step: Option<&'a StepName>,
    steps_total: u32,
    steps_running: u32,
    steps_completed: u32,
    steps_failed: u32,
    items_total: u64,
    items_completed: u64,
    items_failed: u64,
    error: Option<&'a ToolError>,
    head_digest: Option<Digest>,
    fork_execution_id: Option<ExecutionId>,
    fork_seq: Option<Seq>,
    labels: Option<&'a Labels>,
    actor: Option<&'a Actor>,
}

impl<'a> ExecutionRow<'a> {
    pub(crate) fn of(execution_id: ExecutionId, change: &ExecutionChange<'a>) -> Self {
        let ExecutionChange { summary, end, before: _, is_new: _ } = *change;
        Self {
            execution_id,
            catalog_id: summary.playbook.catalog_id.0,
            path: &summary.playbook.path,
            path_folded: summary.playbook.path.to_lowercase(),
            version: summary.playbook.version,
            status: summary.status.as_str(),
            seq: end.seq,
            last_event_at: end.at,
            started_at: summary.started_at,
            ended_at: summary.ended_at,
            parent_execution_id: summary.parent.map(|parent| parent.execution().0),
            parent_command_id: summary.parent.and_then(Parent::command).map(|it| it.command.0),
            current_step: summary.current_step.as_ref(),
            steps_total: summary.steps.total,
            steps_running: summary.steps.running,
            steps_completed: summary.steps.completed,
            steps_failed: summary.steps.failed,
            items_total: summary.items.total,
            items_completed: summary.items.completed,
            items_failed: summary.items.failed,
            error: summary.error.as_ref(),
            head_digest: summary.head,
            fork_execution_id: summary.fork.map(|fork| fork.execution),
            fork_seq: summary.fork.map(|fork| fork.seq),
            labels: Some(&summary.labels).filter(|labels| !labels.is_empty()),
            actor: summary.actor.as_ref(),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct CommandRow<'a> {
    execution_id: ExecutionId,
    command_id: u64,
    pool: &'a str,
    step_name: &'a str,
    attempt: u32,
    priority: u8,
    status: &'static str,
    worker_id: Option<&'a str>,
    lease_until: Option<Timestamp>,
}

impl<'a> CommandRow<'a> {
    pub(crate) fn of((execution_id, command): CommandKey, open: &'a OpenCommand) -> Self {
        let (status, worker_id, lease_until) = match &open.holder {
            Holder::Nobody { .. } => ("ISSUED", None, None),
            Holder::Worker { worker, lease_until } => {
                ("CLAIMED", Some(worker.as_str()), Some(*lease_until))
            }
            Holder::Parked => ("PARKED", None, None),
        };
        Self {
            execution_id,
            command_id: command.0,
            pool: open.pool.as_str(),
            step_name: &open.step,
            attempt: open.attempt.0,
            priority: open.priority.level(),
            status,
            worker_id,
            lease_until,
        }
    }
}
