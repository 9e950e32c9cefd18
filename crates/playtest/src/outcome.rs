//! The outcome of a test: its faults, and what was seen of the execution.

use std::time::Duration;

use noetl_model::{Recorded, StepName};
use serde::Serialize;

use crate::call::RenderedCall;
use crate::coverage::Coverage;
use crate::difference::FaultLine;

/// A difference between the expectation of a test and the execution.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestFault {
    pub message: String,
    /// The expected and the found values, as lines of a diff.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<FaultLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl TestFault {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), diff: Vec::new(), help: None }
    }

    #[must_use]
    pub(crate) fn diff(self, diff: Vec<FaultLine>) -> Self {
        Self { diff, ..self }
    }

    #[must_use]
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

/// The result of one test.
#[derive(Debug)]
pub struct TestOutcome {
    /// The differences; empty if the test has passed.
    pub faults: Vec<TestFault>,
    /// The events of the tested execution.
    pub log: Vec<Recorded>,
    /// The calls of tools, in order, also those of children.
    pub calls: Vec<RenderedCall>,
    /// The steps that were entered, in order, with repetitions.
    pub entered: Vec<StepName>,
    /// The coverage of each playbook that ran, by catalog path.
    pub coverage: Vec<(String, Coverage)>,
    /// The virtual time from start to end.
    pub duration: Duration,
}

impl TestOutcome {
    pub fn has_passed(&self) -> bool {
        self.faults.is_empty()
    }
}
