//! Measures the system and, in the same run and on the same disk, the limits it is compared with.
//!
//! Machines differ and have other load, so only ratios from one run are meaningful. Each scenario
//! states goals for its ratios; the exit code says whether all of them were met.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is run to be read")]

mod args;
mod database;
mod generated;
mod limits;
mod machine;
mod numbers;
mod playbooks;
mod plot;
mod process;
mod profile;
mod scenarios;
mod sheet;
#[cfg(test)]
mod statements;
mod system;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use args::{BenchCommand, MeasureOptions};
use jiff::Zoned;
use noetl_model::ExecutionStatus;
use noetl_testkit::{Story, StoryOptions};
use profile::Recording;
use scenarios::ScenarioParameters;
use serde_json::{Value, json};
use sheet::{Sheet, plot_file};

#[tokio::main]
async fn main() -> ExitCode {
    let wish = match args::parse(std::env::args().skip(1)) {
        Ok(wish) => wish,
        Err(error) => {
            eprintln!("error: {error:#}\n\n{}", args::usage());
            return ExitCode::from(2);
        }
    };
    let arguments = match wish {
        BenchCommand::Help => {
            println!("{}", args::usage());
            return ExitCode::SUCCESS;
        }
        BenchCommand::Serve => return serve().await,
        BenchCommand::Engine(steps) => return tell_story(steps),
        BenchCommand::Measure(arguments) => arguments,
    };
    rustls::crypto::ring::default_provider()
        .install_default()
        .expect("nothing else chooses how to encrypt");
    match measure(&arguments).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a web service for a scenario until the process is killed.
async fn serve() -> ExitCode {
    let service = noetl_testkit::MockApi::start();
    println!("{}", service.url());
    std::future::pending().await
}

/// Runs a chain in the engine alone.
fn tell_story(steps: u64) -> ExitCode {
    let playbook = playbooks::chain_of(steps, "bench/story", playbooks::NOTHING);
    let mut story = Story::begin(&playbook, StoryOptions::default());
    match story.run().status() {
        ExecutionStatus::Completed => ExitCode::SUCCESS,
        ExecutionStatus::Running | ExecutionStatus::Failed | ExecutionStatus::Cancelled => {
            ExitCode::FAILURE
        }
    }
}

/// Runs the scenarios one after another. Returns true if all goals were met.
async fn measure(arguments: &MeasureOptions) -> Result<bool> {
    let begun =
        format!("{}, {}", Zoned::now().strftime("%Y-%m-%d %H:%M %Z"), machine::description());
    println!("{begun}\n");
    if let Some(directory) = &arguments.plots {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("make {}", directory.display()))?;
    }
    let mut sheets = Vec::new();
    for scenario in &arguments.scenarios {
        for store in &arguments.stores {
            let home = tempfile::tempdir_in(&arguments.directory).with_context(|| {
                format!("make a directory in {}", arguments.directory.display())
            })?;
            let setting = ScenarioParameters {
                scenario: *scenario,
                store: *store,
                size: arguments.size,
                profile: arguments.profile,
                directory: home.path(),
            };
            let recording = match arguments.profile {
                true => Some(Recording::begin(home.path())?),
                false => None,
            };
            let measured = Box::pin(scenario.measure(&setting)).await;
            let sheet = measured.with_context(|| format!("measure `{scenario}` on {store}"))?;
            println!("{sheet}");
            if let Some(recording) = recording {
                let place = arguments.plots.clone().unwrap_or_else(|| ".".into());
                let file = place.join(format!("{}-flames.svg", sheet.name()));
                let layers = recording.draw(&format!("{scenario} on {}", store.title()), &file)?;
                println!("  where the time went: {}", file.display());
                println!("  of that of servers and workers:\n{layers}");
            }
            sheets.push(sheet);
            // Files are written after each scenario, so that an aborted run keeps its results.
            write_files(arguments, &begun, &sheets)?;
        }
    }
    Ok(sheets.iter().all(Sheet::is_met))
}

fn write_files(arguments: &MeasureOptions, begun: &str, sheets: &[Sheet]) -> Result<()> {
    let write = |file: &std::path::Path, text: String| {
        std::fs::write(file, text).with_context(|| format!("write {}", file.display()))
    };
    if let Some(file) = &arguments.json {
        let scenarios: Value = sheets.iter().map(Sheet::to_json).collect();
        let document = json!({ "measured": begun, "scenarios": scenarios });
        write(file, format!("{document:#}\n"))?;
    }
    if let Some(file) = &arguments.markdown {
        let plots = arguments.plots.as_ref().map(|_| "");
        let sheets: Vec<String> = sheets.iter().map(|sheet| sheet.to_markdown(plots)).collect();
        write(file, format!("# Results\n\nMeasured {begun}.\n\n{}", sheets.join("\n")))?;
    }
    if let Some(directory) = &arguments.plots {
        for sheet in sheets {
            for (place, plot) in sheet.plots().iter().enumerate() {
                write(&directory.join(plot_file(&sheet.name(), place)), plot.to_svg())?;
            }
        }
    }
    Ok(())
}
