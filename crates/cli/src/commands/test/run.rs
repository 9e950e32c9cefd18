//! Runs the tests of many files, several at a time.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use noetl_playbook::PlaybookTest;
use noetl_playtest::{Coverage, CoverageReport, TestFault, TestOutcome, coverage_report, run_test};

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
    /// The places of the tests that `--filter` leaves out.
    left_out: Vec<usize>,
}

/// A test that was run.
pub(super) struct FinishedTest {
    /// The place of the test in its file.
    index: usize,
    pub(super) outcome: TestOutcome,
    /// True if the test ended with a panic, which is a bug of noetl and not of the playbook.
    pub(super) has_panicked: bool,
    pub(super) took: Duration,
}

impl FileResults {
    fn unrun(file: &Path, loaded: Result<LoadedTests, Failure>, filter: Option<&str>) -> Self {
        let tests = loaded.as_ref().map(|loaded| loaded.tests.as_slice()).unwrap_or_default();
        let left_out = tests.iter().enumerate().filter(|(_, test)| !is_chosen(filter, file, test));
        let left_out = left_out.map(|(index, _)| index).collect();
        Self { file: file.to_owned(), loaded, tests: Vec::new(), left_out }
    }

    /// Returns each test with its result, in the order of the file.
    pub(super) fn results(&self) -> impl Iterator<Item = (&PlaybookTest, &FinishedTest)> {
        let tests = self.loaded.as_ref().map(|loaded| loaded.tests.as_slice()).unwrap_or_default();
        self.tests.iter().map(|finished| (&tests[finished.index], finished))
    }

    /// Returns the tests that `--filter` leaves out.
    pub(super) fn left_out(&self) -> impl Iterator<Item = &PlaybookTest> {
        let tests = self.loaded.as_ref().map(|loaded| loaded.tests.as_slice()).unwrap_or_default();
        self.left_out.iter().map(|index| &tests[*index])
    }

    /// Returns the number of tests that have found a difference.
    pub(super) fn failures(&self) -> usize {
        let tests = self.tests.iter();
        tests.filter(|test| !test.has_panicked && !test.outcome.has_passed()).count()
    }

    /// Returns the number of tests that could not be run to their end.
    pub(super) fn panics(&self) -> usize {
        self.tests.iter().filter(|test| test.has_panicked).count()
    }
}

impl TestSession {
    /// Reads the files and runs the tests that the arguments choose.
    pub(super) fn run(files: &[PathBuf], args: &TestArgs) -> Self {
        let begun = Instant::now();
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let jobs = args.jobs.map_or(processors, usize::from);
        let loaded = in_parallel(jobs, files, |file| load(file));
        let filter = args.filter.as_deref();
        let mut files: Vec<FileResults> = files
            .iter()
            .zip(loaded)
            .map(|(file, loaded)| FileResults::unrun(file, loaded, filter))
            .collect();
        let chosen: Vec<(usize, usize)> = files
            .iter()
            .enumerate()
            .flat_map(|(index, file)| {
                let count = file.loaded.as_ref().map_or(0, |loaded| loaded.tests.len());
                let chosen = (0..count).filter(|test| !file.left_out.contains(test));
                chosen.map(move |test| (index, test))
            })
            .collect();
        let finished = in_parallel(jobs, &chosen, |(file, test)| {
            let loaded = files[*file].loaded.as_ref().ok()?;
            let begun = Instant::now();
            let playbook = &loaded.playbook.playbook;
            let (outcome, has_panicked) =
                caught(|| run_test(playbook, &loaded.library, &loaded.tests[*test]));
            Some(FinishedTest { index: *test, outcome, has_panicked, took: begun.elapsed() })
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

/// Runs a test; a panic is a fault of this test and does not end the others.
fn caught(test: impl FnOnce() -> TestOutcome) -> (TestOutcome, bool) {
    // The test shares nothing that it changes.
    let panic = match std::panic::catch_unwind(AssertUnwindSafe(test)) {
        Ok(outcome) => return (outcome, false),
        Err(panic) => panic,
    };
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let message = format!("the test panicked: {}", text.unwrap_or_default());
    let help = Some("this is a bug of noetl: report it with the playbook and the test".to_owned());
    let outcome = TestOutcome {
        faults: vec![TestFault { message, diff: Vec::new(), help }],
        log: Vec::new(),
        calls: Vec::new(),
        entered: Vec::new(),
        coverage: Vec::new(),
        duration: Duration::ZERO,
    };
    (outcome, true)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_fault_of_its_test() {
        let (outcome, has_panicked) = caught(|| panic!("seven {}", 7));
        assert!(has_panicked);
        assert_eq!(outcome.faults[0].message, "the test panicked: seven 7");
    }
}
