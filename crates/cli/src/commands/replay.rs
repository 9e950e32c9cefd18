//! `noetl replay`: shows an execution as of a moment, or what changed between two moments or
//! executions.

use noetl_app::KnownExecution;
use noetl_compat::ReplayRequest;
use noetl_model::{Cutoff, ExecutionId, LogOrigin};
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
    let known = reader.chosen(args.execution).await?;
    let other = match args.against {
        Some(other) => Some(reader.chosen(other).await?),
        None => None,
    };
    let shown = match (args.diff, other) {
        (None, None) => state(args, &*reader, known.summary.execution).await?,
        (moments, other) => {
            let both_ends = Moments { from: Cutoff::Latest, to: Cutoff::Latest };
            let Moments { from, to } = moments.unwrap_or(both_ends);
            let before = picture(&*reader, &known, from).await?;
            let after = picture(&*reader, other.as_ref().unwrap_or(&known), to).await?;
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

/// Returns the state of an execution as of a cutoff; of a log that the engine does not write, its
/// published projections.
async fn picture(
    reader: &dyn BackendReader,
    known: &KnownExecution,
    cutoff: Cutoff,
) -> Result<serde_json::Value, Failure> {
    let execution = known.summary.execution;
    match known.origin {
        LogOrigin::Native => {}
        LogOrigin::Imported | LogOrigin::Subscription => {
            let projection = ReplayRequest::of(execution, cutoff).projection;
            return Ok(reader.replay(execution, cutoff, projection).await?.document());
        }
    }
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
