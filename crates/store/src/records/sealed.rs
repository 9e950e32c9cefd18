//! Sealed bytes, as a store sees them: nothing it could read.

use std::fmt;

/// A secret under a key of its own, and that key under another.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Which key the record's own key is wrapped by.
    pub key_version: String,
    pub wrapped_key: Vec<u8>,
    pub ciphertext: Vec<u8>,
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed({})", self.key_version)
    }
}

/// Where sealed bytes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SealedTable {
    Credential,
    Keychain,
}

impl SealedTable {
    pub const ALL: [SealedTable; 2] = [SealedTable::Credential, SealedTable::Keychain];

    pub fn as_str(self) -> &'static str {
        match self {
            SealedTable::Credential => "credential",
            SealedTable::Keychain => "keychain",
        }
    }
}

/// A record's own key, to be wrapped anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRow {
    /// What tells the row from others of its table: a credential's name, an entry's cache key.
    pub key: String,
    pub id: i64,
    pub sealed: Sealed,
}

/// What becomes of a record's own key; the ciphertext stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrap {
    pub key: String,
    /// A row whose key is not wrapped like this any more is left as it is.
    pub expected: Vec<u8>,
    pub wrapped_key: Vec<u8>,
    pub key_version: String,
}
