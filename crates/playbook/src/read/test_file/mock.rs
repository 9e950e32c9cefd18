//! Reads the mocks of a test: results of tools, by step.

use std::collections::BTreeMap;

use noetl_model::{ErrorKind, ToolError, ToolKind};

use super::{TestReader, given};
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::playbook::{BodyForm, LoopSource, Playbook, Step};
use crate::suggest::nearest;
use crate::test_file::{MockResult, StepMock, StepMocks};
use crate::words::test_file::{ERROR, MOCK};
use crate::yaml::{Yaml, YamlNode};

/// The keys of which a mock has exactly one.
const RESULT_KEYS: [&str; 3] = ["output", "error", "rhai"];

impl TestReader<'_, '_> {
    /// Reads the mocks of child playbooks, by path.
    pub(super) fn children_under(&mut self, node: &YamlNode) -> BTreeMap<String, StepMocks> {
        let mut children = BTreeMap::new();
        let Some(value) = given(node, "children") else { return children };
        let Some(entries) = self.reader.any_map(value, "`children`") else { return children };
        for entry in entries {
            let path = &entry.key.text;
            let Some(playbook) = (self.children)(path) else {
                let message = format!("there is no playbook `{path}` beside the tested one");
                let finding = Finding::error(DiagnosticCode::BadValue, &entry.key.span, message);
                self.reader.add(finding.help(
                    "a child whose file is elsewhere is mocked by the step that calls it, in `mocks`",
                ));
                continue;
            };
            children.insert(path.clone(), self.mocks(&entry.value, playbook));
        }
        children
    }

    pub(super) fn mocks_under(&mut self, node: &YamlNode, playbook: &Playbook) -> StepMocks {
        given(node, "mocks").map(|value| self.mocks(value, playbook)).unwrap_or_default()
    }

    fn mocks(&mut self, node: &YamlNode, playbook: &Playbook) -> StepMocks {
        let mut mocks = StepMocks::new();
        let Some(entries) = self.reader.any_map(node, "`mocks`") else { return mocks };
        for entry in entries {
            let key = &entry.key;
            let Some(name) = self.known_step(&key.text, &key.span, playbook) else { continue };
            let Some(index) = playbook.index_of(name.as_str()) else { continue };
            let step = playbook.step(index);
            if let Some(message) = unmockable(step) {
                self.reader.add(Finding::error(DiagnosticCode::BadValue, &key.span, message));
                continue;
            }
            let read = match entry.value.list() {
                Some(list) => list.iter().filter_map(|node| self.mock(node, step)).collect(),
                None => self.mock(&entry.value, step).into_iter().collect(),
            };
            mocks.insert(name, read);
        }
        mocks
    }

    fn mock(&mut self, node: &YamlNode, step: &Step) -> Option<StepMock> {
        self.strict_map(node, MOCK)?;
        let item = self.number_under(node, "item", 0).map(u64::from);
        if let (Some(_), None, Some(at)) = (item, &step.repeat, given(node, "item")) {
            let message = format!("step `{}` has no loop, so its calls have no item", step.name);
            self.error(DiagnosticCode::BadValue, at, message);
        }
        let task = self.task_under(node, step);
        self.check_output(node, step, task.as_deref());
        Some(StepMock {
            task,
            item,
            attempt: self.number_under(node, "attempt", 1),
            call: self.number_under(node, "call", 1),
            delay: self.duration_under(node, "delay"),
            result: self.mock_result(node)?,
        })
    }

    /// Compares a mocked output with the `output_schema` of its task.
    fn check_output(&mut self, node: &YamlNode, step: &Step, label: Option<&str>) {
        let Some(output) = node.get("output") else { return };
        let mut tasks = step.tasks.iter();
        let task = match (label, step.tasks.len()) {
            (Some(label), _) => tasks.find(|task| task.label == label),
            (None, 1) => tasks.next(),
            (None, _) => None,
        };
        let Some(task) = task else { return };
        let of_step = step
            .output_schema
            .as_ref()
            .filter(|_| step.repeat.is_none() && step.form == BodyForm::Single);
        let mut problems = Vec::new();
        for rule in task.output_schema.iter().chain(of_step) {
            rule.check("output", &mut output.to_json(), &mut problems);
        }
        for problem in problems {
            let message = format!("the output does not fit `output_schema`: {problem}");
            self.error(DiagnosticCode::BadValue, output, message);
        }
    }

    fn mock_result(&mut self, node: &YamlNode) -> Option<MockResult> {
        let output = node.get("output").map(|output| output.to_json());
        match (output, given(node, "error"), given(node, "rhai")) {
            (Some(output), None, None) => Some(MockResult::Output(output)),
            (output, Some(error), None) => {
                let error = self.mocked_error(error)?;
                Some(MockResult::Error { error, output })
            }
            (None, None, Some(script)) => {
                self.reader.text(script, "`rhai`").map(MockResult::Script)
            }
            (None, None, None) => {
                let message = format!("a mock needs one of {}", RESULT_KEYS.join(", "));
                self.error(DiagnosticCode::MissingKey, node, message);
                None
            }
            (Some(_), None, Some(script)) | (_, Some(_), Some(script)) => {
                let message = "`rhai` gives the result by itself: leave out `output` and `error`";
                self.error(DiagnosticCode::Contradiction, script, message);
                None
            }
        }
    }

    /// Reads an error: its message, or a map.
    fn mocked_error(&mut self, node: &YamlNode) -> Option<ToolError> {
        if let Yaml::Text { text, .. } = &node.yaml {
            return Some(ToolError::new(ErrorKind::Exception, text.clone()));
        }
        self.strict_map(node, ERROR)?;
        let kind = match given(node, "kind") {
            Some(kind) => self.error_kind(kind)?,
            None => ErrorKind::Exception,
        };
        let message = self.text_under(node, "message").unwrap_or_else(|| "mocked".to_owned());
        let error = ToolError::new(kind, message);
        let status = match given(node, "status") {
            Some(status) => self.reader.whole(status, "`status`", 100..=599),
            None => None,
        };
        Some(ToolError {
            retryable: self.truth_or(node, "retryable", error.retryable),
            code: self.text_under(node, "code"),
            status: status.and_then(|status| u16::try_from(status).ok()),
            ..error
        })
    }

    pub(super) fn error_kind(&mut self, node: &YamlNode) -> Option<ErrorKind> {
        let kinds: Vec<(&str, ErrorKind)> =
            ErrorKind::ALL.iter().map(|kind| (kind.as_str(), *kind)).collect();
        self.reader.word(node, "`kind`", &kinds)
    }

    /// Reads the label of a task of a step.
    pub(super) fn task_under(&mut self, node: &YamlNode, step: &Step) -> Option<String> {
        let value = given(node, "task")?;
        let label = self.reader.name(value, "`task`")?;
        let claim = step.repeat.as_ref().and_then(|repeat| match &repeat.source {
            LoopSource::Cursor(task) => Some(&**task),
            LoopSource::In(_) => None,
        });
        let labels = || step.tasks.iter().chain(claim).map(|task| task.label.as_str());
        if labels().any(|known| known == label) {
            return Some(label);
        }
        let help = nearest(&label, labels()).map(|near| format!("did you mean `{near}`?"));
        let message = format!("step `{}` has no task `{label}`", step.name);
        let finding = Finding::error(DiagnosticCode::UnknownLabel, &value.span, message);
        self.reader.add(finding.help_if(help));
        None
    }
}

/// Returns the reason why no task of a step can be mocked.
fn unmockable(step: &Step) -> Option<String> {
    let claims = step.repeat.as_ref().is_some_and(|repeat| match repeat.source {
        LoopSource::Cursor(_) => true,
        LoopSource::In(_) => false,
    });
    let kinds = || step.tasks.iter().map(|task| task.tool);
    if claims || kinds().any(|kind| !matches!(kind, ToolKind::Wait | ToolKind::Approval)) {
        return None;
    }
    Some(if kinds().any(|kind| kind == ToolKind::Approval) {
        format!("step `{}` waits for a person: use `decisions`", step.name)
    } else {
        format!("step `{}` waits without a tool: its time passes at once; use `signals`", step.name)
    })
}
