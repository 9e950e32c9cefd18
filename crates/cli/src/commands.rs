//! The commands, one file each.

mod catalog;
mod completions;
mod conclude;
mod config;
mod credential;
mod doctor;
mod executions;
mod feed;
mod graph;
mod outbox;
mod register;
mod replay;
mod run;
mod schedule;
mod schema;
mod server;
mod status;
mod subscription;
mod tools;
mod validate;
mod verify;
mod worker;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::args::{CatalogCommand, Command, ConfigCommand, ExecutionsCommand, ToolsCommand};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

/// Runs a command.
pub(crate) async fn dispatch(
    command: &Command,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    if let Some(withheld) = config.withheld()
        && needs_settings(command)
    {
        return Err(withheld.refusal());
    }
    match command {
        Command::Run(args) => run::run(args, config, terminal).await,
        Command::Validate(args) => validate::validate(args, terminal),
        Command::Verify(args) => verify::verify(args, config, terminal).await,
        Command::Graph(args) => graph::graph(args, terminal),
        Command::Executions(command) => match command {
            ExecutionsCommand::List(args) => executions::list(args, config, terminal).await,
            ExecutionsCommand::Get(args) => executions::get(args, config, terminal).await,
            ExecutionsCommand::Events(args) => executions::events(args, config, terminal).await,
            ExecutionsCommand::Timeline(args) => executions::timeline(args, config, terminal).await,
            ExecutionsCommand::Cancel(args) => executions::cancel(args, config, terminal).await,
            ExecutionsCommand::Rerun(args) => executions::rerun(args, config, terminal).await,
            ExecutionsCommand::Fork(args) => executions::fork(args, config, terminal).await,
            ExecutionsCommand::Retry(args) => executions::retry(args, config, terminal).await,
            ExecutionsCommand::Resume(args) => executions::resume(args, config, terminal).await,
        },
        Command::Status(args) => status::status(args, config, terminal).await,
        Command::Cancel(args) => executions::cancel(args, config, terminal).await,
        Command::Resume(args) => executions::resume(args, config, terminal).await,
        Command::Replay(args) => replay::replay(args, config, terminal).await,
        Command::Register(args) => register::register(args, config, terminal).await,
        Command::Catalog(command) => match command {
            CatalogCommand::List(args) => catalog::list(args, config, terminal).await,
            CatalogCommand::Get(args) => catalog::get(args, config, terminal).await,
        },
        Command::Server(args) => server::server(args, config, terminal).await,
        Command::Worker(args) => worker::worker(args, config, terminal).await,
        Command::Outbox(command) => outbox::outbox(command, config, terminal).await,
        Command::Feed(command) => feed::feed(command, config, terminal).await,
        Command::Subscription(command) => {
            subscription::subscription(command, config, terminal).await
        }
        Command::Schedule(command) => schedule::schedule(command, config, terminal).await,
        Command::Tools(ToolsCommand::Install(args)) => tools::install(args, config, terminal).await,
        Command::Credential(command) => credential::credential(command, config, terminal).await,
        Command::Schema(_) => schema::schema(terminal),
        Command::Completions(args) => completions::completions(args, terminal),
        Command::Doctor(args) => doctor::doctor(args, config, terminal).await,
        Command::Config(command) => match command {
            ConfigCommand::Show(args) => config::show(args, config, terminal),
            ConfigCommand::Trust(args) => config::trust(args, config, terminal),
        },
    }
}

/// True if a command uses a database, a server or tools as configured.
fn needs_settings(command: &Command) -> bool {
    match command {
        Command::Config(_)
        | Command::Doctor(_)
        | Command::Validate(_)
        | Command::Graph(_)
        | Command::Schema(_)
        | Command::Completions(_) => false,
        Command::Run(_)
        | Command::Verify(_)
        | Command::Executions(_)
        | Command::Status(_)
        | Command::Cancel(_)
        | Command::Resume(_)
        | Command::Replay(_)
        | Command::Register(_)
        | Command::Catalog(_)
        | Command::Server(_)
        | Command::Worker(_)
        | Command::Outbox(_)
        | Command::Feed(_)
        | Command::Subscription(_)
        | Command::Schedule(_)
        | Command::Tools(_)
        | Command::Credential(_) => true,
    }
}

/// Returns a token that is cancelled by SIGINT or SIGTERM. A second signal ends the process at
/// once: its leases expire and other workers repeat the commands.
fn stopped() -> Result<CancellationToken, Failure> {
    let listen = |kind| signal(kind).context("cannot listen to signals").map_err(Failure::broken);
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    tokio::spawn(async move {
        loop {
            let exit = tokio::select! {
                _ = interrupt.recv() => Exit::Aborted,
                _ = terminate.recv() => Exit::Stopped,
            };
            if stop.is_cancelled() {
                tracing::warn!("told twice to end: ending at once");
                std::process::exit(exit.code().into());
            }
            stop.cancel();
        }
    });
    Ok(stopped)
}
