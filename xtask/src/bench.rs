//! `cargo xtask bench`: the binary as it ships, and what measures it, built together.

use std::process::Command;

use anyhow::Result;

use crate::{cargo, provision};

/// As it ships, but with names, so that a profile can be read.
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
        // Without frame pointers a sample does not tell who called.
        let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
        build.env("RUSTFLAGS", format!("{flags} -C force-frame-pointers=yes"));
    }
    cargo::run(&mut build)?;
    let bench = cargo::target_directory().join(profile).join("noetl-bench");
    cargo::run(Command::new(bench).args(args))
}
