//! Runs the tests of many files, several at a time.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use noetl_playbook::PlaybookTest;
use noetl_playtest::{Coverage, CoverageReport, TestOutcome, coverage_report, run_test};

use super::find::{LoadedTests, load};
use crate::args::TestArgs;
use crate::show::failure::{Exit, Failure};

/// The results of all chosen tests.
pub(super) struct TestSession {
    pub(super) files: Vec<FileResults>,
    pub(super) took: Duration,
}

/// The results of one file.
pub(super) struct FileResults {
    pub(super) file: PathBuf,
    /// The playbook, or the reason why the file cannot be run.
    pub(super) loaded: Result<LoadedTests, Failure>,
    pub(super) tests: Vec<FinishedTest>,
}

/// A test that was run.
pub(super) struct FinishedTest {
    /// The place of the test in its file.
    index: usize,
    pub(super) outcome: TestOutcome,
    pub(super) took: Duration,
}

impl FileResults {
    /// Returns each test with its result, in the order of the file.
    pub(super) fn results(&self) -> impl Iterator<Item = (&PlaybookTest, &FinishedTest)> {
        let tests = self.loaded.as_ref().map(|loaded| loaded.tests.as_slice()).unwrap_or_default();
        self.tests.iter().map(|finished| (&tests[finished.index], finished))
    }
}

impl TestSession {
    /// Reads the files and runs the tests that the arguments choose.
    pub(super) fn run(files: &[PathBuf], args: &TestArgs) -> Self {
        let begun = Instant::now();
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let jobs = args.jobs.map_or(processors, usize::from);
        let loaded = in_parallel(jobs, files, |file| load(file));
        let mut files: Vec<FileResults> = files
            .iter()
            .zip(loaded)
            .map(|(file, loaded)| FileResults { file: file.clone(), loaded, tests: Vec::new() })
            .collect();
        let chosen: Vec<(usize, usize)> = files
            .iter()
            .enumerate()
            .flat_map(|(index, file)| {
                let tests = file.loaded.iter().flat_map(|loaded| loaded.tests.iter().enumerate());
                let filter = args.filter.as_deref();
                let chosen = tests.filter(move |(_, test)| is_chosen(filter, &file.file, test));
                chosen.map(move |(test, _)| (index, test))
            })
            .collect();
        let finished = in_parallel(jobs, &chosen, |(file, test)| {
            let loaded = files[*file].loaded.as_ref().ok()?;
            let begun = Instant::now();
            let playbook = &loaded.playbook.playbook;
            let outcome = run_test(playbook, &loaded.library, &loaded.tests[*test]);
            Some(FinishedTest { index: *test, outcome, took: begun.elapsed() })
        });
        for ((file, _), finished) in chosen.iter().zip(finished) {
            files[*file].tests.extend(finished);
        }
        Self { files, took: begun.elapsed() }
    }

    pub(super) fn tests(&self) -> usize {
        self.files.iter().map(|file| file.tests.len()).sum()
    }

    pub(super) fn failed(&self) -> usize {
        let tests = self.files.iter().flat_map(|file| &file.tests);
        tests.filter(|test| !test.outcome.has_passed()).count()
    }

    /// Returns the number of files that cannot be run.
    pub(super) fn invalid(&self) -> usize {
        self.files.iter().filter(|file| file.loaded.is_err()).count()
    }

    pub(super) fn exit(&self) -> Exit {
        match (self.invalid(), self.failed()) {
            (0, 0) => Exit::Completed,
            (0, _) => Exit::Failed,
            (_, _) => Exit::BadInput,
        }
    }

    /// Returns the coverage of every playbook that has tests, sorted by path.
    pub(super) fn coverage(&self) -> Vec<CoverageReport> {
        let mut all: BTreeMap<&str, Coverage> = BTreeMap::new();
        for file in &self.files {
            for (path, coverage) in file.tests.iter().flat_map(|test| &test.outcome.coverage) {
                all.entry(path).or_default().merge(coverage);
            }
        }
        let mut reports: BTreeMap<String, CoverageReport> = BTreeMap::new();
        for loaded in self.files.iter().filter_map(|file| file.loaded.as_ref().ok()) {
            let playbook = &loaded.playbook.playbook;
            let path = playbook.metadata.path.as_str();
            let nothing = Coverage::default();
            let report = coverage_report(playbook, all.get(path).unwrap_or(&nothing));
            reports.insert(path.to_owned(), report);
        }
        reports.into_values().collect()
    }
}

fn is_chosen(filter: Option<&str>, file: &Path, test: &PlaybookTest) -> bool {
    filter
        .is_none_or(|filter| test.name.contains(filter) || file.to_string_lossy().contains(filter))
}

/// Calls a function with every item, on several threads; returns the results in order.
fn in_parallel<T: Sync, R: Send>(
    jobs: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    let result = work(item);
                    done.lock().expect("no thread panics with the lock").push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics with the lock");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
