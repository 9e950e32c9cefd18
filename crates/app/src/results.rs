//! Named results: values that workers store before they report.

use std::sync::Arc;
use std::time::Duration;

use noetl_control::{LoadError, PayloadError};
use noetl_model::{Digest, ExecutionId, PAYLOAD_MAX, is_shallow};
use noetl_store::{NamedResult, NoResultRef, ResultRef, StoreError};
use serde_json::Value;

use crate::app::App;

/// Maximum length of a result's name, in bytes.
const NAME_MAX: usize = 1024;
/// Maximum time to live of a value that expires.
const TTL_MAX: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);

/// A value to store under a name.
#[derive(Debug, Clone)]
pub struct NewResult<'a> {
    pub execution: ExecutionId,
    pub name: String,
    pub data: &'a Value,
    pub scope: Option<String>,
    pub source_step: Option<String>,
    /// Time to live; `None` if the value does not expire.
    pub ttl: Option<Duration>,
}

/// The reason why a value is not stored or not loaded.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    #[error("the name of a result has 1 to {NAME_MAX} bytes")]
    InvalidName,
    #[error("the value is nested too deeply")]
    TooNested,
    #[error("a value has at most {PAYLOAD_MAX} bytes, not {0}")]
    TooLarge(usize),
    #[error(transparent)]
    Reference(#[from] NoResultRef),
    #[error("result not found")]
    Unknown,
    #[error(transparent)]
    Payload(PayloadError),
    /// The execution is deleted.
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The prefix of a reference to a step's output by its content, as in `{{ step._ref }}`.
pub(crate) const BY_CONTENT: &str = "noetl://payload/";

impl App {
    /// Stores a value under a name. The same value under the same name has the same reference.
    pub async fn put_result(&self, new: NewResult<'_>) -> Result<NamedResult, ResultError> {
        let NewResult { execution, name, data, scope, source_step, ttl } = new;
        if name.is_empty() || name.len() > NAME_MAX {
            return Err(ResultError::InvalidName);
        }
        if !is_shallow(data) {
            return Err(ResultError::TooNested);
        }
        let body = data.to_string();
        if body.len() > PAYLOAD_MAX {
            return Err(ResultError::TooLarge(body.len()));
        }
        let now = self.now();
        let result = NamedResult {
            reference: ResultRef { execution, name, id: self.next_id() },
            digest: Digest::of(body.as_bytes()),
            scope: scope.unwrap_or_else(|| "execution".to_owned()),
            source_step,
            created_at: now,
            expires_at: ttl.map(|ttl| now.after(ttl.min(TTL_MAX))),
        };
        match self.records().put_result(&result, body.as_bytes()).await? {
            Some(kept) => Ok(kept),
            None => Err(self.missing(execution).await.into()),
        }
    }

    /// Loads a value by the text of its reference.
    pub async fn result(&self, reference: &str) -> Result<Arc<Value>, ResultError> {
        let digest = reference.strip_prefix(BY_CONTENT).and_then(|digest| digest.parse().ok());
        let found = match digest {
            Some(digest) => self.find_content(digest).await?,
            None => self.find_result(&reference.parse()?).await?,
        };
        found.ok_or(ResultError::Unknown)
    }

    /// Loads the value of a reference; `None` if it is not stored.
    pub async fn find_result(
        &self,
        reference: &ResultRef,
    ) -> Result<Option<Arc<Value>>, ResultError> {
        let Some(result) = self.records().result(reference, self.now()).await? else {
            return Ok(None);
        };
        self.find_content(result.digest).await
    }

    /// Loads a value by its digest; `None` if it is not stored.
    async fn find_content(&self, digest: Digest) -> Result<Option<Arc<Value>>, ResultError> {
        match self.control().payload(digest).await {
            Ok(value) => Ok(Some(value)),
            Err(PayloadError::Missing(_)) => Ok(None),
            Err(error @ (PayloadError::Unavailable(_) | PayloadError::Damaged(_))) => {
                Err(ResultError::Payload(error))
            }
        }
    }
}
