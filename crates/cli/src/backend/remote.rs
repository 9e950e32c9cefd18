//! The backend on a server, called over HTTP.

mod reader;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use async_trait::async_trait;
use noetl_api::wire::{ExecuteRequest, ForkBody, KeyedSignalQuery, SignalQuery};
use noetl_api::{AnyId, Client, ClientError, ClientSettings, Method};
use noetl_app::{EntryState, KeyedSignalResult};
use noetl_control::{ForkAt, ForkRequest, PlaybookChoice, SentSignal, SignalByKey, StartRequest};
use noetl_engine::StartInput;
use noetl_model::{ChildExecutions, ExecutionId, PlaybookRef, Recorded, Seq, Summary};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::{
    Backend, BackendReader, Follower, HistoryLocation, PlaybookDocument, unknown_playbook,
};
use crate::config::{Config, NamedBy};
use crate::show::failure::Failure;
use crate::wiring::local_token;

/// The time for which one request waits for the next event.
const EVENT_WAIT: Duration = Duration::from_secs(20);
/// The time for which a server that does not answer is retried for events.
const LOST_MAX: Duration = Duration::from_secs(60);
/// The delay between two such requests.
const LOST_PAUSE: Duration = Duration::from_secs(1);

/// A remote server.
pub(crate) struct Remote {
    client: Arc<Client>,
    location: HistoryLocation,
}

impl Remote {
    /// Connects to a server with the configured token and CA.
    pub(crate) fn new(url: Url, named: NamedBy, config: &Config) -> Result<Self, Failure> {
        Self::beside(&config.database(), url, named, config)
    }

    /// Connects to a server, which may have this database open.
    pub(crate) fn beside(
        database: &Path,
        url: Url,
        named: NamedBy,
        config: &Config,
    ) -> Result<Self, Failure> {
        let token = local_token::for_client(&url, named, database, config)?;
        Self::with_token(url, token, config)
    }

    /// Connects to a server for requests that need no token.
    pub(crate) fn public(url: Url, config: &Config) -> Result<Self, Failure> {
        Self::with_token(url, None, config)
    }

    fn with_token(url: Url, token: Option<String>, config: &Config) -> Result<Self, Failure> {
        let ca = match config.server_ca() {
            Some(path) => Some(
                std::fs::read(path)
                    .with_context(|| format!("cannot read the authority in {}", path.display()))
                    .map_err(Failure::bad_input)?,
            ),
            None => None,
        };
        let settings = ClientSettings { base: url.clone(), token, actor: config.actor(), ca };
        let client = Client::new(settings).map_err(Failure::bad_input)?;
        Ok(Self { client: Arc::new(client), location: HistoryLocation::Server(url) })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Sends a GET request.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.ask(Method::GET, path, None, Duration::ZERO).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, Failure> {
        self.ask(Method::POST, path, Some(body), Duration::ZERO).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<(), Failure> {
        self.ask::<Value>(Method::DELETE, path, None, Duration::ZERO).await.map(drop)
    }

    /// Sends a request that the server may answer after up to `wait`.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        wait: Duration,
    ) -> Result<T, Failure> {
        self.client.ask(method, path, body, wait).await.map_err(refused)
    }

    /// Forks an execution on the server, perhaps with the text of another playbook.
    async fn forked(
        &self,
        request: ForkRequest,
        content: Option<String>,
    ) -> Result<Summary, Failure> {
        let ForkRequest { origin, at, playbook, workload, context, actor: _ } = request;
        let at_event = match at {
            ForkAt::Event(seq) => Some(seq.0),
            ForkAt::Failure => None,
        };
        let (catalog_id, version) = match playbook {
            Some(PlaybookChoice::Id(id)) => (Some(AnyId(id.0)), None),
            // A server forks only to versions of the same path.
            Some(
                PlaybookChoice::Path { version: Some(version), .. }
                | PlaybookChoice::Named { version: Some(version), .. },
            ) => (None, Some(version.into())),
            Some(
                PlaybookChoice::Path { version: None, .. }
                | PlaybookChoice::Named { version: None, .. },
            ) => (None, Some("latest".into())),
            None => (None, None),
        };
        let (workload, context) = (Some(workload), Some(context.into_iter().collect()));
        let body = ForkBody { at_event, workload, context, version, catalog_id, content };
        let fork = self.client.fork(origin, &body).await.map_err(refused)?;
        self.started(fork).await
    }

    /// Loads the summary of an execution that has just been started.
    async fn started(&self, execution: ExecutionId) -> Result<Summary, Failure> {
        let known = self.find(execution).await?;
        known
            .map(|known| known.summary)
            .ok_or_else(|| Failure::broken(anyhow!("execution {execution} has been deleted")))
    }
}

/// Converts a start to the body of its request.
fn execute_request(playbook: PlaybookChoice, input: StartInput) -> ExecuteRequest {
    let (path, catalog_id, version) = match playbook {
        PlaybookChoice::Id(id) => (None, Some(AnyId(id.0)), None),
        PlaybookChoice::Path { path, version } | PlaybookChoice::Named { name: path, version } => {
            (Some(path), None, version)
        }
    };
    ExecuteRequest {
        path,
        catalog_id,
        version: version.map(Value::from),
        payload: Some(input.payload),
        error_mode: input.error_mode,
        priority: input.priority,
        execution_pool: Some(input.pool.as_str().to_owned()),
        trace: input.trace,
        parent_execution_id: None,
        labels: input.labels,
        dedup: None,
    }
}

/// Converts an error of the client to a failure with help.
pub(crate) fn refused(error: ClientError) -> Failure {
    match &error {
        ClientError::Refused { status: 401 | 403, .. } => Failure::bad_input(error)
            .help("set NOETL_API_TOKEN, or `token` in noetl.toml, to a token of this server"),
        ClientError::Refused { status: 400..=499, .. } | ClientError::Ca(_) => {
            Failure::bad_input(error)
        }
        ClientError::Refused { .. } | ClientError::Setup(_) => Failure::broken(error),
        ClientError::Unreachable { .. } => Failure::broken(error).help(
            "start it with `noetl server`, name another one with --server URL, or use --local",
        ),
        ClientError::Foreign { .. } => {
            Failure::broken(error).help("name the address of a noetl server with --server URL")
        }
    }
}

#[async_trait]
impl Backend for Remote {
    fn reader(&self) -> &dyn BackendReader {
        self
    }

    async fn register(&self, _file: &Path, content: &str) -> Result<PlaybookRef, Failure> {
        let registered = self.client.register(content).await.map_err(refused)?;
        let (path, version) = (registered.path.clone(), registered.version);
        Ok(PlaybookRef { catalog_id: registered.into(), path, version })
    }

    async fn set_playbook_state(
        &self,
        path: &str,
        state: EntryState,
    ) -> Result<PlaybookDocument, Failure> {
        let is_archived = state == EntryState::Archived;
        self.client.set_archived(path, is_archived).await.map_err(|error| match error {
            ClientError::Refused { status: 404, .. } => unknown_playbook(path),
            error => refused(error),
        })?;
        let item = self.client.catalog_item(path, None).await.map_err(refused)?;
        let item = item.ok_or_else(|| Failure::broken(anyhow!("{path} has been deleted")))?;
        Ok(PlaybookDocument { content: None, ..item.into() })
    }

    async fn start(&self, request: StartRequest) -> Result<Summary, Failure> {
        let StartRequest { playbook, input, .. } = request;
        let name = match &playbook {
            PlaybookChoice::Id(id) => id.to_string(),
            PlaybookChoice::Path { path, .. } => path.clone(),
            PlaybookChoice::Named { name, .. } => name.clone(),
        };
        match self.client.start(execute_request(playbook, input)).await {
            Ok(execution) => self.started(execution).await,
            Err(ClientError::Refused { status: 404, detail, .. }) => {
                let failure = Failure::bad_input(anyhow!("{detail}"));
                let help = "`noetl catalog list` lists the registered playbooks";
                Err(self.reader().suggest_playbook(failure, &name, help).await)
            }
            Err(error) => Err(refused(error)),
        }
    }

    async fn fork(&self, request: ForkRequest) -> Result<Summary, Failure> {
        self.forked(request, None).await
    }

    async fn fork_onto(
        &self,
        request: ForkRequest,
        _file: &Path,
        content: &str,
    ) -> Result<Summary, Failure> {
        self.forked(request, Some(content.to_owned())).await
    }

    /// Returns nothing: the server resumes its executions itself.
    async fn unfinished(&self) -> Result<Vec<Summary>, Failure> {
        Ok(Vec::new())
    }

    fn follow(&self, execution: ExecutionId) -> Follower {
        Follower::Far(RemoteFollow {
            client: self.client.clone(),
            execution,
            after: Seq::ZERO,
            page: VecDeque::new(),
        })
    }

    async fn cancel(
        &self,
        execution: ExecutionId,
        reason: &str,
        below: ChildExecutions,
    ) -> Result<(), Failure> {
        self.client.cancel(execution, reason, below).await.map_err(refused)
    }

    async fn signal(&self, execution: ExecutionId, sent: SentSignal) -> Result<(), Failure> {
        let SentSignal { name, body, sender, key, actor: _ } = sent;
        let query = SignalQuery { sender, idempotency_key: key };
        self.client.signal(execution, &name, &body, &query).await.map_err(refused)
    }

    async fn signal_by_key(&self, sent: SignalByKey) -> Result<KeyedSignalResult, Failure> {
        let SignalByKey { name, key, body, sender, actor: _, once, kept_for } = sent;
        let query = KeyedSignalQuery {
            key: key.into(),
            sender,
            idempotency_key: once,
            kept_for: kept_for.map(|kept_for| kept_for.as_secs().to_string()),
        };
        let answer = self.client.signal_by_key(&name, &body, &query).await.map_err(refused)?;
        Ok(match answer.execution_id {
            Some(execution) => KeyedSignalResult::Delivered(execution.into()),
            None => KeyedSignalResult::Kept,
        })
    }

    async fn close(self: Box<Self>) {}
}

/// The events of an execution on a server. A server that is down for a short time, as during an
/// upgrade, is retried.
pub(crate) struct RemoteFollow {
    client: Arc<Client>,
    execution: ExecutionId,
    after: Seq,
    page: VecDeque<Recorded>,
}

impl RemoteFollow {
    pub(crate) async fn next(&mut self) -> Result<Recorded, Failure> {
        let mut lost = Duration::ZERO;
        loop {
            if let Some(recorded) = self.page.pop_front() {
                self.after = recorded.seq;
                return Ok(recorded);
            }
            match self.client.events(self.execution, self.after, EVENT_WAIT).await {
                Ok(page) => {
                    lost = Duration::ZERO;
                    self.page = page.into();
                }
                Err(ClientError::Unreachable { .. } | ClientError::Refused { status: 503, .. })
                    if lost < LOST_MAX =>
                {
                    tracing::warn!(execution = %self.execution, "the server does not answer");
                    tokio::time::sleep(LOST_PAUSE).await;
                    lost += LOST_PAUSE;
                }
                Err(error) => return Err(refused(error)),
            }
        }
    }
}
