//! Checks that every crate has a header, the workspace lints and a row in ARCHITECTURE.md.

use super::TidyFault;
use super::tree::{SourceTree, file_name, is_test_file};

/// The limit for ARCHITECTURE.md, so that it can be read at one sitting.
const ARCHITECTURE_LINES_MAX: usize = 300;

/// The crates with unsafe code, which calls a C library or is an allocator: they repeat the workspace
/// lints, except the ban on it.
const OWN_LINTS: &[&str] = &["crates/duckdb", "crates/sqlite-authorizer", "crates/thread-memory"];

pub(super) fn crates_are_complete(tree: &SourceTree) -> Vec<TidyFault> {
    let architecture = tree.get("ARCHITECTURE.md").unwrap_or_default();
    let mut faults = Vec::new();
    for directory in tree.crates() {
        let manifest = format!("{directory}/Cargo.toml");
        if !OWN_LINTS.contains(&directory) && !has_lints(tree.get(&manifest).unwrap_or_default()) {
            faults.push(TidyFault::of(&manifest, "has no `[lints] workspace = true`"));
        }
        for (path, text) in tree.rust(directory) {
            if !is_test_file(path) && !text.starts_with("//! ") {
                faults.push(TidyFault::at(path, 1, "begins without a `//!` header"));
            }
        }
        if !has_row(architecture, file_name(directory)) {
            faults.push(TidyFault::of(directory, "has no row in ARCHITECTURE.md"));
        }
    }
    let lines = architecture.lines().count();
    if lines >= ARCHITECTURE_LINES_MAX {
        let what = format!("{lines} lines, fewer than {ARCHITECTURE_LINES_MAX} wanted");
        faults.push(TidyFault::of("ARCHITECTURE.md", what));
    }
    faults
}

fn has_lints(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
    lines.next() == Some("workspace = true")
}

fn has_row(architecture: &str, name: &str) -> bool {
    let cell = format!("`{name}`");
    architecture
        .lines()
        .filter(|line| line.starts_with('|'))
        .any(|row| row.split('|').any(|it| it.trim() == cell))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    const MAP: (&str, &str) = ("ARCHITECTURE.md", "| pure | `x` | words |\n");

    #[test]
    fn a_complete_crate_passes() {
        check(
            crates_are_complete,
            &[
                MAP,
                ("crates/x/Cargo.toml", "[lints]\nworkspace = true\n"),
                ("crates/x/src/lib.rs", "//! Words.\n"),
                ("crates/x/tests/it/main.rs", "mod a;\n"),
            ],
            &[],
        );
    }

    #[test]
    fn a_crate_without_lints_header_or_row_is_found() {
        check(
            crates_are_complete,
            &[
                MAP,
                ("crates/y/Cargo.toml", "[package]\nname = \"y\"\n"),
                ("crates/y/src/lib.rs", "use z;\n"),
            ],
            &[
                "crates/y/Cargo.toml: has no `[lints] workspace = true`",
                "crates/y/src/lib.rs:1: begins without a `//!` header",
                "crates/y: has no row in ARCHITECTURE.md",
            ],
        );
    }

    #[test]
    fn a_map_that_has_grown_into_an_atlas_is_found() {
        check(
            crates_are_complete,
            &[("ARCHITECTURE.md", &"x\n".repeat(300))],
            &["ARCHITECTURE.md: 300 lines, fewer than 300 wanted"],
        );
    }
}
