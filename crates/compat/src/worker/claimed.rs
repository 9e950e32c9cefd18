//! A command in the form of existing workers.

use noetl_model::Lease;
use serde_json::{Map, json};

use super::{ClaimedCommand, Issued, WorkerCommand};
use crate::public_event::command_id;

/// Converts a command; its configuration is included only while a worker holds it.
pub fn claimed_command(issued: &Issued, held: Option<(&Lease, WorkerCommand)>) -> ClaimedCommand {
    let (lease, command) = held.unzip();
    let (tool_config, render_context) = match command {
        Some(command) => (Some(command.tool_config), command.render_context),
        None => (None, Map::new()),
    };
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
            "render_context": render_context,
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
