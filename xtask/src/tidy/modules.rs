//! Checks that every Rust file is compiled.

use super::TidyFault;
use super::rust::RustScan;
use super::tree::{SourceTree, file_name};

pub(super) fn every_file_is_a_module(tree: &SourceTree) -> Vec<TidyFault> {
    let mut faults = Vec::new();
    for directory in tree.crates() {
        for (path, _) in tree.rust(directory) {
            let inside = &path[directory.len() + 1..];
            if is_root(inside) {
                continue;
            }
            let parents = parents(path);
            let name = file_name(path).trim_end_matches(".rs");
            if !parents.iter().any(|parent| declares(tree.get(parent).unwrap_or_default(), name)) {
                faults.push(TidyFault::of(path, "no `mod` mentions it"));
            }
        }
    }
    faults
}

/// True for files that cargo compiles without a `mod`.
fn is_root(inside: &str) -> bool {
    let parts: Vec<&str> = inside.split('/').collect();
    matches!(
        parts.as_slice(),
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "examples" | "benches", _]
            | ["tests" | "examples" | "benches", _, "main.rs"]
    )
}

/// Returns the files that may declare a file's `mod`: the one named like its directory, or the root
/// beside it.
fn parents(path: &str) -> Vec<String> {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    ["lib.rs", "main.rs", "mod.rs"]
        .iter()
        .map(|root| format!("{directory}/{root}"))
        .chain([format!("{directory}.rs")])
        .filter(|parent| parent != path)
        .collect()
}

fn declares(source: &str, name: &str) -> bool {
    let declaration = format!("mod {name};");
    RustScan::of(source).code.iter().any(|line| {
        let line = line.trim();
        line == declaration || line.ends_with(&format!(" {declaration}"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn a_file_that_no_mod_mentions_is_found() {
        check(
            every_file_is_a_module,
            &[
                ("crates/x/Cargo.toml", ""),
                ("crates/x/src/lib.rs", "mod a;\n// mod lost;\n"),
                ("crates/x/src/a.rs", "pub(crate) mod b;\n"),
                ("crates/x/src/a/b.rs", ""),
                ("crates/x/src/a/c.rs", ""),
                ("crates/x/src/lost.rs", ""),
                ("crates/x/tests/it/main.rs", "mod d;"),
                ("crates/x/tests/it/d.rs", ""),
            ],
            &[
                "crates/x/src/a/c.rs: no `mod` mentions it",
                "crates/x/src/lost.rs: no `mod` mentions it",
            ],
        );
    }
}
