//! Objects, plugins and playbook tests: bytes stored under a key.

use std::time::Duration;

use noetl_model::Digest;
use noetl_store::{Object, ObjectKey, StoreError};

use crate::app::App;

/// Maximum length of an object's key, in bytes.
const KEY_MAX: usize = 1024;
/// Maximum length of a suite's name, in bytes.
const SUITE_NAME_MAX: usize = 200;
/// Maximum size of a suite, in bytes.
const SUITE_BYTES_MAX: usize = 1024 * 1024;

/// The reason why an operation on an object fails.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    #[error("a key has at most {KEY_MAX} bytes")]
    KeyTooLong,
    #[error("the name of a suite has 1 to {SUITE_NAME_MAX} bytes")]
    SuiteName,
    #[error("a suite has at most {SUITE_BYTES_MAX} bytes")]
    SuiteTooLarge,
    #[error("there are no tests of the name {0}")]
    UnknownSuite(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The name of stored bytes.
#[derive(Debug, Clone, Copy)]
pub enum ObjectName<'a> {
    Object(&'a str),
    Plugin { path: &'a str, version: i32 },
}

impl ObjectName<'_> {
    fn text(&self) -> &str {
        match self {
            ObjectName::Object(text) | ObjectName::Plugin { path: text, .. } => text,
        }
    }

    fn key(&self) -> ObjectKey {
        match self {
            ObjectName::Object(key) => ObjectKey::object(key),
            ObjectName::Plugin { path, version } => ObjectKey::plugin(path, *version),
        }
    }
}

impl App {
    /// Stores bytes under a name (replaces existing ones).
    pub async fn put_object(
        &self,
        name: ObjectName<'_>,
        media_type: String,
        body: Vec<u8>,
        ttl: Option<Duration>,
    ) -> Result<Object, ObjectError> {
        if name.text().len() > KEY_MAX {
            return Err(ObjectError::KeyTooLong);
        }
        let now = self.now();
        let object = Object {
            key: name.key(),
            media_type,
            digest: Digest::of(&body),
            body,
            updated_at: now,
            expires_at: ttl.map(|ttl| now.after(ttl)),
        };
        self.records().put_object(&object).await?;
        Ok(object)
    }

    /// Loads the bytes with a name, if there are any.
    pub async fn object(&self, name: ObjectName<'_>) -> Result<Option<Object>, StoreError> {
        self.records().object(&name.key(), self.now()).await
    }

    /// Loads the stored tests of a playbook, as JSON text.
    pub async fn suite(&self, id: &str) -> Result<Object, ObjectError> {
        let kept = self.records().object(&suite_key(id)?, self.now()).await?;
        kept.ok_or_else(|| ObjectError::UnknownSuite(id.to_owned()))
    }

    /// Stores the tests of a playbook (replaces earlier ones); any JSON text is accepted.
    pub async fn put_suite(&self, id: &str, body: Vec<u8>) -> Result<Object, ObjectError> {
        if body.len() > SUITE_BYTES_MAX {
            return Err(ObjectError::SuiteTooLarge);
        }
        let object = Object {
            key: suite_key(id)?,
            media_type: "application/json".to_owned(),
            digest: Digest::of(&body),
            body,
            updated_at: self.now(),
            expires_at: None,
        };
        self.records().put_object(&object).await?;
        Ok(object)
    }

    /// Deletes the stored tests of a playbook.
    pub async fn remove_suite(&self, id: &str) -> Result<(), ObjectError> {
        let kept = self.suite(id).await?;
        let now = self.now();
        // An expired object counts as deleted, and is collected later.
        let gone = Object { body: Vec::new(), updated_at: now, expires_at: Some(now), ..kept };
        Ok(self.records().put_object(&gone).await?)
    }
}

fn suite_key(id: &str) -> Result<ObjectKey, ObjectError> {
    if id.is_empty() || id.len() > SUITE_NAME_MAX {
        return Err(ObjectError::SuiteName);
    }
    Ok(ObjectKey::suite(id))
}
