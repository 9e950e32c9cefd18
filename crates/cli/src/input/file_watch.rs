//! Waits for a change of files, by their times and lengths.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tokio_util::sync::CancellationToken;

/// The interval at which files are looked at.
const LOOK: Duration = Duration::from_millis(300);

/// The time of the last change and the length of each file; `None` if it cannot be read.
type FileStates = BTreeMap<PathBuf, Option<(SystemTime, u64)>>;

/// The files that a command watches, as they were when it last looked.
#[derive(Debug, Default)]
pub(crate) struct FileWatch {
    /// `None` before the first look.
    seen: Option<FileStates>,
}

impl FileWatch {
    /// Waits until the files differ from those of the last look; at the first look they do. Returns the
    /// files that were added or changed, in order; `None` after `stop`.
    pub(crate) async fn changed(
        &mut self,
        files: impl Fn() -> Vec<PathBuf>,
        stop: &CancellationToken,
    ) -> Option<Vec<PathBuf>> {
        loop {
            let found = states(files());
            if self.seen.as_ref() != Some(&found) {
                let seen = self.seen.take().unwrap_or_default();
                let new = found.iter().filter(|(file, state)| seen.get(*file) != Some(*state));
                let changed = new.map(|(file, _)| file.clone()).collect();
                self.seen = Some(found);
                return Some(changed);
            }
            tokio::select! {
                () = stop.cancelled() => return None,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// True if one of the files last seen has a property.
    pub(crate) fn has(&self, property: impl Fn(&PathBuf) -> bool) -> bool {
        self.seen.iter().flat_map(BTreeMap::keys).any(property)
    }
}

fn states(files: Vec<PathBuf>) -> FileStates {
    let state = |file: &PathBuf| {
        let about = file.metadata().ok()?;
        Some((about.modified().ok()?, about.len()))
    };
    files.into_iter().map(|file| (file.clone(), state(&file))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_change_a_new_file_and_a_deleted_one_are_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        let files = || {
            let entries = std::fs::read_dir(directory.path()).unwrap();
            entries.map(|entry| entry.unwrap().path()).collect()
        };
        let (mut watch, stop) = (FileWatch::default(), CancellationToken::new());
        assert_eq!(watch.changed(files, &stop).await, Some(vec![]));
        std::fs::write(file("a"), "1").unwrap();
        assert_eq!(watch.changed(files, &stop).await, Some(vec![file("a")]));
        std::fs::write(file("a"), "12").unwrap();
        std::fs::write(file("b"), "1").unwrap();
        assert_eq!(watch.changed(files, &stop).await, Some(vec![file("a"), file("b")]));
        std::fs::remove_file(file("b")).unwrap();
        assert_eq!(watch.changed(files, &stop).await, Some(vec![]));
        assert!(watch.has(|it| *it == file("a")) && !watch.has(|it| *it == file("b")));
        stop.cancel();
        assert_eq!(watch.changed(files, &stop).await, None);
    }
}
