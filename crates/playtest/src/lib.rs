//! Tests of playbooks: an execution runs in the engine alone, with mocked tools and virtual time.
//!
//! [`run_test`] runs one test and returns its faults. Waits, retries and delays take no real time:
//! the clock jumps to the next thing that is due. [`replay_history`] feeds the inputs of a recorded
//! log to the engine again and returns the first event that differs; [`record_test`] writes a test
//! from such a log.
//!
//! Invariants: no clock, no randomness, no I/O: the same files give the same result; a call that has
//! no mock ends the test, unless the test allows it.

mod agenda;
mod call;
mod check;
mod coverage;
mod difference;
mod history;
mod mocked;
mod outcome;
mod record;
mod script;
mod virtual_execution;
mod world;

pub use call::RenderedCall;
pub use coverage::{ArcCoverage, Coverage, CoverageReport, CoveredGuard, coverage_report};
pub use difference::{FaultLine, value_differences};
pub use history::{
    Divergence, HistoryError, HistoryValue, ReplayedHistory, StoredValues, replay_history,
    stored_references, value_in_history,
};
pub use outcome::{TestFault, TestOutcome};
pub use record::{RecordedPlaybook, RecordedTest, record_test};
pub use world::{PlaybookLibrary, run_test};
