//! The arguments of `noetl export`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use super::{Chosen, ClientArgs};
use crate::input::candidates;

const EXAMPLES: &str = "\
Examples:
  noetl export last --to order.bundle
  noetl export 381901514672619520 --to order.bundle --server https://noetl.example.org:8082
  noetl verify last --db order.bundle
  noetl replay last --db order.bundle --at-event 5
  noetl executions events last --db order.bundle

A bundle is one file with events, values, playbook versions and digests; the origins of forks are
included. Every command that reads executions opens it with --db, on any machine. Secret inputs stay
encrypted with a key that is not in the bundle.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArgs {
    /// Ids of executions, or `last`
    #[arg(
        value_name = "ID",
        required = true,
        add = ArgValueCandidates::new(candidates::executions)
    )]
    pub(crate) executions: Vec<Chosen>,
    /// File of the bundle, which must not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}
