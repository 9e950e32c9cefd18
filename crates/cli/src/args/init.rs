//! The arguments of `noetl init`, `noetl dev` and `noetl diff`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ClientArgs, DatabaseArgs};

#[derive(Debug, Args)]
#[command(after_help = INIT_EXAMPLES)]
pub(crate) struct InitArgs {
    /// Directory of the project; it is created if it does not exist
    #[arg(value_name = "DIRECTORY", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    pub(crate) directory: PathBuf,
    /// Name of the playbook
    #[arg(long, value_name = "NAME", default_value = "greet")]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
#[command(after_help = DEV_EXAMPLES)]
pub(crate) struct DevArgs {
    /// Directory with playbooks and their tests
    #[arg(value_name = "DIRECTORY", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    pub(crate) directory: PathBuf,
    /// Address to listen on [default: $NOETL_HOST and $NOETL_PORT, else 127.0.0.1:8082]
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
    /// Print the address of the web interface only, open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Do not run tests
    #[arg(long)]
    pub(crate) no_tests: bool,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

#[derive(Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub(crate) struct DiffArgs {
    /// Playbook file, or path of a registered playbook: PATH or PATH@VERSION
    #[arg(value_name = "OLD", value_hint = clap::ValueHint::FilePath)]
    pub(crate) old: String,
    /// The playbook to compare it with
    #[arg(value_name = "NEW", value_hint = clap::ValueHint::FilePath)]
    pub(crate) new: String,
    /// Format of the differences
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: DiffFormat,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// One line for each part that differs
    Text,
    /// One list of parts, with their whole values
    Json,
}

const INIT_EXAMPLES: &str = "\
Files that exist are kept. The playbook and its test must not exist.

Examples:
  noetl init
  noetl init shop --name order";

const DEV_EXAMPLES: &str = "\
A document with errors is not registered: the last valid version stays. Documents of deleted files stay in
the catalog. In another terminal, `noetl run PATH` runs a playbook on this server.

Examples:
  noetl dev
  noetl dev playbooks/ --no-browser";

const DIFF_EXAMPLES: &str = "\
Spelling, comments, and the order of keys and steps are no difference.

Exit codes: 0 the same meaning, 1 they differ, 2 one of them cannot be read.

Examples:
  noetl diff old.yaml new.yaml
  noetl diff demo/pipeline@2 demo/pipeline@3
  noetl diff demo/pipeline pipeline.yaml --format json";
