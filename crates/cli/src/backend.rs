//! The operations that commands use: [`Backend`], with an implementation in this process
//! ([`Session`]) and one that calls a server ([`Remote`]). A command that only reads uses a
//! [`BackendReader`], which can also read a database that another process writes.

mod approvals;
mod bulk;
mod credentials;
mod feeds;
mod holds;
mod kept_signals;
pub(crate) mod local;
mod notifications;
mod outbox;
mod pages;
mod reader;
pub(crate) mod remote;
mod retention;
mod schedules;
pub(crate) mod step_logs;
mod subscriptions;
mod tokens;
mod url;

use std::path::{Path, PathBuf};

use ::url::Url;
use anyhow::Context as _;
use async_trait::async_trait;
use noetl_app::{
    App, Bundle, BundleError, EntryState, KeyedSignalResult, KnownExecution, StoreReader, is_bundle,
};
use noetl_control::{Follow, ForkRequest, SentSignal, SignalByKey, StartRequest};
use noetl_model::{
    ChildExecutions, ExecutionId, PlaybookRef, Recorded, Summary, TrailFact, TrailOutcome,
};

use crate::args::{Chosen, ClientArgs};
use crate::config::{Config, NamedBy};
use crate::show::failure::Failure;
use crate::wiring::database::{self, Opened};

use local::{LocalReader, Session, WorkerMode};
use remote::{Remote, RemoteFollow};

pub(crate) use approvals::Approvals;
pub(crate) use bulk::BulkOperations;
pub(crate) use credentials::{CredentialItem, Credentials, RotatedTable};
pub(crate) use feeds::Feeds;
pub(crate) use holds::{HoldAction, HoldTarget, Holds};
pub(crate) use kept_signals::KeptSignals;
pub(crate) use notifications::{NotificationChange, Notifications};
pub(crate) use outbox::Outbox;
pub(crate) use pages::{answers, execution_page, page_of};
pub(crate) use reader::{BackendReader, PlaybookDocument, Started, Which};
pub(crate) use retention::KeepMarks;
pub(crate) use schedules::Schedules;
pub(crate) use subscriptions::{Subscriptions, subscription_id};
pub(crate) use tokens::{StoredTokens, TokenRequest};

/// The place where the history of executions is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HistoryLocation {
    /// In memory only, until the command ends.
    Memory,
    File(PathBuf),
    Server(Url),
}

/// The operations that commands use, local or remote.
#[async_trait]
pub(crate) trait Backend:
    Approvals
    + BulkOperations
    + Credentials
    + Feeds
    + KeepMarks
    + KeptSignals
    + Outbox
    + Schedules
    + Subscriptions
    + Send
    + Holds
    + Notifications
    + StoredTokens
    + Sync
{
    fn reader(&self) -> &dyn BackendReader;

    /// Stores a document in the catalog; `file` is its name in messages.
    async fn register(&self, file: &Path, content: &str) -> Result<PlaybookRef, Failure>;

    /// Archives the playbook at a path with all its versions, or restores it. Returns the newest
    /// version.
    async fn set_playbook_state(
        &self,
        path: &str,
        state: EntryState,
    ) -> Result<PlaybookDocument, Failure>;

    async fn start(&self, request: StartRequest) -> Result<Summary, Failure>;

    /// Starts an execution with the history of another one.
    async fn fork(&self, request: ForkRequest) -> Result<Summary, Failure>;

    /// Starts an execution with the history of another one and a playbook document, which is
    /// registered only if the fork is possible.
    async fn fork_onto(
        &self,
        request: ForkRequest,
        file: &Path,
        content: &str,
    ) -> Result<Summary, Failure>;

    /// Returns the running executions that only this command can resume, oldest first.
    async fn unfinished(&self) -> Result<Vec<Summary>, Failure>;

    /// Follows the events of an execution as they are appended.
    fn follow(&self, execution: ExecutionId) -> Follower;

    /// Cancels an execution and, by `below`, its children. An execution that has ended is left
    /// unchanged.
    async fn cancel(
        &self,
        execution: ExecutionId,
        reason: &str,
        below: ChildExecutions,
    ) -> Result<(), Failure>;

    /// Sends a signal to an execution.
    async fn signal(&self, execution: ExecutionId, sent: SentSignal) -> Result<(), Failure>;

    /// Sends a signal to the step that waits with a correlation key.
    async fn signal_by_key(&self, sent: SignalByKey) -> Result<KeyedSignalResult, Failure>;

    /// Returns the operations of a backend in this process, for a server in front of it.
    fn local_app(&self) -> Option<App> {
        None
    }

    /// Stops everything that runs in this process.
    async fn close(self: Box<Self>);
}

/// The events of one execution in order; waits for new ones.
pub(crate) enum Follower {
    Here(Follow),
    Far(RemoteFollow),
}

impl Follower {
    pub(crate) async fn next(&mut self) -> Result<Recorded, Failure> {
        match self {
            Follower::Here(follow) => follow.next().await.map_err(Failure::broken),
            Follower::Far(follow) => follow.next().await,
        }
    }
}

/// Returns the server that a command should use, if one is given or configured.
pub(crate) fn server_of(args: &ClientArgs, config: &Config) -> Result<Option<Remote>, Failure> {
    let is_local = args.local || args.database.db.is_some();
    let named = match &args.server {
        Some(url) => Some((url.clone(), NamedBy::Flag)),
        None if is_local => None,
        None => config.server().map(|url| (url, NamedBy::Settings)),
    };
    named.map(|(url, named)| Remote::new(url, named, config)).transpose()
}

/// True if the server is configured or the database exists.
pub(crate) fn exists(args: &ClientArgs, config: &Config) -> bool {
    let names_server = args.server.is_some() || config.server().is_some();
    let is_local = args.local || args.database.db.is_some();
    (names_server && !is_local) || database::path_of(&args.database, config).exists()
}

/// Opens the backend that a command should use: the configured server, else the embedded database.
/// If a server has the database open, that server is used.
pub(crate) async fn open(
    args: &ClientArgs,
    workers: WorkerMode,
    config: &Config,
) -> Result<Box<dyn Backend>, Failure> {
    if let Some(remote) = server_of(args, config)? {
        return Ok(Box::new(remote));
    }
    let path = database::path_of(&args.database, config);
    if is_bundle(&path) {
        let problem = anyhow::anyhow!("{} is a bundle, which can only be read", path.display());
        return Err(Failure::bad_input(problem));
    }
    match database::open_or_served(&path, config).await? {
        Opened::Ours(store) => {
            let session = Session::on(store, &path, workers, config).await?;
            if let (WorkerMode::Embedded, Some(action)) = (workers, config.recorded_action()) {
                // The log of the execution that the command starts tells how it went on.
                let app = session.app();
                app.audit(command_fact(app, action, TrailOutcome::Done, config)).await;
            }
            Ok(Box::new(session))
        }
        Opened::ServedAt(url) => {
            Ok(Box::new(Remote::beside(&path, url, NamedBy::Database, config)?))
        }
    }
}

/// Returns the entry of the audit log for a command on the embedded database. Its actor is the user of
/// this machine, whom nobody has checked: he can write anything into the file.
fn command_fact(app: &App, action: &str, outcome: TrailOutcome, config: &Config) -> TrailFact {
    TrailFact {
        at: app.now(),
        actor: config.actor().map(String::from),
        action: action.to_owned(),
        subject: None,
        source: None,
        outcome,
        detail: None,
    }
}

/// Opens the backend that a command should use, without a worker; runs an operation on it and
/// closes it.
pub(crate) async fn with<T>(
    args: &ClientArgs,
    config: &Config,
    operation: impl AsyncFnOnce(&dyn Backend) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let backend = open(args, WorkerMode::None, config).await?;
    let done = operation(&*backend).await;
    if let (Some(app), Some(action)) = (backend.local_app(), config.recorded_action()) {
        let outcome = if done.is_ok() { TrailOutcome::Done } else { TrailOutcome::Failed };
        app.audit(command_fact(&app, action, outcome, config)).await;
    }
    backend.close().await;
    done
}

/// Opens a reader of the server or the embedded database that a command should use.
pub(crate) async fn open_reader(
    args: &ClientArgs,
    config: &Config,
) -> Result<Box<dyn BackendReader>, Failure> {
    if let Some(remote) = server_of(args, config)? {
        return Ok(Box::new(remote));
    }
    let path = database::path_of(&args.database, config);
    let store = match is_bundle(&path) {
        true => bundle_reader(&path).await?,
        false => database::reader(&path, config).await?,
    };
    // A server that was killed leaves its address behind, and one that cannot be asked is no error: the
    // history is read from the file.
    let url = database::served_at(&path).filter(answers);
    let server = url.and_then(|url| Remote::beside(&path, url, NamedBy::Database, config).ok());
    Ok(Box::new(LocalReader { store, location: HistoryLocation::File(path), server }))
}

/// Reads a bundle of `noetl export`.
async fn bundle_reader(file: &Path) -> Result<StoreReader, Failure> {
    let opened = std::fs::File::open(file).map_err(BundleError::from);
    let bundle = opened.and_then(|file| Bundle::read(std::io::BufReader::new(file)));
    let read = match bundle {
        Ok(bundle) => bundle.reader().await,
        Err(error) => Err(error),
    };
    read.with_context(|| format!("cannot read the bundle {}", file.display()))
        .map_err(Failure::broken)
}

/// Loads one execution, with a reader of the place where it was found.
pub(crate) async fn chosen(
    args: &ClientArgs,
    execution: Chosen,
    config: &Config,
) -> Result<(KnownExecution, Box<dyn BackendReader>), Failure> {
    let reader = open_reader(args, config).await?;
    Ok((reader.chosen(execution).await?, reader))
}

/// Returns the failure of a change to a playbook that is not in the catalog.
fn unknown_playbook(path: &str) -> Failure {
    Failure::bad_input(anyhow::anyhow!("there is no playbook {path}"))
        .help("`noetl catalog list` lists the playbooks")
}
