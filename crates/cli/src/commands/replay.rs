//! `noetl replay`: shows an execution as of a moment, or what changed between two moments or
//! executions.

use noetl_compat::{DEFAULT_TENANT, ReplayQuestion, ReplayState, Replayer, replay_of_server};
use noetl_model::{Cutoff, ExecutionId};
use noetl_replay::{Picture, Wanted, difference};

use crate::args::{Moments, ReplayArgs};
use crate::backend;
use crate::config::Config;
use crate::history::History;
use crate::remote::refused;
use crate::show::failure::{Exit, Failure};
use crate::show::output::document;
use crate::show::output::replay::{changes, projections};
use crate::show::terminal::Terminal;

pub(crate) async fn replay(
    args: &ReplayArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (history, _) = backend::history(&args.client, config).await?;
    let execution = history.chosen(args.execution).await?.execution;
    let other = match args.against {
        Some(other) => Some(history.chosen(other).await?.execution),
        None => None,
    };
    let shown = match (args.diff, other) {
        (None, None) => state(args, &history, execution).await?,
        (moments, other) => {
            let both_ends = Moments { from: Cutoff::Latest, to: Cutoff::Latest };
            let Moments { from, to } = moments.unwrap_or(both_ends);
            let before = picture(&history, execution, from).await?;
            let after = picture(&history, other.unwrap_or(execution), to).await?;
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
    history: &History,
    execution: ExecutionId,
) -> Result<String, Failure> {
    let state = match history {
        // The server has the snapshots of earlier replays.
        History::Server(client) => {
            let asked = replay_of_server(client, execution, args.cutoff(), args.projection).await;
            asked.map_err(refused)?
        }
        History::Store(_) => replayed(args, history, execution).await?,
    };
    Ok(match args.output.document() {
        Some(format) => document(format, &state),
        None => projections(&state),
    })
}

async fn replayed(
    args: &ReplayArgs,
    history: &History,
    execution: ExecutionId,
) -> Result<ReplayState, Failure> {
    let mut replayer = Replayer::new(&ReplayQuestion {
        execution,
        tenant: DEFAULT_TENANT.to_owned(),
        organization: DEFAULT_TENANT.to_owned(),
        cutoff: args.cutoff(),
        projection: args.projection,
        limit: u64::MAX,
    });
    history.read(execution, |recorded| Ok(replayer.see(recorded))).await?;
    Ok(replayer.finish())
}

async fn picture(
    history: &History,
    execution: ExecutionId,
    cutoff: Cutoff,
) -> Result<serde_json::Value, Failure> {
    let mut picture = Picture::new(execution);
    history
        .read(execution, |recorded| {
            if !cutoff.admits(recorded) {
                return Ok(Wanted::Enough);
            }
            picture.see(recorded).map_err(Failure::broken)?;
            Ok(Wanted::More)
        })
        .await?;
    Ok(picture.document())
}
