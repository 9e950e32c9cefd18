//! A disk on which the n-th call fails, or every call from the n-th on: nothing that was
//! acknowledged is lost, and nothing is half written.

use std::fs;
use std::path::Path;
use std::process::Command;

use noetl_faults::{is_full_size, tell_skipped};

use crate::workload;

/// The variable with the directory of the process whose disk fails.
const FAILING: &str = "NOETL_TEST_FAILING_DISK";
/// The calls of a write.
const CALLS: &str = "write,pwrite64,fsync,fdatasync,ftruncate,rename,mkdir";
const DATA: &str = "data";
const ACKNOWLEDGED: &str = "acknowledged";

/// Runs this test's process with failing calls; returns the reason if that is impossible here.
fn run_with(fault: &str, home: &Path, test: &str) -> Result<bool, String> {
    let data = home.join(DATA);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "-e", &format!("trace={CALLS}"), "-e", fault]);
    for file in ["noetl.db", "noetl.db-wal", "payloads"] {
        strace.arg("-P").arg(data.join(file));
    }
    strace.arg(std::env::current_exe().expect("this program")).args(["--exact", test]);
    let ended = strace.env(FAILING, home).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&ended.stderr);
    if said.contains("PTRACE_TRACEME") {
        return Err(said.into_owned());
    }
    Ok(ended.status.success())
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
    let (mut stopped, mut runs) = (0, 0);
    for (index, nth) in (1..900).step_by(step).enumerate() {
        let error = ["EIO", "ENOSPC"][index % 2];
        // A single call, or all from the n-th on.
        let more = ["", "+"][index / 2 % 2];
        let home = tempfile::tempdir().expect("a directory can be made");
        fs::create_dir(home.path().join(DATA)).expect("a directory can be made");
        let fault = format!("inject={CALLS}:error={error}:when={nth}{more}");
        match run_with(&fault, home.path(), test) {
            Ok(is_done) => stopped += u32::from(!is_done),
            Err(reason) => return tell_skipped(&reason),
        }
        let acknowledged = fs::read_to_string(home.path().join(ACKNOWLEDGED)).unwrap_or_default();
        let lines: Vec<String> = acknowledged.lines().map(str::to_owned).collect();
        let checked = runtime.block_on(workload::check(&home.path().join(DATA), &lines, true));
        assert_eq!(checked, Ok(()), "{fault}, {} acknowledgements", lines.len());
        runs += 1;
    }
    println!("{runs} runs, {stopped} of them stopped by the error");
    assert!(stopped > 0, "no call has failed");
}
