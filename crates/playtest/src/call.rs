//! Calls of tools, with all templates rendered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use noetl_expr::{CommandFacts, CommandVariables, RenderedTool, ToolTemplate};
use noetl_model::{Lease, StepName, ToolError, ToolKind};
use noetl_playbook::duration_of;
use serde::Serialize;
use serde_json::{Map, Value};

/// The timeout of a tool that has none of its own.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(300);

/// A call of a tool as its worker would have made it. References to credentials are kept as
/// templates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RenderedCall {
    /// The catalog path of the playbook.
    pub playbook: String,
    pub step: StepName,
    /// The label of the task; the step's name for a single tool.
    pub task: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    /// The number of the attempt at the task, from 1.
    pub attempt: u32,
    /// The number of the call of the task within the test, from 1.
    pub call: u32,
    pub tool: ToolKind,
    /// The rendered settings; arguments under `input`.
    pub with: Value,
}

/// The rendered settings of a command, with the arguments apart.
pub(crate) struct RenderedSettings {
    pub(crate) config: Map<String, Value>,
    pub(crate) input: Map<String, Value>,
    /// The values that came with the command, by name.
    pub(crate) variables: BTreeMap<String, Arc<Value>>,
    pub(crate) timeout: Duration,
}

impl RenderedSettings {
    /// Renders the templates of a lease, whose values are `variables`.
    pub(crate) fn of(
        lease: &Lease,
        variables: BTreeMap<String, Arc<Value>>,
    ) -> Result<Self, ToolError> {
        let template = ToolTemplate::of_lease(lease)?;
        let facts = CommandFacts::new(lease, None, None);
        let bound = CommandVariables { bindings: &variables, facts: &facts };
        let RenderedTool { config, input, has_secrets: _ } =
            template.render_without_secrets(bound)?;
        let timeout = timeout(lease, &config);
        Ok(Self { config, input, variables, timeout })
    }

    /// Returns the settings as one map.
    pub(crate) fn to_value(&self) -> Value {
        let mut all = self.config.clone();
        if !self.input.is_empty() {
            all.insert("input".to_owned(), Value::Object(self.input.clone()));
        }
        Value::Object(all)
    }
}

/// Returns the shorter of the timeouts of the task and of the tool's settings.
fn timeout(lease: &Lease, config: &Map<String, Value>) -> Duration {
    let own = ["timeout", "timeout_seconds"].iter().find_map(|key| duration_of(config.get(*key)?));
    let leased = lease.timeout_ms.map(Duration::from_millis);
    leased.into_iter().chain(own).min().unwrap_or(TIMEOUT_DEFAULT)
}
