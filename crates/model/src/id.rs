//! Identities. Each kind has its own type, so that one cannot stand in for another.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A text that is not a number of the kind that was asked for.
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
    /// One run of one playbook version; the unit of ordering, of sharding, of replay. A snowflake.
    ExecutionId(i64),
    "an execution id"
);
number!(
    /// The public name of an event. A snowflake; fold order is [`Seq`], never this.
    EventId(i64),
    "an event id"
);
number!(
    /// One version of one playbook in the catalog. A snowflake.
    CatalogId(i64),
    "a catalog id"
);
number!(
    /// An event's place in its execution: 1, 2, 3, … Zero is "before the first".
    Seq(u64),
    "a sequence number"
);
number!(
    /// A command's ordinal in its execution.
    CommandId(u64),
    "a command id"
);
number!(
    /// One entering of one step: its ordinal in the execution.
    RunId(u64),
    "a run id"
);
number!(
    /// A durable timer's ordinal in its execution.
    TimerId(u64),
    "a timer id"
);
number!(
    /// The n-th claim of one command. Zero is "never claimed".
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
    /// A step's name: unique in its playbook.
    StepName
);
name!(
    /// Who holds a lease.
    WorkerId
);
name!(
    /// A named set of workers; a command waits in exactly one.
    Pool
);

impl Pool {
    /// Where commands wait that name no pool.
    pub const SHARED: &'static str = "shared";
    /// Where commands wait that the control plane itself carries out: starting a child execution.
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
