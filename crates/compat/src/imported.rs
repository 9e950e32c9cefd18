//! Logs that the engine does not write: events of other programs, and the lifecycle of
//! subscriptions, which is shown in the same form.

use std::borrow::Cow;

use noetl_api::{AnyId, EventSource, PublicEvent};
use noetl_model::{
    DEFAULT_OWNER, Envelope, ErrorKind, EventId, ExecutionId, ExecutionStatus, ImportedChange,
    StepChange, StepName, SubscriptionEvent, SubscriptionState, Timestamp, ToolError,
};
use serde_json::{Map, Value, json};

use crate::projection::{Aggregate, Reference, ReplayEvent};

/// Returns the change that a projected event makes to the summary of its execution.
pub fn imported_change(event: &Envelope) -> ImportedChange {
    let name = event.event_type.as_deref().unwrap_or_default();
    let context = |key: &str| event.context.as_ref().and_then(|context| context.get(key));
    let parent = event.extra.get("parent_execution_id").or_else(|| context("parent_execution_id"));
    let change = ImportedChange {
        parent: parent.and_then(whole_number).map(ExecutionId),
        ..ImportedChange::default()
    };
    match name {
        "playbook_started" | "playbook.started" | "playbook.initialized" | "execution.started" => {
            let path = context("path").and_then(Value::as_str).map(str::to_owned);
            let version = context("version").and_then(whole_number);
            ImportedChange {
                path: path.or_else(|| event.node_name.clone()),
                version: version.and_then(|version| u32::try_from(version).ok()),
                ..change
            }
        }
        "playbook.completed" | "playbook_completed" => ended(change, ExecutionStatus::Completed),
        "playbook.cancelled" | "playbook_cancelled" => ended(change, ExecutionStatus::Cancelled),
        "playbook.failed" | "playbook_failed" => {
            let error = event.error.clone().or_else(|| meta_text(event, "error"));
            let error = error.map(|message| ToolError::new(ErrorKind::Unknown, message));
            ended(ImportedChange { error, ..change }, ExecutionStatus::Failed)
        }
        "step.enter" | "step_enter" | "step_started" => {
            let step = event.node_name.as_deref().map(StepName::new);
            ImportedChange { step: step.map(StepChange::Entered), ..change }
        }
        "step.exit" | "step_completed" => {
            ImportedChange { step: Some(StepChange::Completed), ..change }
        }
        "step.failed" | "step_failed" => {
            ImportedChange { step: Some(StepChange::Failed), ..change }
        }
        _ => change,
    }
}

fn ended(change: ImportedChange, status: ExecutionStatus) -> ImportedChange {
    ImportedChange { end: Some(status), ..change }
}

fn whole_number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

fn meta_text(event: &Envelope, key: &str) -> Option<String> {
    event.meta.as_ref()?.get(key)?.as_str().map(str::to_owned)
}

/// The status of a subscription as that of an execution: it runs until it is deactivated.
pub fn subscription_status(state: SubscriptionState) -> ExecutionStatus {
    match state {
        SubscriptionState::Registered
        | SubscriptionState::Active
        | SubscriptionState::Paused
        | SubscriptionState::Draining => ExecutionStatus::Running,
        SubscriptionState::Deactivated => ExecutionStatus::Completed,
    }
}

/// An event of a subscription, with the subscription that it belongs to.
#[derive(Debug, Clone, Copy)]
pub struct LifecycleEvent<'a> {
    pub subscription: ExecutionId,
    pub path: &'a str,
    pub catalog_id: i64,
    pub event_id: EventId,
    pub event: SubscriptionEvent,
    pub at: Timestamp,
}

impl LifecycleEvent<'_> {
    /// Returns the event in the public form.
    pub fn envelope(&self) -> Envelope {
        Envelope {
            event_id: self.event_id.0,
            execution_id: self.subscription.0,
            catalog_id: self.catalog_id,
            created_at: self.at,
            tenant_id: DEFAULT_OWNER.to_owned(),
            organization_id: DEFAULT_OWNER.to_owned(),
            parent_event_id: None,
            event_type: Some(self.event.as_str().to_owned()),
            node_id: Some("subscription".to_owned()),
            node_name: Some(self.path.to_owned()),
            node_type: Some("subscription".to_owned()),
            status: Some(self.event.state().to_string()),
            duration: None,
            context: Some(json!({
                "subscription_id": self.subscription.to_string(),
                "path": self.path,
                "catalog_id": self.catalog_id.to_string(),
            })),
            result: None,
            meta: Some(json!({
                "emitted_at": self.at.to_string(),
                "emitter": "control_plane",
                "subscription_lifecycle": true,
            })),
            error: None,
            stack_trace: None,
            extra: Map::new(),
        }
    }
}

/// Returns an event of another program as a public event at a position of its log.
pub fn public_envelope(event: Envelope, seq: u64) -> PublicEvent {
    PublicEvent {
        event_id: AnyId(event.event_id),
        seq,
        event_type: event.event_type.unwrap_or_default(),
        node_id: event.node_id,
        node_name: event.node_name,
        node_type: event.node_type,
        status: event.status.unwrap_or_default(),
        created_at: event.created_at.to_string(),
        timestamp: event.created_at.to_string(),
        duration: None,
        context: event.context,
        result: event.result,
        error: event.error,
        meta: event.meta.unwrap_or_else(|| json!({})),
        derived: false,
        source: EventSource::Log,
    }
}

/// Returns an event of another program with the fields that a replay folds.
pub(crate) fn replay_event(event: &Envelope) -> ReplayEvent<'_> {
    let column = |key: &str| match event.extra.get(key) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(Cow::Borrowed(text.as_str())),
        Some(other) => Some(Cow::Owned(other.to_string())),
    };
    let reference = event.result.as_ref().and_then(|result| result.get("reference"));
    ReplayEvent {
        event_id: event.event_id,
        event_type: Cow::Borrowed(event.event_type.as_deref().unwrap_or_default()),
        node_name: event.node_name.as_deref().map(Cow::Borrowed),
        status: Cow::Borrowed(event.status.as_deref().unwrap_or_default()),
        meta: match &event.meta {
            Some(Value::Object(meta)) => Cow::Borrowed(meta),
            Some(_) | None => Cow::Owned(Map::new()),
        },
        reference: reference.filter(|it| !it.is_null()).map(Reference::told),
        worker_id: column("worker_id"),
        stage_id: column("stage_id"),
        frame_id: column("frame_id"),
        command_id: column("command_id"),
        aggregate: column("aggregate_type")
            .zip(column("aggregate_id"))
            .map(|(kind, id)| Aggregate { kind, id }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(value: Value) -> Envelope {
        let mut value = value;
        value["event_id"] = json!(1);
        crate::envelope_of(value, Timestamp::from_micros(0)).expect("an event")
    }

    #[track_caller]
    fn check(value: Value, expected: ImportedChange) {
        assert_eq!(imported_change(&event(value)), expected);
    }

    #[test]
    fn a_start_names_the_playbook_and_the_parent() {
        check(
            json!({
                "event_type": "playbook_started", "node_name": "a/b",
                "context": { "version": "3" }, "parent_execution_id": "7",
            }),
            ImportedChange {
                path: Some("a/b".to_owned()),
                version: Some(3),
                parent: Some(ExecutionId(7)),
                ..ImportedChange::default()
            },
        );
    }

    #[test]
    fn old_and_new_names_end_an_execution() {
        for (name, end) in [
            ("playbook.completed", ExecutionStatus::Completed),
            ("playbook_completed", ExecutionStatus::Completed),
            ("playbook.failed", ExecutionStatus::Failed),
            ("playbook_failed", ExecutionStatus::Failed),
            ("playbook.cancelled", ExecutionStatus::Cancelled),
            ("playbook_cancelled", ExecutionStatus::Cancelled),
        ] {
            let end = Some(end);
            check(json!({ "event_type": name }), ImportedChange { end, ..Default::default() });
        }
    }

    #[test]
    fn steps_are_entered_and_left() {
        let step = |change| ImportedChange { step: Some(change), ..ImportedChange::default() };
        let entered = StepChange::Entered(StepName::new("s"));
        check(json!({ "event_type": "step.enter", "node_name": "s" }), step(entered));
        check(json!({ "event_type": "step_completed" }), step(StepChange::Completed));
        check(json!({ "event_type": "step.failed" }), step(StepChange::Failed));
        check(json!({ "event_type": "command.issued" }), ImportedChange::default());
    }

    #[test]
    fn a_subscription_runs_until_it_is_deactivated() {
        for state in SubscriptionState::ALL {
            let ended = *state == SubscriptionState::Deactivated;
            assert_eq!(subscription_status(*state).is_terminal(), ended, "{state}");
        }
    }
}
