//! Rows that stores hand out.

use noetl_model::{
    Attempt, CatalogId, CommandId, EventId, ExecutionId, ExecutionStatus, Message, Pool, Seq,
    Summary, TimerId, Timestamp,
};

use crate::PAGE_MAX;

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

/// A replay as far as an event, to go on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedReplay {
    pub seq: Seq,
    /// The largest id and the latest time among the events up to there.
    pub last_id: EventId,
    pub last_at: Timestamp,
    /// What wrote it; one of another shape is of no use.
    pub shape: u32,
    pub body: Vec<u8>,
}

/// Where a replay is saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayMark {
    pub projection: String,
    pub seq: Seq,
    pub shape: u32,
}

/// How far a saved replay may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayBound {
    pub shape: u32,
    pub seq: Seq,
    /// No event in it has a larger id.
    pub last_id: Option<EventId>,
    /// No event in it is later.
    pub last_at: Option<Timestamp>,
}

impl ReplayBound {
    /// Whether a replay goes no further.
    pub fn admits(&self, saved: &SavedReplay) -> bool {
        saved.shape == self.shape
            && saved.seq <= self.seq
            && self.last_id.is_none_or(|bound| saved.last_id <= bound)
            && self.last_at.is_none_or(|bound| saved.last_at <= bound)
    }
}

/// Which executions a listing shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionFilter {
    pub status: Option<ExecutionStatus>,
    pub path: Option<PathFilter>,
    pub catalog_id: Option<CatalogId>,
    pub parent: Option<ExecutionId>,
}

/// What a listing is looked up by; what else it asks for is checked row by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    Parent,
    Catalog,
    /// A whole path.
    Path,
    /// A part of paths.
    Part,
    Status,
    All,
}

impl ExecutionFilter {
    /// What leaves the fewest executions to look at.
    pub fn lookup(&self) -> Lookup {
        match (&self.parent, &self.catalog_id, &self.path, &self.status) {
            (Some(_), ..) => Lookup::Parent,
            (None, Some(_), ..) => Lookup::Catalog,
            (None, None, Some(PathFilter::Whole(_)), _) => Lookup::Path,
            (None, None, Some(PathFilter::Part(_)), _) => Lookup::Part,
            (None, None, None, Some(_)) => Lookup::Status,
            (None, None, None, None) => Lookup::All,
        }
    }

    /// The statuses that are shown.
    pub fn statuses(&self) -> &[ExecutionStatus] {
        self.status.as_ref().map_or(ExecutionStatus::ALL, std::slice::from_ref)
    }
}

/// Which paths a listing shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathFilter {
    /// This one, letter for letter.
    Whole(String),
    /// Those that contain this, whatever its case.
    Part(String),
}

impl PathFilter {
    pub fn admits(&self, path: &str) -> bool {
        match self {
            Self::Whole(whole) => path == whole,
            Self::Part(part) => path.to_lowercase().contains(&part.to_lowercase()),
        }
    }

    /// What a path that is admitted contains once it is in lower case.
    pub fn folded(&self) -> String {
        match self {
            Self::Whole(text) | Self::Part(text) => text.to_lowercase(),
        }
    }

    /// The path, if only one is admitted.
    pub fn whole(&self) -> Option<&str> {
        match self {
            Self::Whole(whole) => Some(whole),
            Self::Part(_) => None,
        }
    }
}

/// Which part of a listing, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Only what is older than this execution.
    pub before: Option<ExecutionId>,
    pub limit: usize,
}

impl Page {
    /// This page of a listing, from the same page of each of its parts.
    pub fn of(self, parts: Vec<Vec<Summary>>) -> Vec<Summary> {
        let mut listed = parts.concat();
        listed.sort_by_key(|summary| std::cmp::Reverse(summary.execution));
        listed.truncate(self.limit.min(PAGE_MAX));
        listed
    }
}
