//! The arguments of `noetl lint`, `noetl explain`, `noetl fmt` and `noetl lsp`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use noetl_playbook::LintLevels;

use super::{Chosen, ClientArgs};
use crate::input::candidates;

#[derive(Debug, Args)]
#[command(after_help = LINT_EXAMPLES)]
pub(crate) struct LintArgs {
    /// Files, or directories that are searched for documents [default: .]
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Apply fixes that do not change the meaning, and report what remains
    #[arg(long)]
    pub(crate) fix: bool,
    /// Treat warnings like errors
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// Do not check the code of tools
    #[arg(long)]
    pub(crate) no_code: bool,
    /// Severity of a rule: off, warning or error; repeatable, before `lint.levels` of the settings
    #[arg(long, value_name = "CODE=LEVEL", add = ArgValueCandidates::new(rule_levels))]
    pub(crate) level: Vec<LintLevels>,
    /// Format of the report
    #[arg(short, long, value_name = "FORMAT", default_value = "human")]
    pub(crate) format: LintFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LintFormat {
    /// With the lines of the documents
    Human,
    /// One list of findings
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// Code of a rule, such as unknown-name; lists all rules if it is left out
    #[arg(value_name = "CODE", add = ArgValueCandidates::new(rule_codes))]
    pub(crate) code: Option<String>,
}

/// Returns the codes of all rules, for the completion of a shell.
fn rule_codes() -> Vec<CompletionCandidate> {
    let rules = noetl_playbook::RULES.iter();
    rules
        .map(|rule| {
            CompletionCandidate::new(rule.code.as_str()).help(Some(rule.code.about().into()))
        })
        .collect()
}

/// Returns the levels of all rules, for the completion of a shell.
fn rule_levels() -> Vec<CompletionCandidate> {
    let codes = noetl_playbook::RULES.iter().map(|rule| rule.code);
    codes
        .flat_map(|code| ["off", "warning", "error"].map(|level| format!("{code}={level}")))
        .map(CompletionCandidate::new)
        .collect()
}

#[derive(Debug, Args)]
#[command(after_help = FMT_EXAMPLES)]
pub(crate) struct FmtArgs {
    /// Files, or directories that are searched for documents and test files [default: .]
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Change nothing; list the files that are not formatted and exit with 1 if there are any
    #[arg(long)]
    pub(crate) check: bool,
    /// Read a document from standard input and print it formatted
    #[arg(long, conflicts_with_all = ["paths", "check"])]
    pub(crate) stdin: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LspArgs {
    /// Use standard input and output; editors pass it, nothing else is supported
    #[arg(long)]
    pub(crate) stdio: bool,
    /// Execution whose values of variables are shown: an id, or `last`
    #[arg(long, value_name = "ID", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) execution: Option<Chosen>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

pub(crate) const LSP_EXAMPLES: &str = "\
The language server protocol is spoken on standard input and output. An editor starts this command;
docs/editors.md has the settings of VS Code, Neovim, Helix and Zed. Names of credentials and playbooks,
and the values of an execution, are those of the configured server, else of the embedded database.

Examples:
  noetl lsp
  noetl lsp --execution last
  noetl lsp --server http://localhost:8082";

const LINT_EXAMPLES: &str = "\
In directories, YAML files of the kinds Playbook, Schedule, Subscription and Notification are checked.
A comment suppresses a rule on its line, or on the next line if it stands alone:
`# noetl: ignore[shell-template]`. `# noetl: ignore-file[CODE]` holds for the file.

Exit codes: 0 no errors, 1 errors (or warnings with --deny-warnings), 2 a file cannot be read.

Examples:
  noetl lint
  noetl lint playbooks/ --fix
  noetl lint playbooks/ --format sarif > lint.sarif
  noetl lint --deny-warnings --format github
  noetl lint --level old-spelling=off --level shell-template=error";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  noetl explain unknown-name
  noetl explain";

const FMT_EXAMPLES: &str = "\
In directories, the documents that `noetl lint` checks and test files (NAME.test.yaml) are formatted.
Values, comments and their order stay the same: the result is parsed and compared before it is
written.

Exit codes: 0 formatted, 1 files are not formatted (--check), 2 a file cannot be formatted.

Examples:
  noetl fmt
  noetl fmt playbooks/ --check
  noetl fmt --stdin > formatted.yaml";
