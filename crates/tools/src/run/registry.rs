//! The tools of a worker. Runs a command's tool and enforces its timeout.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use noetl_model::{ErrorKind, Lease, Logs, ToolError, ToolKind};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::kinds::artifact::Artifact;
use crate::kinds::duckdb::Duckdb;
use crate::kinds::duckdb::engine::Engine;
use crate::kinds::http::{Http, KeychainVariable};
use crate::kinds::nats::Nats;
use crate::kinds::nats::connection::NatsConnections;
use crate::kinds::noop::Noop;
use crate::kinds::postgres::Postgres;
use crate::kinds::postgres::pool::Pools;
use crate::kinds::python::Python;
use crate::kinds::rhai::Rhai;
use crate::kinds::script::ScriptTool;
use crate::kinds::secrets::SecretsTool;
use crate::kinds::shell::Shell;
use crate::kinds::sqlite::Sqlite;
use crate::kinds::subscription::SubscriptionTool;
use crate::kinds::transfer::Transfer;
use crate::protect::credentials::{
    CredentialResolver, FixedCredentials, RecordingResolver, UsedCredentials,
};
use crate::protect::files::FileAccess;
use crate::protect::outgoing::Outgoing;
use crate::run::call::{Call, Tool, ToolResult};
use crate::run::live::LiveLog;
use crate::run::memory::{CallMemory, MemoryBudget};
use crate::run::prepare::{CallOptions, Templates};
use crate::run::settings::{ToolSettings, WorkerIdentity};

/// The default timeout of a tool.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(300);
/// The time within which a cancelled tool returns its logs.
const STOP_WAIT: Duration = Duration::from_secs(3);

/// The tools of a worker, by kind.
pub struct Registry {
    tools: BTreeMap<ToolKind, Arc<dyn Tool>>,
    templates: Templates,
    /// The source of credentials for templates.
    credentials: Arc<dyn CredentialResolver>,
    identity: WorkerIdentity,
    memory: MemoryBudget,
    files: FileAccess,
}

/// The parts of a run that the worker keeps.
#[derive(Clone, Copy)]
pub struct CallParts<'a> {
    /// Records the credentials that the tool requests.
    pub used: &'a UsedCredentials,
    /// Holds the memory of the result.
    pub memory: &'a CallMemory,
    /// Receives the output while the tool runs.
    pub live: &'a LiveLog,
}

/// The reason why a tool was stopped.
enum StopReason {
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
            identity: WorkerIdentity::default(),
            memory: MemoryBudget::default(),
            files: FileAccess::default(),
        }
    }

    /// Creates a registry with the built-in tools.
    pub fn standard(settings: ToolSettings) -> Self {
        let credentials: Arc<dyn CredentialResolver> =
            Arc::new(RecordingResolver(settings.credentials));
        let settings = ToolSettings { credentials, ..settings };
        let outgoing =
            Arc::new(Outgoing::new(settings.egress.clone(), settings.proxy_from_environment));
        let pools = Arc::new(Pools::new(settings.egress.clone()));
        let connections = Arc::new(NatsConnections::new(settings.egress.clone()));
        let duckdb = Engine::new(settings.duckdb_library.clone(), settings.library_places.clone());
        let duckdb = Arc::new(duckdb.with_external_access(settings.duckdb_external_access));
        let http = Http::new(outgoing.clone(), settings.credentials.clone());
        let transfer = Transfer {
            pools: pools.clone(),
            duckdb: duckdb.clone(),
            http: http.clone(),
            credentials: settings.credentials.clone(),
        };
        let (credentials, identity) =
            (Arc::new(KeychainVariable(http.clone())), settings.identity.clone());
        let (memory, files) = (settings.memory.clone(), settings.files.clone());
        Self { credentials, identity, memory, files, ..Self::empty() }
            .with(ToolKind::Artifact, Artifact::new("artifact", settings.results.clone()))
            .with(ToolKind::ResultFetch, Artifact::new("result_fetch", settings.results.clone()))
            .with(ToolKind::Nats, Nats::new(connections.clone(), settings.credentials.clone()))
            .with(
                ToolKind::Subscription,
                SubscriptionTool::new(connections, settings.credentials.clone()),
            )
            .with(ToolKind::Duckdb, Duckdb::new(duckdb))
            .with(ToolKind::Http, http)
            .with(ToolKind::Noop, Noop)
            .with(ToolKind::Postgres, Postgres::new(pools, settings.credentials.clone()))
            .with(ToolKind::Python, Python::new(&settings, outgoing.clone()))
            .with(ToolKind::Rhai, Rhai::new(outgoing.clone()))
            .with(ToolKind::Script, ScriptTool::new(&settings, outgoing))
            .with(ToolKind::Secrets, SecretsTool::new(settings.credentials.clone()))
            .with(ToolKind::Shell, Shell::new(settings.environment, settings.isolation))
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
    /// resolved. The secrets of the credentials that the tool requests are removed from the result.
    pub async fn run(
        &self,
        lease: &Lease,
        bindings: BTreeMap<String, Arc<Value>>,
        parts: CallParts<'_>,
        cancel: &CancellationToken,
    ) -> ToolResult {
        let ended = self.run_lease(lease, bindings, parts, cancel).await;
        parts.memory.settle(ended.redacted(&parts.used.redactor())).await
    }

    async fn run_lease(
        &self,
        lease: &Lease,
        bindings: BTreeMap<String, Arc<Value>>,
        CallParts { used, memory, live }: CallParts<'_>,
        cancel: &CancellationToken,
    ) -> ToolResult {
        let Some(tool) = self.tools.get(&lease.tool) else {
            return ToolResult::failed(self.unavailable(lease.tool));
        };
        let options = CallOptions {
            timeout_default: TIMEOUT_DEFAULT,
            cancel: cancel.child_token(),
            used: used.clone(),
            memory: memory.clone(),
            live: live.clone(),
            files: self.files.clone(),
            identity: &self.identity,
        };
        let preparing = self.templates.prepare(lease, bindings, &*self.credentials, options);
        match cancel.run_until_cancelled(preparing).await {
            Some(Ok(call)) => run_in_time(tool.as_ref(), &call, cancel).await,
            Some(Err(error)) => ToolResult::failed(error),
            None => ToolResult::stopped(Logs::default()),
        }
    }

    /// Runs a call whose templates are already rendered.
    pub async fn call(&self, kind: ToolKind, call: &Call) -> ToolResult {
        let ended = match self.tools.get(&kind) {
            Some(tool) => run_in_time(tool.as_ref(), call, &call.cancel.clone()).await,
            None => ToolResult::failed(self.unavailable(kind)),
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
async fn run_in_time(tool: &dyn Tool, call: &Call, cancel: &CancellationToken) -> ToolResult {
    // Cancels the call if this future is dropped, so that nothing keeps running.
    let _stop_at_the_end = call.cancel.clone().drop_guard();
    let running = tool.run(call);
    tokio::pin!(running);
    let stop = tokio::select! {
        ended = &mut running => return ended,
        () = tokio::time::sleep(call.timeout) => StopReason::Timeout,
        () = cancel.cancelled() => StopReason::Cancelled,
    };
    call.cancel.cancel();
    let logs = match tokio::time::timeout(STOP_WAIT, running).await {
        Ok(ended) => ended.logs,
        Err(_) => Logs::default(),
    };
    let error = match stop {
        StopReason::Timeout => {
            let message = format!("took longer than {:?} and was stopped", call.timeout);
            ToolError::new(ErrorKind::Timeout, message)
        }
        StopReason::Cancelled => ToolError::new(ErrorKind::Unknown, "cancelled"),
    };
    ToolResult::failed(error).with_logs(logs)
}

#[cfg(test)]
mod faults;
#[cfg(test)]
mod tests;
