//! The variables a template needs from outside.
//!
//! A command carries the values its templates mention and no others, so nothing that is read may
//! be missing here; a name more does no harm.

use std::collections::BTreeSet;

use crate::syntax::{Path, PathStep};

/// What a template mentions, and which names are its own.
#[derive(Default)]
pub(super) struct Mentions {
    pub(super) variables: BTreeSet<String>,
    pub(super) roots: BTreeSet<String>,
    /// Names the template itself gives values to, innermost block last.
    pub(super) local: Vec<BTreeSet<String>>,
}

impl Mentions {
    pub(super) fn is_local(&self, name: &str) -> bool {
        self.local.iter().any(|names| names.contains(name))
    }

    /// Notes a variable that a function reads.
    pub(super) fn need(&mut self, name: &str) {
        self.variables.insert(name.to_owned());
        self.roots.insert(name.to_owned());
    }

    /// Notes a variable and the first steps into it.
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
