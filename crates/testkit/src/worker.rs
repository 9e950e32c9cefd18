//! A scripted worker, which reads the outcome of a command from its configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use noetl_expr::{Template, VariableSource};
use noetl_model::{ErrorKind, Lease, Outcome, Payload, ToolError};
use serde_json::{Map, Value, json};

/// A command that was run, for assertions.
#[derive(Debug, Clone, PartialEq)]
pub struct RanCommand {
    pub step: String,
    pub label: String,
    pub config: Value,
}

/// Runs any tool by reading its outcome from the configuration: `result` is the output; `fail` is
/// an error, limited to the first `times` runs of the task if given.
#[derive(Debug, Default)]
pub struct ScriptedWorker {
    pub ran: Vec<RanCommand>,
}

impl ScriptedWorker {
    pub fn run(&mut self, lease: &Lease, resolve: &dyn Fn(&Payload) -> Arc<Value>) -> Outcome {
        let config = match rendered(lease, resolve) {
            Ok(config) => config,
            Err(message) => {
                return Outcome::failed(ToolError::new(ErrorKind::Template, message));
            }
        };
        let (step, label) = (lease.step.to_string(), lease.label.clone());
        let before =
            self.ran.iter().filter(|ran| ran.step == step && ran.label == label).count() as u64;
        self.ran.push(RanCommand { step, label, config: config.clone() });
        let result = config.get("result").cloned();
        match config.get("fail") {
            Some(fail) if fail["times"].as_u64().is_none_or(|times| before < times) => {
                Outcome::Failed { error: error_of(fail), output: result.map(Arc::new) }
            }
            Some(_) | None => {
                Outcome::completed(result.unwrap_or_else(|| json!({ "status": "ok" })))
            }
        }
    }
}

fn error_of(fail: &Value) -> ToolError {
    let wanted = fail["kind"].as_str().unwrap_or("exception");
    let kind = ErrorKind::ALL
        .iter()
        .copied()
        .find(|kind| kind.as_str() == wanted)
        .unwrap_or(ErrorKind::Unknown);
    let message = fail.as_str().or(fail["message"].as_str()).unwrap_or("told to fail");
    let mut error = ToolError::new(kind, message);
    error.status = fail["status"].as_u64().and_then(|status| u16::try_from(status).ok());
    error.code = fail["code"].as_str().map(str::to_owned);
    error
}

/// Returns the configuration of a lease with its templates rendered, `input` first.
pub fn rendered(lease: &Lease, resolve: &dyn Fn(&Payload) -> Arc<Value>) -> Result<Value, String> {
    let mut variables = BoundValues(
        lease.bindings.0.iter().map(|(name, payload)| (name.clone(), resolve(payload))).collect(),
    );
    let render = |value: Value, variables: &BoundValues| {
        let template = Template::parse(value).map_err(|error| error.to_string())?;
        template.render(variables).map_err(|error| error.to_string())
    };
    let mut config = lease.config.as_object().cloned().unwrap_or_else(Map::new);
    let input = match config.remove("input") {
        Some(input) => render(input, &variables)?,
        None => Value::Null,
    };
    if let Value::Object(input) = &input {
        for (name, value) in input {
            variables.0.insert(name.clone(), Arc::new(value.clone()));
        }
    }
    let mut config = render(Value::Object(config), &variables)?;
    if let (Value::Object(config), false) = (&mut config, input.is_null()) {
        config.insert("input".to_owned(), input);
    }
    Ok(config)
}

struct BoundValues(BTreeMap<String, Arc<Value>>);

impl VariableSource for BoundValues {
    fn get(&self, name: &str) -> Option<Arc<Value>> {
        self.0.get(name).cloned()
    }
}
