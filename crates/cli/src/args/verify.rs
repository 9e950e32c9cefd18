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

Verifies the chain of digests in the log, that each event is legal after the previous ones, and that
summary, queue, timers, snapshot and large values match the log. Prints the first fault found; the
exit code is then 1. Store the printed digest elsewhere to detect later changes with --expect.";

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
    /// Verify all executions and the audit log
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
