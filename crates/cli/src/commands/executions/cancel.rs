//! `noetl executions cancel`: cancels an execution on the database or server that has it.

use noetl_model::{Below, ExecutionId};

use crate::args::CancelArgs;
use crate::backend::local::WorkerMode;
use crate::backend::{self, Backend};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

pub(crate) async fn cancel(
    args: &CancelArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let backend = backend::open(&args.client, WorkerMode::None, config).await?;
    let cancelled = cancel_in(&*backend, args).await;
    backend.close().await;
    terminal.say(format!("cancelled execution {}", cancelled?));
    Ok(Exit::Completed)
}

async fn cancel_in(backend: &dyn Backend, args: &CancelArgs) -> Result<ExecutionId, Failure> {
    let execution = backend.reader().chosen(args.execution).await?.execution;
    let below = if args.no_cascade { Below::Spared } else { Below::Cancelled };
    backend.cancel(execution, &args.reason, below).await?;
    Ok(execution)
}
