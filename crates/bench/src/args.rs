//! The command line.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::database::MeasuredStore;
use crate::scenarios::Scenario;

/// Returns the usage text, ending with the scenarios.
pub(crate) fn usage() -> String {
    let mut text = USAGE.to_owned();
    for scenario in Scenario::ALL {
        text.push_str(&format!("\n  {:<9} {}", scenario.to_string(), scenario.title()));
    }
    text
}

const USAGE: &str = "\
Usage: cargo xtask bench [SCENARIO…] [OPTIONS]

Measures the release binary on databases and brokers it starts itself, each scenario next to the
limit it is compared with. The exit code is 1 if a goal was missed.

Options:
  --store STORE     sqlite or postgres [default: one after the other]
  --json FILE       also write the figures to a file
  --markdown FILE   also write them as tables for people
  --plots DIR       also draw them, one SVG for each scenario and store
  --profile         record where the time goes, as a flame graph beside the plots and by layer
                    (needs perf)
  --quick           a tenth of the work, once: to see that it runs, not how fast
  --directory DIR   where SQLite's files live while they are measured [default: the system's
                    directory for temporary files]

Examples:
  cargo xtask bench chain many --store postgres
  cargo xtask bench --json bench.json --plots docs/performance

Scenarios (all of them if none is named):";

/// The hidden option to run a web service until the process is killed, used by this program itself.
pub(crate) const SERVE: &str = "--serve";

/// The hidden option to run a chain of steps in the engine alone, for instruction counts.
pub(crate) const ENGINE: &str = "--engine";

pub(crate) enum BenchCommand {
    Help,
    Serve,
    Engine(u64),
    Measure(MeasureOptions),
}

#[derive(Debug)]
pub(crate) struct MeasureOptions {
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) stores: Vec<MeasuredStore>,
    pub(crate) json: Option<PathBuf>,
    pub(crate) markdown: Option<PathBuf>,
    pub(crate) plots: Option<PathBuf>,
    pub(crate) profile: bool,
    pub(crate) size: Size,
    pub(crate) directory: PathBuf,
}

/// The size of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Full,
    /// A tenth of the full size, run once.
    Quick,
}

impl Size {
    /// Returns `full` scaled to this size.
    pub(crate) fn of(self, full: u64) -> u64 {
        match self {
            Size::Full => full,
            Size::Quick => full / 10,
        }
    }

    /// Returns the number of repetitions, for `full` repetitions at full size.
    pub(crate) fn runs(self, full: usize) -> usize {
        match self {
            Size::Full => full,
            Size::Quick => 1,
        }
    }
}

pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<BenchCommand> {
    let mut words = words.into_iter();
    let mut asked = MeasureOptions {
        scenarios: Vec::new(),
        stores: MeasuredStore::ALL.to_vec(),
        json: None,
        markdown: None,
        plots: None,
        profile: false,
        size: Size::Full,
        directory: std::env::temp_dir(),
    };
    while let Some(word) = words.next() {
        let mut value = |what: &str| words.next().with_context(|| format!("`{word}` wants {what}"));
        match word.as_str() {
            "--help" | "-h" => return Ok(BenchCommand::Help),
            SERVE => return Ok(BenchCommand::Serve),
            ENGINE => return Ok(BenchCommand::Engine(value("a number of steps")?.parse()?)),
            "--store" => asked.stores = vec![value("a store")?.parse()?],
            "--json" => asked.json = Some(value("a file")?.into()),
            "--markdown" => asked.markdown = Some(value("a file")?.into()),
            "--plots" => asked.plots = Some(value("a directory")?.into()),
            "--profile" => asked.profile = true,
            "--quick" => asked.size = Size::Quick,
            "--directory" => asked.directory = value("a directory")?.into(),
            option if option.starts_with('-') => bail!("no such option: `{option}`"),
            name => asked.scenarios.push(name.parse()?),
        }
    }
    if asked.scenarios.is_empty() {
        asked.scenarios = Scenario::ALL.to_vec();
    }
    Ok(BenchCommand::Measure(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let found = match parse(line.split_whitespace().map(str::to_owned)) {
            Ok(BenchCommand::Help) => "help".to_owned(),
            Ok(BenchCommand::Serve) => "serve".to_owned(),
            Ok(BenchCommand::Engine(steps)) => format!("engine {steps}"),
            Ok(BenchCommand::Measure(MeasureOptions { scenarios, stores, json, size, .. })) => {
                let scenarios: Vec<String> = scenarios.iter().map(ToString::to_string).collect();
                let stores: Vec<String> = stores.iter().map(ToString::to_string).collect();
                let json = json.unwrap_or_default();
                let (scenarios, stores) = (scenarios.join(","), stores.join(","));
                format!("{scenarios} on {stores} {size:?} {}", json.display())
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found.trim_end(), expected);
    }

    #[test]
    fn without_arguments_every_scenario_runs() {
        let all: Vec<String> = Scenario::ALL.iter().map(ToString::to_string).collect();
        check("", &format!("{} on sqlite,postgres Full", all.join(",")));
    }

    #[test]
    fn scenarios_are_measured_in_the_order_they_are_named() {
        check("python --json out.json chain", "python,chain on sqlite,postgres Full out.json");
    }

    #[test]
    fn one_store_is_enough_if_it_is_named() {
        check("many --store postgres --quick", "many on postgres Quick");
    }

    #[test]
    fn unknown_arguments_are_named() {
        check("chian", "no such scenario: `chian`");
        check("--store mysql", "no such store: `mysql` (sqlite or postgres)");
        check("--jsn x", "no such option: `--jsn`");
        check("chain --json", "`--json` wants a file");
    }

    #[test]
    fn help_measures_nothing() {
        check("chain --help", "help");
    }

    #[test]
    fn help_names_every_scenario_and_option() {
        let text = usage();
        for scenario in Scenario::ALL {
            assert!(text.contains(&format!("\n  {scenario} ")), "{scenario}");
        }
    }
}
