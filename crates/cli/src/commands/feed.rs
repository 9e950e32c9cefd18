//! `noetl feed`: manages and reads feeds, the events of all executions for consumers.

use std::time::Duration;

use noetl_api::wire::{FeedDeliveryView, FeedFilter, FeedView, NewFeed};
use tokio_util::sync::CancellationToken;

use super::stopped;
use crate::args::{FeedAddArgs, FeedCommand, FeedListArgs, FeedReadArgs, FeedSeekArgs};
use crate::backend::local::WorkerMode;
use crate::backend::{self, Backend};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::document;
use crate::show::output::table::table;
use crate::show::terminal::{FAINT, Terminal, paint};

/// How long one request waits for the next event.
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
            let backend = backend::open(&args.client, WorkerMode::None, config).await?;
            let retried = backend.retry_feed(&args.name).await;
            backend.close().await;
            terminal.say(format!("the feed {} is delivered again", retried?.name));
            Ok(Exit::Completed)
        }
        FeedCommand::Remove(args) => {
            let backend = backend::open(&args.client, WorkerMode::None, config).await?;
            let removed = backend.remove_feed(&args.name).await;
            backend.close().await;
            removed?;
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
    let backend = backend::open(&args.client, WorkerMode::None, config).await?;
    let listed = backend.feeds().await;
    backend.close().await;
    let feeds = listed?;
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &feeds))?,
        None if feeds.is_empty() => terminal.say("no feeds"),
        None => terminal.data(&text(&feeds))?,
    }
    Ok(Exit::Completed)
}

fn text(feeds: &[FeedView]) -> String {
    let header = ["FEED", "CURSOR", "MOVED", "DELIVERY", "SHOWS"];
    let mut rows = vec![header.iter().map(|name| paint(FAINT, name)).collect()];
    rows.extend(feeds.iter().map(|feed| {
        let shows = shown(&feed.filter);
        let delivery = feed.delivery.as_ref().map_or_else(|| "-".to_owned(), delivery);
        vec![feed.name.clone(), feed.cursor.clone(), feed.moved_at.clone(), delivery, shows]
    }));
    table(&rows)
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
    let backend = backend::open(&args.client, WorkerMode::None, config).await?;
    let added = backend.add_feed(new).await;
    backend.close().await;
    let feed = added?;
    terminal.say(format!("the feed {} goes on after {}", feed.name, feed.cursor));
    Ok(Exit::Completed)
}

async fn seek(
    args: &FeedSeekArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let backend = backend::open(&args.client, WorkerMode::None, config).await?;
    let moved = backend.seek_feed(&args.name, &args.to).await;
    backend.close().await;
    let feed = moved?;
    terminal.say(format!("the feed {} goes on after {}", feed.name, feed.cursor));
    Ok(Exit::Completed)
}

async fn read(
    args: &FeedReadArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let backend = backend::open(&args.client, WorkerMode::None, config).await?;
    let stop = stopped()?;
    let read = read_at(&*backend, args, &stop, terminal).await;
    backend.close().await;
    read.map(|()| Exit::Completed)
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
