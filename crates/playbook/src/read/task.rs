//! Reads `tool`: one map, or a list of them, in all supported spellings.

use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;

use noetl_model::ToolKind;

use super::DocumentReader;
use crate::analysis::RenderMoment;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::playbook::{BodyForm, Rule, Task};
use crate::suggest::nearest;
use crate::words::{NOT_TOOLS, TOOL, TOOL_SPEC, WORKBOOK, tool_kinds};
use crate::yaml::{YamlEntry, YamlNode};

/// Keys of a tool's map that are not settings of the tool itself.
const NOT_CONFIG: &[&str] =
    &["kind", "set", "set_ctx", "set_iter", "set_vars", "spec", "retry", "eval", "output_schema"];

/// The tasks of a step, and the form they were written in.
pub(super) struct StepTasks {
    pub(super) tasks: Vec<Task>,
    pub(super) form: BodyForm,
}

/// The index of a task in its step, with the labels of all tasks of the step.
pub(super) struct TaskPosition<'a> {
    pub(super) labels: &'a [String],
    pub(super) index: usize,
}

/// An item of a pipeline with its label.
struct PipelineItem {
    label: Option<String>,
    /// The node to point at if the label is wrong.
    label_node: Rc<YamlNode>,
    tool: Rc<YamlNode>,
    form: ItemForm,
}

#[derive(PartialEq, Eq)]
enum ItemForm {
    /// `name` is the label, next to the settings.
    Flat,
    /// The label is the key above the settings, so `name` is a setting.
    Nested,
}

/// Precedence of an entry over another one with the same name: current spellings win over older
/// ones.
#[derive(Clone, Copy)]
enum Precedence {
    Above,
    Below,
}

/// Returns the tasks of a pipeline written as a tool of `kind: task_sequence`.
fn sequence(tool: &YamlNode) -> Option<&Rc<YamlNode>> {
    let is_sequence = tool.get("kind").and_then(|kind| kind.text()) == Some("task_sequence");
    tool.get("tasks").filter(|_| is_sequence)
}

impl DocumentReader<'_> {
    pub(super) fn body(&mut self, step: &str, tool: &Rc<YamlNode>) -> Option<StepTasks> {
        if let Some(items) = tool.list() {
            return self.pipeline(tool, items);
        }
        if let Some(tasks) = sequence(tool)
            && let Some(items) = tasks.list()
        {
            return self.pipeline(tasks, items);
        }
        let labels = [step.to_owned()];
        let task =
            self.task(tool, &TaskPosition { labels: &labels, index: 0 }, &ItemForm::Nested)?;
        Some(StepTasks { tasks: vec![task], form: BodyForm::Single })
    }

    fn pipeline(&mut self, list: &YamlNode, items: &[Rc<YamlNode>]) -> Option<StepTasks> {
        if items.is_empty() {
            self.add(Finding::error(
                DiagnosticCode::MissingTool,
                &list.span,
                "a list of tools is empty",
            ));
            return None;
        }
        let items: Vec<PipelineItem> = items.iter().map(|item| self.item(item)).collect();
        let labels: Vec<String> = (items.iter().enumerate())
            .map(|(index, item)| item.label.clone().unwrap_or_else(|| format!("task_{index}")))
            .collect();
        for (index, item) in items.iter().enumerate() {
            if labels[..index].contains(&labels[index]) {
                let message =
                    format!("another task of this step is called `{}` too", labels[index]);
                self.add(Finding::error(
                    DiagnosticCode::DuplicateLabel,
                    &item.label_node.span,
                    message,
                ));
            }
        }
        let tasks = (items.iter().enumerate())
            .filter_map(|(index, item)| {
                self.task(&item.tool, &TaskPosition { labels: &labels, index }, &item.form)
            })
            .collect();
        Some(StepTasks { tasks, form: BodyForm::Pipeline })
    }

    fn item(&mut self, node: &Rc<YamlNode>) -> PipelineItem {
        let bare = |label_node: &Rc<YamlNode>, label| PipelineItem {
            label,
            label_node: Rc::clone(label_node),
            tool: Rc::clone(node),
            form: ItemForm::Flat,
        };
        let entries = node.entries().unwrap_or_default();
        if let [only] = entries
            && only.value.entries().is_some()
        {
            let tool = Rc::clone(&only.value);
            let label = Some(only.key.text.clone());
            return PipelineItem {
                label,
                label_node: Rc::clone(node),
                tool,
                form: ItemForm::Nested,
            };
        }
        // The name of a workbook task is not a label, but serves as one if no other is given.
        match node.get("name") {
            Some(name) => {
                let label = self.name(name, "a task's name");
                bare(name, label)
            }
            None => bare(node, None),
        }
    }

    /// Reads a tool given as a map; `None` after a finding.
    fn task(
        &mut self,
        node: &Rc<YamlNode>,
        position: &TaskPosition<'_>,
        form: &ItemForm,
    ) -> Option<Task> {
        if node.entries().is_none() {
            self.wrong_type(node, "a tool", "a map with a `kind`");
            return None;
        }
        let is_workbook = node.get("kind").and_then(|kind| kind.text()) == Some(WORKBOOK);
        let node = if is_workbook { self.resolve_workbook(node)? } else { Rc::clone(node) };
        let entries = node.entries()?;
        let tool = self.tool_kind(&node);
        let spec = node.get("spec");
        let config = self.config(&node, tool, form, spec);
        if let Some(tool) = tool {
            self.tool_settings(tool, &config);
        }
        self.uses.place.task = Some(position.index);
        let rules = self.at(RenderMoment::Rule, |reader| reader.task_rules(&node, position));
        let set = self.at(RenderMoment::TaskEnd, |reader| reader.set_blocks(entries));
        let timeout = self.task_timeout(&node);
        let config = self.at(RenderMoment::TaskStart, |reader| reader.template(&config));
        self.uses.place.task = None;
        let output_schema = self.output_schema(&node);
        let label = position.labels[position.index].clone();
        Some(Task { label, tool: tool?, config: config?, set, rules, timeout, output_schema })
    }

    fn task_rules(&mut self, node: &YamlNode, position: &TaskPosition<'_>) -> Vec<Rule> {
        let policy = node.get("spec").and_then(|spec| spec.get("policy"));
        let mut rules = policy.map(|policy| self.policy(policy, position)).unwrap_or_default();
        rules.extend(node.get("retry").and_then(|retry| self.retry_rule(retry)));
        rules
    }

    fn tool_kind(&mut self, node: &YamlNode) -> Option<ToolKind> {
        let Some(kind) = node.get("kind").or_else(|| node.get("type")) else {
            let help = self.kind_help(node);
            let message = "a tool needs `kind`";
            self.add(Finding::error(DiagnosticCode::MissingKey, &node.span, message).help_if(help));
            return None;
        };
        let name = self.name(kind, "a tool's kind")?;
        self.kind_named(&name, kind)
    }

    /// Suggests a kind for a tool without one.
    fn kind_help(&self, node: &YamlNode) -> Option<String> {
        let kinds = tool_kinds();
        let entries = node.entries()?;
        let misspelt = entries.iter().find(|entry| nearest(&entry.key.text, ["kind"]).is_some());
        let as_key = entries.iter().find(|entry| kinds.contains(&entry.key.text.as_str()));
        match (misspelt, as_key) {
            (Some(entry), _) => Some(format!("did you mean `kind` by `{}`?", entry.key.text)),
            (None, Some(entry)) => Some(format!("write `kind: {}`", entry.key.text)),
            (None, None) => Some(format!("it can be {}", kinds.join(", "))),
        }
    }

    pub(super) fn kind_named(&mut self, name: &str, node: &YamlNode) -> Option<ToolKind> {
        if let Ok(kind) = ToolKind::from_str(name) {
            if !kind.is_built_in() {
                self.foreign.meet(kind, &node.span);
            }
            return Some(kind);
        }
        let known = NOT_TOOLS.iter().find(|(kind, _)| *kind == name);
        let help = match known {
            Some((_, way)) => (*way).to_owned(),
            None => match nearest(name, tool_kinds()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it can be {}", tool_kinds().join(", ")),
            },
        };
        let message = format!("there is no tool `{name}`");
        self.add(Finding::error(DiagnosticCode::UnknownTool, &node.span, message).help(help));
        None
    }

    /// Returns the settings that the tool itself reads, with older names replaced by current ones.
    fn config(
        &mut self,
        node: &YamlNode,
        tool: Option<ToolKind>,
        form: &ItemForm,
        spec: Option<&Rc<YamlNode>>,
    ) -> YamlNode {
        let mut config: Vec<YamlEntry> = Vec::new();
        for entry in node.entries().unwrap_or_default() {
            let name = entry.key.text.as_str();
            let is_label = name == "name" && *form == ItemForm::Flat;
            let is_kind = name == "type" && node.get("kind").is_none();
            if !(is_label || is_kind || NOT_CONFIG.contains(&name)) {
                self.config_entry(&mut config, entry, tool, Precedence::Above);
            } else if let Some(word) = TOOL.word(name) {
                self.note_status(&entry.key, word);
            }
        }
        for entry in spec.and_then(|spec| spec.entries()).unwrap_or_default() {
            if TOOL_SPEC.word(&entry.key.text).is_none() {
                let message = format!("`{}` belongs directly under the tool", entry.key.text);
                let finding =
                    Finding::warning(DiagnosticCode::OldSpelling, &entry.key.span, message);
                self.add(finding.help("move it out of `spec`"));
                self.config_entry(&mut config, entry, tool, Precedence::Below);
            }
        }
        YamlNode::map(node.span.clone(), config)
    }

    fn config_entry(
        &mut self,
        config: &mut Vec<YamlEntry>,
        entry: &YamlEntry,
        tool: Option<ToolKind>,
        precedence: Precedence,
    ) {
        let is_map = entry.value.entries().is_some();
        let renamed = match (entry.key.text.as_str(), tool) {
            ("args" | "with", Some(ToolKind::Container | ToolKind::Script)) => None,
            ("args" | "with", _) if is_map => Some("input"),
            ("endpoint", Some(ToolKind::Http)) => Some("url"),
            _ => None,
        };
        let Some(name) = renamed else {
            merge_entry(config, entry.clone(), precedence);
            return;
        };
        self.old_spelling(&entry.key, &format!("`{name}`"));
        let key = entry.key.renamed(name);
        merge_entry(config, YamlEntry { key, value: Rc::clone(&entry.value) }, Precedence::Below);
    }

    /// Returns the time limit of a task; `None` if a template gives it.
    fn task_timeout(&mut self, node: &YamlNode) -> Option<Duration> {
        let spec = node.get("spec").and_then(|spec| spec.get("timeout"));
        let written = [node.get("timeout_seconds"), node.get("timeout"), spec];
        // A map has separate limits for connecting and reading; the tool reads it.
        let is_time = |timeout: &&Rc<YamlNode>| !timeout.is_null() && timeout.entries().is_none();
        let written = written.into_iter().flatten().find(is_time)?;
        if written.text().is_some_and(|text| text.contains("{{")) {
            return None;
        }
        self.timeout(written)
    }
}

/// Adds an entry. If one with the same name exists, two maps are merged, else `precedence` decides.
fn merge_entry(config: &mut Vec<YamlEntry>, entry: YamlEntry, precedence: Precedence) {
    let Some(known) = config.iter_mut().find(|known| known.key.text == entry.key.text) else {
        config.push(entry);
        return;
    };
    let (over, under) = match precedence {
        Precedence::Above => (entry.value, Rc::clone(&known.value)),
        Precedence::Below => (Rc::clone(&known.value), entry.value),
    };
    known.value = match (over.entries(), under.entries()) {
        (Some(own), Some(more)) => {
            let mut merged = own.to_vec();
            let is_new = |e: &&YamlEntry| own.iter().all(|own| own.key.text != e.key.text);
            merged.extend(more.iter().filter(is_new).cloned());
            Rc::new(YamlNode::map(over.span.clone(), merged))
        }
        _ => over,
    };
}
