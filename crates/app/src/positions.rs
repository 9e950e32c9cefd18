//! The state of an execution at a position of its log: the state after one of its events.
//!
//! Invariant: the size of an answer is bounded by the playbook, and its cost by the number of
//! events between two saved states, not by the length of the log.

mod change;
mod comparison;
mod density;
mod explain;
mod links;
mod live;
mod log_fold;
mod state;
mod timeline;
mod values;
mod work;

use noetl_control::LoadError;
use noetl_engine::Execution;
use noetl_model::{ExecutionId, Seq, Summary};

use crate::app::App;

pub use comparison::ExecutionPosition;
pub use density::LogPartQuery;
pub use live::LiveUpdates;
pub(crate) use log_fold::LogFolds;
pub use timeline::TimelineWindowQuery;
pub use values::{PositionValueName, UnknownValueName};

/// The reason why the state at a position is not shown.
#[derive(Debug, thiserror::Error)]
pub enum PositionError {
    #[error("execution {execution} has no event {position}: its events are 1 to {last}")]
    NoSuchPosition { execution: ExecutionId, position: u64, last: u64 },
    #[error("there is no value `{name}` at event {position}")]
    NoSuchValue { name: String, position: u64 },
    #[error("step `{step}` has no open run at event {position}")]
    NoOpenRun { step: String, position: u64 },
    #[error("the template is not valid: {0}")]
    InvalidTemplate(String),
    #[error("`buckets` is a number from 1 to {max}")]
    Buckets { max: u64 },
    #[error("`from` ({from}) is after `to` ({to})")]
    PartReversed { from: u64, to: u64 },
    #[error("at most {max} steps are expanded")]
    TooManyExpanded { max: usize },
    #[error("a template has at most {max} bytes of JSON")]
    TemplateTooLong { max: usize },
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// An execution at a position.
pub(crate) struct AtPosition {
    pub(crate) summary: Summary,
    pub(crate) state: Execution,
}

impl AtPosition {
    /// True if the position is the end of the log.
    pub(crate) fn is_latest(&self) -> bool {
        self.state.seq() >= self.summary.seq
    }
}

impl App {
    /// Loads the state of an execution after the event `position`, or after its last event.
    pub(crate) async fn at_position(
        &self,
        execution: ExecutionId,
        position: Option<u64>,
    ) -> Result<AtPosition, PositionError> {
        let summary = self.execution(execution).await?;
        let last = summary.seq.0;
        let seq = Seq(position.unwrap_or(last));
        if seq == Seq::ZERO || seq > summary.seq {
            let position = seq.0;
            return Err(PositionError::NoSuchPosition { execution, position, last });
        }
        let state = self.control().state_at(execution, seq).await?;
        Ok(AtPosition { summary, state })
    }
}
