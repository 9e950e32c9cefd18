//! `noetl subscription`: shows subscriptions and changes their state.

mod dead;

use anyhow::anyhow;
use noetl_api::wire::{SubscriptionEvents, SubscriptionView};
use noetl_engine::SubscriptionAction;
use serde::Serialize;

use crate::args::{SubscriptionArgs, SubscriptionCommand, SubscriptionListArgs};
use crate::backend::{self, Backend, subscription_id};
use crate::config::Config;
use crate::input::nearest::suggest;
use crate::show::failure::{Exit, Failure};
use crate::show::output::table::table;
use crate::show::output::{ListText, document};
use crate::show::terminal::Terminal;

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
    let listed = backend::with(&args.client, config, async |backend| backend.subscriptions().await);
    let text = ListText {
        empty: "no subscriptions; `noetl register FILE` registers one",
        header: &["SUBSCRIPTION", "STATE", "SINCE", "ID"],
        row: |it: &SubscriptionView| {
            let (path, id) = (it.path.clone(), it.subscription_id.clone());
            vec![path, it.state.to_lowercase(), it.updated_at.clone(), id]
        },
    };
    terminal.list(args.output, &listed.await?, &text)
}

async fn get(
    args: &SubscriptionArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let loaded = backend::with(&args.client, config, async |backend| {
        let subscription = found(backend, &args.subscription).await?;
        let past = backend.subscription_events(subscription_id(&subscription)?).await?;
        Ok(SubscriptionDocument { subscription, past })
    });
    terminal.show(args.output, &loaded.await?, |document| {
        let it = &document.subscription;
        let head = format!("{} {}  {}", it.path, it.state.to_lowercase(), it.subscription_id);
        let events = document.past.events.iter();
        let rows: Vec<Vec<String>> =
            events.map(|event| vec![event.created_at.clone(), event.event_type.clone()]).collect();
        format!("{head}\n{}", table(&rows))
    })
}

async fn register(
    args: &SubscriptionArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let registered = backend::with(&args.client, config, async |backend| {
        backend.subscribe(&args.subscription).await
    });
    show(args, &registered.await?, terminal)
}

async fn moved(
    args: &SubscriptionArgs,
    action: SubscriptionAction,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let moved = backend::with(&args.client, config, async |backend| {
        let id = subscription_id(&found(backend, &args.subscription).await?)?;
        backend.move_subscription(id, action).await
    });
    show(args, &moved.await?, terminal)
}

fn show(
    args: &SubscriptionArgs,
    subscription: &SubscriptionView,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match args.output.document() {
        Some(format) => terminal.data(&document(format, subscription))?,
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
