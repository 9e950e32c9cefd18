//! A database file in which a bit flips, or whose write-ahead log is cut: the damage is found, or
//! nothing but the end of a log is missing. No execution is silently another one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use noetl_faults::{Chance, is_full_size};
use noetl_model::{ExecutionId, Recorded, Seq};
use noetl_store::{READ_EVENTS_MAX, Store, SystemClock};

use tempfile::TempDir;

use crate::workload::{Plane, open_store};

/// The files of a database, by their suffix.
const FILES: [&str; 2] = ["", "-wal"];

/// An undamaged database and its logs.
struct Original {
    /// The directory with the payloads.
    directory: TempDir,
    files: BTreeMap<&'static str, Vec<u8>>,
    logs: BTreeMap<ExecutionId, Vec<Recorded>>,
}

async fn original() -> Original {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let plane = Plane::open(directory.path(), Duration::ZERO).await.expect("it opens");
    plane.register().await;
    for n in 0..3 {
        plane.start(n).await;
    }
    plane.work(|_, _| {}).await.expect("they end");
    plane.close().await;
    // What follows is in the write-ahead log, the rest in the file.
    let plane = Plane::open(directory.path(), Duration::ZERO).await.expect("it opens");
    for n in 3..5 {
        plane.start(n).await;
    }
    plane.work(|_, _| {}).await.expect("they end");
    let mut logs = BTreeMap::new();
    for summary in plane.summaries().await {
        let events = plane.control.events(summary.execution, Seq::ZERO, usize::MAX).await;
        logs.insert(summary.execution, events.expect("it reads"));
    }
    let read = |suffix: &'static str| {
        let path = directory.path().join(format!("noetl.db{suffix}"));
        (suffix, std::fs::read(path).expect("the file is there"))
    };
    let files = FILES.into_iter().map(read).collect();
    plane.close().await;
    Original { directory, files, logs }
}

/// Copies the payload directory of the original.
fn copy_payloads(original: &Original, to: &Path) {
    let entries = |path: &Path| std::fs::read_dir(path).expect("it is ours").flatten();
    let payloads = original.directory.path().join("payloads");
    for below in entries(&payloads) {
        let copy = to.join("payloads").join(below.file_name());
        std::fs::create_dir_all(&copy).expect("a directory can be made");
        for file in entries(&below.path()) {
            std::fs::copy(file.path(), copy.join(file.file_name())).expect("there is room");
        }
    }
}

/// Damages a file in one place; returns what was done.
fn damage(files: &mut BTreeMap<&'static str, Vec<u8>>, chance: &mut Chance) -> String {
    let suffix = FILES[chance.index(FILES.len())];
    let bytes = files.get_mut(suffix).expect("it is there");
    let at = chance.index(bytes.len());
    if chance.percent(30) && suffix == "-wal" {
        bytes.truncate(at);
        return format!("{suffix} cut at {at}");
    }
    bytes[at] ^= 1 << chance.below(8);
    format!("noetl.db{suffix}, a bit of byte {at}")
}

/// Checks what is left of the original; returns a word for how the damage showed.
async fn check(original: &Original, directory: &Path, done: &str) -> &'static str {
    let Ok(opened) = open_store(directory, Arc::new(SystemClock)).await else { return "refused" };
    let store: &dyn Store = opened.as_ref();
    let mut shown = "harmless";
    if !matches!(opened.damage().await, Ok(None)) {
        shown = "found in the file";
    }
    for (execution, log) in &original.logs {
        let Ok(verified) = noetl_control::verify(store, *execution, |_| {}).await else {
            shown = "found by verify";
            continue;
        };
        let Some(verified) = verified else {
            assert!(done.contains("-wal") || shown != "harmless", "{done}: {execution} is lost");
            continue;
        };
        if verified.fault.is_some() {
            shown = "found by verify";
            continue;
        }
        let Ok(events) = store.read(*execution, Seq::ZERO, READ_EVENTS_MAX).await else {
            shown = "found by reading";
            continue;
        };
        assert_eq!(events, log[..events.len()], "{done}: {execution} is silently another one");
        let is_whole = events.len() == log.len();
        assert!(is_whole || done.contains("-wal") || shown != "harmless", "{done}: an end is lost");
    }
    shown
}

#[test]
fn a_bit_that_flips_and_a_log_that_is_cut_are_found_or_harmless() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let original = runtime.block_on(original());
    let unharmed = tempfile::tempdir().expect("a directory can be made");
    copy_payloads(&original, unharmed.path());
    for (suffix, bytes) in &original.files {
        let path = unharmed.path().join(format!("noetl.db{suffix}"));
        std::fs::write(path, bytes).expect("there is room");
    }
    let how = runtime.block_on(check(&original, unharmed.path(), "nothing"));
    assert_eq!(how, "harmless", "a copy without damage");
    let states = if is_full_size() { 3000 } else { 80 };
    let mut shown: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..states {
        let mut chance = Chance::new(seed);
        let mut files = original.files.clone();
        let done = damage(&mut files, &mut chance);
        let directory = tempfile::tempdir().expect("a directory can be made");
        copy_payloads(&original, directory.path());
        for (suffix, bytes) in &files {
            let path = directory.path().join(format!("noetl.db{suffix}"));
            std::fs::write(path, bytes).expect("there is room");
        }
        let how = runtime.block_on(check(&original, directory.path(), &done));
        *shown.entry(how).or_default() += 1;
    }
    println!("{shown:?}");
    assert!(shown.contains_key("harmless") && shown.len() > 1, "{shown:?}");
}
