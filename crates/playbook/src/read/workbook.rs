//! Reads `workbook`, tasks shared by several steps, and `kind: workbook`, which refers to one of
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::DocumentReader;
use crate::analysis::AnalysisLevel;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::suggest::nearest;
use crate::words::WORKBOOK;
use crate::yaml::{YamlEntry, YamlKey, YamlNode};

/// The tools of the workbook by the name of their task.
#[derive(Default)]
pub(super) struct Workbook {
    tasks: BTreeMap<String, Rc<YamlNode>>,
    /// The tasks that a step refers to.
    used: BTreeSet<String>,
}

impl DocumentReader<'_> {
    /// Reads `workbook`: a list of named tasks, or a map of them, perhaps below `tasks`.
    pub(super) fn read_workbook(&mut self, node: &YamlNode) -> Workbook {
        let mut workbook = Workbook::default();
        if let Some(items) = node.list() {
            for item in items {
                let Some(name) = item.get("name") else {
                    self.missing(item, "a workbook task", "name");
                    continue;
                };
                let Some(name_text) = self.name(name, "a workbook task's name") else { continue };
                let Some(tool) = self.workbook_tool(item) else { continue };
                if workbook.tasks.insert(name_text.clone(), tool).is_some() {
                    let message = format!("there are two workbook tasks `{name_text}`");
                    self.add(Finding::error(DiagnosticCode::DuplicateLabel, &name.span, message));
                }
            }
            return workbook;
        }
        let tasks = node.get("tasks").map_or(node, |tasks| tasks);
        for entry in self.any_map(tasks, "`workbook`").unwrap_or_default() {
            if let Some(tool) = self.workbook_tool(&entry.value) {
                workbook.tasks.insert(entry.key.text.clone(), tool);
            }
        }
        workbook
    }

    /// Returns the tool of a task: below `tool`, or the task itself.
    fn workbook_tool(&mut self, task: &Rc<YamlNode>) -> Option<Rc<YamlNode>> {
        let tool = task.get("tool").unwrap_or(task);
        if tool.entries().is_none() {
            self.wrong_type(tool, "a workbook task's tool", "a map");
            return None;
        }
        if tool.get("kind").and_then(|kind| kind.text()) == Some(WORKBOOK) {
            let message = "a workbook task cannot stand for another";
            self.add(Finding::error(DiagnosticCode::UnknownTask, &tool.span, message));
            return None;
        }
        Some(Rc::clone(tool))
    }

    /// Checks the tasks that no step refers to: what is wrong with them is a warning.
    pub(super) fn check_unused_tasks(&mut self) {
        let unused: Vec<(String, Rc<YamlNode>)> = self
            .workbook
            .tasks
            .iter()
            .filter(|(name, _)| !self.workbook.used.contains(*name))
            .map(|(name, tool)| (name.clone(), Rc::clone(tool)))
            .collect();
        let known = self.findings.count();
        let level = std::mem::replace(&mut self.uses.level, AnalysisLevel::Off);
        for (name, tool) in unused {
            let mut entries = tool.entries().unwrap_or_default().to_vec();
            // A task without `tool` has its name beside the settings.
            entries.retain(|entry| entry.key.text != "name");
            let tool = Rc::new(YamlNode::map(tool.span.clone(), entries));
            self.body(&name, &tool);
        }
        self.uses.level = level;
        self.findings.soften(known);
    }

    /// Resolves `kind: workbook` to the tool of the named task, with this tool's keys merged over
    /// it.
    pub(super) fn resolve_workbook(&mut self, tool: &YamlNode) -> Option<Rc<YamlNode>> {
        let own = tool.entries()?;
        let Some(name) = tool.get("task").or_else(|| tool.get("name")) else {
            self.missing(tool, "a tool of kind workbook", "name");
            return None;
        };
        let name_text = self.name(name, "a workbook task's name")?;
        let Some(task) = self.workbook.tasks.get(&name_text).cloned() else {
            let near = nearest(&name_text, self.workbook.tasks.keys().map(String::as_str));
            let help = near.map(|near| format!("did you mean `{near}`?"));
            let message = format!("there is no workbook task `{name_text}`");
            self.add(
                Finding::error(DiagnosticCode::UnknownTask, &name.span, message).help_if(help),
            );
            return None;
        };
        self.workbook.used.insert(name_text);
        let mut merged: Vec<YamlEntry> = task.entries().unwrap_or_default().to_vec();
        merged.retain(|entry| entry.key.text != "name");
        for entry in
            own.iter().filter(|entry| !matches!(entry.key.text.as_str(), "kind" | "name" | "task"))
        {
            override_entry(&mut merged, entry);
        }
        Some(Rc::new(YamlNode::map(tool.span.clone(), merged)))
    }
}

/// Replaces the entry with the same name; maps of variables are merged, with the new values
/// winning.
fn override_entry(entries: &mut Vec<YamlEntry>, entry: &YamlEntry) {
    let is_input = |key: &YamlKey| matches!(key.text.as_str(), "input" | "args" | "with");
    let namesake = entries
        .iter_mut()
        .find(|e| e.key.text == entry.key.text || (is_input(&e.key) && is_input(&entry.key)));
    let Some(below) = namesake else {
        entries.push(entry.clone());
        return;
    };
    below.value = match (below.value.entries(), entry.value.entries()) {
        (Some(under), Some(over)) if is_input(&entry.key) => {
            let mut merged = under.to_vec();
            merged.retain(|e| over.iter().all(|own| own.key.text != e.key.text));
            merged.extend(over.iter().cloned());
            Rc::new(YamlNode::map(entry.value.span.clone(), merged))
        }
        _ => Rc::clone(&entry.value),
    };
}
