//! Automation for developers and CI.
//!
//! `cargo xtask test` runs every test on a fresh machine; `cargo xtask ci` is the only gate.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line talks to its terminal"
)]

mod bench;
mod cargo;
mod faults;
mod fixtures;
mod provision;
mod sbom;
mod suite;
mod tidy;
mod ui;

use std::process::{Command, ExitCode};

use anyhow::{Result, bail};

const USAGE: &str = "\
Usage: cargo xtask <command>

Commands:
  test [-- ARGS]     provide what the tests need, then run all of them
  tidy               check the rules of the tree that no compiler knows
  deny               check licences, versions and sources of third-party crates (deny.toml)
  sbom [FILE]        list the third-party crates of the binary, in the CycloneDX format
  ci                 the gate: format, clippy, tidy, deny, fixtures, test
  bench [SCENARIO]   measure, and compare with the limit in the same run
  faults [NAME…]     list the fault runs, or make some of them at full size
  fixtures DIR       run playbooks of others and compare the outcome (--help says more)
  ui --shots DIR     take pictures of every page of the web interface";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result<()> {
    let Some((command, rest)) = args.split_first() else {
        bail!("which command?\n\n{USAGE}");
    };
    match command.as_str() {
        "test" => suite::run(without_separator(rest)),
        "tidy" => tidy::run(),
        "deny" => deny(),
        "ci" => ci(),
        "sbom" => sbom::run(rest),
        "bench" => bench::run(rest),
        "faults" => faults::run(rest),
        "fixtures" => fixtures::run(rest),
        "ui" => ui::run(rest),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(())
        }
        other => bail!("no such command: `{other}`\n\n{USAGE}"),
    }
}

/// Removes a leading `--`: `cargo xtask test -- ARGS` and `cargo xtask test ARGS` mean the same.
fn without_separator(args: &[String]) -> &[String] {
    match args.split_first() {
        Some((first, rest)) if first == "--" => rest,
        _ => args,
    }
}

type GateStage = fn() -> Result<()>;

/// The stages of the gate. The tests come last, so that their count ends the output.
const STAGES: [(&str, GateStage); 6] = [
    ("format", format),
    ("clippy", clippy),
    ("tidy", tidy::run),
    ("deny", deny),
    ("fixtures", fixtures::gate),
    ("test", test),
];

/// Runs every stage, also after one has failed, so that one run shows all failures.
fn ci() -> Result<()> {
    provision::components()?;
    let mut failed = Vec::new();
    for (name, stage) in STAGES {
        if let Err(error) = stage() {
            eprintln!("error: {error:#}");
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        bail!("not passed: {}", failed.join(", "));
    }
    Ok(())
}

fn format() -> Result<()> {
    cargo::run(cargo::cargo().args(["fmt", "--all", "--check"]))
}

fn clippy() -> Result<()> {
    let args = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    cargo::run(cargo::cargo().args(args))
}

/// Checks the third-party crates. Warnings fail as well: an entry of `deny.toml` that no crate needs
/// any longer is removed.
fn deny() -> Result<()> {
    let mut command = Command::new(provision::cargo_deny()?);
    command.current_dir(cargo::root());
    cargo::run(command.args(["check", "-D", "warnings", "bans", "licenses", "sources"]))
}

fn test() -> Result<()> {
    suite::run(&[])
}
