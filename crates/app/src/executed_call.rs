//! The call of a tool as its worker made it: the settings of a command with its values, for readers.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use noetl_engine::{WrittenCall, written_call};
use noetl_expr::{CommandFacts, CommandVariables, MissingValues, RenderedTool, ToolTemplate};
use noetl_model::{
    Bindings, CommandId, ExecutionId, Payload, Place, StepName, ToolError, holds_sealed,
    replace_sealed,
};
use noetl_playbook::Playbook;
use serde_json::{Value, json};

use crate::app::App;

/// The text that stands for a secret.
const SECRET: &str = "***";
/// Maximum size of a stored value that is loaded for a call, in bytes.
const LOADED_MAX: u64 = 64 * 1024;

/// A command that was issued: its task and the values that the task's templates refer to.
#[derive(Debug, Clone, Copy)]
pub struct IssuedTask<'a> {
    pub execution: ExecutionId,
    pub command: CommandId,
    pub step: &'a StepName,
    pub place: Place,
    pub bindings: &'a Bindings,
}

impl App {
    /// Renders the settings of a command. Secret inputs are masked, and references to credentials
    /// stay templates. The size stands for a value of more than 64 KiB, or one that cannot be loaded.
    /// `None` if the playbook has no such task.
    pub async fn executed_call(
        &self,
        playbook: &Playbook,
        issued: IssuedTask<'_>,
    ) -> Option<Result<Value, ToolError>> {
        let call = written_call(playbook, issued.step.as_str(), issued.place)?;
        let mut values = BTreeMap::new();
        for (name, payload) in &issued.bindings.0 {
            values.insert(name.clone(), self.shown_value(payload).await);
        }
        Some(rendered(&call, issued, &values))
    }

    /// Returns a value without secrets.
    async fn shown_value(&self, payload: &Payload) -> Arc<Value> {
        let value = match payload {
            Payload::Inline(value) => value.clone(),
            Payload::Ref(reference) => {
                let loaded = match reference.size <= LOADED_MAX {
                    true => self.control().payload(reference.digest).await.ok(),
                    false => None,
                };
                loaded.unwrap_or_else(|| Arc::new(json!(format!("({} bytes)", reference.size))))
            }
        };
        if holds_sealed(&value) { Arc::new(without_secrets((*value).clone())) } else { value }
    }
}

/// Masks the secret inputs in a value.
pub fn without_secrets(mut value: Value) -> Value {
    let masked: Result<(), Infallible> = replace_sealed(&mut value, &mut |_| Ok(json!(SECRET)));
    match masked {
        Ok(()) => value,
    }
}

fn rendered(
    call: &WrittenCall,
    issued: IssuedTask<'_>,
    values: &BTreeMap<String, Arc<Value>>,
) -> Result<Value, ToolError> {
    let IssuedTask { execution, command, step, .. } = issued;
    let template = ToolTemplate::parse_with(call.tool, &call.config, MissingValues::Empty)?;
    let facts = CommandFacts::of_command(execution, command, step, call.tool);
    let variables = CommandVariables { bindings: values, facts: &facts };
    let RenderedTool { mut config, input, has_secrets: _ } =
        template.render_without_secrets(variables)?;
    if !input.is_empty() {
        config.insert("input".to_owned(), Value::Object(input));
    }
    Ok(Value::Object(config))
}
