//! `noetl executions cancel`: cancels an execution on the database or server that has it.

use noetl_app::BulkAction;
use noetl_model::ChildExecutions;

use super::bulk::bulk;
use crate::args::CancelArgs;
use crate::backend;
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

pub(crate) async fn cancel(
    args: &CancelArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let Some(chosen) = args.execution else {
        let reason = Some(args.reason.as_str());
        return bulk(BulkAction::Cancel, &args.bulk, reason, &args.client, config, terminal).await;
    };
    let below = if args.no_cascade { ChildExecutions::Kept } else { ChildExecutions::Cancelled };
    let cancelled = backend::with(&args.client, config, async |backend| {
        let execution = backend.reader().chosen_here(chosen).await?.execution;
        backend.cancel(execution, &args.reason, below).await?;
        Ok(execution)
    });
    terminal.say(format!("cancelled execution {}", cancelled.await?));
    Ok(Exit::Completed)
}
