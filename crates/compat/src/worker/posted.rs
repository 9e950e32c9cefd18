//! Events that existing workers post: the command each is about, and the form in which events
//! without further effect are recorded.

use noetl_engine::Input;
use noetl_model::StepName;
use serde_json::{Value, json};
use thiserror::Error;

use super::PostedItem;

/// Maximum length of an event's name, in bytes.
pub const NAME_MAX: usize = 200;

/// The reason why an event cannot be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BadFact {
    #[error("an event's name has 1 to {NAME_MAX} bytes")]
    Name,
    #[error("the payload is nested too deeply")]
    TooDeep,
}

/// Returns the id of the command an event is about, from any of its usual places.
pub fn command_named(item: &PostedItem) -> Option<&str> {
    let in_context = item.context.get("command_id");
    let in_meta = item.meta.as_ref().and_then(|meta| meta.get("command_id"));
    let in_result = item.context.pointer("/result/context/command_id");
    in_context.or(in_meta).or(in_result).and_then(Value::as_str)
}

/// Converts an event that is recorded and has no other effect.
pub fn fact_of(item: PostedItem, event_id: i64) -> Result<Input, BadFact> {
    if item.event_type.is_empty() || item.event_type.len() > NAME_MAX {
        return Err(BadFact::Name);
    }
    if !noetl_model::is_shallow(&item.context) {
        return Err(BadFact::TooDeep);
    }
    let body = json!({
        "event_id": event_id.to_string(),
        "status": item.status,
        "context": item.context,
        "meta": item.meta,
        "worker_id": item.worker_id,
        "created_at": item.created_at,
        "result": item.result,
        "aggregate_type": item.aggregate_type,
        "aggregate_id": item.aggregate_id,
    });
    Ok(Input::Reported { name: item.event_type, step: item.step.map(StepName::new), body })
}
