//! Row types that stores return.

use std::collections::BTreeMap;

use noetl_model::{
    Actor, Attempt, CatalogId, CommandId, EventId, ExecutionId, ExecutionStatus, IndexKind, Label,
    Message, Pool, Priority, SearchText, Seq, Summary, TimerId, Timestamp, WorkerId,
};

use crate::PAGE_MAX;

/// A command that can be leased: never leased, or with an expired lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyCommand {
    pub execution: ExecutionId,
    pub command: CommandId,
    pub pool: Pool,
    /// The number of times the command has been leased.
    pub attempt: Attempt,
    pub priority: Priority,
}

/// A command that a worker holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedCommand {
    pub execution: ExecutionId,
    pub command: CommandId,
    pub pool: Pool,
    /// The name of the step, for display.
    pub step: String,
    pub attempt: Attempt,
    pub worker: WorkerId,
    pub lease_until: Timestamp,
}

/// The number of commands of one priority in a pool that can be leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyCount {
    pub priority: Priority,
    pub count: u64,
    /// The time since which the oldest never-leased one waits.
    pub oldest: Option<Timestamp>,
}

/// The answer to a request to extend a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldAnswer {
    Extended,
    /// Another attempt holds the command, or the command is parked.
    Superseded,
    /// The command has completed, failed or been cancelled.
    Gone,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerRow {
    pub execution: ExecutionId,
    pub timer: TimerId,
    pub due_at: Timestamp,
}

/// A pending message of the outbox.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboxRow {
    /// The id of the message, also towards other systems; increases within a store.
    pub id: i64,
    pub execution: ExecutionId,
    pub message: Message,
    /// The number of times the message has been taken for sending, including this one.
    pub attempts: u32,
}

/// A playbook to register.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPlaybook {
    /// The id for a new version; unused if the content is that of the newest version.
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
    /// The time at which its path was archived. All versions of a path are archived together.
    pub archived_at: Option<Timestamp>,
}

/// The result of registering a playbook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredVersion {
    pub entry: CatalogEntry,
    /// True if the path was archived until now.
    pub is_restored: bool,
}

/// Selects catalog entries; each path is listed at its newest version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogQuery {
    pub state: EntryState,
    pub contents: EntryContents,
    /// Lists paths after this one.
    pub after: Option<String>,
    /// The number of entries, at most [`PAGE_MAX`].
    pub limit: usize,
}

impl CatalogQuery {
    /// Returns a query for a page of active entries without contents.
    pub fn active(after: Option<&str>, limit: usize) -> Self {
        let (state, contents) = (EntryState::Active, EntryContents::Omitted);
        Self { state, contents, after: after.map(str::to_owned), limit }
    }
}

/// The state of a path in the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryState {
    Active,
    Archived,
}

/// The contents of listed entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryContents {
    /// Every content is an empty text.
    Omitted,
    Included,
    /// Contents are included, and only entries whose content contains this text are listed.
    Containing(String),
}

impl EntryContents {
    pub fn is_included(&self) -> bool {
        match self {
            EntryContents::Omitted => false,
            EntryContents::Included | EntryContents::Containing(_) => true,
        }
    }

    /// Returns the text that a content has to contain; every content contains the empty text.
    pub fn text(&self) -> &str {
        match self {
            EntryContents::Omitted | EntryContents::Included => "",
            EntryContents::Containing(text) => text,
        }
    }
}

/// A saved fold of an execution's events up to `seq`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub seq: Seq,
    /// The version of the format; a snapshot with another version is ignored.
    pub shape: u32,
    pub body: Vec<u8>,
}

/// A saved replay up to an event, from which a replay can continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedReplay {
    pub seq: Seq,
    /// The largest id among the replayed events; `last_at` is their latest time.
    pub last_id: EventId,
    pub last_at: Timestamp,
    /// The version of the format; a replay with another version is ignored.
    pub shape: u32,
    pub body: Vec<u8>,
}

/// The key and format of a saved replay, without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayMark {
    pub projection: String,
    pub seq: Seq,
    pub shape: u32,
}

/// The upper bound for a saved replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayBound {
    pub shape: u32,
    pub seq: Seq,
    /// The maximum event id in the replay.
    pub last_id: Option<EventId>,
    /// The maximum event time in the replay.
    pub last_at: Option<Timestamp>,
}

impl ReplayBound {
    /// True if the replay has the right format and does not exceed the bound.
    pub fn admits(&self, saved: &SavedReplay) -> bool {
        saved.shape == self.shape
            && saved.seq <= self.seq
            && self.last_id.is_none_or(|bound| saved.last_id <= bound)
            && self.last_at.is_none_or(|bound| saved.last_at <= bound)
    }
}

/// The filter of an execution listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionFilter {
    pub status: Option<ExecutionStatus>,
    pub path: Option<PathFilter>,
    pub catalog_id: Option<CatalogId>,
    pub parent: Option<ExecutionId>,
    /// Labels that the execution has, all of them.
    pub labels: Vec<Label>,
    /// The actor that requested the start.
    pub actor: Option<Actor>,
    /// Words that the execution has, all of them.
    pub text: Option<SearchText>,
}

/// The index that a listing uses; the other conditions are checked row by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// The words of a text.
    Text,
    Parent,
    /// The first label or, without labels, the actor.
    Property,
    Catalog,
    /// The complete path.
    Path,
    /// A substring of the path.
    Part,
    Status,
    All,
}

impl ExecutionFilter {
    /// Returns the most selective index for the filter.
    pub fn lookup(&self) -> Lookup {
        let property = self.property();
        if self.text.is_some() {
            return Lookup::Text;
        }
        match (&self.parent, &self.catalog_id, &self.path, &self.status) {
            (Some(_), ..) => Lookup::Parent,
            (None, ..) if property.is_some() => Lookup::Property,
            (None, Some(_), ..) => Lookup::Catalog,
            (None, None, Some(PathFilter::Whole(_)), _) => Lookup::Path,
            (None, None, Some(PathFilter::Part(_)), _) => Lookup::Part,
            (None, None, None, Some(_)) => Lookup::Status,
            (None, None, None, None) => Lookup::All,
        }
    }

    /// Returns the property with an index entry for each status that leads the search: its kind, and
    /// the part of its key before the status.
    pub fn property(&self) -> Option<(IndexKind, String)> {
        let label = self.labels.first().map(|label| (IndexKind::Label, label.to_string()));
        label.or(self.actor.as_ref().map(|actor| (IndexKind::Actor, actor.to_string())))
    }

    /// Returns the wanted labels by key; `None` if a key has two values, which no execution has.
    pub fn wanted_labels(&self) -> Option<BTreeMap<&str, &str>> {
        let mut wanted = BTreeMap::new();
        let is_possible = self
            .labels
            .iter()
            .all(|label| *wanted.entry(label.key()).or_insert(label.value()) == label.value());
        is_possible.then_some(wanted)
    }

    /// Returns the statuses that the listing includes.
    pub fn statuses(&self) -> &[ExecutionStatus] {
        self.status.as_ref().map_or(ExecutionStatus::ALL, std::slice::from_ref)
    }
}

/// The path condition of an execution listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathFilter {
    /// Exactly this path.
    Whole(String),
    /// Paths that contain this text, ignoring case.
    Part(String),
}

impl PathFilter {
    pub fn admits(&self, path: &str) -> bool {
        match self {
            Self::Whole(whole) => path == whole,
            Self::Part(part) => path.to_lowercase().contains(&part.to_lowercase()),
        }
    }

    /// Returns the lower-case text that the lower-case form of a matching path contains.
    pub fn folded(&self) -> String {
        match self {
            Self::Whole(text) | Self::Part(text) => text.to_lowercase(),
        }
    }

    /// Returns the path if the filter matches exactly one.
    pub fn whole(&self) -> Option<&str> {
        match self {
            Self::Whole(whole) => Some(whole),
            Self::Part(_) => None,
        }
    }
}

/// A page of a listing, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Lists only executions older than this one.
    pub before: Option<ExecutionId>,
    pub limit: usize,
}

impl Page {
    /// Merges the same page of each part of a listing into one page.
    pub fn of(self, parts: Vec<Vec<Summary>>) -> Vec<Summary> {
        let mut listed = parts.concat();
        listed.sort_by_key(|summary| std::cmp::Reverse(summary.execution));
        listed.truncate(self.limit.min(PAGE_MAX));
        listed
    }
}
