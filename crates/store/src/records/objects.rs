//! Objects: bytes by a key, such as files and plugins.

use std::fmt;

use async_trait::async_trait;
use noetl_model::{Digest, Timestamp};

use crate::StoreError;

/// What an object is found by. Plugins and other objects never meet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(String);

impl ObjectKey {
    pub fn object(key: &str) -> Self {
        Self(format!("object:{key}"))
    }

    /// A version of the plugin at a path.
    pub fn plugin(path: &str, version: i32) -> Self {
        Self(format!("plugin:{version}:{path}"))
    }

    /// The tests that are kept under a name.
    pub fn suite(name: &str) -> Self {
        Self(format!("suite:{name}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Bytes, and what they are.
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
    /// Keeps an object, in place of the one of its key.
    async fn put_object(&self, object: &Object) -> Result<(), StoreError>;

    /// An object that has not expired at `now`.
    async fn object(&self, key: &ObjectKey, now: Timestamp) -> Result<Option<Object>, StoreError>;
}
