//! The files that tools inside the worker's process may open.
//!
//! Invariant: a path is checked after links in it are resolved. The files of the server are refused
//! whatever is allowed.

use std::io;
use std::path::{Component, Path, PathBuf};

use noetl_model::{ErrorKind, ToolError};

/// The directories that tools may open files in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileAccess {
    allowed: AllowedDirectories,
    /// The files and directories of the server, without links.
    hidden: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum AllowedDirectories {
    #[default]
    Any,
    Only(Vec<PathBuf>),
}

impl FileAccess {
    /// Allows every file except the hidden ones.
    pub fn any(hidden: Vec<PathBuf>) -> Self {
        Self { allowed: AllowedDirectories::Any, hidden: resolved(hidden) }
    }

    /// Allows the files below these directories except the hidden ones.
    pub fn below(directories: Vec<PathBuf>, hidden: Vec<PathBuf>) -> Self {
        let allowed = AllowedDirectories::Only(resolved(directories));
        Self { allowed, hidden: resolved(hidden) }
    }

    /// Checks a path and returns it without links.
    pub(crate) fn check(&self, path: &Path) -> Result<PathBuf, ToolError> {
        let refused = |why: String| ToolError::new(ErrorKind::Config, why);
        let shown = path.display();
        let real = resolve(path).map_err(|error| refused(format!("{shown}: {error}")))?;
        if self.hidden.iter().any(|hidden| real.starts_with(hidden)) {
            return Err(refused(format!("{shown} belongs to the server and is not open to steps")));
        }
        match &self.allowed {
            AllowedDirectories::Any => Ok(real),
            AllowedDirectories::Only(directories)
                if directories.iter().any(|directory| real.starts_with(directory)) =>
            {
                Ok(real)
            }
            AllowedDirectories::Only(directories) => {
                let known: Vec<String> =
                    directories.iter().map(|it| it.display().to_string()).collect();
                Err(refused(format!(
                    "{shown} is not below an allowed directory ({}); allow its directory with \
                     `tools.directories` (NOETL_TOOLS_DIRECTORIES)",
                    known.join(", ")
                )))
            }
        }
    }

    /// Returns the allowed directories that hold no hidden file, for programs that check paths
    /// themselves; `None` if everything is allowed.
    pub(crate) fn directories(&self) -> Option<Vec<PathBuf>> {
        match &self.allowed {
            AllowedDirectories::Any if self.hidden.is_empty() => None,
            AllowedDirectories::Any => Some(self.without_hidden(&[PathBuf::from("/")])),
            AllowedDirectories::Only(directories) => Some(self.without_hidden(directories)),
        }
    }

    /// Replaces each directory above a hidden file by its entries.
    fn without_hidden(&self, directories: &[PathBuf]) -> Vec<PathBuf> {
        let mut open: Vec<PathBuf> = directories.to_vec();
        let mut allowed = Vec::new();
        while let Some(path) = open.pop() {
            if self.hidden.iter().any(|hidden| path.starts_with(hidden)) {
                continue;
            }
            if self.hidden.iter().any(|hidden| hidden.starts_with(&path)) {
                let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
                open.extend(entries.map(|entry| entry.path()).filter(|path| !path.is_symlink()));
            } else {
                allowed.push(path);
            }
        }
        allowed.sort();
        allowed
    }
}

fn resolved(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.iter().filter_map(|path| resolve(path).ok()).collect()
}

/// Returns a path without links. The last parts may be missing, as for a file to be created; then
/// they may not lead upwards.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    for existing in path.ancestors() {
        let Ok(real) = existing.canonicalize() else {
            if existing.is_symlink() {
                return Err(io::Error::other("a link to a missing file"));
            }
            continue;
        };
        let rest = path.strip_prefix(existing).map_err(io::Error::other)?;
        if rest.components().any(|part| part == Component::ParentDir) {
            return Err(io::Error::other("a missing directory"));
        }
        // Joining an empty rest would add a slash.
        return Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
    }
    Err(io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct TestFiles {
        directory: tempfile::TempDir,
        access: FileAccess,
    }

    fn place() -> TestFiles {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["work/sub", "data", "other"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::write(at("work/a.csv"), "a\n").unwrap();
        std::fs::write(at("work/noetl.db"), "").unwrap();
        symlink(at("data"), at("work/link")).unwrap();
        symlink(at("work/missing"), at("work/dangling")).unwrap();
        let access = FileAccess::below(vec![at("work")], vec![at("data"), at("work/noetl.db")]);
        TestFiles { directory, access }
    }

    #[track_caller]
    fn check(place: &TestFiles, path: &str, allowed: bool) {
        let path = place.directory.path().join(path);
        assert_eq!(place.access.check(&path).is_ok(), allowed, "{}", path.display());
    }

    #[test]
    fn a_file_below_an_allowed_directory_may_be_opened() {
        let place = place();
        check(&place, "work/a.csv", true);
        check(&place, "work/new/file.csv", true);
        check(&place, "work/sub/../a.csv", true);
    }

    #[test]
    fn other_files_may_not_be_opened_by_any_spelling() {
        let place = place();
        check(&place, "other/a.csv", false);
        check(&place, "work/../other/a.csv", false);
        check(&place, "work/link/noetl.db", false);
        check(&place, "work/noetl.db", false);
        check(&place, "work/sub/../noetl.db", false);
        check(&place, "work/dangling", false);
        check(&place, "work/no/../../other/a.csv", false);
        check(&place, "work2/a.csv", false);
    }

    #[test]
    fn the_files_of_the_server_are_refused_even_if_everything_is_allowed() {
        let place = place();
        let at = |name: &str| place.directory.path().join(name);
        let access = FileAccess::any(vec![at("data")]);
        assert!(access.check(&at("data/noetl.db")).is_err());
        assert!(access.check(&at("other/x")).is_ok());
    }

    #[test]
    fn a_directory_above_a_hidden_file_is_replaced_by_its_entries() {
        let place = place();
        let real = place.directory.path().canonicalize().unwrap();
        let expected = vec![real.join("work/a.csv"), real.join("work/sub")];
        assert_eq!(place.access.directories(), Some(expected));
    }
}
