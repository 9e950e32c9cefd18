//! The commands, one file each.

mod approvals;
mod audit;
mod catalog;
mod completions;
mod conclude;
mod config;
mod credential;
mod db;
mod demo;
mod dev;
mod diff;
mod doctor;
mod executions;
mod explain;
mod export;
mod feed;
mod fmt;
mod graph;
mod holds;
mod init;
mod lint;
mod logs;
mod lsp;
mod notifications;
mod outbox;
mod recorded_action;
mod register;
mod replay;
mod run;
mod run_pages;
mod schedule;
mod schema;
mod server;
mod signal;
mod signals;
mod status;
mod subscription;
mod test;
mod token;
mod tools;
mod ui;
mod validate;
mod verify;
mod worker;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use noetl_app::EntryState;

use crate::args::{CatalogCommand, CliCommand, ConfigCommand, ExecutionsCommand, ToolsCommand};
use crate::backend::HoldAction;
use crate::config::Config;
use crate::input::files;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

/// Runs a command.
pub(crate) async fn dispatch(
    command: &CliCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    if let Some(withheld) = config.withheld()
        && needs_settings(command)
    {
        return Err(withheld.refusal());
    }
    let config = &config.recording(recorded_action::action_of(command));
    match command {
        CliCommand::Run(args) => run::run(args, config, terminal).await,
        CliCommand::Validate(args) => validate::validate(args, config, terminal),
        CliCommand::Test(args) => test::test(args, config, terminal).await,
        CliCommand::Lint(args) => lint::lint(args, config, terminal),
        CliCommand::Explain(args) => explain::explain(args, terminal),
        CliCommand::Fmt(args) => fmt::fmt(args, terminal),
        CliCommand::Lsp(args) => lsp::lsp(args, config, terminal),
        CliCommand::Init(args) => init::init(args, terminal),
        CliCommand::Dev(args) => dev::dev(args, config, terminal).await,
        CliCommand::Diff(args) => diff::diff(args, config, terminal).await,
        CliCommand::Verify(args) => verify::verify(args, config, terminal).await,
        CliCommand::Export(args) => export::export(args, config, terminal).await,
        CliCommand::Graph(args) => graph::graph(args, config, terminal).await,
        CliCommand::Executions(command) => of_executions(command, config, terminal).await,
        CliCommand::Status(args) => status::status(args, config, terminal).await,
        CliCommand::Cancel(args) => executions::cancel(args, config, terminal).await,
        CliCommand::Logs(args) => logs::logs(args, config, terminal).await,
        CliCommand::Signal(args) => signal::signal(args, config, terminal).await,
        CliCommand::Signals(command) => signals::signals(command, config, terminal).await,
        CliCommand::Approvals(command) => approvals::approvals(command, config, terminal).await,
        CliCommand::Resume(args) => executions::resume(args, config, terminal).await,
        CliCommand::Replay(args) => replay::replay(args, config, terminal).await,
        CliCommand::Register(args) => register::register(args, config, terminal).await,
        CliCommand::Catalog(command) => of_catalog(command, config, terminal).await,
        CliCommand::Server(args) => server::server(args, config, terminal).await,
        CliCommand::Ui(args) => ui::ui(args, config, terminal).await,
        CliCommand::Demo(args) => demo::demo(args, config, terminal).await,
        CliCommand::Worker(args) => worker::worker(args, config, terminal).await,
        CliCommand::Pools(command) => holds::pools(command, config, terminal).await,
        CliCommand::Limits(command) => holds::limits(command, config, terminal).await,
        CliCommand::Notifications(command) => {
            notifications::notifications(command, config, terminal).await
        }
        CliCommand::Audit(args) => audit::audit(args, config, terminal).await,
        CliCommand::Token(command) => token::token(command, config, terminal).await,
        CliCommand::Outbox(command) => outbox::outbox(command, config, terminal).await,
        CliCommand::Feed(command) => feed::feed(command, config, terminal).await,
        CliCommand::Subscription(command) => {
            subscription::subscription(command, config, terminal).await
        }
        CliCommand::Schedule(command) => schedule::schedule(command, config, terminal).await,
        CliCommand::Tools(ToolsCommand::Install(args)) => {
            tools::install(args, config, terminal).await
        }
        CliCommand::Credential(command) => credential::credential(command, config, terminal).await,
        CliCommand::Schema(args) => schema::schema(args, terminal),
        CliCommand::Completions(args) => completions::completions(args, terminal),
        CliCommand::Db(command) => db::db(command, config, terminal).await,
        CliCommand::Doctor(args) => doctor::doctor(args, config, terminal).await,
        CliCommand::Config(command) => match command {
            ConfigCommand::Show(args) => config::show(args, config, terminal),
            ConfigCommand::Trust(args) => config::trust(args, config, terminal),
        },
    }
}

async fn of_executions(
    command: &ExecutionsCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match command {
        ExecutionsCommand::List(args) => executions::list(args, config, terminal).await,
        ExecutionsCommand::Get(args) => executions::get(args, config, terminal).await,
        ExecutionsCommand::Events(args) => executions::events(args, config, terminal).await,
        ExecutionsCommand::Timeline(args) => executions::timeline(args, config, terminal).await,
        ExecutionsCommand::Cancel(args) => executions::cancel(args, config, terminal).await,
        ExecutionsCommand::Delete(args) => executions::delete(args, config, terminal).await,
        ExecutionsCommand::Keep(args) => executions::keep(args, config, terminal).await,
        ExecutionsCommand::Pause(args) => {
            holds::execution(args, HoldAction::Pause, config, terminal).await
        }
        ExecutionsCommand::Unpause(args) => {
            holds::execution(args, HoldAction::Resume, config, terminal).await
        }
        ExecutionsCommand::Rerun(args) => executions::rerun(args, config, terminal).await,
        ExecutionsCommand::Fork(args) => executions::fork(args, config, terminal).await,
        ExecutionsCommand::Retry(args) => executions::retry(args, config, terminal).await,
        ExecutionsCommand::Resume(args) => executions::resume(args, config, terminal).await,
    }
}

async fn of_catalog(
    command: &CatalogCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match command {
        CatalogCommand::List(args) => catalog::list(args, config, terminal).await,
        CatalogCommand::Get(args) => catalog::get(args, config, terminal).await,
        CatalogCommand::Archive(args) => {
            catalog::set_state(args, EntryState::Archived, config, terminal).await
        }
        CatalogCommand::Restore(args) => {
            catalog::set_state(args, EntryState::Active, config, terminal).await
        }
        CatalogCommand::Pause(args) => {
            holds::playbook(args, HoldAction::Pause, config, terminal).await
        }
        CatalogCommand::Resume(args) => {
            holds::playbook(args, HoldAction::Resume, config, terminal).await
        }
    }
}

/// True if a command uses a database, a server or tools as configured.
fn needs_settings(command: &CliCommand) -> bool {
    match command {
        CliCommand::Config(_)
        | CliCommand::Doctor(_)
        | CliCommand::Validate(_)
        | CliCommand::Explain(_)
        | CliCommand::Fmt(_)
        | CliCommand::Lsp(_)
        | CliCommand::Init(_)
        | CliCommand::Schema(_)
        | CliCommand::Completions(_) => false,
        CliCommand::Graph(args) => !files::is_file_name(&args.target),
        CliCommand::Diff(args) => ![&args.old, &args.new].iter().all(|it| files::is_file_name(it)),
        CliCommand::Test(args) => args.command.is_some(),
        CliCommand::Run(_)
        | CliCommand::Lint(_)
        | CliCommand::Verify(_)
        | CliCommand::Export(_)
        | CliCommand::Db(_)
        | CliCommand::Executions(_)
        | CliCommand::Status(_)
        | CliCommand::Cancel(_)
        | CliCommand::Logs(_)
        | CliCommand::Signal(_)
        | CliCommand::Signals(_)
        | CliCommand::Approvals(_)
        | CliCommand::Resume(_)
        | CliCommand::Replay(_)
        | CliCommand::Register(_)
        | CliCommand::Catalog(_)
        | CliCommand::Server(_)
        | CliCommand::Ui(_)
        | CliCommand::Demo(_)
        | CliCommand::Dev(_)
        | CliCommand::Worker(_)
        | CliCommand::Pools(_)
        | CliCommand::Limits(_)
        | CliCommand::Notifications(_)
        | CliCommand::Outbox(_)
        | CliCommand::Token(_)
        | CliCommand::Audit(_)
        | CliCommand::Feed(_)
        | CliCommand::Subscription(_)
        | CliCommand::Schedule(_)
        | CliCommand::Tools(_)
        | CliCommand::Credential(_) => true,
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
                tracing::warn!("second signal received: ending at once");
                std::process::exit(exit.code().into());
            }
            stop.cancel();
        }
    });
    Ok(stopped)
}
