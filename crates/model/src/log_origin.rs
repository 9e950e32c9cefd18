//! The origin of an execution's log.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The writer of an execution's log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogOrigin {
    /// The engine of this program, which runs the execution.
    #[default]
    Native,
    /// Another program: the execution is known only from projected events.
    Imported,
    /// The lifecycle of a subscription, which is the parent of the executions it starts.
    Subscription,
}

impl LogOrigin {
    pub const fn as_str(self) -> &'static str {
        match self {
            LogOrigin::Native => "native",
            LogOrigin::Imported => "imported",
            LogOrigin::Subscription => "subscription",
        }
    }
}

impl fmt::Display for LogOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
