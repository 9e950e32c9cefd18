//! Checks that storage is used below the application layer only.

use super::TidyFault;
use super::tree::{SourceTree, is_test_file};

/// The crates that no edge imports: the ports of the storage and their adapters.
const STORAGE: &[&str] =
    &["noetl_store", "noetl_store_sqlite", "noetl_store_postgres", "noetl_blobs_files"];

/// The crates that call the application layer instead of the storage.
const EDGES: &[&str] =
    &["crates/server", "crates/web", "crates/cli", "crates/worker", "crates/lsp"];

/// Files that open, wrap or examine the storage itself. A file that no longer imports the storage is
/// a fault until it is removed here.
const WIRING: &[&str] = &[
    "crates/cli/src/commands/doctor/clock.rs",
    "crates/cli/src/commands/db.rs",
    "crates/cli/src/commands/doctor/database.rs",
    "crates/cli/src/commands/doctor/machine.rs",
    "crates/cli/src/wiring/database.rs",
    "crates/cli/src/wiring/server_parts.rs",
    "crates/cli/src/backend/local.rs",
    "crates/cli/src/input/candidates.rs",
];

pub(super) fn storage_is_below_the_application(tree: &SourceTree) -> Vec<TidyFault> {
    faults(tree, WIRING)
}

fn faults(tree: &SourceTree, allowed: &[&str]) -> Vec<TidyFault> {
    let files = EDGES.iter().flat_map(|edge| tree.rust(edge));
    let importing: Vec<(&str, usize, &str)> = files
        .filter(|(path, _)| path.contains("/src/") && !is_test_file(path))
        .filter_map(|(path, text)| {
            let mut lines = text.lines().enumerate();
            lines.find_map(|(line, text)| Some((path, line + 1, imported_storage(text)?)))
        })
        .collect();
    let listed = |path: &str| allowed.contains(&path);
    let unlisted = importing.iter().filter(|(path, ..)| !listed(path));
    let unlisted = unlisted.map(|(path, line, storage)| {
        let what = format!("imports {storage}: call a function of noetl-app instead");
        TidyFault::at(path, *line, what)
    });
    let imports = |path: &str| importing.iter().any(|(importing, ..)| *importing == path);
    let stale = allowed.iter().filter(|path| !imports(path));
    let stale = stale.map(|path| TidyFault::of(path, "is listed and imports no storage"));
    unlisted.chain(stale).collect()
}

/// Returns the crate of the storage that a line imports from.
fn imported_storage(line: &str) -> Option<&'static str> {
    let code = line.split("//").next().unwrap_or_default();
    STORAGE.iter().copied().find(|storage| code.contains(&format!("{storage}::")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], allowed: &[&str], expected: &[&str]) {
        let faults = faults(&SourceTree::of(files), allowed);
        assert_eq!(faults.iter().map(TidyFault::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_edge_that_imports_the_storage_is_a_fault() {
        check(
            &[("crates/server/src/routes/a.rs", "//! A.\n\nuse noetl_store::Store;\n")],
            &[],
            &[
                "crates/server/src/routes/a.rs:3: imports noetl_store: call a function of noetl-app \
               instead",
            ],
        );
        check(
            &[("crates/cli/src/a.rs", "use noetl_store_sqlite::SqliteStore;\n")],
            &[],
            &["crates/cli/src/a.rs:1: imports noetl_store_sqlite: call a function of noetl-app \
               instead"],
        );
    }

    #[test]
    fn names_tests_comments_and_listed_files_are_none() {
        check(
            &[
                ("crates/cli/src/a.rs", "add(\"noetl_store_connections\");\n"),
                ("crates/cli/src/b.rs", "// noetl_store::Store\n"),
                ("crates/server/src/tests/c.rs", "use noetl_store::Store;\n"),
                ("crates/cli/src/database.rs", "use noetl_store::Store;\n"),
                ("crates/control/src/d.rs", "use noetl_store::Store;\n"),
            ],
            &["crates/cli/src/database.rs"],
            &[],
        );
    }

    #[test]
    fn a_listed_file_that_imports_nothing_is_struck_off() {
        check(
            &[("crates/cli/src/a.rs", "//! A.\n")],
            &["crates/cli/src/a.rs"],
            &["crates/cli/src/a.rs: is listed and imports no storage"],
        );
    }
}
