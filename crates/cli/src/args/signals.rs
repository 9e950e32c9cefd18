//! Arguments of `noetl signals`.

use clap::{Args, Subcommand};
use noetl_model::{SignalKey, SignalName};

use super::{ClientArgs, Format};

pub(super) const SIGNALS_EXAMPLES: &str = "\
`noetl signal --key KEY NAME` sends a signal by correlation key. If no step waits for it, it is kept until
one does, or until it expires.

Examples:
  noetl signals list
  noetl signals list --name payment --key A-1001
  noetl signals drop 478775660589088776
  noetl signals drop --name payment --key A-1001";

#[derive(Debug, Subcommand)]
pub(crate) enum SignalsCommand {
    /// List the signals that no step has taken, the oldest first
    List(SignalListArgs),
    /// Drop signals, so that no step gets them
    Drop(SignalDropArgs),
}

/// The name and the key of signals.
#[derive(Debug, Clone, Args)]
pub(crate) struct SignalFilterArgs {
    /// Only signals of this name
    #[arg(long)]
    pub(crate) name: Option<SignalName>,
    /// Only signals with this correlation key
    #[arg(long)]
    pub(crate) key: Option<SignalKey>,
}

#[derive(Debug, Args)]
#[command(after_help = SIGNALS_EXAMPLES)]
pub(crate) struct SignalListArgs {
    #[command(flatten)]
    pub(crate) filter: SignalFilterArgs,
    /// Maximum number of signals
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: u32,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = SIGNALS_EXAMPLES)]
pub(crate) struct SignalDropArgs {
    /// Numbers of signals, from `noetl signals list`
    #[arg(value_name = "SIGNAL", required_unless_present_all = ["name", "key"], conflicts_with_all = ["name", "key"])]
    pub(crate) signals: Vec<i64>,
    #[command(flatten)]
    pub(crate) filter: SignalFilterArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}
