//! `noetl executions delete` and `keep`: deletes ended executions, or protects them from it.

use noetl_app::{BulkAction, BulkChoice, BulkRequest};

use super::bulk::act;
use crate::args::{DeleteArgs, KeepArgs};
use crate::backend;
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

pub(crate) async fn delete(
    args: &DeleteArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let choice = match &args.conditions {
        Some(conditions) => BulkChoice::Filter(conditions.clone()),
        None => BulkChoice::Ids(args.executions.clone()),
    };
    let request = BulkRequest { action: BulkAction::Delete, choice, reason: None };
    act(&request, args.yes, &args.client, config, terminal).await
}

pub(crate) async fn keep(
    args: &KeepArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let execution = backend::with(&args.client, config, async |backend| {
        let id = backend.reader().chosen(args.execution).await?.summary.execution;
        match args.end {
            true => backend.end_keeping(id).await?,
            false => backend.keep(id, args.reason.clone()).await?,
        }
        Ok(id)
    });
    let execution = execution.await?;
    terminal.say(match args.end {
        true => format!("execution {execution} is kept as the retention settings say"),
        false => format!("execution {execution} is kept"),
    });
    Ok(Exit::Completed)
}
