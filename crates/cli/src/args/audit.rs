//! The arguments of `noetl audit`.

use clap::Args;
use noetl_model::Timestamp;

use super::{ClientArgs, Format};

const EXAMPLES: &str = "\
The audit log records who changed what, from where, and with which outcome, and every access to a
secret. `noetl verify --all` verifies its chain of digests.

Examples:
  noetl audit
  noetl audit --since 2026-01-31T00:00:00Z --actor ada
  noetl audit --action /api/tokens --limit 20 --output json
  noetl audit --action secret. --server https://noetl.example.org:8082";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AuditArgs {
    /// Only entries from this time on, such as 2026-01-31T09:30:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<Timestamp>,
    /// Only entries of this actor
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// Only entries whose action contains this text, such as /api/tokens or secret.
    #[arg(long, value_name = "TEXT")]
    pub(crate) action: Option<String>,
    /// The most entries to print: the newest
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) limit: u32,
    /// Go on with entries as they are written, one per line, until interrupted
    #[arg(long)]
    pub(crate) follow: bool,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}
