//! `noetl subscription`: shows subscriptions and changes their state.

mod dead;

use anyhow::anyhow;
use noetl_api::wire::{SubscriptionEvents, SubscriptionView};
use noetl_engine::SubscriptionAction;
use serde::Serialize;

use crate::args::{SubscriptionArgs, SubscriptionCommand, SubscriptionListArgs};
use crate::backend::local::WorkerMode;
use crate::backend::{self, Backend, subscription_id};
use crate::config::Config;
use crate::input::nearest::suggest;
use crate::show::failure::{Exit, Failure};
use crate::show::output::document;
use crate::show::output::table::table;
use crate::show::terminal::{FAINT, Terminal, paint};

/// One subscription with its past events, for programs.
#[derive(Serialize)]
struct SubscriptionDocument {
    #[serde(flatten)]
    subscription: SubscriptionView,
    #[serde(flatten)]
    past: SubscriptionEvents,
}

pub(crate) async fn subscription(
    command: &SubscriptionCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match command {
        SubscriptionCommand::List(args) => list(args, config, terminal).await,
        SubscriptionCommand::Get(args) => get(args, config, terminal).await,
        SubscriptionCommand::Register(args) => register(args, config, terminal).await,
        SubscriptionCommand::Activate(args) => {
            moved(args, SubscriptionAction::Activate, config, terminal).await
        }
        SubscriptionCommand::Pause(args) => {
            moved(args, SubscriptionAction::Pause, config, terminal).await
        }
        SubscriptionCommand::Resume(args) => {
            moved(args, SubscriptionAction::Resume, config, terminal).await
        }
        SubscriptionCommand::Drain(args) => {
            moved(args, SubscriptionAction::Drain, config, terminal).await
        }
        SubscriptionCommand::Deactivate(args) => {
            moved(args, SubscriptionAction::Deactivate, config, terminal).await
        }
        SubscriptionCommand::Dead(command) => dead::dead(command, config, terminal).await,
    }
}

async fn list(
    args: &SubscriptionListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let backend = backend::open(&args.client, WorkerMode::None, config).await?;
    let listed = backend.subscriptions().await;
    backend.close().await;
    let subscriptions = listed?;
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &subscriptions))?,
        None if subscriptions.is_empty() => {
            terminal.say("no subscriptions; `noetl register FILE` keeps the document of one");
        }
        None => {
            let header = ["SUBSCRIPTION", "STATE", "SINCE", "ID"];
            let mut rows = vec![header.iter().map(|name| paint(FAINT, name)).collect()];
            rows.extend(subscriptions.into_iter().map(|it| {
                vec![it.path, it.state.to_lowercase(), it.updated_at, it.subscription_id]
            }));
            terminal.data(&table(&rows))?;
        }
    }
    Ok(Exit::Completed)
}

async fn get(
    args: &SubscriptionArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let backend = backend::open(&args.client, WorkerMode::None, config).await?;
    let told = told(&*backend, &args.subscription).await;
    backend.close().await;
    let told = told?;
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &told))?,
        None => {
            let it = &told.subscription;
            let head = format!("{} {}  {}", it.path, it.state.to_lowercase(), it.subscription_id);
            let rows: Vec<Vec<String>> = told
                .past
                .events
                .iter()
                .map(|event| vec![event.created_at.clone(), event.event_type.clone()])
                .collect();
            terminal.data(&format!("{head}\n{}", table(&rows)))?;
        }
    }
    Ok(Exit::Completed)
}

async fn told(backend: &dyn Backend, name: &str) -> Result<SubscriptionDocument, Failure> {
    let subscription = found(backend, name).await?;
    let past = backend.subscription_events(subscription_id(&subscription)?).await?;
    Ok(SubscriptionDocument { subscription, past })
}

async fn register(
    args: &SubscriptionArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let backend = backend::open(&args.client, WorkerMode::None, config).await?;
    let registered = backend.subscribe(&args.subscription).await;
    backend.close().await;
    show(args, registered?, terminal)
}

async fn moved(
    args: &SubscriptionArgs,
    action: SubscriptionAction,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let backend = backend::open(&args.client, WorkerMode::None, config).await?;
    let moved = moved_at(&*backend, &args.subscription, action).await;
    backend.close().await;
    show(args, moved?, terminal)
}

async fn moved_at(
    backend: &dyn Backend,
    name: &str,
    action: SubscriptionAction,
) -> Result<SubscriptionView, Failure> {
    let id = subscription_id(&found(backend, name).await?)?;
    backend.move_subscription(id, action).await
}

fn show(
    args: &SubscriptionArgs,
    subscription: SubscriptionView,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &subscription))?,
        None => {
            let state = subscription.state.to_lowercase();
            terminal.say(format!("{} is {state}", subscription.path));
        }
    }
    Ok(Exit::Completed)
}

/// Returns the subscription with an id, or the newest with a path.
async fn found(backend: &dyn Backend, name: &str) -> Result<SubscriptionView, Failure> {
    let subscriptions = backend.subscriptions().await?;
    let is_meant = |it: &&SubscriptionView| it.subscription_id == name || it.path == name;
    if let Some(subscription) = subscriptions.iter().find(is_meant) {
        return Ok(subscription.clone());
    }
    let failure = Failure::bad_input(anyhow!("there is no subscription {name}"));
    let paths = subscriptions.iter().map(|it| it.path.as_str());
    Err(suggest(failure, name, paths, "`noetl subscription register PATH` creates one"))
}
