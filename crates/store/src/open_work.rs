//! The open work of an execution, as rows.

use std::collections::BTreeMap;

use noetl_model::{CommandId, TimerId, Timestamp};

use crate::OpenCommand;

/// The queue rows and timer rows of one execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenWork {
    pub commands: BTreeMap<CommandId, OpenCommand>,
    /// The due time of each timer.
    pub timers: BTreeMap<TimerId, Timestamp>,
}
