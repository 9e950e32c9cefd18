//! Test files of playbooks: workloads, mocked results of tools, and the expected course of an
//! execution.
//!
//! Invariant: every [`TestFile`] names steps and tasks that its playbook has.

use std::collections::BTreeMap;
use std::time::Duration;

use noetl_model::{ErrorMode, SignalKey, SignalName, StepName, Timestamp, ToolError, Verdict};
use serde_json::{Map, Value};

/// The most tests of one file.
pub const TESTS_MAX: usize = 10_000;

/// The tests of one file.
#[derive(Debug, Clone)]
pub struct TestFile {
    pub tests: Vec<PlaybookTest>,
}

/// One test: an execution of a playbook with its mocks, and what is expected of it.
#[derive(Debug, Clone)]
pub struct PlaybookTest {
    pub name: String,
    /// The line of the test in its file, counted from 1.
    pub line: usize,
    pub workload: Map<String, Value>,
    /// The time of the start; a fixed one if the test gives none.
    pub now: Option<Timestamp>,
    pub mocks: StepMocks,
    /// The mocks of child playbooks, by catalog path.
    pub children: BTreeMap<String, StepMocks>,
    /// The error mode; by default the playbook's.
    pub error_mode: Option<ErrorMode>,
    /// True if a call without a mock completes with `{status: ok}` instead of ending the test.
    pub allow_unmocked: bool,
    pub signals: Vec<TestSignal>,
    pub decisions: Vec<TestDecision>,
    pub expect: TestExpectations,
}

/// The mocks of the steps of one playbook; of several that match a call, the first is used.
pub type StepMocks = BTreeMap<StepName, Vec<StepMock>>;

/// A mocked result of a tool, and the calls that it applies to.
#[derive(Debug, Clone, PartialEq)]
pub struct StepMock {
    /// The label of the task in its pipeline.
    pub task: Option<String>,
    /// The index of the loop item, from 0.
    pub item: Option<u64>,
    /// The number of the attempt at one task, from 1: retries of rules count up.
    pub attempt: Option<u32>,
    /// The number of the call of the task within the test, from 1.
    pub call: Option<u32>,
    /// The time that the call takes.
    pub delay: Duration,
    pub result: MockResult,
}

/// The result of a mocked call.
#[derive(Debug, Clone, PartialEq)]
pub enum MockResult {
    Output(Value),
    Error {
        error: ToolError,
        /// Output in spite of the failure, such as the body of a 404.
        output: Option<Value>,
    },
    /// A Rhai script, whose value is the output. It reads the call as variables.
    Script(String),
}

/// A signal that a test sends to its execution.
#[derive(Debug, Clone, PartialEq)]
pub struct TestSignal {
    pub name: SignalName,
    /// The correlation key.
    pub key: Option<SignalKey>,
    /// The time after the start.
    pub at: Duration,
    pub body: Value,
    pub sender: Option<String>,
}

/// The decision of a person about an approval.
#[derive(Debug, Clone, PartialEq)]
pub struct TestDecision {
    pub step: StepName,
    pub verdict: Verdict,
    /// The time after the request.
    pub after: Duration,
    pub actor: Option<String>,
    pub comment: Option<String>,
    pub values: Map<String, Value>,
}

/// The status that a test expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedStatus {
    Completed,
    Failed,
    Cancelled,
    /// The start is refused: the workload does not fit the inputs.
    Refused,
}

impl ExpectedStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            ExpectedStatus::Completed => "completed",
            ExpectedStatus::Failed => "failed",
            ExpectedStatus::Cancelled => "cancelled",
            ExpectedStatus::Refused => "refused",
        }
    }
}

/// The expected course and end of an execution. A part that is `None` is not checked.
#[derive(Debug, Clone, Default)]
pub struct TestExpectations {
    /// The status; by default failed if an error is expected, else completed.
    pub status: Option<ExpectedStatus>,
    pub output: Option<Value>,
    /// Maps in it may lack keys that the output has.
    pub output_includes: Option<Value>,
    pub error: Option<ExpectedError>,
    /// Exactly the steps that run, in any order.
    pub executed: Option<Vec<StepName>>,
    /// Exactly the steps that are skipped.
    pub skipped: Option<Vec<StepName>>,
    /// Steps that are entered in this order, perhaps with others between them.
    pub order: Option<Vec<StepName>>,
    pub calls: Vec<ExpectedCall>,
    /// Events of the log: each is a map with the `type` and other fields that the event has too.
    pub events: Vec<Value>,
    /// The outputs of steps.
    pub outputs: BTreeMap<StepName, Value>,
    /// Values of `ctx` at the end.
    pub context: Map<String, Value>,
    /// The virtual time from start to end.
    pub duration: Option<Duration>,
}

/// The expected error of an execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpectedError {
    pub kind: Option<String>,
    /// A part of the message.
    pub message: Option<String>,
    /// A step that failed.
    pub step: Option<StepName>,
}

/// An expected call of a tool.
#[derive(Debug, Clone)]
pub struct ExpectedCall {
    pub step: StepName,
    pub task: Option<String>,
    pub item: Option<u64>,
    pub attempt: Option<u32>,
    /// Rendered settings of the tool. Maps in it may lack keys that the call has.
    pub with: Option<Value>,
    /// The number of calls that match; at least one if `None`.
    pub times: Option<u32>,
}
