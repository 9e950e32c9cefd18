//! The command line: what may be said, and what `--help` says about it.
//!
//! Invariant: the help of every command ends with examples that can be pasted.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Runs playbooks: workflows in YAML whose every event is kept, so that nothing is lost or stuck.
#[derive(Debug, Parser)]
#[command(name = "noetl", version, propagate_version = true, arg_required_else_help = true)]
#[command(max_term_width = 100, after_help = ROOT_EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to use colours; NO_COLOR=1 also switches them off
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorWhen,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check playbooks without running them
    Validate(ValidateArgs),
    /// Draw the steps of a playbook and the arcs between them
    Graph(GraphArgs),
    /// Print the JSON Schema of playbooks, for editors
    Schema(SchemaArgs),
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
}

#[derive(Debug, Args)]
#[command(after_help = VALIDATE_EXAMPLES)]
pub(crate) struct ValidateArgs {
    /// Playbook files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
#[command(after_help = GRAPH_EXAMPLES)]
pub(crate) struct GraphArgs {
    /// A playbook file
    pub(crate) file: PathBuf,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: GraphFormat,
}

#[derive(Debug, Args)]
#[command(after_help = SCHEMA_EXAMPLES)]
pub(crate) struct SchemaArgs {}

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    pub(crate) shell: Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Yaml,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    Text,
    Mermaid,
    Svg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}

const ROOT_EXAMPLES: &str = "\
Examples:
  noetl validate playbooks/*.yaml
  noetl graph examples/branching.yaml

Data goes to standard output, talk to standard error.
Exit codes: 0 completed, 1 failed, 2 bad input.";

const VALIDATE_EXAMPLES: &str = "\
Exit codes: 0 all can be run (there may be warnings), 2 at least one cannot.

Examples:
  noetl validate examples/hello_world.yaml
  noetl validate playbooks/*.yaml --output json";

const GRAPH_EXAMPLES: &str = "\
Examples:
  noetl graph examples/branching.yaml
  noetl graph examples/branching.yaml --format mermaid
  noetl graph examples/branching.yaml --format svg > branching.svg";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  noetl schema > playbook.schema.json

  In a playbook, for editors with the YAML language server:
  # yaml-language-server: $schema=playbook.schema.json";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  noetl completions bash > ~/.local/share/bash-completion/completions/noetl
  noetl completions zsh > ~/.zfunc/_noetl
  noetl completions fish > ~/.config/fish/completions/noetl.fish";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definitions_agree_with_each_other() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_help_of_every_command_has_examples() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:\n  noetl "), "{}", command.get_name());
            command.get_subcommands().for_each(check);
        }
        check(&Arguments::command());
    }

    #[test]
    fn every_example_is_understood() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines().filter_map(|line| line.strip_prefix("  noetl ")) {
                let said = line.split(" > ").next().unwrap_or_default().replace('\'', "\"");
                let words = split(&said);
                let words = std::iter::once("noetl").chain(words.iter().map(String::as_str));
                if let Err(error) = Arguments::try_parse_from(words) {
                    panic!("{line}: {error}");
                }
            }
            command.get_subcommands().for_each(check);
        }
        check(&Arguments::command());
    }

    /// Splits at blanks outside double quotes.
    fn split(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for c in line.chars() {
            match c {
                '"' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words
    }
}
