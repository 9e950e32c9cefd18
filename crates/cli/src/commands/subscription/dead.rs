//! `noetl subscription dead`: lists, retries and deletes messages that could not be dispatched.

use noetl_api::wire::{DeadRetried, FailedMessageView};

use super::found;
use crate::args::{DeadChoiceArgs, DeadCommand, SubscriptionArgs};
use crate::backend::{self, Backend, subscription_id};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::ListText;
use crate::show::output::table::line;
use crate::show::terminal::Terminal;

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
    let messages = backend::with(&args.client, config, async |backend| {
        failed(backend, &args.subscription).await
    });
    let text = ListText {
        empty: "no failed messages",
        header: &["MESSAGE", "STATUS", "FAILURES", "SINCE", "REASON"],
        row: |it: &FailedMessageView| {
            vec![
                it.name.clone(),
                it.status.to_lowercase(),
                it.failures.to_string(),
                it.first_at.clone(),
                line(&it.reason, REASON_CHARS_MAX),
            ]
        },
    };
    terminal.list(args.output, &messages.await?, &text)
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

async fn retry(
    args: &DeadChoiceArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let retried = backend::with(&args.client, config, async |backend| {
        let id = subscription_id(&found(backend, &args.subscription).await?)?;
        backend.retry_dead(id, &args.messages).await
    });
    let DeadRetried { started, duplicates, failed } = retried.await?;
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
    let dropped = backend::with(&args.client, config, async |backend| {
        let id = subscription_id(&found(backend, &args.subscription).await?)?;
        backend.drop_dead(id, &args.messages).await
    });
    terminal.say(format!("{} dropped", dropped.await?));
    Ok(Exit::Completed)
}
