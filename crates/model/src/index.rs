//! Entries of the index of executions: labels, actors, and waits that something outside can end.
//!
//! An entry is written in the transaction of the event that explains it, and looked up by kind and
//! key in every store.

use std::fmt;
use std::str::FromStr;

use crate::{CommandId, Digest, Timestamp};

/// The maximum length of an index key in bytes. A longer text is kept by its beginning and digest.
pub const INDEX_KEY_MAX: usize = 1024;
/// The number of bytes of a text that the key of a longer text begins with.
const KEY_BEGINNING: usize = 256;

/// The kind of an index entry. The names are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IndexKind {
    /// A label of an execution at its status. The entry stays as long as the execution.
    Label,
    /// The actor that started an execution, at its status. The entry stays as long as the execution.
    Actor,
    /// An open wait for a signal, with its command. The entry is removed when the wait ends.
    Signal,
    /// An open approval, with its command. The entry is removed when the approval ends.
    Approval,
    /// A command whose output can be reused, by its cache key. The entry stays as long as the
    /// execution.
    CachedOutput,
    /// A command that waits for a slot of a limit, or an execution if there is none, by the name of
    /// the limit. The entry is removed when the slot is granted or the command or execution ends.
    AwaitedSlot,
    /// A word of a label's value, of the error message or of the reason of a cancellation, at the status
    /// of the execution. The entry stays as long as the execution.
    Word,
}

impl IndexKind {
    pub const ALL: &'static [IndexKind] = &[
        IndexKind::Label,
        IndexKind::Actor,
        IndexKind::Signal,
        IndexKind::Approval,
        IndexKind::CachedOutput,
        IndexKind::AwaitedSlot,
        IndexKind::Word,
    ];

    /// Returns the stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            IndexKind::Label => "label",
            IndexKind::Actor => "actor",
            IndexKind::Signal => "signal",
            IndexKind::Approval => "approval",
            IndexKind::CachedOutput => "cached_output",
            IndexKind::AwaitedSlot => "awaited_slot",
            IndexKind::Word => "word",
        }
    }
}

impl fmt::Display for IndexKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error for a name that is no kind of index entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of index entry `{0}`")]
pub struct UnknownIndexKind(String);

impl FromStr for IndexKind {
    type Err = UnknownIndexKind;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let kind = Self::ALL.iter().find(|kind| kind.as_str() == name);
        kind.copied().ok_or_else(|| UnknownIndexKind(name.to_owned()))
    }
}

/// The key of an index entry, at most [`INDEX_KEY_MAX`] bytes without the character NUL. Equal texts
/// have equal keys; different texts have different ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexKey(String);

impl IndexKey {
    /// Returns the key of a text. A text that is too long to be indexed, or has a character that no
    /// database stores, is replaced by its beginning and its digest.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.len() <= INDEX_KEY_MAX && !text.contains('\0') {
            return Self(text);
        }
        let end = text.floor_char_boundary(KEY_BEGINNING);
        let beginning = text[..end].replace('\0', "\u{fffd}");
        Self(format!("{beginning} sha256:{}", Digest::of(text.as_bytes())))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IndexKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An entry of the index. An execution has an entry once for each kind, key and command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexEntry {
    pub kind: IndexKind,
    pub key: IndexKey,
    /// The command that waits; `None` for an entry about the execution as a whole.
    pub command: Option<CommandId>,
}

impl IndexEntry {
    pub fn new(kind: IndexKind, key: impl Into<String>, command: Option<CommandId>) -> Self {
        Self { kind, key: IndexKey::new(key), command }
    }
}

/// A change to the index entries of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexChange {
    /// Adds an entry with the time of its event. Adding an existing entry changes its time.
    Add { entry: IndexEntry, at: Timestamp },
    /// Removes an entry. Removing a missing entry is allowed.
    Remove { entry: IndexEntry },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_back_from_their_names() {
        for kind in IndexKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(*kind));
        }
        let unknown = "colour".parse::<IndexKind>().expect_err("no such kind");
        assert_eq!(unknown.to_string(), "unknown kind of index entry `colour`");
    }

    #[test]
    fn a_key_is_its_text_unless_the_text_cannot_be_indexed() {
        assert_eq!(IndexKey::new("team:ops").as_str(), "team:ops");
        let longest = "ä".repeat(INDEX_KEY_MAX / 2);
        assert_eq!(IndexKey::new(longest.clone()).as_str(), longest);
        let (one, other) = (format!("{longest}1"), format!("{longest}2"));
        assert!(IndexKey::new(one.clone()).as_str().len() <= INDEX_KEY_MAX);
        assert!(IndexKey::new(one.clone()).as_str().starts_with("ää"));
        assert_ne!(IndexKey::new(one.clone()), IndexKey::new(other));
        assert_eq!(IndexKey::new(one.clone()), IndexKey::new(one));
        let nul = IndexKey::new("a\0b");
        assert!(!nul.as_str().contains('\0'));
        assert_ne!(nul, IndexKey::new("a\u{fffd}b"));
    }
}
