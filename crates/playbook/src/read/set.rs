//! Reads `set` and its older names: which variables are assigned in which scope.

use super::DocumentReader;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::playbook::{AssignmentScope, SetAssignment};
use crate::yaml::{YamlEntry, YamlKey, YamlNode};

/// The prefixes of targets and their scopes. `vars` is an old name of the context.
const SCOPES: &[(&str, AssignmentScope)] = &[
    ("ctx", AssignmentScope::Ctx),
    ("iter", AssignmentScope::Iter),
    ("step", AssignmentScope::Step),
    ("vars", AssignmentScope::Ctx),
];

/// The keys that hold assignments, each with the scope of targets without a prefix.
const BLOCKS: &[(&str, AssignmentScope)] = &[
    ("set", AssignmentScope::Bare),
    ("set_ctx", AssignmentScope::Ctx),
    ("set_iter", AssignmentScope::Iter),
    ("set_vars", AssignmentScope::Ctx),
];

impl DocumentReader<'_> {
    /// Reads the assignments of `set` and its older names, in the order of the document.
    pub(super) fn set_blocks(&mut self, entries: &[YamlEntry]) -> Vec<SetAssignment> {
        let mut all = Vec::new();
        for entry in entries {
            let block = BLOCKS.iter().find(|(name, _)| *name == entry.key.text);
            if let Some((_, scope)) = block {
                all.extend(self.assignments(&entry.value, *scope));
            }
        }
        all
    }

    /// Reads the assignments of one map; `bare` is the scope of targets without a prefix.
    pub(super) fn assignments(
        &mut self,
        node: &YamlNode,
        bare: AssignmentScope,
    ) -> Vec<SetAssignment> {
        let mut all = Vec::new();
        for entry in self.any_map(node, "`set`").unwrap_or_default() {
            let scope = SCOPES.iter().find(|(prefix, _)| *prefix == entry.key.text);
            match (scope, entry.value.entries()) {
                (Some((_, scope)), Some(inner)) => {
                    let inner = inner.iter();
                    all.extend(
                        inner
                            .filter_map(|e| self.assignment(&e.key, &e.key.text, &e.value, *scope)),
                    );
                }
                (Some(_) | None, _) => {
                    let (scope, key) = split(&entry.key.text).unwrap_or((bare, &entry.key.text));
                    all.extend(self.assignment(&entry.key, key, &entry.value, scope));
                }
            }
        }
        all
    }

    fn assignment(
        &mut self,
        written: &YamlKey,
        key: &str,
        value: &YamlNode,
        scope: AssignmentScope,
    ) -> Option<SetAssignment> {
        if key.is_empty() || key.split('.').any(|part| part.trim().is_empty()) {
            let message = format!("`{}` names no variable", written.text);
            self.add(Finding::error(DiagnosticCode::BadKey, &written.span, message));
            return None;
        }
        let value = self.template(value)?;
        Some(SetAssignment { scope, key: key.to_owned(), value })
    }
}

fn split(target: &str) -> Option<(AssignmentScope, &str)> {
    let (prefix, key) = target.split_once('.')?;
    let (_, scope) = SCOPES.iter().find(|(name, _)| *name == prefix)?;
    Some((*scope, key))
}

/// True if a target has no prefix that names its scope.
pub(super) fn is_bare(target: &str) -> bool {
    let first = target.split('.').next().unwrap_or_default();
    SCOPES.iter().all(|(prefix, _)| *prefix != first)
}
