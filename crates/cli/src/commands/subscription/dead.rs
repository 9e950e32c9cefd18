//! `noetl subscription dead`: lists, retries and deletes messages that could not be dispatched.

use noetl_api::wire::{DeadRetried, FailedMessageView};

use super::found;
use crate::args::{DeadChoiceArgs, DeadCommand, SubscriptionArgs};
use crate::backend::local::WorkerMode;
use crate::backend::{self, Backend, subscription_id};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::document;
use crate::show::output::table::{line, table};
use crate::show::terminal::{FAINT, Terminal, paint};

/// The most characters of a reason in the table.
const REASON_CHARS_MAX: usize = 60;
/// The most messages shown.
const LIST_MAX: usize = 10_000;

pub(super) async fn dead(
    command: &DeadCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match command {
        DeadCommand::List(args) => list(args, config, terminal).await,
        DeadCommand::Retry(args) => retry(args, config, terminal).await,
        DeadCommand::Drop(args) => drop_all(args, config, terminal).await,
    }
}

async fn list(
    args: &SubscriptionArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let backend = backend::open(&args.client, WorkerMode::None, config).await?;
    let messages = failed(&*backend, &args.subscription).await;
    backend.close().await;
    let messages = messages?;
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &messages))?,
        None if messages.is_empty() => terminal.say("no message has failed"),
        None => terminal.data(&text(&messages))?,
    }
    Ok(Exit::Completed)
}

async fn failed(
    backend: &dyn Backend,
    subscription: &str,
) -> Result<Vec<FailedMessageView>, Failure> {
    let id = subscription_id(&found(backend, subscription).await?)?;
    let mut messages: Vec<FailedMessageView> = Vec::new();
    let mut after = String::new();
    loop {
        let page = backend.failed_messages(id, &after).await?;
        messages.extend(page.messages);
        match page.next_after {
            Some(next) if messages.len() < LIST_MAX => after = next,
            Some(_) | None => return Ok(messages),
        }
    }
}

fn text(messages: &[FailedMessageView]) -> String {
    let header = ["MESSAGE", "STATUS", "FAILURES", "SINCE", "REASON"];
    let mut rows = vec![header.iter().map(|name| paint(FAINT, name)).collect()];
    rows.extend(messages.iter().map(|it| {
        vec![
            it.name.clone(),
            it.status.to_lowercase(),
            it.failures.to_string(),
            it.first_at.clone(),
            line(&it.reason, REASON_CHARS_MAX),
        ]
    }));
    table(&rows)
}

async fn retry(
    args: &DeadChoiceArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let backend = backend::open(&args.client, WorkerMode::None, config).await?;
    let retried = retry_at(&*backend, args).await;
    backend.close().await;
    let DeadRetried { started, duplicates, failed } = retried?;
    terminal.say(format!("{started} started, {duplicates} known already, {} failed", failed.len()));
    for failure in &failed {
        terminal.say(format!("{}: {}", failure.name, failure.reason));
    }
    Ok(if failed.is_empty() { Exit::Completed } else { Exit::Failed })
}

async fn drop_all(
    args: &DeadChoiceArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let backend = backend::open(&args.client, WorkerMode::None, config).await?;
    let dropped = drop_at(&*backend, args).await;
    backend.close().await;
    terminal.say(format!("{} dropped", dropped?));
    Ok(Exit::Completed)
}

async fn retry_at(backend: &dyn Backend, args: &DeadChoiceArgs) -> Result<DeadRetried, Failure> {
    let id = subscription_id(&found(backend, &args.subscription).await?)?;
    backend.retry_dead(id, &args.messages).await
}

async fn drop_at(backend: &dyn Backend, args: &DeadChoiceArgs) -> Result<u64, Failure> {
    let id = subscription_id(&found(backend, &args.subscription).await?)?;
    backend.drop_dead(id, &args.messages).await
}
