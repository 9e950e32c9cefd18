//! The kinds of tools that a playbook can name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown tool kind `{0}`")]
pub struct UnknownTool(pub String);

macro_rules! kinds {
    ($($variant:ident = $text:literal,)+) => {
        /// The tool that a command runs. Each worker decides which kinds it supports.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum ToolKind {
            $(#[serde(rename = $text)] $variant,)+
        }

        impl ToolKind {
            pub const ALL: &'static [ToolKind] = &[$(ToolKind::$variant,)+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(ToolKind::$variant => $text,)+
                }
            }
        }

        impl FromStr for ToolKind {
            type Err = UnknownTool;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(ToolKind::$variant),)+
                    other => Err(UnknownTool(other.to_owned())),
                }
            }
        }
    };
}

kinds! {
    Agent = "agent",
    Approval = "approval",
    Artifact = "artifact",
    Container = "container",
    Duckdb = "duckdb",
    Ducklake = "ducklake",
    Gateway = "gateway",
    Gcs = "gcs",
    Http = "http",
    Mcp = "mcp",
    Nats = "nats",
    Noop = "noop",
    Playbook = "playbook",
    Postgres = "postgres",
    Python = "python",
    ResultFetch = "result_fetch",
    Rhai = "rhai",
    Script = "script",
    Secrets = "secrets",
    Shell = "shell",
    Snowflake = "snowflake",
    Sqlite = "sqlite",
    Subscription = "subscription",
    Transfer = "transfer",
    Wait = "wait",
    Wasm = "wasm",
}

impl ToolKind {
    /// True if this program implements the tool. Other kinds need an external worker that has them.
    pub const fn is_built_in(self) -> bool {
        match self {
            ToolKind::Approval
            | ToolKind::Artifact
            | ToolKind::Duckdb
            | ToolKind::Http
            | ToolKind::Nats
            | ToolKind::Noop
            | ToolKind::Playbook
            | ToolKind::Postgres
            | ToolKind::Python
            | ToolKind::ResultFetch
            | ToolKind::Rhai
            | ToolKind::Script
            | ToolKind::Secrets
            | ToolKind::Shell
            | ToolKind::Sqlite
            | ToolKind::Subscription
            | ToolKind::Transfer
            | ToolKind::Wait => true,
            ToolKind::Agent
            | ToolKind::Container
            | ToolKind::Ducklake
            | ToolKind::Gateway
            | ToolKind::Gcs
            | ToolKind::Mcp
            | ToolKind::Snowflake
            | ToolKind::Wasm => false,
        }
    }
}

/// The part of the system that runs the commands of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolRunner {
    Worker,
    /// The control plane itself: no worker is needed.
    Control,
}

impl ToolKind {
    /// Returns the part of the system that runs the commands of this tool.
    pub const fn runner(self) -> ToolRunner {
        if matches!(self, ToolKind::Approval | ToolKind::Playbook | ToolKind::Wait) {
            ToolRunner::Control
        } else {
            ToolRunner::Worker
        }
    }
}

impl fmt::Display for ToolKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
