//! The comparison of counts with the expected ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Returns the accepted excess over the expected count, as a share: for a chain, differences
/// between versions of the compiler and of databases; for many executions, also random batching.
fn tolerance(name: &str) -> f64 {
    if name.contains(" chain ") { 0.15 } else { 0.3 }
}

const HEADER: &str = "\
# What a step costs: name, count. Written by `UPDATE_EXPECT=1 cargo test -p noetl-bench -- --test-threads 1`.
";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/counts.txt")
}

fn expected() -> BTreeMap<String, f64> {
    let text = std::fs::read_to_string(path()).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(name, count)| (name.trim().to_owned(), count.parse().expect("a count is a number")))
        .collect()
}

/// Fails if a count exceeds the expected one, and lists all such counts.
#[track_caller]
pub(crate) fn check(counted: &[(String, f64)]) {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return update(counted);
    }
    let (expected, mut faults) = (expected(), String::new());
    for (name, count) in counted {
        let fault = match expected.get(name) {
            None => format!("{name}: {count:.2}, and nothing is expected"),
            Some(most) if *count > most * (1.0 + tolerance(name)) => {
                format!("{name}: {count:.2}, expected {most:.2}")
            }
            Some(_) => continue,
        };
        writeln!(faults, "{fault}").expect("strings grow");
    }
    assert!(
        faults.is_empty(),
        "dearer than expected:\n{faults}\
         If that is what it is worth, UPDATE_EXPECT=1 writes it to counts.txt."
    );
}

fn update(counted: &[(String, f64)]) {
    let mut all = expected();
    all.extend(counted.iter().cloned());
    let mut text = HEADER.to_owned();
    for (name, count) in all {
        writeln!(text, "{name} {count:.2}").expect("strings grow");
    }
    std::fs::write(path(), text).expect("the file is ours");
}
