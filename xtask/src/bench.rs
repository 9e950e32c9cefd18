//! `cargo xtask bench`: builds the release binary together with the benchmark, and runs it.

use std::process::Command;

use anyhow::Result;

use crate::{cargo, provision};

/// The cargo profile for `--profile`: the release build with symbols.
const NAMED: &str = "profiling";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let is_question = args.iter().any(|arg| arg == "--help" || arg == "-h");
    if !is_question {
        provision::programs()?;
    }
    let is_recorded = args.iter().any(|arg| arg == "--profile");
    let profile = if is_recorded { NAMED } else { "release" };
    let packages = ["--package", "noetl-cli", "--package", "noetl-bench"];
    let mut build = cargo::cargo();
    build.args(["build", "--profile", profile]).args(packages);
    if is_recorded {
        // Without frame pointers a sample has no call stack.
        let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
        build.env("RUSTFLAGS", format!("{flags} -C force-frame-pointers=yes"));
    }
    cargo::run(&mut build)?;
    let bench = cargo::target_directory().join(profile).join("noetl-bench");
    cargo::run(Command::new(bench).args(args))
}
