//! Rows that stores hand out.

use noetl_model::{
    Attempt, CatalogId, CommandId, ExecutionId, ExecutionStatus, Message, Pool, Seq, TimerId,
    Timestamp,
};

/// A command that may be leased: never taken, or its lease has run out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyCommand {
    pub execution: ExecutionId,
    pub command: CommandId,
    pub pool: Pool,
    /// How often it has been leased.
    pub attempt: Attempt,
}

/// A lease somebody believes to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub execution: ExecutionId,
    pub command: CommandId,
    pub attempt: Attempt,
}

/// What became of a lease that was to be prolonged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldAnswer {
    Extended,
    /// The command is not this attempt's any more: someone else holds it, or it is parked.
    Superseded,
    /// The command is over: completed, failed or cancelled.
    Gone,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerRow {
    pub execution: ExecutionId,
    pub timer: TimerId,
    pub due_at: Timestamp,
}

/// A message that is owed.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboxRow {
    /// Grows with time within a store; the message's identity towards others.
    pub id: i64,
    pub execution: ExecutionId,
    pub message: Message,
    /// How often it has been taken to be sent, this time included.
    pub attempts: u32,
}

/// A playbook to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPlaybook {
    /// Used only if the content is new.
    pub catalog_id: CatalogId,
    pub path: String,
    pub kind: String,
    pub content: String,
    pub created_at: Timestamp,
}

/// One version of one playbook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogEntry {
    pub catalog_id: CatalogId,
    pub path: String,
    pub version: u32,
    pub kind: String,
    pub content: String,
    pub created_at: Timestamp,
}

/// A saved fold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub seq: Seq,
    /// What wrote it; one of another shape is of no use.
    pub shape: u32,
    pub body: Vec<u8>,
}

/// Which executions a listing shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionFilter {
    pub status: Option<ExecutionStatus>,
    /// A part of the path, whatever its case.
    pub path: Option<String>,
    pub parent: Option<ExecutionId>,
}

/// Which part of a listing, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Only what is older than this execution.
    pub before: Option<ExecutionId>,
    pub limit: usize,
}
