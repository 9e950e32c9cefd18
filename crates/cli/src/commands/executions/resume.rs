//! `noetl resume`: runs interrupted executions to their end.

use crate::args::ResumeArgs;
use crate::backend::Backend as _;
use crate::backend::local::Session;
use crate::commands::conclude::Conclusion;
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;
use crate::wiring::database;

pub(crate) async fn resume(
    args: &ResumeArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let db = database::path_of(&args.database, config);
    let session = Session::open(&db, config).await?;
    let session = Box::new(session);
    let mut conclusion = Conclusion::new(&*session, &args.watch, config)?;
    let ended = resume_in(&mut conclusion, args, terminal).await;
    if !matches!(ended, Ok(Exit::Aborted)) {
        session.close().await;
    }
    ended
}

async fn resume_in(
    conclusion: &mut Conclusion<'_>,
    args: &ResumeArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    if let Some(chosen) = args.execution {
        let execution = conclusion.backend.reader().chosen_here(chosen).await?;
        return conclusion.of_one(execution, terminal).await;
    }
    let unfinished = conclusion.backend.unfinished().await?;
    if unfinished.is_empty() {
        terminal.say("nothing to continue: every execution has ended");
    }
    conclusion.of_several(&unfinished, terminal).await
}
