//! The scenarios that can be measured.

mod authoring;
mod beside;
mod chain;
mod fanout;
mod history;
mod ingest;
mod many;
mod outbox;
mod overload;
mod proof;
mod rate;
mod read;
mod rhai;
mod start;
mod tools;
mod ui;
mod wait;
mod waits;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, anyhow};
use noetl_model::ToolKind;

use crate::args::Size;
use crate::database::MeasuredStore;
use crate::sheet::Sheet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    Chain,
    Many,
    Fanout,
    History,
    Read,
    Proof,
    Python,
    Http,
    Postgres,
    Outbox,
    Ingest,
    Start,
    Rhai,
    Beside,
    Overload,
    Ui,
    Waits,
    Wait,
    Rate,
    Authoring,
}

/// The parameters of a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScenarioParameters<'a> {
    pub(crate) scenario: Scenario,
    pub(crate) store: MeasuredStore,
    pub(crate) size: Size,
    /// True if CPU profiles are recorded.
    pub(crate) profile: bool,
    /// A directory that is empty at the start.
    pub(crate) directory: &'a Path,
}

impl ScenarioParameters<'_> {
    fn sheet(&self) -> Sheet {
        Sheet::new(self.scenario, self.store)
    }
}

impl Scenario {
    pub(crate) const ALL: [Self; 20] = [
        Self::Chain,
        Self::Many,
        Self::Fanout,
        Self::History,
        Self::Read,
        Self::Proof,
        Self::Python,
        Self::Http,
        Self::Postgres,
        Self::Outbox,
        Self::Ingest,
        Self::Start,
        Self::Rhai,
        Self::Beside,
        Self::Overload,
        Self::Ui,
        Self::Waits,
        Self::Wait,
        Self::Rate,
        Self::Authoring,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Many => "many",
            Self::Fanout => "fanout",
            Self::History => "history",
            Self::Read => "read",
            Self::Proof => "proof",
            Self::Python => "python",
            Self::Http => "http",
            Self::Postgres => "postgres",
            Self::Outbox => "outbox",
            Self::Ingest => "ingest",
            Self::Start => "start",
            Self::Rhai => "rhai",
            Self::Beside => "beside",
            Self::Overload => "overload",
            Self::Ui => "ui",
            Self::Waits => "waits",
            Self::Wait => "wait",
            Self::Rate => "rate",
            Self::Authoring => "authoring",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Chain => "1,000 steps one after another, next to commits of single rows",
            Self::Many => "2,000 executions of 5 steps at once, next to raw inserts in batches",
            Self::Fanout => {
                "1,000, 10,000 and 100,000 items of a loop in parallel, next to raw inserts"
            }
            Self::History => "loading an execution after 2,000, 200,000 and 1,000,000 events",
            Self::Read => {
                "lists, status, events and replay with 32 thousand and 3.2 million events"
            }
            Self::Proof => {
                "the digest of an event, next to its JSON and SHA-256, and verifying a log"
            }
            Self::Python => "1,000 steps of the python tool, next to the tool by itself",
            Self::Http => "1,000 steps of the http tool, next to the tool by itself",
            Self::Postgres => "1,000 steps of the postgres tool, next to the tool by itself",
            Self::Outbox => "100,000 owed messages to JetStream, next to raw publishing",
            Self::Ingest => "100,000 messages of JetStream to executions, next to raw fetching",
            Self::Start => "from the start of the process to its first answer, and idle memory",
            Self::Rhai => "`many` and `fanout` with steps that run a script, next to `noop` steps",
            Self::Beside => {
                "small executions beside a loop over 200,000 items, next to small ones alone"
            }
            Self::Overload => {
                "64 clients that start executions without pause, next to the rate without"
            }
            Self::Ui => "pages with a million executions and a million events, and their updates",
            Self::Waits => "100,000 executions that wait, and the signals that wake them",
            Self::Wait => {
                "500 executions of 5 steps for 128 callers that wait, next to starts at once"
            }
            Self::Rate => "a limit of 50 commands per second on two servers, over a minute",
            Self::Authoring => "lint of 1,000 files, 1,000 tests, and keystrokes in an editor",
        }
    }

    pub(crate) async fn measure(self, setting: &ScenarioParameters<'_>) -> Result<Sheet> {
        match self {
            Self::Chain => chain::measure(setting).await,
            Self::Many => many::measure(setting).await,
            Self::Fanout => fanout::measure(setting).await,
            Self::History => history::measure(setting).await,
            Self::Read => read::measure(setting).await,
            Self::Proof => proof::measure(setting).await,
            Self::Python => tools::measure(setting, ToolKind::Python).await,
            Self::Http => tools::measure(setting, ToolKind::Http).await,
            Self::Postgres => tools::measure(setting, ToolKind::Postgres).await,
            Self::Outbox => outbox::measure(setting).await,
            Self::Ingest => ingest::measure(setting).await,
            Self::Start => start::measure(setting).await,
            Self::Rhai => rhai::measure(setting).await,
            Self::Beside => beside::measure(setting).await,
            Self::Overload => overload::measure(setting).await,
            Self::Ui => ui::measure(setting).await,
            Self::Waits => waits::measure(setting).await,
            Self::Wait => wait::measure(setting).await,
            Self::Rate => rate::measure(setting).await,
            Self::Authoring => authoring::measure(setting).await,
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Scenario {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        let named = Self::ALL.into_iter().find(|scenario| scenario.name() == name);
        named.ok_or_else(|| anyhow!("no such scenario: `{name}`"))
    }
}
