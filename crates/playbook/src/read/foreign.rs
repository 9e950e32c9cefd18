//! Findings about tools of the language that are not built in.
//!
//! If only this program's workers run the playbook, such a tool is an error in a step that every
//! execution reaches. Otherwise, or in a step that may be skipped, it is a warning. Tools that
//! other workers provide are listed under `executor.requires`.

use std::collections::BTreeSet;
use std::ops::Range;

use noetl_model::ToolKind;

use super::DocumentReader;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::parse::TargetWorkers;
use crate::playbook::{RouterMode, Step, StepIndex, Task};
use crate::yaml::YamlNode;

/// The tools that are not built in, and their places in the document.
pub(super) struct ForeignTools {
    pub(super) workers: TargetWorkers,
    met: Vec<(ToolKind, Range<usize>)>,
}

impl ForeignTools {
    pub(super) fn of(workers: TargetWorkers) -> Self {
        Self { workers, met: Vec::new() }
    }

    pub(super) fn meet(&mut self, kind: ToolKind, span: &Range<usize>) {
        self.met.push((kind, span.clone()));
    }
}

/// Tool kinds of the language that no worker implements.
const NOBODYS: &[ToolKind] = &[ToolKind::Gateway, ToolKind::Gcs];

impl DocumentReader<'_> {
    /// Reports the tools that are not built in. `places` has the byte range of each step.
    pub(super) fn note_foreign(
        &mut self,
        root: &YamlNode,
        places: &[Range<usize>],
        steps: &[Step],
        entry: StepIndex,
    ) {
        let required = required(root);
        let certain = certain(steps, entry);
        for (kind, span) in std::mem::take(&mut self.foreign.met) {
            if required.contains(kind.as_str()) {
                continue;
            }
            let is_there = |place: &Range<usize>| place.contains(&span.start);
            let step = places.iter().position(is_there);
            let is_certain = step.is_some_and(|step| {
                let of_kind = |task: &&Task| task.tool == kind;
                certain.contains(&StepIndex(step))
                    && steps[step].repeat.is_none()
                    && steps[step].tasks.iter().find(of_kind).is_some_and(|it| it.rules.is_empty())
            });
            let is_wanting = self.foreign.workers == TargetWorkers::Ours || NOBODYS.contains(&kind);
            let is_error = is_certain && is_wanting;
            let finding = if is_error { Finding::error } else { Finding::warning };
            let message = format!("`{kind}` is a tool of the language that is not built in");
            let built_in = ToolKind::ALL.iter().filter(|kind| kind.is_built_in());
            let built_in: Vec<&str> = built_in.map(|kind| kind.as_str()).collect();
            let help = format!(
                "if workers of your own bring it, write `executor: {{requires: [{kind}]}}`; built in \
                 are {}",
                built_in.join(", ")
            );
            self.add(finding(DiagnosticCode::ForeignTool, &span, message).help(help));
        }
    }
}

/// Returns the tools named by `executor.requires`: a list, or a map with a list of `tools`.
fn required(root: &YamlNode) -> BTreeSet<String> {
    let requires = root.get("executor").and_then(|executor| executor.get("requires"));
    let list = requires.and_then(|requires| {
        requires.list().or_else(|| requires.get("tools").and_then(|tools| tools.list()))
    });
    let names = list.unwrap_or_default().iter().filter_map(|name| name.text());
    names.map(str::to_owned).collect()
}

/// Returns the steps that an execution reaches unless an earlier step fails.
fn certain(steps: &[Step], entry: StepIndex) -> BTreeSet<StepIndex> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![entry];
    while let Some(index) = waiting.pop() {
        let Some(step) = steps.get(index.0) else { continue };
        let is_guarded = step.when.is_some() || !step.admit.is_empty();
        if is_guarded || !found.insert(index) {
            continue;
        }
        let sure = step.next.arcs.iter().filter(|arc| arc.when.is_none()).map(|arc| arc.to);
        match step.next.mode {
            RouterMode::Inclusive => waiting.extend(sure),
            RouterMode::Exclusive => {
                let first = step.next.arcs.first().filter(|arc| arc.when.is_none());
                waiting.extend(first.map(|arc| arc.to));
            }
        }
    }
    found
}
