//! What an execution has under way, as rows.

use std::collections::BTreeMap;

use noetl_model::{CommandId, TimerId, Timestamp};

use crate::OpenCommand;

/// The rows of the queue and of the timers that are an execution's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenWork {
    pub commands: BTreeMap<CommandId, OpenCommand>,
    /// When each is due.
    pub timers: BTreeMap<TimerId, Timestamp>,
}
