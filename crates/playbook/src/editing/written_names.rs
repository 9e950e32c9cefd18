//! The names that a text defines, as far as they can be seen in its outline: for documents that are not
//! valid while they are written.

use super::outline::{Container, Outline, outline};
use crate::analysis::{EVERYWHERE, tool_fields};

/// The names in a text, without the places at which they exist.
#[derive(Debug, Default)]
pub(super) struct WrittenNames {
    /// Keys of `workload` and `inputs`.
    workload: Vec<String>,
    /// Keys of `set`.
    set: Vec<String>,
    /// Iterators of loops.
    iterators: Vec<String>,
    /// Steps, with the kind of their tool.
    steps: Vec<(String, Option<String>)>,
}

impl WrittenNames {
    pub(super) fn of(text: &str) -> Self {
        let (outline, _) = outline(text, 0);
        let mut names = Self::default();
        let Some(root) = outline.containers.first() else { return names };
        for key in ["workload", "inputs", "vars"] {
            names.workload.extend(root.child(key).into_iter().flat_map(|id| keys(&outline, id)));
        }
        for container in &outline.containers {
            if let Some(id) = container.child("set") {
                names.set.extend(keys(&outline, id).into_iter().map(variable));
            }
            names.iterators.extend(container.value("iterator").map(str::to_owned));
        }
        let list = root.child("workflow").map(|id| &outline.containers[id]);
        let items = list.map(|list| list.entries.as_slice()).unwrap_or_default();
        for step in items.iter().filter_map(|item| Some(&outline.containers[item.child?])) {
            let Some(name) = step.value("step") else { continue };
            let tool = step.child("tool").map(|id| &outline.containers[id]);
            names.steps.push((name.to_owned(), tool.and_then(kind_of)));
        }
        names
    }

    /// Returns the names that may follow a path; the last segment is being written.
    pub(super) fn after(&self, path: &[&str]) -> Vec<String> {
        let steps = || self.steps.iter().map(|(name, _)| name.clone());
        match path {
            [_] => {
                let own = self.workload.iter().chain(&self.set).chain(&self.iterators).cloned();
                let built_in = EVERYWHERE.iter().map(|name| (*name).to_owned());
                own.chain(steps()).chain(built_in).collect()
            }
            ["workload", _] => self.workload.clone(),
            ["ctx" | "vars", _] => self.workload.iter().chain(&self.set).cloned().collect(),
            ["iter", _] => self.iterators.clone(),
            ["steps", _] => steps().collect(),
            ["steps", name, _] | [name, _] => self.output(name),
            [..] => Vec::new(),
        }
    }

    /// Returns the fields of a step's output.
    fn output(&self, step: &str) -> Vec<String> {
        let kind =
            self.steps.iter().find(|(name, _)| name == step).and_then(|(_, kind)| kind.as_ref());
        let tool = kind.and_then(|kind| kind.parse().ok());
        let fields = tool.and_then(tool_fields).unwrap_or_default();
        fields.iter().map(|field| (*field).to_owned()).collect()
    }
}

fn keys(outline: &Outline, id: usize) -> Vec<String> {
    outline.containers[id].entries.iter().filter_map(|entry| entry.key.clone()).collect()
}

fn kind_of(tool: &Container) -> Option<String> {
    tool.value("kind").map(str::to_owned)
}

/// Returns the variable that a key of `set` names: the last part of `ctx.name`.
fn variable(key: String) -> String {
    let name = ["ctx.", "iter.", "step."].iter().find_map(|scope| key.strip_prefix(scope));
    let name = name.unwrap_or(&key);
    name.split('.').next().unwrap_or(name).to_owned()
}
