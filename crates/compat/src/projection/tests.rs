//! Tests of the fold: events in, state out.

mod golden;
mod transitions;

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{Aggregate, Fold, Projection, Reference, ReplayEvent, ReplayState};

/// Returns an event from `{event_type, node_name, status, meta, result, …}`; `event_id` defaults to
/// its index + 1.
fn replay_event(index: usize, event: &Value) -> ReplayEvent<'_> {
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    let number = i64::try_from(index + 1).unwrap();
    let reference = event.get("result").and_then(|result| result.get("reference"));
    ReplayEvent {
        event_id: event.get("event_id").and_then(Value::as_i64).unwrap_or(number),
        event_type: Cow::Borrowed(text("event_type").unwrap()),
        node_name: text("node_name").map(Cow::Borrowed),
        status: Cow::Borrowed(text("status").unwrap_or_default()),
        meta: match event.get("meta").and_then(Value::as_object) {
            Some(meta) => Cow::Borrowed(meta),
            None => Cow::Owned(Map::new()),
        },
        reference: reference.filter(|it| !it.is_null()).map(Reference::told),
        worker_id: text("worker_id").map(Cow::Borrowed),
        stage_id: text("stage_id").map(Cow::Borrowed),
        frame_id: text("frame_id").map(Cow::Borrowed),
        command_id: text("command_id").map(Cow::Borrowed),
        aggregate: text("aggregate_type")
            .zip(text("aggregate_id"))
            .map(|(kind, id)| Aggregate { kind: Cow::Borrowed(kind), id: Cow::Borrowed(id) }),
    }
}

fn fold(execution: i64, projection: Projection, events: &[Value]) -> Fold {
    let mut fold = Fold::new("default", "default", execution, projection);
    for (index, event) in events.iter().enumerate() {
        fold.see(&replay_event(index, event));
    }
    fold
}

fn state(events: &[Value]) -> ReplayState {
    fold(42, Projection::All, events).finish()
}

fn event(name: &str, node: &str, status: &str) -> Value {
    json!({ "event_type": name, "node_name": node, "status": status })
}

fn bare(name: &str, meta: Value) -> Value {
    json!({ "event_type": name, "status": "", "meta": meta })
}
