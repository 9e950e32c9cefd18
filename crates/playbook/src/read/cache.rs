//! Reads `cache` of a step.

use std::time::Duration;

use noetl_expr::MissingValues;
use noetl_model::{ToolKind, ToolRunner};

use super::DocumentReader;
use crate::analysis::RenderMoment;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::playbook::{OutputCache, Task};
use crate::words::cache::CACHE;
use crate::yaml::YamlNode;

/// The greatest age of an output that is used again.
const TTL_MAX: Duration = Duration::from_secs(366 * 86_400);

impl DocumentReader<'_> {
    pub(super) fn cache(&mut self, node: &YamlNode, tasks: Option<&[Task]>) -> Option<OutputCache> {
        self.map(node, CACHE)?;
        let given = |key| node.get(key).filter(|node| !node.is_null());
        let ttl = given("ttl").and_then(|ttl| self.duration(ttl, "`ttl`", 1.0, TTL_MAX));
        // A value that is missing would mix up the outputs of different inputs.
        let missing = std::mem::replace(&mut self.missing, MissingValues::Fail);
        let key = given("key")
            .and_then(|key| self.at(RenderMoment::TaskStart, |reader| reader.template(key)));
        self.missing = missing;
        for (key, title) in
            [("key", "when two runs are the same"), ("ttl", "how long an output is good")]
        {
            if given(key).is_none() {
                let message = format!("`cache` needs `{key}`: {title}");
                self.add(Finding::error(DiagnosticCode::MissingKey, &node.span, message));
            }
        }
        let unfit = tasks
            .unwrap_or_default()
            .iter()
            .map(|task| task.tool)
            .find(|tool| !is_cacheable(*tool));
        if let Some(tool) = unfit {
            let message =
                format!("`cache` works for tools that a worker runs, and `{tool}` is none");
            let finding = Finding::error(DiagnosticCode::BadValue, &node.span, message);
            self.add(finding.help("put the tools whose output is reused into a step of their own"));
            return None;
        }
        Some(OutputCache { key: key?, ttl: ttl? })
    }
}

fn is_cacheable(tool: ToolKind) -> bool {
    match tool.runner() {
        ToolRunner::Worker => true,
        ToolRunner::Control => false,
    }
}
