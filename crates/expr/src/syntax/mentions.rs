//! Collects the variables that a template reads.
//!
//! A command carries only the values that its templates refer to, so every variable that is read
//! must be collected; an extra one does no harm.

use std::collections::BTreeSet;

use crate::facts::TemplateFacts;
use crate::syntax::{Path, PathStep};

/// The names that a template assigns itself in one block.
#[derive(Debug, Default, Clone)]
pub(super) struct LocalNames {
    pub(super) names: BTreeSet<String>,
    /// The names that only some branches of an `if` assign: they may be read from outside.
    pub(super) possible: BTreeSet<String>,
}

impl LocalNames {
    pub(super) fn of(names: BTreeSet<String>) -> Self {
        Self { names, possible: BTreeSet::new() }
    }

    /// Returns the names after two branches of which one is rendered.
    pub(super) fn either(self, other: Self) -> Self {
        let names: BTreeSet<String> = self.names.intersection(&other.names).cloned().collect();
        let all = [self.names, other.names, self.possible, other.possible];
        let possible = all.into_iter().flatten().filter(|name| !names.contains(name)).collect();
        Self { names, possible }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.names.extend(other.names);
        self.possible.extend(other.possible);
    }
}

/// The variables that a template reads, and the names it defines itself.
#[derive(Default)]
pub(super) struct Mentions {
    pub(super) variables: BTreeSet<String>,
    pub(super) roots: BTreeSet<String>,
    /// The names that the template assigns itself, innermost block last.
    pub(super) local: Vec<LocalNames>,
    /// The names, filters and comparisons with their places.
    pub(super) facts: TemplateFacts,
    /// True if a missing value is an error when the template is rendered.
    pub(super) is_strict: bool,
}

impl Mentions {
    pub(super) fn is_local(&self, name: &str) -> bool {
        self.local.iter().any(|local| local.names.contains(name))
    }

    /// True if the template assigns the name itself, at least in some branches of an `if`.
    pub(super) fn may_be_local(&self, name: &str) -> bool {
        self.is_local(name) || self.local.iter().any(|local| local.possible.contains(name))
    }

    /// Adds a variable that a function reads.
    pub(super) fn need(&mut self, name: &str) {
        self.variables.insert(name.to_owned());
        self.roots.insert(name.to_owned());
    }

    /// Adds a variable with the first `steps` steps of its path, unless the name is local.
    pub(super) fn record(&mut self, path: &Path, steps: usize) {
        if self.is_local(&path.root) {
            return;
        }
        let mut name = path.root.clone();
        for step in path.steps.iter().take(steps) {
            match step {
                PathStep::Name(key) if is_identifier(key) => {
                    name.push('.');
                    name.push_str(key);
                }
                PathStep::Name(_) | PathStep::Index(_) => break,
            }
        }
        self.variables.insert(name);
        self.roots.insert(path.root.clone());
    }
}

fn is_identifier(text: &str) -> bool {
    let is_more = |it: char| it.is_ascii_alphanumeric() || it == '_';
    text.chars().all(is_more) && text.starts_with(|it: char| !it.is_ascii_digit())
}
