//! The arguments of `noetl verify`.

use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use noetl_model::Digest;

use super::{Chosen, ClientArgs, Format};
use crate::input::candidates;

const EXAMPLES: &str = "\
Examples:
  noetl verify last
  noetl verify --all
  noetl verify --all --server https://noetl.example.org:8082
  noetl verify last --expect 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08

Checked are the log's chain of digests, that each event is legal after those before it, and that
summary, queue, timers, snapshot and large values are what follows from the log. The first thing that
is wrong is named, and the exit code is 1. The digest it prints is evidence, if it is kept elsewhere.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// Id of an execution, or `last`
    #[arg(
        value_name = "ID",
        required_unless_present = "all",
        conflicts_with = "all",
        add = ArgValueCandidates::new(candidates::executions)
    )]
    pub(crate) execution: Option<Chosen>,
    /// Verify all executions
    #[arg(long)]
    pub(crate) all: bool,
    /// Digest that the last event must have
    #[arg(long, value_name = "DIGEST", conflicts_with = "all")]
    pub(crate) expect: Option<Digest>,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}
