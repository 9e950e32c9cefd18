//! `noetl replay`: shows an execution as of a moment, or what changed between two moments or
//! executions.

use noetl_model::{Cutoff, ExecutionId};
use noetl_replay::{ComparableState, ReadOn, difference};

use crate::args::{Moments, ReplayArgs};
use crate::backend::{self, BackendReader};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::document;
use crate::show::output::replay::{changes, projections};
use crate::show::terminal::Terminal;

pub(crate) async fn replay(
    args: &ReplayArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let reader = backend::open_reader(&args.client, config).await?;
    let execution = reader.chosen(args.execution).await?.execution;
    let other = match args.against {
        Some(other) => Some(reader.chosen(other).await?.execution),
        None => None,
    };
    let shown = match (args.diff, other) {
        (None, None) => state(args, &*reader, execution).await?,
        (moments, other) => {
            let both_ends = Moments { from: Cutoff::Latest, to: Cutoff::Latest };
            let Moments { from, to } = moments.unwrap_or(both_ends);
            let before = picture(&*reader, execution, from).await?;
            let after = picture(&*reader, other.unwrap_or(execution), to).await?;
            let difference = difference(&before, &after);
            match args.output.document() {
                Some(format) => document(format, &difference),
                None => changes(&difference),
            }
        }
    };
    terminal.data(&shown)?;
    Ok(Exit::Completed)
}

async fn state(
    args: &ReplayArgs,
    reader: &dyn BackendReader,
    execution: ExecutionId,
) -> Result<String, Failure> {
    let state = reader.replay(execution, args.cutoff(), args.projection).await?;
    Ok(match args.output.document() {
        Some(format) => document(format, &state),
        None => projections(&state),
    })
}

async fn picture(
    reader: &dyn BackendReader,
    execution: ExecutionId,
    cutoff: Cutoff,
) -> Result<serde_json::Value, Failure> {
    let mut picture = ComparableState::new(execution);
    reader
        .read(execution, |recorded| {
            if !cutoff.admits(recorded) {
                return Ok(ReadOn::No);
            }
            picture.see(recorded).map_err(Failure::broken)?;
            Ok(ReadOn::Yes)
        })
        .await?;
    Ok(picture.document())
}
