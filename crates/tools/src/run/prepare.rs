//! Prepares the call of a lease by rendering the command's templates with its values.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use noetl_expr::{CommandFacts, CommandVariables, RenderedTool, ToolTemplate};
use noetl_model::{Digest, Lease, ToolError};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::protect::credentials::{CredentialResolver, UsedCredentials};
use crate::protect::files::FileAccess;
use crate::run::call::Call;
use crate::run::keys::ToolConfig;
use crate::run::live::LiveLog;
use crate::run::memory::CallMemory;
use crate::run::settings::WorkerIdentity;

/// The maximum number of parsed configurations kept.
const TEMPLATES_MAX: NonZeroUsize = NonZeroUsize::new(512).expect("not zero");

/// A cache of recently used parsed configurations, since the same step is leased many times.
pub(crate) struct Templates {
    parsed: Mutex<LruCache<Digest, Arc<ToolTemplate>>>,
}

/// The inputs of [`Templates::prepare`] that do not come from the lease.
pub(crate) struct CallOptions<'a> {
    pub(crate) timeout_default: Duration,
    pub(crate) cancel: CancellationToken,
    pub(crate) used: UsedCredentials,
    pub(crate) memory: CallMemory,
    pub(crate) live: LiveLog,
    pub(crate) files: FileAccess,
    pub(crate) identity: &'a WorkerIdentity,
}

impl Templates {
    pub(crate) fn new() -> Self {
        Self { parsed: Mutex::new(LruCache::new(TEMPLATES_MAX)) }
    }

    /// Builds the call of a lease. `bindings` are the lease's values with references resolved. The
    /// credentials that templates refer to are resolved here, and are not passed to the tool as
    /// variables.
    pub(crate) async fn prepare(
        &self,
        lease: &Lease,
        bindings: BTreeMap<String, Arc<Value>>,
        credentials: &dyn CredentialResolver,
        options: CallOptions<'_>,
    ) -> Result<Call, ToolError> {
        let config = self.parse(lease)?;
        let CallOptions { timeout_default, cancel, used, memory, live, files, identity } = options;
        let mut call = Call {
            config: Map::new(),
            input: Map::new(),
            variables: bindings,
            execution: lease.execution,
            command: lease.command,
            step: lease.step.clone(),
            label: lease.label.clone(),
            attempt: lease.attempt,
            idempotency_key: lease.idempotency_key.clone(),
            key_attempt: lease.key_attempt,
            timeout: timeout_default,
            cancel,
            used,
            memory,
            files,
            live,
        };
        let aliases = config.aliases(&call.variables);
        let keychain = Arc::new(keychain(&aliases, &call, credentials).await?);
        let facts =
            CommandFacts::new(lease, identity.worker.as_deref(), identity.server_url.as_deref());
        let variables = CommandVariables { bindings: &call.variables, facts: &facts };
        let RenderedTool { config: rest, input, has_secrets: _ } =
            config.render(variables, &keychain)?;
        call.timeout = timeout(lease, &rest)?.unwrap_or(timeout_default);
        (call.config, call.input) = (rest, input);
        call.memory.reserve_rendered(&call.config, &call.input).await?;
        Ok(call)
    }

    fn parse(&self, lease: &Lease) -> Result<Arc<ToolTemplate>, ToolError> {
        let Lease { tool, config: source, is_strict, .. } = lease;
        let digest = Digest::of(format!("{tool} {is_strict} {source}").as_bytes());
        if let Some(config) = self.lock().get(&digest) {
            return Ok(config.clone());
        }
        let config = Arc::new(ToolTemplate::of_lease(lease)?);
        self.lock().put(digest, config.clone());
        Ok(config)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LruCache<Digest, Arc<ToolTemplate>>> {
        self.parsed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Resolves the credentials that templates refer to, by alias.
async fn keychain(
    aliases: &[&str],
    call: &Call,
    credentials: &dyn CredentialResolver,
) -> Result<Value, ToolError> {
    let mut keychain = Map::new();
    for alias in aliases {
        let fields = credentials.resolve(call, alias).await?;
        keychain.insert((*alias).to_owned(), Value::Object(fields));
    }
    Ok(Value::Object(keychain))
}

/// Returns the shorter of the timeouts of the lease and of the tool's configuration.
fn timeout(lease: &Lease, config: &Map<String, Value>) -> Result<Option<Duration>, ToolError> {
    let leased = lease.timeout_ms.map(Duration::from_millis);
    let keys = ToolConfig::new(lease.tool.as_str(), config);
    // A map holds separate connect and read timeouts, which the tool applies itself.
    let own = match keys.value(&["timeout"]) {
        Some(Value::Object(_)) => keys.duration(&["timeout_seconds"])?,
        _ => keys.duration(&["timeout", "timeout_seconds"])?,
    };
    Ok(leased.into_iter().chain(own).min())
}

#[cfg(test)]
mod tests;
