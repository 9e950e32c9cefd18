//! `noetl feed`: manages and reads feeds, the events of all executions for consumers.

use std::time::Duration;

use noetl_api::wire::{FeedDeliveryView, FeedFilter, FeedList, FeedView, NewFeed};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::stopped;
use crate::args::{FeedAddArgs, FeedCommand, FeedListArgs, FeedReadArgs, FeedSeekArgs};
use crate::config::Config;
use crate::door::{Door, part};
use crate::failure::{Exit, Failure};
use crate::output::document;
use crate::output::table::table;
use crate::terminal::{FAINT, Terminal, paint};

/// How long one request waits for the next event.
const EVENT_WAIT: Duration = Duration::from_secs(20);

/// A page of events, as the server returns them.
#[derive(Deserialize)]
struct Events {
    events: Vec<Value>,
    cursor: String,
}

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
            let door = Door::open(&args.client, config).await?;
            let path = format!("api/feeds/{}/retry", part(&args.name));
            let retried: Result<FeedView, Failure> = door.post(&path, &json!({})).await;
            door.close().await;
            terminal.say(format!("the feed {} is delivered again", retried?.name));
            Ok(Exit::Completed)
        }
        FeedCommand::Remove(args) => {
            let door = Door::open(&args.client, config).await?;
            let removed = door.delete(&format!("api/feeds/{}", part(&args.name))).await;
            door.close().await;
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
    let door = Door::open(&args.client, config).await?;
    let listed: Result<FeedList, Failure> = door.get("api/feeds").await;
    door.close().await;
    let FeedList { feeds } = listed?;
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
    let door = Door::open(&args.client, config).await?;
    let added: Result<FeedView, Failure> = door.post("api/feeds", &json!(new)).await;
    door.close().await;
    let feed = added?;
    terminal.say(format!("the feed {} goes on after {}", feed.name, feed.cursor));
    Ok(Exit::Completed)
}

async fn seek(
    args: &FeedSeekArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let door = Door::open(&args.client, config).await?;
    let path = format!("api/feeds/{}/seek", part(&args.name));
    let moved: Result<FeedView, Failure> = door.post(&path, &json!({ "to": args.to })).await;
    door.close().await;
    let feed = moved?;
    terminal.say(format!("the feed {} goes on after {}", feed.name, feed.cursor));
    Ok(Exit::Completed)
}

async fn read(
    args: &FeedReadArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let door = Door::open(&args.client, config).await?;
    let stop = stopped()?;
    let read = read_at(&door, args, &stop, terminal).await;
    door.close().await;
    read.map(|()| Exit::Completed)
}

async fn read_at(
    door: &Door,
    args: &FeedReadArgs,
    stop: &CancellationToken,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let wait = if args.follow { EVENT_WAIT } else { Duration::ZERO };
    let feed = format!("api/feeds/{}", part(&args.name));
    let mut after = args.after.clone();
    loop {
        let going_on = after.map(|cursor| format!("&after={}", part(&cursor))).unwrap_or_default();
        let (limit, wait_ms) = (args.limit, wait.as_millis());
        let path = format!("{feed}/events?limit={limit}&wait_ms={wait_ms}{going_on}");
        let page: Events = tokio::select! {
            page = door.wait(&path, wait) => page?,
            () = stop.cancelled() => return Ok(()),
        };
        for event in &page.events {
            terminal.data(&event.to_string())?;
        }
        if args.ack && !page.events.is_empty() {
            let _moved: FeedView =
                door.post(&format!("{feed}/ack"), &json!({ "cursor": page.cursor })).await?;
        }
        if !args.follow {
            return Ok(());
        }
        after = Some(page.cursor);
    }
}
