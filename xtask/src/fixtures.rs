//! Builds and calls `noetl-fixtures`, which runs playbooks written by others.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::cargo::{self, cargo};
use crate::provision;

/// The directory of the fixtures that the gate runs, beside the repository, if it exists.
const DIRECTORY: &str = "../shared/fixtures";

/// The combinations of store and worker to test.
const SYSTEMS: [[&str; 4]; 3] = [
    ["--store", "sqlite", "--worker", "inprocess"],
    ["--store", "postgres", "--worker", "process"],
    ["--store", "postgres", "--worker", "existing"],
];

/// Builds the binary and runs the fixtures with the given arguments.
pub(crate) fn run(args: &[String]) -> Result<()> {
    provision::programs()?;
    cargo::run(cargo().args(["build", "--package", "noetl-cli", "--bin", "noetl"]))?;
    let noetl = target_directory()?.join("debug").join("noetl");
    let mut command = cargo();
    command.args(["run", "--package", "noetl-fixtures", "--"]).args(args);
    cargo::run(command.arg("--noetl").arg(noetl))
}

/// Runs the open fixtures on every system; does nothing if the directory is missing.
pub(crate) fn gate() -> Result<()> {
    if !cargo::root().join(DIRECTORY).join("open.json").is_file() {
        return Ok(());
    }
    for system in SYSTEMS {
        let args = [DIRECTORY].into_iter().chain(system);
        run(&args.map(str::to_owned).collect::<Vec<_>>())?;
    }
    Ok(())
}

fn target_directory() -> Result<PathBuf> {
    let metadata = cargo()
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .output()
        .context("ask cargo for its directory")?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout).context("read the packages")?;
    let directory = metadata["target_directory"].as_str().context("cargo has a directory")?;
    Ok(PathBuf::from(directory))
}
