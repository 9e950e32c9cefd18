//! Sealed secrets, which a store cannot read.

use std::fmt;

/// A secret encrypted with its own data key, and the data key wrapped by a master key.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The version of the master key that wraps the data key.
    pub key_version: String,
    pub wrapped_key: Vec<u8>,
    pub ciphertext: Vec<u8>,
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed({})", self.key_version)
    }
}

/// A table with sealed rows.
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

/// A sealed row whose data key is to be rewrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRow {
    /// The key of the row in its table: a credential's name or an entry's cache key.
    pub key: String,
    pub id: i64,
    pub sealed: Sealed,
}

/// A new wrapping of a row's data key; the ciphertext does not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrap {
    pub key: String,
    /// The expected wrapped key; a row with another one is left unchanged.
    pub expected: Vec<u8>,
    pub wrapped_key: Vec<u8>,
    pub key_version: String,
}
