//! Measures the system and, in the same run and on the same disk, the limits it is compared with.
//!
//! Machines differ and are busy with other things, so only ratios from one run mean anything. Each
//! scenario states goals for its ratios; the exit code says whether all of them were met.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is run to be read")]

mod args;
mod limits;
mod machine;
mod numbers;
mod plane;
mod scenarios;
mod sheet;
mod system;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use args::{Arguments, Wish};
use serde_json::Value;

#[tokio::main]
async fn main() -> ExitCode {
    let wish = match args::parse(std::env::args().skip(1)) {
        Ok(wish) => wish,
        Err(error) => {
            eprintln!("error: {error:#}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    let arguments = match wish {
        Wish::Help => {
            println!("{}", args::USAGE);
            return ExitCode::SUCCESS;
        }
        Wish::Measure(arguments) => arguments,
    };
    match measure(&arguments).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the scenarios one after another; whether all goals were met.
async fn measure(arguments: &Arguments) -> Result<bool> {
    let mut sheets = Vec::new();
    for scenario in &arguments.scenarios {
        let directory = tempfile::tempdir_in(&arguments.directory)
            .with_context(|| format!("make a directory in {}", arguments.directory.display()))?;
        let sheet = scenario
            .measure(directory.path())
            .await
            .with_context(|| format!("measure `{scenario}`"))?;
        println!("{sheet}");
        sheets.push(sheet);
    }
    if let Some(file) = &arguments.json {
        let document: Value = sheets.iter().map(sheet::Sheet::to_json).collect();
        std::fs::write(file, format!("{document:#}\n"))
            .with_context(|| format!("write {}", file.display()))?;
    }
    Ok(sheets.iter().all(sheet::Sheet::is_met))
}
