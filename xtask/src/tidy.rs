//! Checks of the repository that neither the compiler nor clippy makes.
//!
//! Each check is a function from the tree to its faults. `cargo xtask tidy` and a test run all of
//! them, so that no separate gate can be forgotten. Each check has a test with a planted fault.

mod catalogue;
mod comments;
mod compatibility;
mod crates;
mod dependencies;
mod imports;
mod layers;
mod lengths;
mod modules;
mod places;
mod rust;
mod sql;
mod tree;
mod type_names;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use crate::cargo;
use tree::SourceTree;

pub(crate) use catalogue::{CATALOGUE, TestedState, entries};

/// A violation of a rule, and its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TidyFault {
    path: String,
    /// The line number, counted from 1; `None` if the fault concerns the whole file.
    line: Option<usize>,
    what: String,
}

impl TidyFault {
    fn of(path: &str, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, what: what.into() }
    }

    fn at(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), what: what.into() }
    }
}

impl fmt::Display for TidyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

const CHECKS: &[fn(&SourceTree) -> Vec<TidyFault>] = &[
    catalogue::fault_runs_are_tests,
    catalogue::the_catalogue_is_complete,
    comments::comments_tell_no_history,
    comments::doc_comments_name_the_thing_first,
    comments::descriptions_of_keys_name_the_thing_first,
    comments::function_names_name_the_thing_first,
    compatibility::every_rule_is_held_up_by_a_test,
    crates::crates_are_complete,
    dependencies::dependencies_are_used,
    imports::storage_is_below_the_application,
    lengths::functions_and_files_are_short,
    modules::every_file_is_a_module,
    places::files_are_in_known_places,
    places::examples_say_what_they_show,
    places::guarantees_name_tests_that_exist,
    places::released_versions_have_histories,
    places::links_lead_somewhere,
    sql::events_are_inserted_in_one_place,
    sql::migrations_have_the_same_names,
    sql::statements_are_used_and_prepared,
    type_names::type_names_are_unique,
];

/// Prints every fault of the repository; fails if there is one.
pub(crate) fn run() -> Result<()> {
    let faults = faults(&cargo::root())?;
    for fault in &faults {
        eprintln!("{fault}");
    }
    match faults.len() {
        0 => Ok(()),
        1 => bail!("one untidy place"),
        count => bail!("{count} untidy places"),
    }
}

fn faults(root: &Path) -> Result<Vec<TidyFault>> {
    let tree = SourceTree::read(root)?;
    let mut faults = layers::dependencies_point_inwards(&layers::metadata()?)?;
    faults.extend(CHECKS.iter().flat_map(|check| check(&tree)));
    faults.sort();
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs one check on the given files and compares its faults.
    pub(super) fn check(
        check: fn(&SourceTree) -> Vec<TidyFault>,
        files: &[(&str, &str)],
        expected: &[&str],
    ) {
        let faults = check(&SourceTree::of(files));
        let actual: Vec<String> = faults.iter().map(TidyFault::to_string).collect();
        assert_eq!(actual, expected);
    }

    #[test]
    fn the_tree_is_tidy() {
        let faults = faults(&cargo::root()).expect("the tree can be read");
        let listed: String = faults.iter().map(|fault| format!("\n  {fault}")).collect();
        assert!(faults.is_empty(), "untidy:{listed}");
    }
}
