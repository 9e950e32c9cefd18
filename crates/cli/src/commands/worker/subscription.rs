//! `noetl worker --subscription`: fetches messages for a server.

use std::sync::Arc;

use noetl_api::RemoteControl;
use noetl_engine::SubscriptionAction;
use noetl_model::{SubscriptionState, WorkerId};
use noetl_tools::{FixedCredentials, StandardSources};
use noetl_worker::{ControlPlaneCredentials, IntakeEnd, IntakeRuntime};

use super::super::stopped;
use crate::backend::remote::Remote;
use crate::backend::{Subscriptions as _, subscription_id};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;
use crate::wiring::tools::{ServerClients, Tools};

/// Fetches the messages of a subscription until told to stop, or until there is nothing to fetch.
pub(super) async fn fetch(
    path: &str,
    id: WorkerId,
    control: Arc<RemoteControl>,
    (remote, clients): (&Remote, ServerClients),
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    begin(path, remote).await?;
    let fixed = FixedCredentials::from_environment(config.variables());
    let credentials = Arc::new(ControlPlaneCredentials::new(fixed, control.clone()));
    let sources = {
        let egress = Tools::of_server(remote.client().base(), clients).settings(config)?.egress;
        StandardSources::new(credentials, config.variable("NOETL_NATS_URL"), egress)
    };
    terminal.say(format!("worker {id} fetches messages of {path} for {}", remote.client().base()));
    let runtime = IntakeRuntime { control, sources: Arc::new(sources), id, path: path.to_owned() };
    match runtime.run(stopped()?).await {
        IntakeEnd::Stopped => {}
        IntakeEnd::Over(state) => {
            let state = state.as_str().to_lowercase();
            terminal.say(format!("{path} is {state}; no more messages are fetched"));
        }
        IntakeEnd::Empty => terminal.say(format!("{path} has no more messages")),
    }
    Ok(Exit::Completed)
}

/// Registers a subscription and activates it if it is new; one that was paused or drained is left
/// as it is.
async fn begin(path: &str, remote: &Remote) -> Result<(), Failure> {
    let registered = remote.subscribe(path).await?;
    if registered.state == SubscriptionState::Registered.as_str() {
        remote
            .move_subscription(subscription_id(&registered)?, SubscriptionAction::Activate)
            .await?;
    }
    Ok(())
}
