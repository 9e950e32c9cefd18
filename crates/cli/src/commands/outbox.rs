//! `noetl outbox`: lists, retries and drops pending messages.

use noetl_api::wire::OutboxMessage;

use crate::args::{OutboxChoiceArgs, OutboxCommand, OutboxListArgs};
use crate::backend::{self, Backend};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::ListText;
use crate::show::output::table::line;
use crate::show::terminal::Terminal;

/// The most characters of an error in the table.
const ERROR_CHARS_MAX: usize = 60;
/// The most messages changed by one request.
const AT_ONCE: usize = 1000;

/// A change of messages.
#[derive(Debug, Clone, Copy)]
enum MessageChange {
    Retry,
    Drop,
}

pub(crate) async fn outbox(
    command: &OutboxCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match command {
        OutboxCommand::List(args) => list(args, config, terminal).await,
        OutboxCommand::Retry(args) => change(args, MessageChange::Retry, config, terminal).await,
        OutboxCommand::Drop(args) => change(args, MessageChange::Drop, config, terminal).await,
    }
}

async fn list(
    args: &OutboxListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let page = backend::with(&args.client, config, async |backend| {
        backend.messages(args.status.as_deref(), 0, args.limit.into()).await
    });
    let text = ListText {
        empty: "no pending messages",
        header: &["MESSAGE", "STATUS", "KIND", "EXECUTION", "TRIES", "SINCE", "ERROR"],
        row: |message: &OutboxMessage| {
            vec![
                message.outbox_id.to_string(),
                message.status.to_lowercase(),
                message.kind.clone(),
                message.execution_id.clone(),
                message.attempts.to_string(),
                message.created_at.clone(),
                line(message.last_error.as_deref().unwrap_or_default(), ERROR_CHARS_MAX),
            ]
        },
    };
    terminal.list(args.output, &page.await?.messages, &text)
}

async fn change(
    args: &OutboxChoiceArgs,
    change: MessageChange,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let changed =
        backend::with(&args.client, config, async |backend| change_at(backend, args, change).await);
    let what = match change {
        MessageChange::Retry => "retry",
        MessageChange::Drop => "drop",
    };
    terminal.say(format!("{what}: {} messages", changed.await?));
    Ok(Exit::Completed)
}

async fn change_at(
    backend: &dyn Backend,
    args: &OutboxChoiceArgs,
    change: MessageChange,
) -> Result<u64, Failure> {
    let mut sum = 0;
    if !args.dead {
        for ids in args.messages.chunks(AT_ONCE) {
            sum += changed(backend, ids, change).await?;
        }
        return Ok(sum);
    }
    let mut after = 0;
    loop {
        let page = backend.messages(Some("dead"), after, AT_ONCE).await?;
        let ids: Vec<i64> = page.messages.iter().map(|message| message.outbox_id).collect();
        if !ids.is_empty() {
            sum += changed(backend, &ids, change).await?;
        }
        match page.next_after {
            Some(next) => after = next,
            None => return Ok(sum),
        }
    }
}

async fn changed(
    backend: &dyn Backend,
    ids: &[i64],
    change: MessageChange,
) -> Result<u64, Failure> {
    match change {
        MessageChange::Retry => backend.retry_messages(ids).await,
        MessageChange::Drop => backend.drop_messages(ids).await,
    }
}
