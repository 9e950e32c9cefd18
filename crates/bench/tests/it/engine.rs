//! The instructions that the pure engine executes for a step.

use std::process::{Command, Stdio};

use crate::counts::check;

/// Two lengths, so that fixed costs cancel out.
const SHORT: u32 = 100;
const LONG: u32 = 300;

/// Returns the instructions of a chain of steps, run by the engine alone.
fn instructions(steps: u32) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env!("CARGO_BIN_EXE_noetl-bench"))
        .args(["--engine", &steps.to_string()])
        .stdin(Stdio::null())
        .output()
        .expect("valgrind runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let count = said.lines().find_map(|line| line.split_once("Collected : "));
    count.expect("it counts").1.trim().parse().expect("a number")
}

#[test]
fn a_step_computes_no_more_than_expected() {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        println!("not counted: valgrind is not installed");
        return;
    }
    let (short, long) = (instructions(SHORT), instructions(LONG));
    let difference = u32::try_from(long.saturating_sub(short)).expect("a small number");
    let each = f64::from(difference) / f64::from(LONG - SHORT);
    check(&[("engine chain instructions".to_owned(), each)]);
}
