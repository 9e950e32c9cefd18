//! `noetl worker`: runs commands for a server.

use std::sync::Arc;

use noetl_api::RemoteControl;
use noetl_model::{Pool, WorkerId};
use noetl_tools::Registry;
use noetl_worker::{Settings, Worker};

use super::stopped;
use crate::args::WorkerArgs;
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::terminal::Terminal;

pub(crate) async fn worker(
    args: &WorkerArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let token = config.api_token().map(str::to_owned);
    let control = RemoteControl::new(args.server.clone(), token).map_err(Failure::broken)?;
    let control = Arc::new(control);
    let registry = Registry::standard(noetl_tools::Settings::from_environment(config.variables()));
    // Unlike a host's name, this cannot be that of another worker that still runs.
    let id = format!("{}-{}-{:x}", config.host(), std::process::id(), begun());
    let settings = Settings {
        pool: Pool::new(&args.pool),
        ..Settings::new(WorkerId::new(&id), usize::from(args.concurrency))
    };
    let worker = Worker::new(control.clone(), registry, settings);
    terminal.say(format!("worker {id} takes commands of pool {} from {}", args.pool, args.server));
    tokio::select! {
        () = worker.run(stopped()?) => {}
        () = control.hear() => {}
    }
    Ok(Exit::Completed)
}

/// When this process began to work, in nanoseconds since 1970.
fn begun() -> u128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_nanos()
}
