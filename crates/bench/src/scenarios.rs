//! What can be measured.

mod chain;
mod items;
mod python;
mod raw;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, anyhow};

use crate::sheet::Sheet;

/// How much dearer the end of a run may be than its beginning: as much as noise makes out.
const FLAT_MAX: f64 = 1.25;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    Raw,
    Loop,
    Chain,
    Python,
}

impl Scenario {
    pub(crate) const ALL: [Self; 4] = [Self::Raw, Self::Loop, Self::Chain, Self::Python];

    fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Loop => "loop",
            Self::Chain => "chain",
            Self::Python => "python",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Raw => "what this disk and this SQLite can do by themselves",
            Self::Loop => "10,000 items of a loop in parallel, each doing nothing",
            Self::Chain => "1,000 steps one after another, each doing nothing",
            Self::Python => "1,000 Python steps, and 1,000 starts of the interpreter",
        }
    }

    /// Measures in an empty directory.
    pub(crate) async fn measure(self, directory: &Path) -> Result<Sheet> {
        match self {
            Self::Raw => raw::measure(directory).await,
            Self::Loop => items::measure(directory).await,
            Self::Chain => chain::measure(directory).await,
            Self::Python => python::measure(directory).await,
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scenario {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        let named = Self::ALL.into_iter().find(|scenario| scenario.name() == name);
        named.ok_or_else(|| anyhow!("no such scenario: `{name}`"))
    }
}
