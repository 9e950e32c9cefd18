//! The arguments of `noetl replay` and `noetl executions timeline`.

use std::str::FromStr;

use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use noetl_compat::{Projection, UnknownProjection};
use noetl_model::{Cutoff, EventId, ParseCutoffError, Timestamp};

use super::{Chosen, ClientArgs, Format};
use crate::input::candidates;

#[derive(Debug, Args)]
#[command(after_help = REPLAY_EXAMPLES)]
pub(crate) struct ReplayArgs {
    /// Id of an execution, or `last`
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) execution: Chosen,
    /// State after this event: its place in the log (1, 2, 3, …) or its id
    #[arg(long, value_name = "N", conflicts_with = "at_time")]
    pub(crate) at_event: Option<i64>,
    /// State at this time, such as 2026-01-31T09:30:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) at_time: Option<Timestamp>,
    /// Projection to show: execution, stage, frame, command, business_object, loop or all
    #[arg(long, value_name = "WHAT", default_value = "all", value_parser = parse_projection)]
    pub(crate) projection: Projection,
    /// Compare two moments, each a place in the log, an event's id, a time or `latest`
    #[arg(long, value_name = "A..B", conflicts_with_all = ["at_event", "at_time", "projection"])]
    pub(crate) diff: Option<Moments>,
    /// Compare with another execution: its id, or `last`
    #[arg(long, value_name = "ID", conflicts_with_all = ["at_event", "at_time", "projection"])]
    pub(crate) against: Option<Chosen>,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

impl ReplayArgs {
    pub(crate) fn cutoff(&self) -> Cutoff {
        match (self.at_event, self.at_time) {
            (Some(number), _) => Cutoff::at_number(number),
            (None, Some(time)) => Cutoff::Time(time),
            (None, None) => Cutoff::Latest,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = TIMELINE_EXAMPLES)]
pub(crate) struct TimelineArgs {
    /// Id of an execution, or `last`
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) execution: Chosen,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// Two moments of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moments {
    pub(crate) from: Cutoff,
    pub(crate) to: Cutoff,
}

impl FromStr for Moments {
    type Err = ParseCutoffError;

    /// Parses `A..B`; the beginning if there is no A, the end if there is no B.
    fn from_str(text: &str) -> Result<Self, ParseCutoffError> {
        let (from, to) = text.split_once("..").unwrap_or((text, ""));
        let from = if from.is_empty() { Cutoff::Event(EventId(0)) } else { from.parse()? };
        let to = if to.is_empty() { Cutoff::Latest } else { to.parse()? };
        Ok(Self { from, to })
    }
}

fn parse_projection(text: &str) -> Result<Projection, UnknownProjection> {
    text.parse()
}

const REPLAY_EXAMPLES: &str = "\
Examples:
  noetl replay last
  noetl replay last --at-event 12 --projection command
  noetl replay last --at-time 2026-01-31T09:30:00Z --output json
  noetl replay last --diff 5..12
  noetl replay 380247909993574400 --against last";

const TIMELINE_EXAMPLES: &str = "\
Examples:
  noetl executions timeline last
  noetl executions timeline 380247909993574400 --output json";
