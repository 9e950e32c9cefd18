//! The files that the kernel lets a program reach (landlock).
//!
//! Landlock has rules for what is allowed and none for what is forbidden. If the hidden paths are
//! covered by mounts, everything visible is allowed. Otherwise the rules name every entry beside the
//! hidden paths: a directory above a hidden path can then be listed, but not written to.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};

use crate::spec::LaunchSpec;

/// The newest version of landlock that is used; older kernels enforce what they know.
const LATEST: ABI = ABI::V6;
/// The maximum number of rules.
const RULES_MAX: usize = 20_000;

/// Restricts this process to the allowed files and to signals within its own processes.
pub(super) fn restrict(spec: &LaunchSpec) -> Result<(), String> {
    let everything = AccessFs::from_all(LATEST);
    let (listed, read_only) = match spec.namespaces.has_mount() {
        true => (vec![PathBuf::from("/")], Vec::new()),
        false => {
            let cwd = std::env::current_dir().unwrap_or_default();
            let read_only = protected(spec, &cwd);
            let excluded: Vec<PathBuf> = spec.hidden.iter().chain(&read_only).cloned().collect();
            (allowed_roots(&excluded, entries), read_only)
        }
    };
    if listed.len() > RULES_MAX {
        return Err(format!("more than {RULES_MAX} files lie beside the server's files"));
    }
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(everything)
        .and_then(|ruleset| ruleset.scope(Scope::from_all(LATEST)))
        .and_then(Ruleset::create)
        .map_err(|error| error.to_string())?;
    let mut ruleset = ruleset;
    let root = PathFd::new("/").map_err(|error| error.to_string())?;
    ruleset = ruleset
        .add_rule(PathBeneath::new(root, AccessFs::ReadDir))
        .map_err(|error| error.to_string())?;
    for path in listed {
        // A file may have been removed since it was listed; sockets and links are not opened.
        let Ok(file) = PathFd::new(&path) else { continue };
        let is_directory = fs::metadata(&path).is_ok_and(|found| found.is_dir());
        let access = if is_directory { everything } else { AccessFs::from_file(LATEST) };
        ruleset =
            ruleset.add_rule(PathBeneath::new(file, access)).map_err(|error| error.to_string())?;
    }
    for path in read_only {
        let Ok(directory) = PathFd::new(&path) else { continue };
        let rule = PathBeneath::new(directory, AccessFs::from_read(LATEST));
        ruleset = ruleset.add_rule(rule).map_err(|error| error.to_string())?;
    }
    let status = ruleset.restrict_self().map_err(|error| error.to_string())?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced, _) => Ok(()),
        (RulesetStatus::NotEnforced, LandlockStatus::NotEnabled) => {
            Err("the kernel has landlock turned off".into())
        }
        (RulesetStatus::NotEnforced, _) => Err("the kernel has no landlock".into()),
    }
}

/// Returns the directories that can be protected by rules. The entries of the directories above one
/// can no longer be created or removed, so it may not be below the working directory; and a rule for it
/// would open the hidden files in it.
fn protected(spec: &LaunchSpec, cwd: &Path) -> Vec<PathBuf> {
    let holds_hidden =
        |directory: &Path| spec.hidden.iter().any(|hidden| hidden.starts_with(directory));
    let found = spec.read_only.iter().filter(|it| !it.starts_with(cwd) && !holds_hidden(it));
    found.cloned().collect()
}

/// Returns the paths that together hold everything except the hidden paths. `entries` lists a
/// directory.
fn allowed_roots(hidden: &[PathBuf], entries: impl Fn(&Path) -> Vec<PathBuf>) -> Vec<PathBuf> {
    let hidden: BTreeSet<&Path> = hidden.iter().map(PathBuf::as_path).collect();
    let above: BTreeSet<&Path> = hidden.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    if above.is_empty() {
        return vec![PathBuf::from("/")];
    }
    let is_allowed =
        |path: &PathBuf| !above.contains(path.as_path()) && !hidden.contains(path.as_path());
    let inside = |path: &Path| path.ancestors().any(|above| hidden.contains(above));
    let listed = above.iter().filter(|path| !inside(path)).flat_map(|path| entries(path));
    listed.filter(is_allowed).collect()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(hidden: &[&str], expected: &[&str]) {
        let files = ["/etc", "/home", "/home/a", "/home/a/data", "/home/a/work", "/home/b", "/tmp"];
        let entries = |directory: &Path| {
            let children = files.iter().map(PathBuf::from);
            children.filter(|path| path.parent() == Some(directory)).collect()
        };
        let hidden: Vec<PathBuf> = hidden.iter().map(PathBuf::from).collect();
        let mut found = allowed_roots(&hidden, entries);
        found.sort();
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(found, expected, "{hidden:?}");
    }

    #[test]
    fn only_the_hidden_path_is_refused() {
        check(&[], &["/"]);
        check(&["/home"], &["/etc", "/tmp"]);
        check(&["/home/a/data"], &["/etc", "/home/a/work", "/home/b", "/tmp"]);
        check(&["/home/a/data", "/tmp"], &["/etc", "/home/a/work", "/home/b"]);
        check(&["/home/a", "/home/a/data"], &["/etc", "/home/b", "/tmp"]);
        check(&["/no/such"], &["/etc", "/home", "/tmp"]);
    }
}
