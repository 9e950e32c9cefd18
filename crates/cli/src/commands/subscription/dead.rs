//! `noetl subscription dead`: lists, retries and deletes messages that could not be dispatched.

use noetl_api::wire::{DeadDropped, DeadRetried, FailedMessageView, FailedMessagesView};
use serde_json::json;

use super::found;
use crate::args::{DeadChoiceArgs, DeadCommand, SubscriptionArgs};
use crate::config::Config;
use crate::door::{Door, part};
use crate::failure::{Exit, Failure};
use crate::output::document;
use crate::output::table::{line, table};
use crate::terminal::{FAINT, Terminal, paint};

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
    let door = Door::open(&args.client, config).await?;
    let messages = failed(&door, &args.subscription).await;
    door.close().await;
    let messages = messages?;
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &messages))?,
        None if messages.is_empty() => terminal.say("no message has failed"),
        None => terminal.data(&text(&messages))?,
    }
    Ok(Exit::Completed)
}

async fn failed(door: &Door, subscription: &str) -> Result<Vec<FailedMessageView>, Failure> {
    let id = found(door, subscription).await?.subscription_id;
    let mut messages: Vec<FailedMessageView> = Vec::new();
    let mut after = String::new();
    loop {
        let path = format!("api/subscriptions/{}/dead?after={}", part(&id), part(&after));
        let page: FailedMessagesView = door.get(&path).await?;
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
    let door = Door::open(&args.client, config).await?;
    let retried = changed::<DeadRetried>(&door, args, "retry").await;
    door.close().await;
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
    let door = Door::open(&args.client, config).await?;
    let dropped = changed::<DeadDropped>(&door, args, "drop").await;
    door.close().await;
    terminal.say(format!("{} dropped", dropped?.dropped));
    Ok(Exit::Completed)
}

async fn changed<T: serde::de::DeserializeOwned>(
    door: &Door,
    args: &DeadChoiceArgs,
    what: &str,
) -> Result<T, Failure> {
    let id = found(door, &args.subscription).await?.subscription_id;
    let body = json!({ "names": args.messages });
    door.post(&format!("api/subscriptions/{}/dead/{what}", part(&id)), &body).await
}
