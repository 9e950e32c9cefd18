//! A command for an existing worker: every template without a secret is rendered by the same rule
//! as in our own worker, and keys have the spelling that the worker knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use noetl_expr::{CommandFacts, CommandVariables, RenderedTool, ToolTemplate};
use noetl_model::{
    Bindings, ErrorKind, Footprint, Lease, Payload, ToolError, ToolKind, VALUE_ELEMENTS_MAX,
    ValueLimits,
};
use serde_json::{Map, Value, json};

use super::spelling::spelled;

/// Maximum size of the values that are fetched for one command, in bytes of JSON.
const FETCHED_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Maximum memory of a rendered configuration.
const RENDERED_MEMORY_MAX: usize = 256 * 1024 * 1024;

/// The configuration and the variables that an existing worker receives with a command.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerCommand {
    pub tool_config: Map<String, Value>,
    /// The variables that code, or templates with secrets, can still refer to.
    pub render_context: Map<String, Value>,
}

/// Fails if the values that a command refers to are too large to be fetched.
pub fn check_fetched(bindings: &Bindings) -> Result<(), ToolError> {
    let sizes = bindings.0.values().map(|payload| match payload {
        Payload::Inline(_) => 0,
        Payload::Ref(reference) => reference.size,
    });
    let size = sizes.fold(0, u64::saturating_add);
    if size <= FETCHED_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "the values of the command take {size} bytes; a worker of this kind gets at most {FETCHED_BYTES_MAX}"
    );
    Err(ToolError::new(ErrorKind::StorageQuota, message))
}

/// Renders a command. `bindings` are the lease's values with references resolved.
pub fn worker_command(
    lease: &Lease,
    bindings: &BTreeMap<String, Arc<Value>>,
    facts: &CommandFacts,
) -> Result<WorkerCommand, ToolError> {
    let template = ToolTemplate::of_lease(lease)?;
    let rendered = template.render_without_secrets(CommandVariables { bindings, facts })?;
    let RenderedTool { config, input, has_secrets } = rendered;
    let tool_config = spelled(lease.tool, config, input)?;
    check_size(&tool_config)?;
    let mut render_context = Map::new();
    if has_secrets || runs_code(lease.tool) {
        render_context = flat(bindings);
    }
    render_context.entry("execution_id").or_insert_with(|| json!(lease.execution.to_string()));
    Ok(WorkerCommand { tool_config, render_context })
}

/// Returns the variables with the members of `workload` and of `ctx` beside them, as code of our
/// own worker sees them. A variable takes precedence over a member of its name.
fn flat(bindings: &BTreeMap<String, Arc<Value>>) -> Map<String, Value> {
    let members = ["workload", "ctx"].iter().filter_map(|name| bindings.get(*name)?.as_object());
    let mut flat: Map<String, Value> =
        members.flatten().map(|(name, value)| (name.clone(), value.clone())).collect();
    flat.extend(bindings.iter().map(|(name, value)| (name.clone(), (**value).clone())));
    flat
}

/// True if the code of a tool can read the command's variables.
fn runs_code(tool: ToolKind) -> bool {
    tool == ToolKind::Python || tool == ToolKind::Rhai
}

fn check_size(config: &Map<String, Value>) -> Result<(), ToolError> {
    let limits = ValueLimits { elements_max: VALUE_ELEMENTS_MAX, memory_max: RENDERED_MEMORY_MAX };
    let found = config.values().map(Footprint::of).fold(Footprint::default(), Footprint::and);
    limits.check(found).map_err(|limit| {
        ToolError::new(
            ErrorKind::StorageQuota,
            format!("the rendered command is too large: {limit}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_finds_workload_and_context_by_name() {
        let bindings = [
            ("workload", json!({ "url": "u", "shared": "w", "start": 1 })),
            ("ctx", json!({ "shared": "c" })),
            ("start", json!({ "rows": 2 })),
        ];
        let bindings =
            bindings.into_iter().map(|(name, value)| (name.to_owned(), Arc::new(value))).collect();
        let flat = flat(&bindings);
        assert_eq!(
            (&flat["url"], &flat["shared"], &flat["start"]),
            (&json!("u"), &json!("c"), &json!({ "rows": 2 }))
        );
    }
}
