//! The operations that commands use: [`Backend`], with an implementation in this process
//! ([`Session`]) and one that calls a server ([`Remote`]).

mod credentials;
mod feeds;
mod outbox;
mod schedules;
mod subscriptions;
mod url;

use std::path::{Path, PathBuf};

use ::url::Url;
use async_trait::async_trait;
use noetl_control::{Follow, ForkRequest, PlaybookChoice, StartRequest};
use noetl_model::{Below, CatalogId, ExecutionId, Recorded, Summary};

use crate::args::{Chosen, ClientArgs};
use crate::config::{Config, NamedBy};
use crate::history::History;
use crate::remote::{Remote, RemoteFollow};
use crate::session::{Session, Work};
use crate::show::failure::Failure;
use crate::wiring::database::{self, Opened};

pub(crate) use credentials::{Credentials, RotatedTable};
pub(crate) use feeds::Feeds;
pub(crate) use outbox::Outbox;
pub(crate) use schedules::Schedules;
pub(crate) use subscriptions::{Subscriptions, subscription_id};

/// The place where the history of executions is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Home {
    /// In memory only, until the command ends.
    Nowhere,
    File(PathBuf),
    Server(Url),
}

/// The operations that commands use, local or remote.
#[async_trait]
pub(crate) trait Backend:
    Credentials + Feeds + Outbox + Schedules + Subscriptions + Send + Sync
{
    fn home(&self) -> &Home;

    fn history(&self) -> History;

    /// Stores a document in the catalog; `file` is its name in messages.
    async fn register(&self, file: &Path, content: &str) -> Result<CatalogPlaybook, Failure>;

    /// Returns the text of a catalog document; the newest version if none is given.
    async fn content(&self, path: &str, version: Option<u32>) -> Result<Option<String>, Failure>;

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
        below: Below,
    ) -> Result<(), Failure>;

    /// Stops everything that runs in this process.
    async fn close(self: Box<Self>);
}

/// A registered playbook version.
#[derive(Debug, Clone)]
pub(crate) struct CatalogPlaybook {
    pub(crate) catalog_id: CatalogId,
    pub(crate) path: String,
    pub(crate) version: u32,
}

impl From<&CatalogPlaybook> for PlaybookChoice {
    fn from(kept: &CatalogPlaybook) -> Self {
        PlaybookChoice::Id(kept.catalog_id)
    }
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
pub(crate) fn is_there(args: &ClientArgs, config: &Config) -> bool {
    let names_server = args.server.is_some() || config.server().is_some();
    let is_local = args.local || args.database.db.is_some();
    (names_server && !is_local) || database::path_of(&args.database, config).exists()
}

/// Opens the backend that a command should use: the configured server, else the embedded database.
/// If a server has the database open, that server is used.
pub(crate) async fn open(
    args: &ClientArgs,
    work: Work,
    config: &Config,
) -> Result<Box<dyn Backend>, Failure> {
    if let Some(remote) = server_of(args, config)? {
        return Ok(Box::new(remote));
    }
    let path = database::path_of(&args.database, config);
    match database::open_or_served(&path, config).await? {
        Opened::Ours(store) => Ok(Box::new(Session::on(store, &path, work, config).await?)),
        Opened::ServedAt(url) => Ok(Box::new(Remote::new(url, NamedBy::Database, config)?)),
    }
}

/// Opens the history that a command should read.
pub(crate) async fn history(
    args: &ClientArgs,
    config: &Config,
) -> Result<(History, Home), Failure> {
    if let Some(remote) = server_of(args, config)? {
        return Ok((remote.history(), remote.home().clone()));
    }
    let path = database::path_of(&args.database, config);
    Ok((History::open(&path, config).await?, Home::File(path)))
}

/// Loads one execution, with the history it was found in.
pub(crate) async fn chosen(
    args: &ClientArgs,
    execution: Chosen,
    config: &Config,
) -> Result<(Summary, History, Home), Failure> {
    let (history, home) = history(args, config).await?;
    Ok((history.chosen(execution).await?, history, home))
}
