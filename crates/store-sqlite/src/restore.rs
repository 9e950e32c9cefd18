//! The return of a backup to the place of a database, in steps of which each leaves a place that is
//! either complete or refused.
//!
//! The copy of the backup is complete before it gets the name `….restoring`. A server that finds this
//! name and no database does not create an empty one. The files of a database that is replaced get
//! the name of one restore, `….replaced-1`, and the next number for the next restore.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use noetl_private_files as private_files;

use crate::open::{self, OpenError};

/// The suffixes of the files beside a database: its write-ahead log and its index.
const BESIDE: [&str; 2] = ["-wal", "-shm"];
/// The suffix of a copy that is not complete yet, of one that is to be put in its place, and of the
/// files that a restore has replaced.
const PART: &str = ".restoring.part";
const RESTORING: &str = ".restoring";
const REPLACED: &str = ".replaced-";

/// The reason why a backup was not restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("there is a database at {} already", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The treatment of a database in the place of a restored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingDatabase {
    Refuse,
    /// Renames the files of the existing database to `….replaced-1`, or the next number.
    MoveAside,
}

/// A change of the file system that a restore makes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RestoreStep {
    /// Copies a file durably to one that only its owner can open, replacing an earlier attempt.
    Copy {
        from: PathBuf,
        to: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    /// Flushes the names of a directory, so that a power loss keeps the order of the renames.
    FlushNames,
}

/// Puts a backup in the place of a database that no process serves. Returns the path of the database
/// that it has replaced. A restore that was interrupted can be repeated.
pub async fn restore(
    backup: &Path,
    path: &Path,
    existing: ExistingDatabase,
) -> Result<Option<PathBuf>, RestoreError> {
    open::age_of(backup).await?;
    let _lock = open::lock(path).await?;
    let place = RestorePlace::of(path);
    match (place.has_database, existing) {
        (false, _) | (true, ExistingDatabase::MoveAside) => {}
        (true, ExistingDatabase::Refuse) => return Err(RestoreError::Exists(path.to_owned())),
    }
    for step in place.steps(backup) {
        carry_out(&step, path)?;
    }
    Ok(Some(place.aside).filter(|aside| aside.exists()))
}

/// Fails if a restore was interrupted after it had moved the database of this path aside.
pub(crate) fn refuse_interrupted(path: &Path) -> Result<(), OpenError> {
    match !open::has_content(path) && with_suffix(path, RESTORING).exists() {
        true => Err(OpenError::RestoreInterrupted { path: path.to_owned() }),
        false => Ok(()),
    }
}

/// The files at the place of a restore.
struct RestorePlace<'a> {
    path: &'a Path,
    has_database: bool,
    /// True if an earlier restore has moved the database aside, perhaps not all of its files.
    is_interrupted: bool,
    /// The path of the database that is replaced, or was before the interruption.
    aside: PathBuf,
}

impl<'a> RestorePlace<'a> {
    fn of(path: &'a Path) -> Self {
        let is_interrupted = refuse_interrupted(path).is_err();
        let last = last_replaced(path);
        let number = if is_interrupted && last > 0 { last } else { last + 1 };
        let aside = with_suffix(path, &format!("{REPLACED}{number}"));
        Self { path, has_database: open::has_content(path), is_interrupted, aside }
    }

    /// Returns the steps in their order. The database is moved before its write-ahead log: as long as
    /// it is in its place, it is complete.
    fn steps(&self, backup: &Path) -> Vec<RestoreStep> {
        let [part, restoring] = [PART, RESTORING].map(|suffix| with_suffix(self.path, suffix));
        let rename = |from: &Path, to: &Path| {
            let [from, to] = [from, to].map(Path::to_owned);
            from.exists().then_some(RestoreStep::Rename { from, to })
        };
        let beside = BESIDE.map(|suffix| {
            rename(&with_suffix(self.path, suffix), &with_suffix(&self.aside, suffix))
        });
        let put_aside =
            self.has_database.then(|| rename(self.path, &self.aside)).flatten().into_iter();
        let put_aside = put_aside.chain(beside.into_iter().flatten());
        let copied = RestoreStep::Copy { from: backup.to_owned(), to: part.clone() };
        let announced = RestoreStep::Rename { from: part, to: restoring.clone() };
        let last = RestoreStep::Rename { from: restoring, to: self.path.to_owned() };
        let mut steps = vec![copied];
        // A log without its database belongs to none: it goes before the restore is announced, so
        // that what an interrupted restore leaves beside the path belongs to what it has moved.
        if self.has_database || self.is_interrupted {
            steps.extend([announced, RestoreStep::FlushNames]);
            steps.extend(put_aside);
        } else {
            steps.extend(put_aside);
            steps.extend([RestoreStep::FlushNames, announced]);
        }
        steps.extend([RestoreStep::FlushNames, last, RestoreStep::FlushNames]);
        steps
    }
}

fn carry_out(step: &RestoreStep, path: &Path) -> Result<(), RestoreError> {
    let (place, done) = match step {
        RestoreStep::Copy { from, to } => (to.as_path(), copy(from, to)),
        RestoreStep::Rename { from, to } => (to.as_path(), fs::rename(from, to)),
        RestoreStep::FlushNames => (path, private_files::flush_name(path)),
    };
    done.map_err(|source| RestoreError::Write { path: place.to_owned(), source })
}

/// Returns the highest number of a replaced database at a path; zero if there is none.
fn last_replaced(path: &Path) -> u32 {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(parent.unwrap_or(Path::new("."))) else { return 0 };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let begin = format!("{name}{REPLACED}");
    let number = |entry: fs::DirEntry| {
        let found = entry.file_name().to_string_lossy().strip_prefix(&begin)?.to_owned();
        let digits: String = found.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    };
    entries.flatten().filter_map(number).max().unwrap_or(0)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    private_files::create_file(to)?;
    let mut target = fs::File::options().write(true).open(to)?;
    io::copy(&mut fs::File::open(from)?, &mut target)?;
    target.sync_all()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use noetl_model::ExecutionId;
    use noetl_store::conformance::given::start;
    use noetl_store::{Executions as _, SystemClock};
    use tempfile::TempDir;

    use super::*;
    use crate::{DatabaseFile, SqliteStore};

    async fn opened(path: &Path) -> Result<SqliteStore, OpenError> {
        SqliteStore::open(path, Arc::new(SystemClock)).await
    }

    async fn has(store: &SqliteStore, execution: i64) -> bool {
        store.summary(ExecutionId(execution)).await.unwrap().is_some()
    }

    async fn append(store: &SqliteStore, execution: i64) {
        assert_eq!(store.append(&[start(ExecutionId(execution))]).await.unwrap(), [Ok(())]);
    }

    /// Returns a database with the executions 1 and 2, the second one only in its write-ahead log,
    /// and a backup with the first.
    async fn given() -> (TempDir, PathBuf, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let [live, path, file] =
            ["live.db", "noetl.db", "copy.db"].map(|name| directory.path().join(name));
        let store = opened(&live).await.unwrap();
        append(&store, 1).await;
        DatabaseFile::open(&live).await.unwrap().back_up(&file).await.unwrap();
        append(&store, 2).await;
        // The files of a process that was killed: a log that is not in the database yet.
        for suffix in [&[""][..], &BESIDE[..]].concat() {
            fs::copy(with_suffix(&live, suffix), with_suffix(&path, suffix)).unwrap();
        }
        (directory, path, file)
    }

    #[tokio::test]
    async fn a_restore_that_is_interrupted_anywhere_loses_no_database_and_is_repeated() {
        let mut refused = 0;
        for done in 0.. {
            let (_keep, path, file) = given().await;
            let place = RestorePlace::of(&path);
            let steps = place.steps(&file);
            if done > steps.len() {
                break;
            }
            for step in &steps[..done] {
                carry_out(step, &path).unwrap();
            }
            let before = fs::metadata(&path).map(|it| it.len()).ok();
            match opened(&path).await {
                Ok(store) => {
                    assert!(has(&store, 1).await, "{done} steps");
                    assert_eq!(has(&store, 2).await, done < 4, "{done} steps: its log is lost");
                }
                Err(OpenError::RestoreInterrupted { .. }) => {
                    refused += 1;
                    assert_eq!(before, None);
                    assert!(!path.exists(), "{done} steps: an empty database was created");
                    let read = SqliteStore::open_read_only(&path).await.err();
                    assert!(matches!(read, Some(OpenError::RestoreInterrupted { .. })));
                    // An earlier version of the program creates an empty database.
                    if done % 2 == 0 {
                        fs::write(&path, b"").unwrap();
                    }
                }
                Err(error) => panic!("{done} steps: {error}"),
            }
            let is_there = open::has_content(&path);
            let again = restore(&file, &path, ExistingDatabase::Refuse).await;
            assert_eq!(matches!(again, Err(RestoreError::Exists(_))), is_there, "{done} steps");
            restore(&file, &path, ExistingDatabase::MoveAside).await.unwrap();
            let restored = opened(&path).await.unwrap();
            assert!(has(&restored, 1).await && !has(&restored, 2).await, "{done} steps");
            let old = opened(&with_suffix(&path, ".replaced-1")).await.unwrap();
            assert!(has(&old, 1).await && has(&old, 2).await, "{done} steps");
        }
        assert!(refused >= 3, "{refused} states without a database");
    }

    #[tokio::test]
    async fn a_database_is_replaced_only_on_request_and_each_one_keeps_its_own_files() {
        let (_keep, path, file) = given().await;
        let store = opened(&path).await.unwrap();
        let served = restore(&file, &path, ExistingDatabase::MoveAside).await;
        assert!(matches!(served, Err(RestoreError::Open(OpenError::InUse { .. }))), "{served:?}");
        drop(store);
        let refused = restore(&file, &path, ExistingDatabase::Refuse).await;
        assert!(matches!(refused, Err(RestoreError::Exists(_))), "{refused:?}");
        let first = restore(&file, &path, ExistingDatabase::MoveAside).await.unwrap().unwrap();
        let store = opened(&path).await.unwrap();
        assert!(has(&store, 1).await && !has(&store, 2).await);
        append(&store, 3).await;
        drop(store);
        let second = restore(&file, &path, ExistingDatabase::MoveAside).await.unwrap().unwrap();
        assert_ne!(first, second);
        let (first, second) = (opened(&first).await.unwrap(), opened(&second).await.unwrap());
        assert!(has(&first, 2).await && !has(&first, 3).await, "with its write-ahead log");
        assert!(has(&second, 3).await && !has(&second, 2).await, "with its own one");
    }

    #[tokio::test]
    async fn the_log_of_a_database_that_is_gone_does_not_join_the_restored_one() {
        let (_keep, path, file) = given().await;
        fs::remove_file(&path).unwrap();
        restore(&file, &path, ExistingDatabase::Refuse).await.unwrap();
        let store = opened(&path).await.unwrap();
        assert!(has(&store, 1).await && !has(&store, 2).await);
    }

    #[tokio::test]
    async fn a_file_that_is_no_backup_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let [path, file] = ["noetl.db", "copy.db"].map(|name| directory.path().join(name));
        fs::write(&file, b"something else").unwrap();
        let refused = restore(&file, &path, ExistingDatabase::Refuse).await;
        assert!(matches!(refused, Err(RestoreError::Open(OpenError::NotOurs { .. }))));
        assert!(!path.exists());
    }
}
