//! A command in the form of existing workers.

use noetl_model::Lease;
use serde_json::{Map, Value, json};

use super::{ClaimedCommand, Issued};
use crate::public_event::command_id;

/// The key of a task's input in its configuration, and (`ARGS`) the key where existing workers
/// expect it.
const INPUT: &str = "input";
const ARGS: &str = "args";

/// Converts a command; its configuration is included only while a worker holds it. `values` are
/// the values that the command's templates refer to.
pub fn claimed_command(
    issued: &Issued,
    lease: Option<&Lease>,
    mut values: Map<String, Value>,
) -> ClaimedCommand {
    values.entry("execution_id").or_insert_with(|| json!(issued.execution.to_string()));
    let tool_config = lease.map(|lease| tool_config(lease.config.clone()));
    let attempt = lease.map_or(0, |lease| lease.attempt.0);
    let step = issued.step.to_string();
    ClaimedCommand {
        status: "ok",
        event_id: issued.recorded.event_id.0,
        execution_id: issued.execution.0,
        node_id: step.clone(),
        node_name: step.clone(),
        action: issued.tool.to_string(),
        context: json!({
            "tool_config": tool_config,
            "args": {},
            "render_context": values,
        }),
        meta: json!({
            "command_id": command_id(issued.execution, &issued.recorded),
            "step": step,
            "tool_kind": issued.tool,
            "attempt": attempt,
            "attempts": attempt.saturating_sub(1),
            "execution_id": issued.execution.to_string(),
            "idempotency_key": lease.map(|lease| &lease.idempotency_key),
            "key_attempt": lease.map(|lease| lease.key_attempt),
            "timeout_ms": lease.and_then(|lease| lease.timeout_ms),
            "actionable": true,
        }),
    }
}

/// Moves a task's input to the key where existing workers expect it.
fn tool_config(config: Value) -> Value {
    let Value::Object(mut config) = config else { return config };
    config.remove("kind");
    if let Some(input) = config.remove(INPUT) {
        config.insert(ARGS.to_owned(), input);
    }
    Value::Object(config)
}
