//! `noetl worker`: runs commands for a server, or fetches messages for it.

mod subscription;

use std::sync::Arc;

use noetl_api::RemoteControl;
use noetl_model::Pool;
use noetl_tools::{Registry, WorkerIdentity};
use noetl_worker::{Worker, WorkerSettings};
use url::Url;

use super::stopped;
use crate::args::WorkerArgs;
use crate::backend::local::tool_settings;
use crate::backend::remote::Remote;
use crate::config::{Config, NamedBy};
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;
use crate::wiring::isolation;
use crate::wiring::local_token;
use crate::wiring::network::client_tls;
use crate::wiring::server_parts::worker_of_process;
use crate::wiring::tools::{ServerClients, Tools};

pub(crate) async fn worker(
    args: &WorkerArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (server, named) = match &args.server {
        Some(url) => (url.clone(), NamedBy::Flag),
        None => (config.server_or_usual(), NamedBy::Settings),
    };
    let token = local_token::for_client(&server, named, &config.database(), config)?;
    let clients = clients_of(&server, named, config)?;
    let tls = client_tls(config)?;
    let control = RemoteControl::with_tls(server.clone(), token, &tls);
    let control = control.map_err(Failure::broken)?;
    let control = Arc::new(control);
    if let Some(path) = subscription_of(args, config) {
        let id = worker_of_process(config);
        let remote = Remote::new(server, named, config)?;
        return subscription::fetch(&path, id, control, (&remote, clients), config, terminal).await;
    }
    let id = worker_of_process(config);
    let identity =
        WorkerIdentity { worker: Some(id.to_string()), server_url: Some(server.to_string()) };
    let isolation = isolation::of_process(config, None)?;
    isolation::log(&isolation);
    let settings = noetl_tools::ToolSettings {
        identity,
        isolation,
        ..tool_settings(
            control.clone(),
            config,
            Tools::of_server(&server, clients).settings(config)?,
        )
    };
    let registry = Registry::standard(settings);
    let pool = args.pool.as_deref().unwrap_or(config.worker_pool());
    let concurrency = args.concurrency.map_or(config.worker_concurrency(), usize::from);
    let settings = WorkerSettings {
        pool: Pool::new(pool),
        drain: config.worker_drain(),
        ..WorkerSettings::new(id.clone(), concurrency)
    };
    let worker = Worker::new(control.clone(), registry, settings);
    terminal.say(format!("worker {id} takes commands of pool {pool} from {server}"));
    tokio::select! {
        () = worker.run(stopped()?) => {}
        () = control.hear() => {}
    }
    Ok(Exit::Completed)
}

/// Returns the clients of a worker's server: one that wants a token which was configured has others than
/// the user of this machine.
fn clients_of(server: &Url, named: NamedBy, config: &Config) -> Result<ServerClients, Failure> {
    Ok(match config.token_for(server, named)? {
        Some(_) => ServerClients::WithTokens,
        None => ServerClients::LocalUser,
    })
}

/// Returns the subscription to fetch, if the worker is started for one.
fn subscription_of(args: &WorkerArgs, config: &Config) -> Option<String> {
    let is_mode = config.variable("WORKER_MODE").is_some_and(|mode| mode == "subscription");
    let said = || is_mode.then(|| config.variable("NOETL_SUBSCRIPTION_PATH")).flatten();
    args.subscription.clone().or_else(said)
}
