//! The arguments of `noetl schedule`.

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;

use super::{ClientArgs, Format};
use crate::input::candidates;

#[derive(Debug, Subcommand)]
pub(crate) enum ScheduleCommand {
    /// List schedules with the next instant of each
    List(ScheduleListArgs),
    /// Show the state and the recent history of a schedule
    Get(ScheduleArgs),
    /// Show the next instants
    Next(ScheduleNextArgs),
    /// Skip instants until the schedule is resumed
    Pause(ScheduleArgs),
    /// Continue with the next instant
    Resume(ScheduleArgs),
    /// Start an execution for every instant in a time range that has none
    Backfill(BackfillArgs),
}

#[derive(Debug, Args)]
#[command(after_help = SCHEDULE_EXAMPLES)]
pub(crate) struct ScheduleListArgs {
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = SCHEDULE_EXAMPLES)]
pub(crate) struct ScheduleArgs {
    /// Path of the schedule
    #[arg(value_name = "PATH", add = ArgValueCandidates::new(candidates::schedules))]
    pub(crate) path: String,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = NEXT_EXAMPLES)]
pub(crate) struct ScheduleNextArgs {
    /// Path of the schedule
    #[arg(value_name = "PATH", add = ArgValueCandidates::new(candidates::schedules))]
    pub(crate) path: String,
    /// Only instants after this time [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) after: Option<String>,
    /// Maximum number of instants
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = BACKFILL_EXAMPLES)]
pub(crate) struct BackfillArgs {
    /// Path of the schedule
    #[arg(value_name = "PATH", add = ArgValueCandidates::new(candidates::schedules))]
    pub(crate) path: String,
    /// First instant of the range
    #[arg(long, value_name = "TIME")]
    pub(crate) from: String,
    /// Last instant of the range [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only list the instants
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

pub(super) const SCHEDULE_EXAMPLES: &str = "\
`noetl register FILE` stores the document of a schedule in the catalog. A server starts an execution
at each of its instants.

Examples:
  noetl schedule list
  noetl schedule get schedules/nightly
  noetl schedule pause schedules/nightly --server https://noetl.example.org:8082";

const NEXT_EXAMPLES: &str = "\
Examples:
  noetl schedule next schedules/nightly
  noetl schedule next schedules/nightly --after 2027-03-27T00:00:00Z --limit 3";

const BACKFILL_EXAMPLES: &str = "\
All executions start immediately, regardless of the schedule's overlap policy. Instants that already
have an execution are skipped.

Examples:
  noetl schedule backfill schedules/nightly --from 2026-11-01T00:00:00Z --dry-run
  noetl schedule backfill schedules/nightly --from 2026-11-01T00:00:00Z --until 2026-11-07T00:00:00Z";
