//! The files of a server that steps may not reach, as rules: they also hold for files that appear
//! later.
//!
//! Invariant: paths are compared without links, as they are at the moment of the comparison.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// The maximum number of hidden files that are compared with a file that has several names.
const COMPARED_MAX: usize = 100_000;

/// The files of a server that steps may not reach.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HiddenFiles {
    /// Files, and directories with everything below them.
    paths: Vec<PathBuf>,
    /// Databases: these files, and those beside them whose names begin with theirs and go on with a
    /// hyphen or a dot (journal, key, token).
    databases: Vec<PathBuf>,
}

impl HiddenFiles {
    /// Hides these files and directories, which may appear later.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Self { paths: absolute(paths), databases: Vec::new() }
    }

    /// Hides the files of a database as well.
    #[must_use]
    pub fn with_database(mut self, database: &Path) -> Self {
        self.databases.extend(absolute(vec![database.to_owned()]));
        self
    }

    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.databases.is_empty()
    }

    /// True if a path without links is hidden.
    pub fn hides(&self, real: &Path) -> bool {
        real_paths(&self.paths).any(|hidden| real.starts_with(hidden))
            || self.databases().any(|database| is_part(&database, real))
    }

    /// True if a directory without links is above a hidden path, also one that does not exist yet.
    pub fn is_above(&self, real: &Path) -> bool {
        let mut all = real_paths(&self.paths).chain(self.databases());
        all.any(|hidden| hidden != real && hidden.starts_with(real))
    }

    /// True if a file is a further name (hard link) of a hidden file. A file with several names is
    /// also taken for one if there are too many hidden files to compare.
    pub fn has_link(&self, file: &Metadata) -> bool {
        if file.is_dir() || file.nlink() < 2 {
            return false;
        }
        let mut open = self.present();
        let mut compared = 0;
        while let Some(path) = open.pop() {
            compared += 1;
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            if compared > COMPARED_MAX || (found.dev(), found.ino()) == (file.dev(), file.ino()) {
                return true;
            }
            if found.is_dir() {
                open.extend(entries(&path));
            }
        }
        false
    }

    /// Returns the hidden files and directories that exist, without links, none below another.
    pub fn present(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> =
            self.paths.iter().filter_map(|it| it.canonicalize().ok()).collect();
        for database in self.databases() {
            let beside = database.parent().map(entries).unwrap_or_default();
            found.extend(beside.into_iter().filter(|path| is_part(&database, path)));
        }
        found.sort();
        // A path below another one is hidden with it.
        found.dedup_by(|later, earlier| later.starts_with(earlier));
        found
    }

    /// Returns the databases under both of their names: if one is a link, its journal is beside the
    /// file, its key and token beside the link.
    fn databases(&self) -> impl Iterator<Item = PathBuf> {
        let beside = self.databases.iter().filter_map(|database| {
            Some(resolve_path(database.parent()?).ok()?.join(database.file_name()?))
        });
        real_paths(&self.databases).chain(beside)
    }

    /// Returns the paths that together hold everything below some directories except hidden files,
    /// without links.
    pub fn beside(&self, directories: &[PathBuf]) -> Vec<PathBuf> {
        let mut open = directories.to_vec();
        let mut allowed = BTreeSet::new();
        while let Some(path) = open.pop() {
            if self.hides(&path) {
                continue;
            }
            if self.is_above(&path) {
                open.extend(entries(&path).into_iter().filter(|path| !path.is_symlink()));
            } else {
                allowed.insert(path);
            }
        }
        allowed.into_iter().collect()
    }
}

fn absolute(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.iter().filter_map(|path| std::path::absolute(path).ok()).collect()
}

fn real_paths(paths: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    paths.iter().map(|path| resolve_path(path).unwrap_or_else(|_| path.clone()))
}

/// True if a file belongs to a database: it is the database, or its name continues the database's.
fn is_part(database: &Path, path: &Path) -> bool {
    let (Some(name), Some(found)) = (database.file_name(), path.file_name()) else { return false };
    let (name, found) = (name.to_string_lossy(), found.to_string_lossy());
    let rest = found.strip_prefix(&*name);
    path.parent() == database.parent()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Returns a path without links. The last parts may be missing, as for a file to be created; then
/// they may not lead upwards.
pub fn resolve_path(path: &Path) -> io::Result<PathBuf> {
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
        _kept: tempfile::TempDir,
        root: PathBuf,
        hidden: HiddenFiles,
    }

    fn place() -> TestFiles {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        fs::create_dir_all(at("data")).unwrap();
        fs::create_dir_all(at("work")).unwrap();
        fs::write(at("data/secret"), "s").unwrap();
        fs::write(at("work/a.db"), "d").unwrap();
        let hidden =
            HiddenFiles::new(vec![at("data"), at("later")]).with_database(&at("work/a.db"));
        TestFiles { _kept: directory, root, hidden }
    }

    #[track_caller]
    fn check(place: &TestFiles, path: &str, hidden: bool) {
        assert_eq!(place.hidden.hides(&place.root.join(path)), hidden, "{path}");
    }

    #[test]
    fn files_that_appear_later_are_hidden_as_well() {
        let place = place();
        check(&place, "work/a.db-wal", true);
        check(&place, "later/payload", true);
        fs::write(place.root.join("work/a.db-wal"), "").unwrap();
        fs::create_dir(place.root.join("later")).unwrap();
        let expected = ["data", "later", "work/a.db", "work/a.db-wal"];
        let expected: Vec<PathBuf> = expected.map(|name| place.root.join(name)).into();
        assert_eq!(place.hidden.present(), expected);
    }

    #[test]
    fn a_directory_that_becomes_a_link_is_hidden_where_it_leads() {
        let place = place();
        fs::create_dir(place.root.join("elsewhere")).unwrap();
        check(&place, "elsewhere/x", false);
        symlink(place.root.join("elsewhere"), place.root.join("later")).unwrap();
        check(&place, "elsewhere/x", true);
    }

    #[test]
    fn the_files_beside_a_database_that_is_a_link_are_hidden_in_both_directories() {
        let place = place();
        fs::create_dir(place.root.join("home")).unwrap();
        symlink(place.root.join("work/a.db"), place.root.join("home/link.db")).unwrap();
        let hidden = HiddenFiles::default().with_database(&place.root.join("home/link.db"));
        let is_hidden = |name: &str| hidden.hides(&place.root.join(name));
        assert!(is_hidden("home/link.db.key") && is_hidden("work/a.db-wal"));
        assert!(!is_hidden("work/link.db.key") && !is_hidden("home/a.db-wal"));
    }

    #[test]
    fn names_beside_a_database_that_are_not_its_own_are_not_hidden() {
        let place = place();
        check(&place, "work/a.db.key", true);
        check(&place, "work/a.dbx", false);
        check(&place, "work/b.db", false);
        check(&place, "work", false);
        check(&place, "work/sub/a.db-wal", false);
    }

    #[test]
    fn a_hard_link_of_a_hidden_file_is_found() {
        let place = place();
        let check = |name: &str, expected| {
            let found = fs::metadata(place.root.join(name)).unwrap();
            assert_eq!(place.hidden.has_link(&found), expected, "{name}");
        };
        fs::write(place.root.join("work/own"), "").unwrap();
        fs::hard_link(place.root.join("work/own"), place.root.join("work/other")).unwrap();
        fs::hard_link(place.root.join("data/secret"), place.root.join("work/link")).unwrap();
        fs::hard_link(place.root.join("work/a.db"), place.root.join("work/database")).unwrap();
        check("work/own", false);
        check("work/link", true);
        check("work/database", true);
    }

    #[test]
    fn a_directory_above_a_hidden_file_is_replaced_by_its_entries() {
        let place = place();
        fs::write(place.root.join("work/b.csv"), "").unwrap();
        fs::create_dir(place.root.join("other")).unwrap();
        let beside = place.hidden.beside(std::slice::from_ref(&place.root));
        assert_eq!(beside, [place.root.join("other"), place.root.join("work/b.csv")]);
    }
}
