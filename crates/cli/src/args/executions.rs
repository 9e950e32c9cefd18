//! The arguments of `noetl executions`.

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;
use noetl_app::BulkFilter;
use noetl_model::{
    Actor, CatalogId, ExecutionId, ExecutionStatus, Label, SearchText, Seq, SignalKey, Timestamp,
};

use super::{
    BulkArgs, Chosen, ClientArgs, DatabaseArgs, EventsFormat, ForkArgs, Format, PauseArgs,
    RetryArgs, TimelineArgs, WatchArgs, WorkloadArgs,
};
use crate::input::candidates;

pub(super) const EXECUTIONS_EXAMPLES: &str = "\
Examples:
  noetl executions list --status failed
  noetl executions get last
  noetl executions events last --follow";

const LIST_EXAMPLES: &str = "\
Examples:
  noetl executions list
  noetl executions list --all --status failed --path examples/ --limit 5
  noetl executions list --parent 380247909993574400
  noetl executions list --label team=ops --label env=prod --status failed
  noetl executions list --actor ada
  noetl executions list --text 'orders timeout'
  noetl executions list --since 2026-01-31T09:30:00Z --until 2026-01-31T10:00:00Z
  noetl executions list --output json";

const GET_EXAMPLES: &str = "\
Examples:
  noetl executions get last
  noetl executions get 380247909993574400 --output json";

const EVENTS_EXAMPLES: &str = "\
Examples:
  noetl executions events last
  noetl executions events last --follow
  noetl executions events 380247909993574400 --after 100 --limit 50 --output jsonl";

const LOGS_EXAMPLES: &str = "\
Each line begins with its step, with the item of a loop and the attempt if there are several:
`load[3] attempt 2 | text`. With --step, lines of the step itself have no such beginning.

Examples:
  noetl logs last
  noetl logs last --follow
  noetl logs 380247909993574400 --step train --attempt 2 --timestamps
  noetl logs last --stderr --output jsonl";

const SIGNAL_EXAMPLES: &str = "\
A step of kind `wait` with `signal: NAME` ends with the signal. If no step waits for it yet, the
signal is kept, and the next step that waits for its name gets it. Signals of one name are delivered
in order.

With --key, no execution is named: the oldest step that waits for the name with this correlation key
gets the signal. If none waits yet, the signal is kept for 7 days; `noetl signals list` shows it.

Examples:
  noetl signal last payment --data '{\"amount\": 12}' --sender shop
  noetl signal 478775660589088776 paid --idempotency-key request-7
  noetl signal --key A-1001 payment '{\"amount\": 12}'";
const CANCEL_EXAMPLES: &str = "\
If a server on this machine has the database open, the request goes to that server. An execution
that `noetl run` is running is cancelled with Ctrl-C in its terminal.

With --where, the number of executions is printed first. On a terminal the command then asks;
elsewhere it needs --yes. A server carries the job on if this command is interrupted.
Exit codes: 0 all done, 1 some failed, 2 not confirmed.

Examples:
  noetl executions cancel last
  noetl cancel 380247909993574400 --server https://noetl.example.org:8082
  noetl executions cancel 380247909993574400 --reason 'wrong file'
  noetl executions cancel --where 'path=team/* since=2026-01-31T09:30:00Z'
  noetl executions cancel --where 'status=RUNNING part=import' --yes
  noetl executions cancel --where 'label=team:ops label=env:test'";

const DELETE_EXAMPLES: &str = "\
Events, payloads and output are deleted. The path, status, times and the digest of the last event
remain (`GET /api/executions/ID/tombstone`). Running executions are left, and those that are still
needed: parents and children of running ones, origins of forks, and executions marked by
`noetl executions keep`.
Exit codes: 0 all done, 1 some failed, 2 not confirmed.

Examples:
  noetl executions delete 380247909993574400 --yes
  noetl executions delete --where 'status=COMPLETED path=team/* until=2026-01-31T00:00:00Z'";

const KEEP_EXAMPLES: &str = "\
Examples:
  noetl executions keep last --reason 'audit 2026'
  noetl executions keep 380247909993574400 --end";

const RERUN_EXAMPLES: &str = "\
Examples:
  noetl executions rerun last
  noetl executions rerun 380247909993574400 --set name=Ada
  noetl executions rerun --where 'status=COMPLETED path=team/report since=2026-01-31T00:00:00Z' --yes";

const RESUME_EXAMPLES: &str = "\
Steps that have ended are not run again. A tool call that was interrupted is run again.
Exit codes: 0 all completed, 1 one failed, 130 cancelled.

Examples:
  noetl resume
  noetl resume last
  noetl resume 380247909993574400 --output json";

#[derive(Debug, Subcommand)]
pub(crate) enum ExecutionsCommand {
    /// List executions, newest first
    List(ListArgs),
    /// Show one execution: its status, steps, output or error
    Get(GetArgs),
    /// Show the events of one execution
    Events(EventsArgs),
    /// Draw when each step of one execution waited and ran
    Timeline(TimelineArgs),
    /// Cancel an execution, its running steps and its children
    Cancel(CancelArgs),
    /// Delete ended executions; a record of each remains
    Delete(DeleteArgs),
    /// Keep an execution, whatever the retention settings say
    Keep(KeepArgs),
    /// Let running commands of an execution end, and start nothing new
    Pause(PauseArgs),
    /// Let a paused execution go on
    Unpause(PauseArgs),
    /// Run the same playbook version again with the same workload
    Rerun(RerunArgs),
    /// Start a new execution with the history of another one up to an event
    Fork(ForkArgs),
    /// Retry what failed, in a new execution that keeps what succeeded
    Retry(RetryArgs),
    /// Resume interrupted executions and run them to their end
    Resume(ResumeArgs),
}

#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct ListArgs {
    /// Only executions with this status: running, completed, failed or cancelled
    #[arg(long, value_parser = parse_status)]
    pub(crate) status: Option<ExecutionStatus>,
    /// Only executions whose playbook path contains this text
    #[arg(long)]
    pub(crate) path: Option<String>,
    /// Only executions of this playbook version, by its id in the catalog
    #[arg(long, value_name = "ID")]
    pub(crate) catalog_id: Option<CatalogId>,
    /// Only children of this execution
    #[arg(long, value_name = "ID", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) parent: Option<ExecutionId>,
    /// Only executions with this label: KEY=VALUE (repeatable; all of them have to match)
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub(crate) labels: Vec<Label>,
    /// Only executions that this person or program started
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<Actor>,
    /// Only executions with these words in the path, a label's value, the error message or the reason of a
    /// cancellation
    #[arg(long, value_name = "WORDS")]
    pub(crate) text: Option<SearchText>,
    /// Only executions started at this time or later, such as 2026-01-31T09:30:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<Timestamp>,
    /// Only executions started at this time or earlier
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<Timestamp>,
    /// Include child executions
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Maximum number of executions
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
    pub(crate) limit: u16,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = GET_EXAMPLES)]
pub(crate) struct GetArgs {
    /// Id of an execution, or `last`
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) execution: Chosen,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = EVENTS_EXAMPLES)]
pub(crate) struct EventsArgs {
    /// Id of an execution, or `last`
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) execution: Chosen,
    /// Only events after this one
    #[arg(long, value_name = "SEQ", default_value = "0")]
    pub(crate) after: Seq,
    /// Maximum number of events
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Continue until the execution has ended
    #[arg(short, long)]
    pub(crate) follow: bool,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: EventsFormat,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = CANCEL_EXAMPLES)]
pub(crate) struct CancelArgs {
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
    /// Reason, stored with the execution
    #[arg(long, default_value = "cancelled on the command line")]
    pub(crate) reason: String,
    /// Do not cancel its child executions
    #[arg(long)]
    pub(crate) no_cascade: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = DELETE_EXAMPLES)]
pub(crate) struct DeleteArgs {
    /// Ids of executions
    #[arg(
        value_name = "ID",
        required_unless_present = "conditions",
        conflicts_with = "conditions",
        add = ArgValueCandidates::new(candidates::executions)
    )]
    pub(crate) executions: Vec<ExecutionId>,
    /// Instead of ids: all ended executions that match, such as 'status=COMPLETED path=team/*'
    #[arg(
        long = "where",
        value_name = "CONDITIONS",
        value_parser = super::bulk::parse_conditions,
        add = ArgValueCandidates::new(candidates::conditions)
    )]
    pub(crate) conditions: Option<BulkFilter>,
    /// Do not ask before deleting
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = KEEP_EXAMPLES)]
pub(crate) struct KeepArgs {
    /// Id of an execution, or `last`
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) execution: Chosen,
    /// Reason, shown to others
    #[arg(long, conflicts_with = "end")]
    pub(crate) reason: Option<String>,
    /// Remove the mark
    #[arg(long)]
    pub(crate) end: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = LOGS_EXAMPLES)]
pub(crate) struct LogsArgs {
    /// Id of an execution, or `last`
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) execution: Chosen,
    /// Only output of this step
    #[arg(long, value_name = "STEP")]
    pub(crate) step: Option<String>,
    /// Only output of this attempt of a step, from 1
    #[arg(long, value_name = "N")]
    pub(crate) attempt: Option<u32>,
    /// Continue until the execution has ended
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Begin each line with the time at which it was printed
    #[arg(short, long)]
    pub(crate) timestamps: bool,
    /// Only what was printed to standard error
    #[arg(long)]
    pub(crate) stderr: bool,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: EventsFormat,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = SIGNAL_EXAMPLES)]
pub(crate) struct SignalArgs {
    /// Id of an execution, or `last`; with --key, the name of the signal
    #[arg(value_name = "ID|NAME", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) first: String,
    /// Name of the signal that a step waits for; with --key, the body of the signal
    #[arg(value_name = "NAME|BODY", required_unless_present = "key")]
    pub(crate) second: Option<String>,
    /// Body of the signal: JSON, @FILE (JSON or YAML), or - for standard input
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) data: Option<String>,
    /// Name of the sender, as the step's output shows it
    #[arg(long, value_name = "NAME")]
    pub(crate) sender: Option<String>,
    /// Correlation key of the step that waits, in any execution
    #[arg(long)]
    pub(crate) key: Option<SignalKey>,
    /// Idempotency key: a signal with a known key changes nothing; with another body it is refused
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = RERUN_EXAMPLES)]
pub(crate) struct RerunArgs {
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
    pub(crate) workload: WorkloadArgs,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = RESUME_EXAMPLES)]
pub(crate) struct ResumeArgs {
    /// Wait for this execution only: its id, or `last`
    #[arg(value_name = "ID")]
    pub(crate) execution: Option<Chosen>,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

pub(super) fn parse_status(text: &str) -> Result<ExecutionStatus, String> {
    text.to_uppercase().parse().map_err(|_| {
        let known: Vec<String> =
            ExecutionStatus::ALL.iter().map(|status| status.as_str().to_lowercase()).collect();
        format!("a status is one of {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_understood_in_any_case_and_refused_with_the_list() {
        assert_eq!(parse_status("failed"), Ok(ExecutionStatus::Failed));
        let known = "a status is one of running, completed, failed, cancelled";
        assert_eq!(parse_status("done"), Err(known.to_owned()));
    }
}
