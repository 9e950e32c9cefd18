//! Statuses, named by the last event's past participle. Unknown text is an error, not a default.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown status `{0}`")]
pub struct UnknownStatus(String);

macro_rules! status {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownStatus;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok($name::$variant),)+
                    other => Err(UnknownStatus(other.to_owned())),
                }
            }
        }
    };
}

status!(
    /// The status of an execution.
    ExecutionStatus {
        Running = "RUNNING",
        Completed = "COMPLETED",
        Failed = "FAILED",
        Cancelled = "CANCELLED",
    }
);
status!(
    /// The status of the latest run of a step.
    StepStatus {
        Running = "RUNNING",
        Completed = "COMPLETED",
        Failed = "FAILED",
        Skipped = "SKIPPED",
        Cancelled = "CANCELLED",
    }
);
status!(
    /// The status of a command.
    CommandStatus {
        Issued = "ISSUED",
        Claimed = "CLAIMED",
        Completed = "COMPLETED",
        Failed = "FAILED",
        Cancelled = "CANCELLED",
    }
);
status!(
    /// The effect of a tool's error on its step.
    ErrorMode {
        /// An error fails the step unless a rule or an arc handles it.
        Strict = "strict",
        /// An error is a result like any other.
        Lenient = "lenient",
    }
);

impl ExecutionStatus {
    pub const fn is_terminal(self) -> bool {
        match self {
            ExecutionStatus::Running => false,
            ExecutionStatus::Completed | ExecutionStatus::Failed | ExecutionStatus::Cancelled => {
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_text_is_an_error_that_names_it() {
        assert_eq!("RUNNING".parse(), Ok(ExecutionStatus::Running));
        let error = "success".parse::<ExecutionStatus>().unwrap_err();
        assert_eq!(error.to_string(), "unknown status `success`");
    }
}
