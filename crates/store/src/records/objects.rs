//! Objects: bytes stored by key, such as files and plugins.

use std::fmt;

use async_trait::async_trait;
use noetl_model::{Digest, Timestamp};

use crate::StoreError;

/// The key of an object. Plugins, suites and other objects have separate prefixes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(String);

impl ObjectKey {
    pub fn object(key: &str) -> Self {
        Self(format!("object:{key}"))
    }

    /// The key of a version of the plugin at a path.
    pub fn plugin(path: &str, version: i32) -> Self {
        Self(format!("plugin:{version}:{path}"))
    }

    /// The key of the test suite with a name.
    pub fn suite(name: &str) -> Self {
        Self(format!("suite:{name}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An object's bytes and their metadata.
#[derive(Clone, PartialEq, Eq)]
pub struct Object {
    pub key: ObjectKey,
    pub media_type: String,
    pub digest: Digest,
    pub body: Vec<u8>,
    pub updated_at: Timestamp,
    pub expires_at: Option<Timestamp>,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({}, {}, {} bytes)", self.key.0, self.media_type, self.body.len())
    }
}

#[async_trait]
pub trait Objects: Send + Sync {
    /// Stores an object, replacing one with the same key.
    async fn put_object(&self, object: &Object) -> Result<(), StoreError>;

    /// Returns an object unless it has expired at `now`.
    async fn object(&self, key: &ObjectKey, now: Timestamp) -> Result<Option<Object>, StoreError>;
}
