//! Checks that SQL is in files that are used and prepared, and that the stores have the same
//! migrations.

use std::collections::{BTreeMap, BTreeSet};

use super::TidyFault;
use super::rust::RustScan;
use super::tree::{SourceTree, file_name, is_test_file};

/// Checks that each store has exactly one statement that inserts events: order and uniqueness
/// depend on that statement. Migrations do not count: the functions they created are dropped.
pub(super) fn events_are_inserted_in_one_place(tree: &SourceTree) -> Vec<TidyFault> {
    let mut faults = Vec::new();
    for store in stores(tree) {
        let places: Vec<String> = tree
            .below(store)
            .filter(|(path, _)| path.ends_with(".sql") || path.ends_with(".rs"))
            .filter(|(path, _)| !is_test_file(path) && !path.contains("/migrations/"))
            .flat_map(|(path, text)| vec![path.to_owned(); event_inserts(untested(path, text))])
            .collect();
        match places.as_slice() {
            [_] => {}
            [] => faults.push(TidyFault::of(store, "nothing inserts into the event table")),
            several => {
                let what =
                    format!("events are inserted in {}, not in one place", several.join(", "));
                faults.push(TidyFault::of(store, what));
            }
        }
    }
    faults
}

pub(super) fn migrations_have_the_same_names(tree: &SourceTree) -> Vec<TidyFault> {
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for store in stores(tree) {
        let directory = format!("{store}/migrations");
        let files: BTreeSet<&str> =
            tree.below(&directory).map(|(path, _)| file_name(path)).collect();
        if !files.is_empty() {
            names.insert(store, files);
        }
    }
    let all: BTreeSet<&str> = names.values().flatten().copied().collect();
    let mut faults = Vec::new();
    for (store, present) in &names {
        for absent in all.difference(present) {
            let what = format!("lacks the migration {absent} that another store has");
            faults.push(TidyFault::of(store, what));
        }
    }
    faults
}

/// The call by which a store includes the shared statements.
const SHARED_USE: &str = "each_statement!(included)";

pub(super) fn statements_are_used_and_prepared(tree: &SourceTree) -> Vec<TidyFault> {
    let mut faults = Vec::new();
    let shared = shared_statements(tree);
    for directory in tree.crates() {
        let statements: Vec<&str> = tree
            .below(&format!("{directory}/sql"))
            .map(|(path, _)| path)
            .filter(|path| path.ends_with(".sql"))
            .collect();
        let used: String = tree.rust(directory).flat_map(|(_, text)| included(text)).collect();
        let has_shared = tree.rust(directory).any(|(_, text)| text.contains(SHARED_USE));
        for path in &statements {
            let below = path.strip_prefix(&format!("{directory}/")).unwrap_or(path);
            let is_shared = has_shared && shared.contains(below);
            if !is_shared && !used.contains(&format!("{below}\"")) {
                faults.push(TidyFault::of(path, "no `include_str!` mentions it"));
            }
        }
        let prepares =
            |text: &str| ["\"sql\"", "read_dir", "prepare"].iter().all(|word| text.contains(word));
        if !statements.is_empty() && !tree.rust(directory).any(|(_, text)| prepares(text)) {
            faults.push(TidyFault::of(directory, "no test prepares every file of sql/"));
        }
    }
    faults
}

fn stores(tree: &SourceTree) -> Vec<&str> {
    let mut stores = tree.crates();
    stores.retain(|directory| directory.starts_with("crates/store-"));
    stores
}

/// Returns the lines of a file without the tests at its end.
fn untested<'a>(path: &str, text: &'a str) -> Vec<&'a str> {
    let count =
        if path.ends_with(".rs") { RustScan::of(text).lines_before_tests() } else { usize::MAX };
    text.lines().take(count).collect()
}

/// Counts the occurrences of `INSERT … INTO event`, however they are laid out and qualified.
fn event_inserts(lines: Vec<&str>) -> usize {
    let text = lines.join(" ").to_lowercase();
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')
        .filter(|word| !word.is_empty())
        .collect();
    let table = |word: &str| word.rsplit('.').next() == Some("event");
    words.windows(2).filter(|pair| pair[0] == "into" && table(pair[1])).count()
}

/// Returns the files of the statements that the table of all SQL stores names.
fn shared_statements(tree: &SourceTree) -> BTreeSet<String> {
    let lines = tree.get(TABLE).unwrap_or_default().lines();
    let name = |line: &str| {
        let (kind, name) = line.trim().strip_suffix(';')?.split_once(' ')?;
        let is_kind = ["Read", "Lookup", "Write", "Lazy", "Claim"].contains(&kind);
        is_kind.then(|| format!("sql/{name}.sql"))
    };
    lines.filter_map(name).collect()
}

/// The file with the table of the shared statements.
const TABLE: &str = "crates/store/src/sql/statement.rs";

/// Returns the arguments of every `include_str!`.
fn included(text: &str) -> Vec<&str> {
    text.split("include_str!(").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    const STORE: (&str, &str) = ("crates/store-a/Cargo.toml", "");
    const PREPARED: (&str, &str) = (
        "crates/store-a/src/lib.rs",
        "include_str!(\"../sql/used.sql\"); read_dir(\"sql\") prepare",
    );

    #[test]
    fn a_second_insert_into_the_log_is_found() {
        let append = ("crates/store-a/sql/append.sql", "INSERT INTO noetl.event\n(a) VALUES (1)");
        let tested =
            ("crates/store-a/src/b.rs", "#[cfg(test)]\nmod tests {\n\"INSERT INTO event (\"\n}");
        let other = ("crates/store-a/src/c.rs", "\"INSERT INTO event_index (\"");
        check(events_are_inserted_in_one_place, &[STORE, append, tested, other], &[]);
        let second = ("crates/store-a/src/d.rs", "\"insert or ignore into event (\"");
        check(
            events_are_inserted_in_one_place,
            &[STORE, append, second],
            &[
                "crates/store-a: events are inserted in crates/store-a/sql/append.sql, crates/store-a/src/d.rs, not in one place",
            ],
        );
        let migration = ("crates/store-a/migrations/001_append.sql", "INSERT INTO event (a)");
        let function =
            ("crates/store-a/sql/functions/append.sql", "INSERT INTO noetl.event (a, b)");
        check(events_are_inserted_in_one_place, &[STORE, migration, function], &[]);
        check(
            events_are_inserted_in_one_place,
            &[STORE, migration],
            &["crates/store-a: nothing inserts into the event table"],
        );
    }

    #[test]
    fn a_migration_that_one_store_lacks_is_found() {
        check(
            migrations_have_the_same_names,
            &[
                STORE,
                ("crates/store-a/migrations/001_event.sql", ""),
                ("crates/store-b/Cargo.toml", ""),
                ("crates/store-b/migrations/001_event.sql", ""),
                ("crates/store-b/migrations/002_more.sql", ""),
                ("crates/store-c/Cargo.toml", ""),
            ],
            &["crates/store-a: lacks the migration 002_more.sql that another store has"],
        );
    }

    #[test]
    fn a_statement_that_nobody_uses_is_found() {
        let (used, unused) = ("crates/store-a/sql/used.sql", "crates/store-a/sql/unused.sql");
        check(statements_are_used_and_prepared, &[STORE, PREPARED, (used, "")], &[]);
        check(
            statements_are_used_and_prepared,
            &[STORE, PREPARED, (used, ""), (unused, "")],
            &["crates/store-a/sql/unused.sql: no `include_str!` mentions it"],
        );
        check(
            statements_are_used_and_prepared,
            &[STORE, PREPARED, (used, ""), ("crates/store-a/sql/functions/used.sql", "")],
            &["crates/store-a/sql/functions/used.sql: no `include_str!` mentions it"],
        );
        let table = ("crates/store/src/sql/statement.rs", "        Read unused;\n");
        let includes = ("crates/store-a/src/b.rs", "each_statement!(included)");
        check(
            statements_are_used_and_prepared,
            &[STORE, PREPARED, (used, ""), (unused, ""), table, includes],
            &[],
        );
    }

    #[test]
    fn statements_that_no_test_prepares_are_found() {
        check(
            statements_are_used_and_prepared,
            &[
                STORE,
                ("crates/store-a/src/lib.rs", "include_str!(\"../sql/used.sql\")"),
                ("crates/store-a/sql/used.sql", ""),
            ],
            &["crates/store-a: no test prepares every file of sql/"],
        );
    }
}
