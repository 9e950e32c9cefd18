//! Power losses at any moment of a run: everything that was acknowledged is there, verifies, and
//! goes on.
//!
//! `NOETL_FAULTS=full` constructs thousands of states, `NOETL_FAULTS_SEED=n` others.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use noetl_faults::{
    Chance, DiskChange, DiskTrace, PowerLoss, Unflushed, is_full_size, tell_skipped,
};

use crate::workload;

/// The variable with the directory of the process that is recorded.
const RECORDED: &str = "NOETL_TEST_RECORDED";
/// The file with the acknowledgements, outside of the database's directory.
const ACKNOWLEDGED: &str = "acknowledged";
const DATA: &str = "data";

/// The number of executions that are recorded.
const EXECUTIONS: u64 = 4;

/// The recorded changes of the database's directory, and the acknowledgements with their moments.
struct Recording {
    disk: DiskTrace,
    acknowledged: Vec<(usize, String)>,
}

impl Recording {
    /// Splits a trace into the files of the database and the acknowledgements.
    fn of(trace: DiskTrace) -> Self {
        let mut it = Self { disk: DiskTrace { ops: Vec::new() }, acknowledged: Vec::new() };
        let below =
            |path: &str| path.strip_prefix(DATA).map(|it| it.trim_start_matches('/').to_owned());
        for mut op in trace.ops {
            let is_data = match &mut op.change {
                DiskChange::Write { path, bytes, .. } if path == ACKNOWLEDGED => {
                    let line = String::from_utf8_lossy(bytes).trim_end().to_owned();
                    it.acknowledged.push((op.begun, line));
                    false
                }
                DiskChange::Create { path, .. }
                | DiskChange::Write { path, .. }
                | DiskChange::SetLen { path, .. }
                | DiskChange::Flush { path }
                | DiskChange::Remove { path }
                | DiskChange::MakeDirectory { path } => {
                    below(path).map(|inside| *path = inside).is_some()
                }
                DiskChange::Rename { from, to } => match (below(from), below(to)) {
                    (Some(inside), Some(other)) => {
                        (*from, *to) = (inside, other);
                        true
                    }
                    (_, _) => false,
                },
            };
            if is_data {
                it.disk.ops.push(op);
            }
        }
        it
    }

    fn acknowledged_before(&self, moment: usize) -> Vec<String> {
        let before = self.acknowledged.iter().filter(|(at, _)| *at < moment);
        before.map(|(_, line)| line.clone()).collect()
    }
}

/// Records a run of this test's process; prints the reason and returns `None` if that is
/// impossible here.
fn record(test: &str) -> Option<Recording> {
    let home = tempfile::tempdir().expect("a directory can be made");
    let home = home.path().canonicalize().expect("it is there");
    std::fs::create_dir(home.join(DATA)).expect("a directory can be made");
    let mut run = Command::new(std::env::current_exe().expect("this program"));
    run.args(["--exact", test]).env(RECORDED, &home);
    match DiskTrace::record(&run, &home) {
        Ok(trace) => Some(Recording::of(trace)),
        Err(reason) => {
            tell_skipped(&reason);
            None
        }
    }
}

/// Makes the recorded run if this process is to be recorded.
fn is_recorded() -> bool {
    let Some(home) = std::env::var_os(RECORDED) else { return false };
    let home = Path::new(&home);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(workload::run(&home.join(DATA), EXECUTIONS, &home.join(ACKNOWLEDGED)));
    true
}

/// Constructs a state and checks it; if `resumes`, it is also continued.
fn check(recording: &Recording, seed: u64, resumes: bool) -> Result<(), String> {
    let loss = PowerLoss::new(&recording.disk);
    let mut chance = Chance::new(seed);
    let moment = chance.index(loss.end() + 1);
    let unflushed = Unflushed::ALL[chance.index(Unflushed::ALL.len())];
    let state = loss.at(moment, unflushed, &mut chance);
    let directory = tempfile::tempdir().expect("a directory can be made");
    state.write(directory.path()).expect("there is room");
    let acknowledged = recording.acknowledged_before(moment);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(workload::check(directory.path(), &acknowledged, resumes)).map_err(|problem| {
        format!("NOETL_FAULTS_SEED={seed}, moment {moment}, {unflushed:?}: {problem}")
    })
}

/// Checks states on all processors, and continues those for which `resumed` is true; returns the
/// problems.
fn check_all(recording: &Recording, seeds: Range<u64>, resumed: fn(u64) -> bool) -> Vec<String> {
    let (next, problems) = (AtomicU64::new(seeds.start), Mutex::new(Vec::new()));
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let work = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= seeds.end {
            return;
        }
        if let Err(problem) = check(recording, seed, resumed(seed)) {
            problems.lock().expect("nothing panics with it").push(problem);
        }
    };
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    problems.into_inner().expect("nothing panics with it")
}

#[test]
fn nothing_acknowledged_is_lost_whenever_the_power_fails() {
    if is_recorded() {
        return;
    }
    let test = "power_loss::nothing_acknowledged_is_lost_whenever_the_power_fails";
    let Some(recording) = record(test) else { return };
    let seed = std::env::var("NOETL_FAULTS_SEED").map(|seed| seed.parse().expect("a number"));
    let seeds = match seed {
        Ok(seed) => seed..seed + 1,
        Err(_) if is_full_size() => 0..5000,
        Err(_) => 0..300,
    };
    let states = seeds.end - seeds.start;
    let problems = check_all(&recording, seeds, |seed| seed.is_multiple_of(5) || is_full_size());
    println!(
        "{} changes, {} acknowledgements, {states} states",
        recording.disk.ops.len(),
        recording.acknowledged.len()
    );
    assert!(recording.acknowledged.len() > 20, "too little was recorded");
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// Checks the model itself: if the write-ahead log or the payloads were never flushed, power losses
/// would lose what was acknowledged.
#[test]
fn a_flush_that_is_not_made_is_noticed() {
    if is_recorded() {
        return;
    }
    let test = "power_loss::a_flush_that_is_not_made_is_noticed";
    let Some(mut recording) = record(test) else { return };
    let whole = recording.disk.clone();
    for lost in ["-wal", "/"] {
        recording.disk = whole.without_flushes(|path| match lost {
            "/" => path.starts_with("payloads"),
            suffix => path.ends_with(suffix),
        });
        let problems = check_all(&recording, 0..40, |_| false);
        let is_lost = |problem: &&String| {
            problem.contains("acknowledged and lost")
                || problem.contains("payload")
                || problem.contains("the value")
        };
        let lost_something = problems.iter().find(is_lost);
        assert!(lost_something.is_some(), "no flush of `{lost}`: {problems:#?}");
    }
}
