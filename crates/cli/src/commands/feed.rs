//! `noetl feed`: manages and reads feeds, the events of all executions for consumers.

use std::time::Duration;

use noetl_api::wire::{FeedDeliveryView, FeedFilter, FeedView, NewFeed};
use tokio_util::sync::CancellationToken;

use super::stopped;
use crate::args::{FeedAddArgs, FeedCommand, FeedListArgs, FeedReadArgs, FeedSeekArgs};
use crate::backend::{self, Backend};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::ListText;
use crate::show::terminal::Terminal;

/// The time for which one request waits for the next event.
const EVENT_WAIT: Duration = Duration::from_secs(20);

pub(crate) async fn feed(
    command: &FeedCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match command {
        FeedCommand::List(args) => list(args, config, terminal).await,
        FeedCommand::Add(args) => add(args, config, terminal).await,
        FeedCommand::Read(args) => read(args, config, terminal).await,
        FeedCommand::Seek(args) => seek(args, config, terminal).await,
        FeedCommand::Retry(args) => {
            let retried = backend::with(&args.client, config, async |backend| {
                backend.retry_feed(&args.name).await
            });
            terminal.say(format!("retrying the deliveries of the feed {}", retried.await?.name));
            Ok(Exit::Completed)
        }
        FeedCommand::Remove(args) => {
            let removed = backend::with(&args.client, config, async |backend| {
                backend.remove_feed(&args.name).await
            });
            removed.await?;
            terminal.say(format!("removed the feed {}", args.name));
            Ok(Exit::Completed)
        }
    }
}

async fn list(
    args: &FeedListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let feeds = backend::with(&args.client, config, async |backend| backend.feeds().await).await?;
    let text = ListText {
        empty: "no feeds",
        header: &["FEED", "CURSOR", "MOVED", "DELIVERY", "SHOWS"],
        row: |feed: &FeedView| {
            let delivery = feed.delivery.as_ref().map_or_else(|| "-".to_owned(), delivery);
            let (name, cursor) = (feed.name.clone(), feed.cursor.clone());
            vec![name, cursor, feed.moved_at.clone(), delivery, shown(&feed.filter)]
        },
    };
    terminal.list(args.output, &feeds, &text)
}

/// Describes the delivery status of a feed.
fn delivery(delivery: &FeedDeliveryView) -> String {
    match delivery {
        FeedDeliveryView::Working => "working".to_owned(),
        FeedDeliveryView::Retrying { failures, reason, retry_at } => {
            format!("failed {failures} times, again at {retry_at}: {reason}")
        }
        FeedDeliveryView::Dead { failures, reason } => {
            format!("dead after {failures} failures: {reason}")
        }
    }
}

/// Describes a filter.
fn shown(filter: &FeedFilter) -> String {
    let path = filter.path.as_ref().map(|path| format!("path {path}"));
    let types = (!filter.types.is_empty()).then(|| format!("type {}", filter.types.join(" or ")));
    let statuses =
        (!filter.statuses.is_empty()).then(|| format!("status {}", filter.statuses.join(" or ")));
    let parts: Vec<String> = [path, types, statuses].into_iter().flatten().collect();
    if parts.is_empty() { "everything".to_owned() } else { parts.join(", ") }
}

async fn add(
    args: &FeedAddArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let filter = FeedFilter {
        types: args.types.clone(),
        path: args.path.clone(),
        statuses: args.statuses.clone(),
    };
    let new = NewFeed {
        name: args.name.clone(),
        filter,
        from: Some(args.from.clone()),
        subject: args.subject.clone(),
    };
    let added = backend::with(&args.client, config, async |backend| backend.add_feed(new).await);
    Ok(say_position(&added.await?, terminal))
}

async fn seek(
    args: &FeedSeekArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let moved = backend::with(&args.client, config, async |backend| {
        backend.seek_feed(&args.name, &args.to).await
    });
    Ok(say_position(&moved.await?, terminal))
}

fn say_position(feed: &FeedView, terminal: &mut Terminal) -> Exit {
    terminal.say(format!("the feed {} continues after {}", feed.name, feed.cursor));
    Exit::Completed
}

async fn read(
    args: &FeedReadArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let stop = stopped()?;
    backend::with(&args.client, config, async |backend| {
        read_at(backend, args, &stop, terminal).await
    })
    .await?;
    Ok(Exit::Completed)
}

async fn read_at(
    backend: &dyn Backend,
    args: &FeedReadArgs,
    stop: &CancellationToken,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let wait = if args.follow { EVENT_WAIT } else { Duration::ZERO };
    let mut after = args.after.clone();
    loop {
        let page = tokio::select! {
            page = backend.feed_events(&args.name, after.as_deref(), args.limit.into(), wait) => {
                page?
            }
            () = stop.cancelled() => return Ok(()),
        };
        for event in &page.events {
            terminal.data(&event.to_string())?;
        }
        if args.ack && !page.events.is_empty() {
            backend.acknowledge_feed(&args.name, &page.cursor).await?;
        }
        if !args.follow {
            return Ok(());
        }
        after = Some(page.cursor);
    }
}
