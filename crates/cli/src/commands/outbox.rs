//! `noetl outbox`: lists, retries and drops pending messages.

use noetl_api::wire::{OutboxChanged, OutboxMessage, OutboxPage};
use serde_json::json;

use crate::args::{OutboxChoiceArgs, OutboxCommand, OutboxListArgs};
use crate::config::Config;
use crate::door::Door;
use crate::failure::{Exit, Failure};
use crate::output::document;
use crate::output::table::{line, table};
use crate::terminal::{FAINT, Terminal, paint};

/// The most characters of an error in the table.
const ERROR_CHARS_MAX: usize = 60;
/// The most messages changed by one request.
const AT_ONCE: usize = 1000;

pub(crate) async fn outbox(
    command: &OutboxCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match command {
        OutboxCommand::List(args) => list(args, config, terminal).await,
        OutboxCommand::Retry(args) => change(args, "retry", config, terminal).await,
        OutboxCommand::Drop(args) => change(args, "drop", config, terminal).await,
    }
}

async fn list(
    args: &OutboxListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let door = Door::open(&args.client, config).await?;
    let page = messages(&door, args.status.as_deref(), 0, args.limit.into()).await;
    door.close().await;
    let messages = page?.messages;
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &messages))?,
        None if messages.is_empty() => terminal.say("nothing is owed"),
        None => terminal.data(&text(&messages))?,
    }
    Ok(Exit::Completed)
}

async fn messages(
    door: &Door,
    status: Option<&str>,
    after: i64,
    limit: usize,
) -> Result<OutboxPage, Failure> {
    let status = status.map(|status| format!("&status={status}")).unwrap_or_default();
    door.get(&format!("api/internal/outbox/messages?after={after}&limit={limit}{status}")).await
}

fn text(messages: &[OutboxMessage]) -> String {
    let header = ["MESSAGE", "STATUS", "KIND", "EXECUTION", "TRIES", "SINCE", "ERROR"];
    let mut rows = vec![header.iter().map(|name| paint(FAINT, name)).collect()];
    rows.extend(messages.iter().map(|message| {
        vec![
            message.outbox_id.to_string(),
            message.status.to_lowercase(),
            message.kind.clone(),
            message.execution_id.clone(),
            message.attempts.to_string(),
            message.created_at.clone(),
            line(message.last_error.as_deref().unwrap_or_default(), ERROR_CHARS_MAX),
        ]
    }));
    table(&rows)
}

async fn change(
    args: &OutboxChoiceArgs,
    what: &str,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let door = Door::open(&args.client, config).await?;
    let changed = change_at(&door, args, what).await;
    door.close().await;
    terminal.say(format!("{what}: {} messages", changed?));
    Ok(Exit::Completed)
}

async fn change_at(door: &Door, args: &OutboxChoiceArgs, what: &str) -> Result<u64, Failure> {
    let path = format!("api/internal/outbox/{what}");
    let mut sum = 0;
    if !args.dead {
        for ids in args.messages.chunks(AT_ONCE) {
            let answer: OutboxChanged = door.post(&path, &json!({ "outbox_ids": ids })).await?;
            sum += answer.changed;
        }
        return Ok(sum);
    }
    let mut after = 0;
    loop {
        let page = messages(door, Some("dead"), after, AT_ONCE).await?;
        let ids: Vec<i64> = page.messages.iter().map(|message| message.outbox_id).collect();
        if !ids.is_empty() {
            let answer: OutboxChanged = door.post(&path, &json!({ "outbox_ids": ids })).await?;
            sum += answer.changed;
        }
        match page.next_after {
            Some(next) => after = next,
            None => return Ok(sum),
        }
    }
}
