//! The files that tools inside the worker's process may open.
//!
//! Invariants: a path is checked after links in it are resolved, and a file again once it is open,
//! because the path may have changed in between. The files of the server are refused whatever is
//! allowed, by every name they have.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use noetl_isolation::{HiddenFiles, resolve_path};
use noetl_model::{ErrorKind, ToolError};

/// The files of all processes, which hold the environment and the memory of this one.
const PROCESSES: &str = "/proc";

/// The directories that tools may open files in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileAccess {
    allowed: AllowedDirectories,
    /// The files and directories of the server.
    hidden: HiddenFiles,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum AllowedDirectories {
    #[default]
    Any,
    Only(Vec<PathBuf>),
}

impl FileAccess {
    /// Allows every file except the hidden ones.
    pub fn any(hidden: HiddenFiles) -> Self {
        Self { allowed: AllowedDirectories::Any, hidden }
    }

    /// Allows the files below these directories except the hidden ones.
    pub fn below(directories: Vec<PathBuf>, hidden: HiddenFiles) -> Self {
        let directories = directories.iter().filter_map(|path| resolve_path(path).ok());
        Self { allowed: AllowedDirectories::Only(directories.collect()), hidden }
    }

    /// Checks a path and returns it without links.
    pub(crate) fn check(&self, path: &Path) -> Result<PathBuf, ToolError> {
        let refused = |why: String| ToolError::new(ErrorKind::Config, why);
        let shown = path.display();
        let real = resolve_path(path).map_err(|error| refused(format!("{shown}: {error}")))?;
        let is_link = || std::fs::symlink_metadata(&real).is_ok_and(|it| self.hidden.has_link(&it));
        if real.starts_with(PROCESSES) {
            return Err(refused(format!("{shown} shows processes and is not open to steps")));
        }
        if self.hidden.hides(&real) || is_link() {
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

    /// Checks an open file: its path still names this file, and the call may open it.
    pub(crate) fn check_open(&self, path: &Path, file: &Metadata) -> Result<(), ToolError> {
        let real = self.check(path)?;
        let is_same = std::fs::symlink_metadata(&real)
            .is_ok_and(|named| (named.dev(), named.ino()) == (file.dev(), file.ino()));
        if is_same {
            return Ok(());
        }
        let message = format!("{} has been replaced while it was opened", path.display());
        Err(ToolError::new(ErrorKind::Config, message))
    }

    /// Returns the allowed directories and files that are not hidden, for programs that check paths
    /// themselves; `None` if everything is allowed.
    pub(crate) fn directories(&self) -> Option<Vec<PathBuf>> {
        let mut allowed = match &self.allowed {
            AllowedDirectories::Any if self.hidden.is_empty() => return None,
            AllowedDirectories::Any => self.hidden.beside(&[PathBuf::from("/")]),
            AllowedDirectories::Only(directories) => self.hidden.beside(directories),
        };
        allowed.retain(|path| !path.starts_with(PROCESSES));
        Some(allowed)
    }
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
        let hidden = HiddenFiles::new(vec![at("data")]).with_database(&at("work/noetl.db"));
        let access = FileAccess::below(vec![at("work")], hidden);
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
        check(&place, "work/noetl.db-wal", false);
    }

    #[test]
    fn the_files_of_the_server_are_refused_even_if_everything_is_allowed() {
        let place = place();
        let at = |name: &str| place.directory.path().join(name);
        let access = FileAccess::any(HiddenFiles::new(vec![at("data")]));
        assert!(access.check(&at("data/noetl.db")).is_err());
        assert!(access.check(&at("other/x")).is_ok());
    }

    #[test]
    fn another_name_of_a_hidden_file_is_refused_in_every_directory() {
        let place = place();
        let at = |name: &str| place.directory.path().join(name);
        std::fs::hard_link(at("work/noetl.db"), at("work/innocent.csv")).unwrap();
        check(&place, "work/innocent.csv", false);
        std::fs::hard_link(at("work/a.csv"), at("work/b.csv")).unwrap();
        check(&place, "work/b.csv", true);
    }

    #[test]
    fn a_file_that_is_replaced_while_it_is_opened_is_refused() {
        let place = place();
        let at = |name: &str| place.directory.path().join(name);
        let secret = std::fs::File::open(at("work/noetl.db")).unwrap().metadata().unwrap();
        assert!(place.access.check_open(&at("work/a.csv"), &secret).is_err());
        let own = std::fs::File::open(at("work/a.csv")).unwrap().metadata().unwrap();
        assert!(place.access.check_open(&at("work/a.csv"), &own).is_ok());
    }

    #[test]
    fn the_root_of_the_process_is_another_spelling_of_the_root() {
        let place = place();
        let real = place.directory.path().canonicalize().unwrap();
        let beyond = |name: &str| format!("/proc/self/root{}", real.join(name).display());
        let access = FileAccess::any(HiddenFiles::new(vec![real.join("data")]));
        assert!(access.check(Path::new(&beyond("data/x"))).is_err());
        assert!(access.check(Path::new(&beyond("work/a.csv"))).is_ok());
    }

    #[test]
    fn the_environment_and_the_open_files_of_this_process_are_not_open_to_steps() {
        let place = place();
        let access = FileAccess::any(HiddenFiles::new(vec![place.directory.path().join("data")]));
        let open = std::fs::File::create(place.directory.path().join("data/secret")).unwrap();
        let own = std::os::fd::AsRawFd::as_raw_fd(&open);
        for path in
            ["/proc/self/environ".into(), "/proc/self/mem".into(), format!("/proc/self/fd/{own}")]
        {
            assert!(access.check(Path::new(&path)).is_err(), "{path}");
        }
    }
}
