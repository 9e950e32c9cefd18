//! The tools of a worker. Runs a command's tool and enforces its timeout.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use noetl_model::{ErrorKind, Lease, Logs, ToolError, ToolKind};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::artifact::Artifact;
use crate::call::{Call, Ended, Tool};
use crate::credentials::{Credentials, FixedCredentials, Noted, UsedCredentials};
use crate::duckdb::Duckdb;
use crate::duckdb::engine::Engine;
use crate::http::{Http, Keychain};
use crate::memory::{CallMemory, MemoryBudget};
use crate::nats::Nats;
use crate::nats::connection::Connections;
use crate::noop::Noop;
use crate::outgoing::Outgoing;
use crate::postgres::Postgres;
use crate::postgres::pool::Pools;
use crate::prepare::{Circumstances, Templates};
use crate::python::Python;
use crate::rhai::Rhai;
use crate::script::Script;
use crate::secrets::Secrets;
use crate::settings::{Settings, Whereabouts};
use crate::shell::Shell;
use crate::sqlite::Sqlite;
use crate::subscription::Subscription;
use crate::transfer::Transfer;

/// The default timeout of a tool.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(300);
/// How long a cancelled tool may take to return its logs.
const STOP_WAIT: Duration = Duration::from_secs(3);

/// The tools of a worker, by kind.
pub struct Registry {
    tools: BTreeMap<ToolKind, Arc<dyn Tool>>,
    templates: Templates,
    /// The source of credentials for templates.
    credentials: Arc<dyn Credentials>,
    whereabouts: Whereabouts,
    memory: MemoryBudget,
}

/// The reason why a tool was stopped.
enum Stop {
    Timeout,
    Cancelled,
}

impl Registry {
    /// Creates a registry without tools and credentials.
    pub fn empty() -> Self {
        let credentials = Arc::new(FixedCredentials::default());
        Self {
            tools: BTreeMap::new(),
            templates: Templates::new(),
            credentials,
            whereabouts: Whereabouts::default(),
            memory: MemoryBudget::default(),
        }
    }

    /// Creates a registry with the built-in tools.
    pub fn standard(settings: Settings) -> Self {
        let credentials: Arc<dyn Credentials> = Arc::new(Noted(settings.credentials));
        let settings = Settings { credentials, ..settings };
        let outgoing =
            Arc::new(Outgoing::new(settings.egress.clone(), settings.proxy_from_environment));
        let pools = Arc::new(Pools::new());
        let connections = Arc::new(Connections::default());
        let duckdb =
            Arc::new(Engine::new(settings.duckdb_library.clone(), settings.library_places.clone()));
        let http = Http::new(outgoing.clone(), settings.credentials.clone());
        let transfer = Transfer {
            pools: pools.clone(),
            duckdb: duckdb.clone(),
            http: http.clone(),
            credentials: settings.credentials.clone(),
        };
        let (credentials, whereabouts) =
            (Arc::new(Keychain(http.clone())), settings.whereabouts.clone());
        let memory = settings.memory.clone();
        Self { credentials, whereabouts, memory, ..Self::empty() }
            .with(ToolKind::Artifact, Artifact::new("artifact", settings.results.clone()))
            .with(ToolKind::ResultFetch, Artifact::new("result_fetch", settings.results.clone()))
            .with(ToolKind::Nats, Nats::new(connections.clone(), settings.credentials.clone()))
            .with(
                ToolKind::Subscription,
                Subscription::new(connections, settings.credentials.clone()),
            )
            .with(ToolKind::Duckdb, Duckdb::new(duckdb))
            .with(ToolKind::Http, http)
            .with(ToolKind::Noop, Noop)
            .with(ToolKind::Postgres, Postgres::new(pools, settings.credentials.clone()))
            .with(ToolKind::Python, Python::new(&settings, outgoing.clone()))
            .with(ToolKind::Rhai, Rhai::new(outgoing.clone()))
            .with(ToolKind::Script, Script::new(&settings, outgoing))
            .with(ToolKind::Secrets, Secrets::new(settings.credentials.clone()))
            .with(ToolKind::Shell, Shell::new(settings.environment))
            .with(ToolKind::Sqlite, Sqlite)
            .with(ToolKind::Transfer, transfer)
    }

    /// Adds a tool; replaces one of the same kind.
    #[must_use]
    pub fn with(mut self, kind: ToolKind, tool: impl Tool + 'static) -> Self {
        self.tools.insert(kind, Arc::new(tool));
        self
    }

    /// The memory budget shared by all calls.
    pub fn memory(&self) -> &MemoryBudget {
        &self.memory
    }

    pub fn kinds(&self) -> impl Iterator<Item = ToolKind> {
        self.tools.keys().copied()
    }

    /// Runs the command of a lease to its end. `bindings` are the lease's values with references
    /// resolved. Credentials that the tool requests are recorded in `used`, and their secrets are
    /// removed from the result. The memory of the result is held by `memory`.
    pub async fn run(
        &self,
        lease: &Lease,
        bindings: BTreeMap<String, Arc<Value>>,
        (used, memory): (&UsedCredentials, &CallMemory),
        cancel: &CancellationToken,
    ) -> Ended {
        let ended = self.run_lease(lease, bindings, (used, memory), cancel).await;
        memory.settle(ended.redacted(&used.redactor())).await
    }

    async fn run_lease(
        &self,
        lease: &Lease,
        bindings: BTreeMap<String, Arc<Value>>,
        (used, memory): (&UsedCredentials, &CallMemory),
        cancel: &CancellationToken,
    ) -> Ended {
        let Some(tool) = self.tools.get(&lease.tool) else {
            return Ended::failed(self.unavailable(lease.tool));
        };
        let circumstances = Circumstances {
            timeout_default: TIMEOUT_DEFAULT,
            cancel: cancel.child_token(),
            used: used.clone(),
            memory: memory.clone(),
            whereabouts: &self.whereabouts,
        };
        let preparing = self.templates.prepare(lease, bindings, &*self.credentials, circumstances);
        match cancel.run_until_cancelled(preparing).await {
            Some(Ok(call)) => run_in_time(tool.as_ref(), &call, cancel).await,
            Some(Err(error)) => Ended::failed(error),
            None => Ended::stopped(Logs::default()),
        }
    }

    /// Runs a call whose templates are already rendered.
    pub async fn call(&self, kind: ToolKind, call: &Call) -> Ended {
        let ended = match self.tools.get(&kind) {
            Some(tool) => run_in_time(tool.as_ref(), call, &call.cancel.clone()).await,
            None => Ended::failed(self.unavailable(kind)),
        };
        call.memory.settle(ended.redacted(&call.used.redactor())).await
    }

    fn unavailable(&self, kind: ToolKind) -> ToolError {
        let known: Vec<&str> = self.kinds().map(ToolKind::as_str).collect();
        ToolError::new(
            ErrorKind::Config,
            format!("this worker has no tool `{kind}`; it has: {}", known.join(", ")),
        )
    }
}

/// Runs a tool until it ends, its timeout passes or its command is cancelled.
async fn run_in_time(tool: &dyn Tool, call: &Call, cancel: &CancellationToken) -> Ended {
    // Cancels the call if this future is dropped, so that nothing keeps running.
    let _stop_at_the_end = call.cancel.clone().drop_guard();
    let running = tool.run(call);
    tokio::pin!(running);
    let stop = tokio::select! {
        ended = &mut running => return ended,
        () = tokio::time::sleep(call.timeout) => Stop::Timeout,
        () = cancel.cancelled() => Stop::Cancelled,
    };
    call.cancel.cancel();
    let logs = match tokio::time::timeout(STOP_WAIT, running).await {
        Ok(ended) => ended.logs,
        Err(_) => Logs::default(),
    };
    let error = match stop {
        Stop::Timeout => {
            let message = format!("took longer than {:?} and was stopped", call.timeout);
            ToolError::new(ErrorKind::Timeout, message)
        }
        Stop::Cancelled => ToolError::new(ErrorKind::Unknown, "cancelled"),
    };
    Ended::failed(error).with_logs(logs)
}

#[cfg(test)]
mod faults;
#[cfg(test)]
mod tests;
