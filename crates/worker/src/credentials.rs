//! Resolves credentials by alias: first those configured on this worker, then those of the control
//! plane.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use lru::LruCache;
use noetl_api::{ControlError, ControlPlane};
use noetl_model::{ErrorKind, ExecutionId, Held, ToolError};
use noetl_tools::{Call, CredentialResolver, FixedCredentials};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::backoff::Backoff;

/// The time for which a fetched credential is cached.
const FRESH: Duration = Duration::from_secs(30);
/// The most credentials cached.
const REMEMBERED_MAX: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
/// The most attempts while the control plane is unavailable.
const ASKS_MAX: usize = 5;

type Remembered = LruCache<(ExecutionId, String), (Instant, Map<String, Value>)>;

/// Credentials configured on the worker, else fetched from the control plane and cached.
pub struct ControlPlaneCredentials {
    fixed: FixedCredentials,
    control: Arc<dyn ControlPlane>,
    remembered: Mutex<Remembered>,
}

impl ControlPlaneCredentials {
    pub fn new(fixed: FixedCredentials, control: Arc<dyn ControlPlane>) -> Self {
        Self { fixed, control, remembered: Mutex::new(LruCache::new(REMEMBERED_MAX)) }
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn asked(&self, held: Held, alias: &str) -> Result<Map<String, Value>, ToolError> {
        let mut backoff = Backoff::new();
        let mut asks = 0;
        loop {
            asks += 1;
            match self.control.credential(held, alias).await {
                Ok(fields) => return Ok(fields),
                Err(error @ ControlError::Unavailable(_)) if asks < ASKS_MAX => {
                    tracing::warn!(%error, alias, "cannot fetch a credential; will retry");
                    backoff.wait().await;
                }
                Err(error) => return Err(told(alias, &error)),
            }
        }
    }
}

/// The error message for the author of the playbook.
fn told(alias: &str, error: &ControlError) -> ToolError {
    match error {
        ControlError::CredentialMissing(_) => ToolError::new(
            ErrorKind::Config,
            format!(
                "there is no credential `{alias}`: store it with `noetl credential set {alias}`, \
                 or set the variable {}",
                FixedCredentials::variable(alias)
            ),
        ),
        ControlError::Refused { reason } => {
            ToolError::new(ErrorKind::Config, format!("credential `{alias}`: {reason}"))
        }
        ControlError::Unavailable(_)
        | ControlError::PayloadMissing(_)
        | ControlError::ResultMissing(_) => {
            let message = format!("cannot fetch the credential `{alias}`: {error}");
            ToolError::new(ErrorKind::Connection, message)
        }
    }
}

#[async_trait]
impl CredentialResolver for ControlPlaneCredentials {
    async fn resolve(&self, call: &Call, alias: &str) -> Result<Map<String, Value>, ToolError> {
        if self.fixed.has(alias) {
            return self.fixed.resolve(call, alias).await;
        }
        // The cache key has the execution: which credential an alias resolves to depends on the
        // playbook.
        let key = (call.execution, alias.to_owned());
        if let Some((at, fields)) = self.remembered().get(&key)
            && at.elapsed() < FRESH
        {
            return Ok(fields.clone());
        }
        let fields = self.asked(call.held(), alias).await?;
        self.remembered().put(key, (Instant::now(), fields.clone()));
        Ok(fields)
    }
}
