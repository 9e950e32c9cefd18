//! Tool errors, in a form that rules can test.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)+) => {
        /// The category of an error; `output.error.kind` in a rule.
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
    /// The tool's configuration is invalid.
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
    /// No slot of a limit was free, and the execution does not wait for one.
    Limit = "limit",
    NotFound = "not_found",
    Parse = "parse",
    RateLimit = "rate_limit",
    /// A person rejected what a step asked for.
    Rejected = "rejected",
    Schema = "schema",
    ServerError = "server_error",
    StorageAccess = "storage_access",
    StorageQuota = "storage_quota",
    Template = "template",
    Timeout = "timeout",
    Transform = "transform",
    Unknown = "unknown",
    /// Every worker that claimed the command stopped sending heartbeats.
    WorkerLost = "worker_lost",
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The error of a tool, a step or an execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolError {
    pub kind: ErrorKind,
    pub message: String,
    /// True if a retry may succeed.
    pub retryable: bool,
    /// The tool's own code: an exception's type, an SQLSTATE, an exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The HTTP status of the response, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Details for finding the cause, such as a traceback or the source line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Value>>,
}

impl ErrorKind {
    /// Returns the kind of an HTTP status that is no success.
    pub fn of_http_status(status: u16) -> Option<Self> {
        match status {
            200..=299 => None,
            429 => Some(ErrorKind::RateLimit),
            401 | 403 => Some(ErrorKind::Auth),
            404 => Some(ErrorKind::NotFound),
            500..=599 => Some(ErrorKind::ServerError),
            _ => Some(ErrorKind::ClientError),
        }
    }

    /// Returns the kind of an error of DuckDB by its sort, such as `Catalog` of `Catalog Error: …`.
    pub fn of_duckdb(sort: &str, message: &str) -> Self {
        match sort {
            "Catalog" | "Binder" => ErrorKind::Schema,
            "Constraint" => ErrorKind::DbConstraint,
            "TransactionContext" | "Transaction" => ErrorKind::DbDeadlock,
            "IO" if message.contains("lock") => ErrorKind::DbTimeout,
            "IO" => ErrorKind::StorageAccess,
            "HTTP" | "Network" => ErrorKind::Connection,
            "Permission" => ErrorKind::Auth,
            "Out of Memory" => ErrorKind::StorageQuota,
            "INTERNAL" | "FATAL" => ErrorKind::ServerError,
            _ => ErrorKind::ClientError,
        }
    }

    /// Returns the kind of an SQLSTATE of PostgreSQL.
    pub fn of_sqlstate(code: &str) -> Self {
        match code {
            "40P01" | "40001" => ErrorKind::DbDeadlock,
            "55P03" | "57014" | "25P03" => ErrorKind::DbTimeout,
            "57P01" | "57P02" | "57P03" | "53300" => ErrorKind::DbConnection,
            "42501" => ErrorKind::Auth,
            "3D000" => ErrorKind::NotFound,
            "42P01" | "42703" | "42883" | "42704" | "3F000" | "42P07" | "42701" => {
                ErrorKind::Schema
            }
            "P0001" | "P0004" => ErrorKind::Exception,
            "53100" | "54000" => ErrorKind::StorageQuota,
            _ => match code.get(..2) {
                Some("08") => ErrorKind::DbConnection,
                Some("28") => ErrorKind::Auth,
                Some("23") => ErrorKind::DbConstraint,
                Some("53" | "58" | "XX") => ErrorKind::ServerError,
                _ => ErrorKind::ClientError,
            },
        }
    }
}

impl ToolError {
    /// Returns an error of `kind`. Connection errors, timeouts, rate limits, server errors and lost
    /// workers are retryable.
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
            | ErrorKind::Limit
            | ErrorKind::NotFound
            | ErrorKind::Parse
            | ErrorKind::Rejected
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
