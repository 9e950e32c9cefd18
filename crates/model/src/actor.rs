//! The person or program that did something to an execution.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::label::index_key;
use crate::{ExecutionStatus, IndexEntry, IndexKind};

/// The maximum length of an actor's name, in bytes.
pub const ACTOR_MAX: usize = 128;

/// The name of the person or program that did something: the authenticated identity if there is one,
/// else the name that the client states.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Actor(String);

/// The reason why a text is not the name of an actor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the name of an actor has 1 to {ACTOR_MAX} bytes without control characters")]
pub struct BadActor;

impl Actor {
    pub fn new(name: &str) -> Result<Self, BadActor> {
        let name = name.trim();
        if name.is_empty() || name.len() > ACTOR_MAX || name.chars().any(char::is_control) {
            return Err(BadActor);
        }
        Ok(Self(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the index entry of an execution that this actor started and that has a status.
    pub fn index_entry(&self, status: ExecutionStatus) -> IndexEntry {
        IndexEntry::new(IndexKind::Actor, index_key(self, status), None)
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Actor {
    type Err = BadActor;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::new(name)
    }
}

impl TryFrom<String> for Actor {
    type Error = BadActor;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::new(&name)
    }
}

impl From<Actor> for String {
    fn from(actor: Actor) -> Self {
        actor.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_trimmed_and_bounded() {
        assert_eq!(Actor::new(" ada ").map(String::from), Ok("ada".to_owned()));
        assert_eq!(Actor::new("Ada Lovelace").map(String::from), Ok("Ada Lovelace".to_owned()));
        let long = "x".repeat(ACTOR_MAX + 1);
        for name in ["", "  ", "a\nb", &long] {
            assert_eq!(Actor::new(name), Err(BadActor), "{name:?}");
        }
    }
}
