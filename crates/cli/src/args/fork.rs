//! The arguments of `noetl executions fork` and `retry`.

use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use noetl_model::Seq;

use super::{BulkArgs, Chosen, ClientArgs, WatchArgs, WorkloadArgs};
use crate::input::candidates;
use crate::input::workload::ValueAssignment;

const FORK_EXAMPLES: &str = "\
Examples:
  noetl executions fork last --at-event 12
  noetl executions fork last --at-event 12 --set limit=5 --ctx seen=true
  noetl executions fork 380248615345483776 --at-event 7 --playbook fixed.yaml

The fork shares the history up to that event and continues from there; tool calls that were running
at that point are run again. The terminal event is never shared: a fork at the last event starts just
before it.";

const RETRY_EXAMPLES: &str = "\
Examples:
  noetl executions retry last
  noetl executions retry last --playbook fixed.yaml
  noetl executions retry 380248615345483776 --set url=https://example.test/
  noetl executions retry --where 'status=FAILED path=team/*'
  noetl executions retry --where 'status=FAILED since=2026-01-31T00:00:00Z' --yes

Steps that succeeded are kept. Of a loop, only the items that failed are run again.";

#[derive(Debug, Args)]
#[command(after_help = FORK_EXAMPLES)]
pub(crate) struct ForkArgs {
    /// Id of an execution, or `last`
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) execution: Chosen,
    /// Last event of the shared history
    #[arg(long, value_name = "SEQ")]
    pub(crate) at_event: Seq,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
}

#[derive(Debug, Args)]
#[command(after_help = RETRY_EXAMPLES)]
pub(crate) struct RetryArgs {
    /// Id of an execution, or `last`
    #[arg(
        value_name = "ID",
        required_unless_present = "conditions",
        conflicts_with = "conditions",
        add = ArgValueCandidates::new(candidates::executions)
    )]
    pub(crate) execution: Option<Chosen>,
    #[command(flatten)]
    pub(crate) bulk: BulkArgs,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
}

/// The changes of a fork.
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// Continue with this playbook: a file, or `latest` for the newest version of the same path
    #[arg(long, value_name = "FILE")]
    pub(crate) playbook: Option<String>,
    /// Set a variable of `ctx`, as `--set` does for the workload
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) ctx: Vec<ValueAssignment>,
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}
