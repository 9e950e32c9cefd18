//! Identifiers. Each kind has its own type, so that they cannot be confused.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The text does not parse as the expected kind of number.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not {expected}")]
pub struct ParseIdError {
    text: String,
    expected: &'static str,
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty), $expected:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse()
                    .map($name)
                    .map_err(|_| ParseIdError { text: text.to_owned(), expected: $expected })
            }
        }
    };
}

number!(
    /// The id of an execution: one run of one playbook version; the unit of ordering, sharding and
    /// replay. A snowflake.
    ExecutionId(i64),
    "an execution id"
);
number!(
    /// The public id of an event. A snowflake; events are ordered by [`Seq`], never by this.
    EventId(i64),
    "an event id"
);
number!(
    /// The id of one version of one playbook in the catalog. A snowflake.
    CatalogId(i64),
    "a catalog id"
);
number!(
    /// The position of an event in its execution: 1, 2, 3, … Zero is before the first event.
    Seq(u64),
    "a sequence number"
);
number!(
    /// The number of a command within its execution.
    CommandId(u64),
    "a command id"
);
number!(
    /// The number of a step run within its execution.
    RunId(u64),
    "a run id"
);
number!(
    /// The number of a durable timer within its execution.
    TimerId(u64),
    "a timer id"
);
number!(
    /// The number of a claim of one command, from 1. Zero if the command was never claimed.
    Attempt(u32),
    "an attempt"
);

impl Seq {
    pub const ZERO: Seq = Seq(0);

    #[must_use]
    pub fn next(self) -> Seq {
        Seq(self.0 + 1)
    }
}

impl Attempt {
    #[must_use]
    pub fn next(self) -> Attempt {
        Attempt(self.0 + 1)
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(name: impl AsRef<str>) -> Self {
                Self(Arc::from(name.as_ref()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name!(
    /// The name of a step, unique in its playbook.
    StepName
);
name!(
    /// The name of a worker, as used in leases.
    WorkerId
);
name!(
    /// The name of a set of workers; each command is queued for exactly one pool.
    Pool
);

impl Pool {
    /// The default pool.
    pub const SHARED: &'static str = "shared";
    /// The pool of commands that the control plane runs itself: starting child executions.
    pub const CONTROL: &'static str = "control";

    pub fn shared() -> Self {
        Self::new(Self::SHARED)
    }

    pub fn control() -> Self {
        Self::new(Self::CONTROL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_is_not_a_number_is_named_in_the_error() {
        let error = "12x".parse::<ExecutionId>().unwrap_err();
        assert_eq!(error.to_string(), "`12x` is not an execution id");
    }
}
