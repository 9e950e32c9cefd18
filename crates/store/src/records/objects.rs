//! Objects: bytes stored by key, such as files and plugins.

use std::fmt;

use noetl_model::{Digest, Timestamp};

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
