//! The files of the repository, as the checks see them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Every text file by its path from the root, with slashes. Ignored top-level entries are left out.
#[derive(Debug, Default)]
pub(super) struct SourceTree {
    files: BTreeMap<String, String>,
}

impl SourceTree {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let mut skipped: BTreeSet<&str> =
            ignored.lines().filter_map(|line| line.strip_prefix('/')).collect();
        skipped.insert(".git");
        let mut tree = Self::default();
        tree.walk(root, "", &skipped)?;
        Ok(tree)
    }

    fn walk(&mut self, directory: &Path, prefix: &str, skipped: &BTreeSet<&str>) -> Result<()> {
        let entries = fs::read_dir(directory).with_context(|| format!("list {prefix}"))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("list {prefix}"))?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if skipped.contains(path.as_str()) {
                continue;
            }
            if entry.file_type().with_context(|| format!("look at {path}"))?.is_dir() {
                self.walk(&entry.path(), &format!("{path}/"), skipped)?;
            } else {
                let bytes = fs::read(entry.path()).with_context(|| format!("read {path}"))?;
                self.files.insert(path, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        Ok(())
    }

    pub(super) fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns the files below a directory, with their paths from the root.
    pub(super) fn below(&self, directory: &str) -> impl Iterator<Item = (&str, &str)> {
        let prefix = format!("{directory}/");
        self.files().filter(move |(path, _)| path.starts_with(&prefix))
    }

    /// Returns the Rust files below a directory, or all of them if `directory` is empty.
    pub(super) fn rust(&self, directory: &str) -> impl Iterator<Item = (&str, &str)> {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        self.files().filter(move |(path, _)| path.starts_with(&prefix) && path.ends_with(".rs"))
    }

    /// Returns the directories of crates: `crates/model`, `xtask`.
    pub(super) fn crates(&self) -> Vec<&str> {
        self.files().filter_map(|(path, _)| path.strip_suffix("/Cargo.toml")).collect()
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        Self { files: files.iter().map(owned).collect() }
    }
}

/// True if a file holds nothing but tests.
pub(super) fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Returns the name of a file without its directories.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
