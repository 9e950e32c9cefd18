//! Reads the expectations of a test.

use std::collections::BTreeMap;
use std::rc::Rc;

use noetl_model::StepName;
use serde_json::Value;

use super::{TestReader, given};
use crate::test_file::{ExpectedCall, ExpectedError, ExpectedStatus, TestExpectations};
use crate::words::test_file::{CALL, EXPECT, EXPECTED_ERROR};
use crate::yaml::{Yaml, YamlNode};

const STATUSES: &[(&str, ExpectedStatus)] = &[
    ("completed", ExpectedStatus::Completed),
    ("failed", ExpectedStatus::Failed),
    ("cancelled", ExpectedStatus::Cancelled),
    ("refused", ExpectedStatus::Refused),
];

impl TestReader<'_, '_> {
    pub(super) fn expectations(&mut self, node: &YamlNode) -> TestExpectations {
        if self.strict_map(node, EXPECT).is_none() {
            return TestExpectations::default();
        }
        let value = |key: &str| node.get(key).map(|value| value.to_json());
        let status = given(node, "status");
        TestExpectations {
            status: status.and_then(|status| self.reader.word(status, "`status`", STATUSES)),
            output: value("output"),
            output_includes: value("output_includes"),
            error: given(node, "error").and_then(|error| self.expected_error(error)),
            executed: self.steps_under(node, "executed"),
            skipped: self.steps_under(node, "skipped"),
            order: self.steps_under(node, "order"),
            calls: self.list_under(node, "calls", Self::expected_call),
            events: self.list_under(node, "events", Self::expected_event),
            outputs: self.outputs(node),
            context: self.free_map(node, "context"),
            duration: given(node, "duration").map(|_| self.duration_under(node, "duration")),
        }
    }

    /// Reads an expected error: a part of its message, or a map.
    fn expected_error(&mut self, node: &YamlNode) -> Option<ExpectedError> {
        if let Yaml::Text { text, .. } = &node.yaml {
            return Some(ExpectedError { message: Some(text.clone()), ..ExpectedError::default() });
        }
        self.strict_map(node, EXPECTED_ERROR)?;
        let kind = given(node, "kind").and_then(|kind| self.error_kind(kind));
        let step = given(node, "step").and_then(|step| self.step_name(step, self.playbook));
        Some(ExpectedError {
            kind: kind.map(|kind| kind.as_str().to_owned()),
            message: self.text_under(node, "message"),
            step,
        })
    }

    /// Reads a list of steps; `None` if there is none.
    fn steps_under(&mut self, node: &YamlNode, key: &str) -> Option<Vec<StepName>> {
        given(node, key)?;
        Some(self.list_under(node, key, |reader, node| reader.step_name(node, reader.playbook)))
    }

    /// Reads a part of an event, with its type.
    fn expected_event(&mut self, node: &YamlNode) -> Option<Value> {
        self.reader.needed_name(node, "an event", "type")?;
        Some(node.to_json())
    }

    fn outputs(&mut self, node: &YamlNode) -> BTreeMap<StepName, Value> {
        let Some(value) = given(node, "outputs") else { return BTreeMap::new() };
        let entries = self.reader.any_map(value, "`outputs`").unwrap_or_default();
        let known = entries.iter().filter_map(|entry| {
            let name = self.known_step(&entry.key.text, &entry.key.span, self.playbook)?;
            Some((name, entry.value.to_json()))
        });
        known.collect()
    }

    fn expected_call(&mut self, node: &YamlNode) -> Option<ExpectedCall> {
        self.strict_map(node, CALL)?;
        let step = self.reader.needed(node, "a call", "step")?;
        let name = self.step_name(step, self.playbook)?;
        let step = self.playbook.step(self.playbook.index_of(name.as_str())?);
        Some(ExpectedCall {
            task: self.task_under(node, step),
            item: self.number_under(node, "item", 0).map(u64::from),
            attempt: self.number_under(node, "attempt", 1),
            with: node.get("with").map(Rc::as_ref).map(YamlNode::to_json),
            times: self.number_under(node, "times", 0),
            step: name,
        })
    }
}
