//! Checks that a type name stands for one thing: no two types of the workspace have the same name.

use std::collections::BTreeMap;

use super::TidyFault;
use super::rust::RustScan;
use super::tree::{SourceTree, is_test_file};

/// The reason for operations of the command line that have the name of the storage port below them.
const SAME_SUBJECT: &str =
    "the operations of a client and the port of the storage on the same subject";

/// The names that several types may have, in alphabetical order, each with the reason.
const SHARED: &[(&str, &str)] = &[
    ("CatalogEntry", "an entry on the wire and its row"),
    (
        "Failure",
        "the end of a command line and the failure of a delivery; neither crate sees the other",
    ),
    ("FeedPage", "a page on the wire and a page of rows"),
    ("Feeds", SAME_SUBJECT),
    ("OpenError", "each database adapter has its own; no code uses both"),
    ("Outbox", SAME_SUBJECT),
    ("Started", "a started execution in the control plane and in the output of the command line"),
];

/// The path of this file, where a fault of the list is reported.
const LIST: &str = "xtask/src/tidy/type_names.rs";

pub(super) fn type_names_are_unique(tree: &SourceTree) -> Vec<TidyFault> {
    repeated_names(tree, SHARED)
}

/// Returns a fault for each definition whose name is repeated and not in `shared`, and for each
/// entry of `shared` that is not repeated.
fn repeated_names(tree: &SourceTree, shared: &[(&str, &str)]) -> Vec<TidyFault> {
    let mut definitions: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
    for (path, text) in tree.rust("").filter(|(path, _)| is_production(path)) {
        for (line, name) in types(text) {
            definitions.entry(name).or_default().push((path, line));
        }
    }
    definitions.retain(|_, places| places.len() > 1);
    let is_shared = |name: &str| shared.iter().any(|(listed, _)| *listed == name);
    let mut faults = Vec::new();
    for (name, places) in definitions.iter().filter(|(name, _)| !is_shared(name)) {
        for (index, (path, line)) in places.iter().enumerate() {
            let (other, at) = places[usize::from(index == 0)];
            let what = format!("the type name `{name}` is used at {other}:{at}, too");
            faults.push(TidyFault::at(path, *line, what));
        }
    }
    for (name, reason) in shared.iter().filter(|(name, _)| !definitions.contains_key(*name)) {
        let what = format!("`{name}` is listed ({reason}), but no two types have this name");
        faults.push(TidyFault::of(LIST, what));
    }
    faults
}

fn is_production(path: &str) -> bool {
    path.contains("/src/") && !is_test_file(path)
}

/// Returns the line and the name of each struct, enum, trait and union and of each alias that is
/// not part of an implementation. Tests at the end of the file are left out.
fn types(text: &str) -> Vec<(usize, String)> {
    let scan = RustScan::of(text);
    let code = &scan.code[..scan.lines_before_tests()];
    let numbered = code.iter().enumerate();
    numbered.filter_map(|(index, line)| Some((index + 1, defined_type(line)?))).collect()
}

fn defined_type(line: &str) -> Option<String> {
    let is_indented = line.starts_with(' ');
    let mut words = line.split_whitespace().skip_while(|word| is_modifier(word));
    match words.next()? {
        "struct" | "enum" | "trait" | "union" => {}
        "type" if !is_indented => {}
        _ => return None,
    }
    let name: String =
        words.next()?.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    name.starts_with(|c: char| c.is_ascii_uppercase()).then_some(name)
}

fn is_modifier(word: &str) -> bool {
    word == "unsafe" || word == "pub" || word.starts_with("pub(")
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    fn with_none_shared(tree: &SourceTree) -> Vec<TidyFault> {
        repeated_names(tree, &[])
    }

    #[test]
    fn a_name_of_two_types_is_found_at_both() {
        check(
            with_none_shared,
            &[
                ("crates/a/src/lib.rs", "pub struct Place {\n}\n\npub(crate) enum Kind {}\n"),
                ("crates/b/src/deep/x.rs", "//! Text.\n\nstruct Place(u8);\n"),
                ("xtask/src/main.rs", "pub unsafe trait Kind<T> {}\n"),
            ],
            &[
                "crates/a/src/lib.rs:4: the type name `Kind` is used at xtask/src/main.rs:1, too",
                "xtask/src/main.rs:1: the type name `Kind` is used at crates/a/src/lib.rs:4, too",
                "crates/a/src/lib.rs:1: the type name `Place` is used at crates/b/src/deep/x.rs:3, too",
                "crates/b/src/deep/x.rs:3: the type name `Place` is used at crates/a/src/lib.rs:1, too",
            ],
        );
    }

    #[test]
    fn aliases_unions_and_types_within_functions_and_modules_count() {
        check(
            with_none_shared,
            &[(
                "crates/a/src/lib.rs",
                "type Answer = u8;\nunion Raw {}\nfn f() {\n    struct Answer;\n}\nmod m {\n    pub union Raw {}\n}\n",
            )],
            &[
                "crates/a/src/lib.rs:1: the type name `Answer` is used at crates/a/src/lib.rs:4, too",
                "crates/a/src/lib.rs:4: the type name `Answer` is used at crates/a/src/lib.rs:1, too",
                "crates/a/src/lib.rs:2: the type name `Raw` is used at crates/a/src/lib.rs:7, too",
                "crates/a/src/lib.rs:7: the type name `Raw` is used at crates/a/src/lib.rs:2, too",
            ],
        );
    }

    #[test]
    fn tests_associated_types_comments_and_literals_do_not_count() {
        check(
            with_none_shared,
            &[
                ("crates/a/src/lib.rs", "struct One;\nimpl A for One {\n    type Err = u8;\n}\n"),
                (
                    "crates/b/src/lib.rs",
                    "// struct One;\nconst C: &str = \"\nstruct One;\n\";\nimpl A for C {\n    type Err = u8;\n}\n\n#[cfg(test)]\nmod tests {\n    struct One;\n}\n",
                ),
                ("crates/b/src/deep/tests.rs", "struct One;\n"),
                ("crates/b/tests/it/main.rs", "struct One;\n"),
                (
                    "crates/b/src/ids.rs",
                    "macro_rules! id {\n    struct $name;\n    struct $name;\n}\n",
                ),
            ],
            &[],
        );
    }

    #[test]
    fn a_listed_name_may_be_shared_and_has_to_be() {
        check(
            |tree| repeated_names(tree, &[("Page", "two protocols"), ("Gone", "not renamed yet")]),
            &[("crates/a/src/lib.rs", "struct Page;\n"), ("crates/b/src/lib.rs", "enum Page {}\n")],
            &[
                "xtask/src/tidy/type_names.rs: `Gone` is listed (not renamed yet), but no two types have this name",
            ],
        );
    }

    #[test]
    fn the_list_is_sorted_and_has_no_name_twice() {
        assert!(SHARED.is_sorted_by(|one, next| one.0 < next.0));
    }
}
