//! `noetl executions cancel`: cancels an execution on the database or server that has it.

use noetl_model::{Below, ExecutionId};

use crate::args::CancelArgs;
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::plane::{self, Plane};
use crate::session::Work;
use crate::terminal::Terminal;

pub(crate) async fn cancel(
    args: &CancelArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let plane = plane::open(&args.client, Work::Nowhere, config).await?;
    let cancelled = cancel_in(&*plane, args).await;
    plane.close().await;
    terminal.say(format!("cancelled execution {}", cancelled?));
    Ok(Exit::Completed)
}

async fn cancel_in(plane: &dyn Plane, args: &CancelArgs) -> Result<ExecutionId, Failure> {
    let execution = plane.history().chosen(args.execution).await?.execution;
    let below = if args.no_cascade { Below::Spared } else { Below::Cancelled };
    plane.cancel(execution, &args.reason, below).await?;
    Ok(execution)
}
