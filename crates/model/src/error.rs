//! How a tool failed, in a form that policy rules can test.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)+) => {
        /// What sort of thing went wrong; `output.error.kind` in a rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum ErrorKind {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)+
        }

        impl ErrorKind {
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$variant,)+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(ErrorKind::$variant => $text,)+
                }
            }
        }
    };
}

kinds! {
    Auth = "auth",
    /// A child execution failed.
    Child = "child",
    ClientError = "client_error",
    /// The tool was told something it cannot do.
    Config = "config",
    Connection = "connection",
    DbConnection = "db_connection",
    DbConstraint = "db_constraint",
    DbDeadlock = "db_deadlock",
    DbTimeout = "db_timeout",
    /// A script raised an exception or a process ended with a non-zero code.
    Exception = "exception",
    /// A rule said `do: fail`.
    Policy = "policy",
    NotFound = "not_found",
    Parse = "parse",
    RateLimit = "rate_limit",
    Schema = "schema",
    ServerError = "server_error",
    StorageAccess = "storage_access",
    StorageQuota = "storage_quota",
    Template = "template",
    Timeout = "timeout",
    Transform = "transform",
    Unknown = "unknown",
    /// Every worker that took the command stopped answering.
    WorkerLost = "worker_lost",
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why a tool, a step or an execution failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolError {
    pub kind: ErrorKind,
    pub message: String,
    /// Whether doing the same again may help.
    pub retryable: bool,
    /// The tool's own code: an exception's type, an SQLSTATE, an exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The HTTP status, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What helps a person to find the cause: a traceback, the source line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Value>>,
}

impl ToolError {
    /// An error of `kind`; connections, time-outs, rate limits and the server's own errors are
    /// worth a retry.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let retryable = match kind {
            ErrorKind::Connection
            | ErrorKind::DbConnection
            | ErrorKind::DbDeadlock
            | ErrorKind::DbTimeout
            | ErrorKind::RateLimit
            | ErrorKind::ServerError
            | ErrorKind::Timeout
            | ErrorKind::WorkerLost => true,
            ErrorKind::Auth
            | ErrorKind::Child
            | ErrorKind::ClientError
            | ErrorKind::Config
            | ErrorKind::DbConstraint
            | ErrorKind::Exception
            | ErrorKind::Policy
            | ErrorKind::NotFound
            | ErrorKind::Parse
            | ErrorKind::Schema
            | ErrorKind::StorageAccess
            | ErrorKind::StorageQuota
            | ErrorKind::Template
            | ErrorKind::Transform
            | ErrorKind::Unknown => false,
        };
        Self { kind, message: message.into(), retryable, code: None, status: None, details: None }
    }

    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
