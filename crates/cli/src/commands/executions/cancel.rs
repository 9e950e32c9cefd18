//! `noetl executions cancel`: ends an execution that was left unfinished.

use crate::args::CancelArgs;
use crate::config::Config;
use crate::database;
use crate::failure::{Exit, Failure};
use crate::session::Session;
use crate::terminal::Terminal;

pub(crate) async fn cancel(
    args: &CancelArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let db = database::path_of(&args.database, config);
    let session = Session::without_worker(&db, config).await?;
    let cancelled = cancel_in(&session, args).await;
    session.close().await;
    terminal.say(format!("cancelled execution {}", cancelled?));
    Ok(Exit::Completed)
}

async fn cancel_in(
    session: &Session,
    args: &CancelArgs,
) -> Result<noetl_model::ExecutionId, Failure> {
    let execution = session.history().chosen(args.execution).await?.execution;
    session.cancel(execution, &args.reason).await?;
    Ok(execution)
}
