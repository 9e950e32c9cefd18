//! What the command line asks for.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::scenarios::Scenario;

pub(crate) const USAGE: &str = "\
Usage: cargo xtask bench [SCENARIO…] [--json FILE] [--directory DIR]

Scenarios (all of them if none is named):
  raw      what this disk and this SQLite can do by themselves
  loop     a loop over 10,000 items in parallel: does an item cost the same at the end?
  chain    1,000 steps one after another: does a step cost the same at the end?
  python   1,000 Python steps, compared with 1,000 starts of the interpreter

Options:
  --json FILE       also write the figures to a file
  --directory DIR   where the databases live while they are measured [default: the system's
                    directory for temporary files]";

pub(crate) enum Wish {
    Help,
    Measure(Arguments),
}

#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) json: Option<PathBuf>,
    pub(crate) directory: PathBuf,
}

pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Wish> {
    let mut words = words.into_iter();
    let mut scenarios = Vec::new();
    let mut json = None;
    let mut directory = std::env::temp_dir();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--help" | "-h" => return Ok(Wish::Help),
            "--json" => json = Some(words.next().context("`--json` wants a file")?.into()),
            "--directory" => {
                directory = words.next().context("`--directory` wants a directory")?.into();
            }
            option if option.starts_with('-') => bail!("no such option: `{option}`"),
            name => scenarios.push(name.parse()?),
        }
    }
    if scenarios.is_empty() {
        scenarios = Scenario::ALL.to_vec();
    }
    Ok(Wish::Measure(Arguments { scenarios, json, directory }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let found = match parse(line.split_whitespace().map(str::to_owned)) {
            Ok(Wish::Help) => "help".to_owned(),
            Ok(Wish::Measure(Arguments { scenarios, json, .. })) => {
                let names: Vec<String> = scenarios.iter().map(ToString::to_string).collect();
                format!("{} {}", names.join(","), json.unwrap_or_default().display())
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found.trim_end(), expected);
    }

    #[test]
    fn nothing_asks_for_everything() {
        check("", "raw,loop,chain,python");
    }

    #[test]
    fn scenarios_are_measured_in_the_order_they_are_named() {
        check("python --json out.json chain", "python,chain out.json");
    }

    #[test]
    fn what_is_not_understood_is_said() {
        check("lop", "no such scenario: `lop`");
        check("--jsn x", "no such option: `--jsn`");
        check("loop --json", "`--json` wants a file");
    }

    #[test]
    fn help_measures_nothing() {
        check("loop --help", "help");
    }
}
