//! The arguments of pauses and limits.

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;

use super::{Chosen, ClientArgs, Format};
use crate::input::candidates;

pub(super) const POOLS_EXAMPLES: &str = "\
A paused pool leases no commands: its workers finish what they run and get nothing new.

Examples:
  noetl pools list
  noetl pools pause gpu --reason 'new driver'
  noetl pools resume gpu";

pub(super) const LIMITS_EXAMPLES: &str = "\
A limit is in use once a step with `limit` or an execution of a playbook with `concurrency` has asked
for a slot.

Examples:
  noetl limits list
  noetl limits show crm
  noetl limits show playbook:jobs/import --output json";

const PAUSE_EXAMPLES: &str = "\
Running commands end, nothing new starts, and children are paused too. Time limits go on.

Examples:
  noetl executions pause last
  noetl executions pause 380247909993574400 --reason 'wait for the new table'
  noetl executions unpause last";

const CATALOG_PAUSE_EXAMPLES: &str = "\
Running executions of a paused playbook are paused, and new ones do not begin until it is resumed.

Examples:
  noetl catalog pause jobs/import --reason 'the source is down'
  noetl catalog resume jobs/import";

#[derive(Debug, Subcommand)]
pub(crate) enum PoolsCommand {
    /// List the paused pools and playbooks
    List(HoldListArgs),
    /// Lease no further commands of a pool
    Pause(PoolArgs),
    /// Lease commands of a paused pool again
    Resume(PoolArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum LimitsCommand {
    /// List the limits with their holders and waiting requests
    List(LimitListArgs),
    /// Show who holds a limit and who waits for it
    Show(LimitArgs),
}

#[derive(Debug, Args)]
#[command(after_help = POOLS_EXAMPLES)]
pub(crate) struct HoldListArgs {
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = LIMITS_EXAMPLES)]
pub(crate) struct LimitListArgs {
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = LIMITS_EXAMPLES)]
pub(crate) struct LimitArgs {
    /// Name of the limit
    pub(crate) name: String,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// The caller and the reason, as an execution's log shows them.
#[derive(Debug, Args)]
pub(crate) struct CallerArgs {
    /// Name of the caller [default: the login name]
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// Reason, shown wherever the pause is
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = POOLS_EXAMPLES)]
pub(crate) struct PoolArgs {
    /// Name of the pool
    pub(crate) pool: String,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = PAUSE_EXAMPLES)]
pub(crate) struct PauseArgs {
    /// Id of an execution, or `last`
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) execution: Chosen,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = CATALOG_PAUSE_EXAMPLES)]
pub(crate) struct CatalogPauseArgs {
    /// Path of a registered playbook
    #[arg(value_name = "PATH", add = ArgValueCandidates::new(candidates::playbooks))]
    pub(crate) path: String,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}
