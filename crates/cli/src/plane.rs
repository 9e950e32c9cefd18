//! The control plane that a command works with: in this process, or a server far away. Commands do
//! the same with either.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use noetl_control::{Follow, ForkRequest, PlaybookChoice, StartRequest};
use noetl_model::{Below, CatalogId, ExecutionId, Recorded, Summary};
use url::Url;

use crate::args::{Chosen, ClientArgs};
use crate::config::{Config, NamedBy};
use crate::database::{self, Opened};
use crate::failure::Failure;
use crate::history::History;
use crate::remote::{Remote, RemoteFollow};
use crate::session::{Session, Work};

/// Where the history of executions is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Home {
    /// It ends with the command.
    Nowhere,
    File(PathBuf),
    Server(Url),
}

/// What commands ask of a control plane.
#[async_trait]
pub(crate) trait Plane: Send + Sync {
    fn home(&self) -> &Home;

    fn history(&self) -> History;

    /// Keeps a document in the catalog; `file` is its name in messages.
    async fn register(&self, file: &Path, content: &str) -> Result<Kept, Failure>;

    /// The text of a document of the catalog; the newest version if none is named.
    async fn content(&self, path: &str, version: Option<u32>) -> Result<Option<String>, Failure>;

    async fn start(&self, request: StartRequest) -> Result<Summary, Failure>;

    /// Begins an execution with the past of another.
    async fn fork(&self, request: ForkRequest) -> Result<Summary, Failure>;

    /// Begins an execution with the past of another and a playbook document, which is kept in the
    /// catalog only if that is possible.
    async fn fork_onto(
        &self,
        request: ForkRequest,
        file: &Path,
        content: &str,
    ) -> Result<Summary, Failure>;

    /// The executions that nobody but this command continues, if it does, oldest first.
    async fn unfinished(&self) -> Result<Vec<Summary>, Failure>;

    /// The events of an execution as they are written.
    fn follow(&self, execution: ExecutionId) -> Follower;

    /// Cancels an execution, and perhaps what stands below it; one that has ended stays as it is.
    async fn cancel(
        &self,
        execution: ExecutionId,
        reason: &str,
        below: Below,
    ) -> Result<(), Failure>;

    /// Ends what runs in this process.
    async fn close(self: Box<Self>);
}

/// What a playbook was registered as.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) catalog_id: CatalogId,
    pub(crate) path: String,
    pub(crate) version: u32,
}

impl From<&Kept> for PlaybookChoice {
    fn from(kept: &Kept) -> Self {
        PlaybookChoice::Id(kept.catalog_id)
    }
}

/// The events of one execution, in order, without end.
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

/// The server that a command is told to talk to, if it is.
pub(crate) fn server_of(args: &ClientArgs, config: &Config) -> Result<Option<Remote>, Failure> {
    let is_local = args.local || args.database.db.is_some();
    let named = match &args.server {
        Some(url) => Some((url.clone(), NamedBy::Flag)),
        None if is_local => None,
        None => config.server().map(|url| (url, NamedBy::Settings)),
    };
    named.map(|(url, named)| Remote::new(url, named, config)).transpose()
}

/// Whether what a command is told to work with has been there before it.
pub(crate) fn is_there(args: &ClientArgs, config: &Config) -> bool {
    let names_server = args.server.is_some() || config.server().is_some();
    let is_local = args.local || args.database.db.is_some();
    (names_server && !is_local) || database::path_of(&args.database, config).exists()
}

/// The control plane that a command is told to work with. If another process serves the database,
/// that one is asked.
pub(crate) async fn open(
    args: &ClientArgs,
    work: Work,
    config: &Config,
) -> Result<Box<dyn Plane>, Failure> {
    if let Some(remote) = server_of(args, config)? {
        return Ok(Box::new(remote));
    }
    let path = database::path_of(&args.database, config);
    match database::open_or_served(&path, config).await? {
        Opened::Ours(store) => Ok(Box::new(Session::on(store, &path, work, config).await?)),
        Opened::ServedAt(url) => Ok(Box::new(Remote::new(url, NamedBy::Database, config)?)),
    }
}

/// The history that a command is told to look at.
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

/// One execution, with the history it was found in.
pub(crate) async fn chosen(
    args: &ClientArgs,
    execution: Chosen,
    config: &Config,
) -> Result<(Summary, History, Home), Failure> {
    let (history, home) = history(args, config).await?;
    Ok((history.chosen(execution).await?, history, home))
}
