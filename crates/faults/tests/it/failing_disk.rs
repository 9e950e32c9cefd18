//! A disk on which the n-th call fails, or every call from the n-th on: nothing that was
//! acknowledged is lost, and nothing is half written.

use std::fs;
use std::path::Path;
use std::process::Command;

use noetl_faults::{is_full_size, tell_skipped};

use crate::workload;

/// The variable with the directory of the process whose disk fails.
const FAILING: &str = "NOETL_TEST_FAILING_DISK";
/// The calls that fail, and where.
#[derive(Clone, Copy, PartialEq)]
enum FailingPart {
    /// Writes of the database.
    Database,
    /// Changes of names anywhere, which only large values make: their files have names that nobody
    /// knows before.
    Names,
}

impl FailingPart {
    fn calls(self) -> &'static str {
        match self {
            Self::Database => "write,pwrite64,fsync,fdatasync,ftruncate,rename,mkdir",
            Self::Names => "rename,mkdir",
        }
    }

    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Database => &["noetl.db", "noetl.db-wal"],
            Self::Names => &[],
        }
    }
}
const DATA: &str = "data";
const ACKNOWLEDGED: &str = "acknowledged";

/// Runs this test's process with failing calls. Returns what it said if it was stopped by them, and
/// the reason if processes cannot be traced here.
fn run_with(
    part: FailingPart,
    fault: &str,
    home: &Path,
    test: &str,
) -> Result<Option<String>, String> {
    let data = home.join(DATA);
    let mut strace = Command::new("strace");
    let traced = format!("trace={}", part.calls());
    strace.args(["-f", "-o", "/dev/null", "-e", &traced, "-e", fault]);
    for file in part.files() {
        strace.arg("-P").arg(data.join(file));
    }
    strace.arg(std::env::current_exe().expect("this program")).args(["--exact", test]);
    let ended = strace.env(FAILING, home).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&ended.stderr);
    if said.contains("PTRACE_TRACEME") {
        return Err(said.into_owned());
    }
    let said = format!("{said}{}", String::from_utf8_lossy(&ended.stdout));
    Ok((!ended.status.success()).then_some(said))
}

#[test]
fn a_call_that_fails_loses_nothing_acknowledged() {
    if let Some(home) = std::env::var_os(FAILING) {
        let home = Path::new(&home);
        let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
        let (data, acknowledged) = (home.join(DATA), home.join(ACKNOWLEDGED));
        return runtime.block_on(workload::run(&data, 2, &acknowledged));
    }
    let test = "failing_disk::a_call_that_fails_loses_nothing_acknowledged";
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let step = if is_full_size() { 3 } else { 89 };
    let (mut stopped, mut of_large_values, mut runs) = (0, 0, 0);
    for (index, nth) in (1..900).step_by(step).enumerate() {
        let part = [FailingPart::Database, FailingPart::Names][index % 2];
        let error = ["EIO", "ENOSPC"][index / 2 % 2];
        // A single call, or all from the n-th on.
        let more = ["", "+"][index / 4 % 2];
        // Calls are counted for each thread. The first one makes the directory itself.
        let nth = if part == FailingPart::Names { index / 2 % 5 + 2 } else { nth };
        let home = tempfile::tempdir().expect("a directory can be made");
        fs::create_dir(home.path().join(DATA)).expect("a directory can be made");
        let fault = format!("inject={}:error={error}:when={nth}{more}", part.calls());
        match run_with(part, &fault, home.path(), test) {
            Ok(None) => {}
            Ok(Some(said)) => {
                stopped += 1;
                of_large_values += u32::from(said.contains("large values"));
            }
            Err(reason) => return tell_skipped(&reason),
        }
        let acknowledged = fs::read_to_string(home.path().join(ACKNOWLEDGED)).unwrap_or_default();
        let lines: Vec<String> = acknowledged.lines().map(str::to_owned).collect();
        let checked = runtime.block_on(workload::check(&home.path().join(DATA), &lines, true));
        assert_eq!(checked, Ok(()), "{fault}, {} acknowledgements", lines.len());
        runs += 1;
    }
    println!("{runs} runs, {stopped} of them stopped by the error");
    println!("{of_large_values} of them at a large value");
    assert!(stopped > of_large_values, "no call on the database has failed");
    assert!(of_large_values > 0, "no call on a large value has failed");
}
