//! Starting executions, at most once per start key.

mod start_key;

use std::collections::BTreeSet;

use futures::future::join_all;
use noetl_api::wire::ExecuteRequest;
use noetl_control::{Admission, LoadError, PlaybookChoice, StartError, StartRequest};
use noetl_model::{Actor, Event, ExecutionId, Origin, PermittedPaths, Pool, Seq, Summary};
use noetl_store::{KeyHolder, READ_EVENTS_MAX, StartKey, StoreError};
use serde_json::{Map, Value};

use crate::app::App;
use crate::catalog::{InvalidVersion, version_of};
use start_key::{DIGEST_KEY_PURPOSE, key_of};
pub use start_key::{StartKeyError, checked_key};

/// Maximum number of executions per batch.
const BATCH_MAX: usize = 1000;
/// Maximum length of a pool's name.
const POOL_NAME_MAX: usize = 64;

/// The reason why a text is not the name of a pool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolNameError {
    #[error("`execution_pool` has 1 to {POOL_NAME_MAX} letters, digits, `-` and `_`")]
    NotPlain,
    #[error("the pool `{0}` is the control plane's own")]
    Reserved(String),
}

/// The reason why a request starts no execution.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    #[error("a batch has 1 to {BATCH_MAX} executions, not {0}")]
    BatchSize(usize),
    #[error("name a `path` or a `catalog_id`")]
    NoPlaybook,
    #[error(transparent)]
    Version(#[from] InvalidVersion),
    #[error(transparent)]
    Pool(#[from] PoolNameError),
    #[error(transparent)]
    Key(#[from] StartKeyError),
    /// An earlier request with the same idempotency key has started this execution.
    #[error("this key was used for another request; take a new key for a new request")]
    KeyReused(ExecutionId),
    /// The same, for a caller who may not see the execution.
    #[error("this key was used for another request; take a new key for a new request")]
    KeyTaken,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Start(#[from] StartError),
}

impl From<LoadError> for ExecuteError {
    fn from(error: LoadError) -> Self {
        Self::Start(error.into())
    }
}

/// An execution that a request has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartedExecution {
    pub execution: ExecutionId,
    /// Number of commands issued by the start.
    pub commands: usize,
    /// True if an earlier request has started the execution under the same `dedup` key.
    pub is_duplicate: bool,
}

/// The properties of a start that are not part of its request.
#[derive(Debug, Default)]
pub struct StartOptions<'a> {
    /// The idempotency key: the same request again gets the same answer, another is refused.
    pub idempotency_key: Option<&'a str>,
    /// The trace context, unless the request has one.
    pub trace: Option<Value>,
    pub actor: Option<Actor>,
}

impl App {
    /// Starts the execution that a request describes.
    pub async fn execute(
        &self,
        request: ExecuteRequest,
        options: StartOptions<'_>,
    ) -> Result<StartedExecution, ExecuteError> {
        self.execute_admitted(request, options, &PermittedPaths::All, Admission::Request).await
    }

    /// Starts several executions independently of one another. A batch is admitted as a whole: half
    /// of one would be hard to repeat.
    pub async fn execute_batch(
        &self,
        requests: Vec<ExecuteRequest>,
        actor: Option<Actor>,
    ) -> Result<Vec<Result<StartedExecution, ExecuteError>>, ExecuteError> {
        if requests.is_empty() || requests.len() > BATCH_MAX {
            return Err(ExecuteError::BatchSize(requests.len()));
        }
        for pool in pools_of(&requests) {
            self.control().admit(&pool, Admission::Request).await?;
        }
        let starts = requests.into_iter().map(|request| {
            let options = StartOptions { actor: actor.clone(), ..StartOptions::default() };
            self.execute_admitted(request, options, &PermittedPaths::All, Admission::Granted)
        });
        Ok(join_all(starts).await)
    }

    /// Starts an execution and returns its summary.
    pub async fn start(&self, request: StartRequest) -> Result<Summary, StartError> {
        let execution = self.control().start(request).await?;
        Ok(self.execution(execution).await?)
    }

    /// Runs the same version of the same playbook again with the same labels, with another workload if
    /// one is given; the labels that the playbook derives from the workload follow it.
    pub async fn rerun(
        &self,
        execution: ExecutionId,
        workload: Option<Map<String, Value>>,
        actor: Option<Actor>,
    ) -> Result<StartedExecution, StartError> {
        let summary = self.execution(execution).await?;
        let started = match workload {
            None => self.control().rerun(execution, actor).await?,
            Some(workload) => {
                let playbook = PlaybookChoice::Id(summary.playbook.catalog_id);
                let mut request = StartRequest::new(playbook, workload);
                request.input.origin = Origin::Rerun { execution };
                (request.input.inherited, request.input.actor) = (summary.labels, actor);
                self.control().start(request).await?
            }
        };
        Ok(self.started_before(started).await?)
    }

    /// Starts the execution that a request of a caller with permitted paths describes; start keys are
    /// shared among callers with the same ones.
    pub(crate) async fn execute_admitted(
        &self,
        request: ExecuteRequest,
        options: StartOptions<'_>,
        paths: &PermittedPaths,
        admission: Admission,
    ) -> Result<StartedExecution, ExecuteError> {
        let StartOptions { idempotency_key, trace, actor } = options;
        let mac_key = || self.vault().derived_key(DIGEST_KEY_PURPOSE);
        let key = key_of(&request, idempotency_key, paths, mac_key)?;
        let above = request.parent_execution_id.map(ExecutionId::from);
        let mut request = start_request(request)?;
        request.input.trace = request.input.trace.or(trace);
        request.input.actor = actor;
        (request.key, request.admission) = (key.clone(), admission);
        let request = match above {
            Some(above) => self.control().linked(request, above).await?,
            None => request,
        };
        match (self.control().start_with_details(request).await, key) {
            (Ok(started), _) => Ok(StartedExecution {
                execution: started.execution,
                commands: started.commands,
                is_duplicate: false,
            }),
            (Err(StartError::KeyTaken(holder)), Some(key)) => {
                self.started_under(holder, &key).await
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    /// Answers a request whose start key is in use.
    async fn started_under(
        &self,
        holder: KeyHolder,
        key: &StartKey,
    ) -> Result<StartedExecution, ExecuteError> {
        let first = self.started_before(holder.execution).await?;
        match (key.request, holder.request) {
            (None, _) => Ok(StartedExecution { is_duplicate: true, ..first }),
            (asked, first_asked) if asked == first_asked => Ok(first),
            (Some(_), _) => Err(ExecuteError::KeyReused(first.execution)),
        }
    }

    /// Describes an execution that was started before.
    async fn started_before(&self, execution: ExecutionId) -> Result<StartedExecution, LoadError> {
        let events = self.events(execution, Seq::ZERO, READ_EVENTS_MAX).await?;
        let commands = events
            .iter()
            .take_while(|recorded| !matches!(recorded.event, Event::CommandClaimed { .. }))
            .filter(|recorded| matches!(recorded.event, Event::CommandIssued { .. }))
            .count();
        Ok(StartedExecution { execution, commands, is_duplicate: false })
    }
}

/// Returns the pools in which a batch starts executions; invalid names are reported per request.
fn pools_of(requests: &[ExecuteRequest]) -> BTreeSet<Pool> {
    let pools = requests.iter().map(|request| match &request.execution_pool {
        Some(name) => pool_of(name).ok(),
        None => Some(Pool::shared()),
    });
    pools.flatten().collect()
}

fn start_request(request: ExecuteRequest) -> Result<StartRequest, ExecuteError> {
    let playbook = match (request.catalog_id, request.path) {
        (Some(id), _) => PlaybookChoice::Id(id.into()),
        (None, Some(path)) => {
            PlaybookChoice::Named { name: path, version: version_of(request.version.as_ref())? }
        }
        (None, None) => return Err(ExecuteError::NoPlaybook),
    };
    let pool = match request.execution_pool {
        Some(name) => pool_of(&name)?,
        None => Pool::shared(),
    };
    let payload = request.payload.unwrap_or_default();
    let mut start = StartRequest::new(playbook, payload);
    start.input.error_mode = request.error_mode;
    start.input.priority = request.priority;
    (start.input.pool, start.input.trace) = (pool, request.trace);
    start.input.labels = request.labels;
    Ok(start)
}

/// Checks a pool's name. The name is part of a subject on the bus, so its characters are
/// restricted.
pub fn pool_of(name: &str) -> Result<Pool, PoolNameError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > POOL_NAME_MAX || !name.chars().all(plain) {
        return Err(PoolNameError::NotPlain);
    }
    if name == Pool::CONTROL {
        return Err(PoolNameError::Reserved(name.to_owned()));
    }
    Ok(Pool::new(name))
}
