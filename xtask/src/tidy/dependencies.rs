//! Checks that every dependency of a crate is used by its code.

use super::TidyFault;
use super::tree::SourceTree;

/// Dependencies whose library has another name than the package.
const LIBRARY_NAMES: &[(&str, &str)] = &[("md-5", "md5")];

pub(super) fn dependencies_are_used(tree: &SourceTree) -> Vec<TidyFault> {
    let mut faults = Vec::new();
    for directory in tree.crates() {
        let manifest = format!("{directory}/Cargo.toml");
        let code: Vec<&str> = tree.rust(directory).map(|(_, text)| text).collect();
        for (line, package) in dependencies(tree.get(&manifest).unwrap_or_default()) {
            let library = library_name(package);
            if !code.iter().any(|text| names(text, &library)) {
                let what = format!("`{package}` is used by no file of the crate: remove it");
                faults.push(TidyFault::at(&manifest, line, what));
            }
        }
    }
    faults
}

/// Returns the packages that a manifest depends on, each with its line.
fn dependencies(manifest: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_list = false;
    manifest.lines().enumerate().filter_map(move |(index, line)| {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            is_list = section.ends_with("dependencies") && !section.starts_with("workspace");
            return None;
        }
        let end = line.find(['.', ' ', '=']).filter(|_| is_list)?;
        let package = &line[..end];
        let is_package = !package.is_empty() && !package.starts_with('#');
        is_package.then_some((index + 1, package))
    })
}

fn library_name(package: &str) -> String {
    let named = LIBRARY_NAMES.iter().find(|(listed, _)| *listed == package);
    named.map_or_else(|| package.replace('-', "_"), |(_, library)| (*library).to_owned())
}

/// True if code names a library, as a word of its own.
fn names(code: &str, library: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.match_indices(library).any(|(at, found)| {
        !code[..at].ends_with(is_part) && !code[at + found.len()..].starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn a_dependency_that_no_file_names_is_found() {
        let manifest = "[package]\nname = \"x\"\n\n[dependencies]\nserde.workspace = true\n\
                        serde_json = { workspace = true }\n# why\nmd-5.workspace = true\n\n\
                        [dev-dependencies]\ntempfile.workspace = true\n";
        check(
            dependencies_are_used,
            &[
                ("crates/x/Cargo.toml", manifest),
                ("crates/x/src/lib.rs", "//! Words.\nuse serde::Serialize;\nuse md5::Md5;\n"),
                ("crates/x/tests/it.rs", "use my_serde_json::x;\n"),
            ],
            &[
                "crates/x/Cargo.toml:6: `serde_json` is used by no file of the crate: remove it",
                "crates/x/Cargo.toml:11: `tempfile` is used by no file of the crate: remove it",
            ],
        );
    }

    #[test]
    fn the_versions_of_the_workspace_are_no_dependencies_of_a_crate() {
        check(
            dependencies_are_used,
            &[("Cargo.toml", "[workspace.dependencies]\nserde = \"1\"\n")],
            &[],
        );
    }
}
