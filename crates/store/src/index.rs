//! Rows and pages of the index of executions.

use noetl_model::{CommandId, ExecutionId, IndexEntry, IndexKey, IndexKind, Timestamp};

use crate::PAGE_MAX;

/// An index entry of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexRow {
    pub execution: ExecutionId,
    pub entry: IndexEntry,
    /// The time of the event that added the entry.
    pub at: Timestamp,
}

impl IndexRow {
    /// Returns the place of the row among the entries of its key.
    pub fn place(&self) -> IndexPlace {
        IndexPlace { execution: self.execution, command: self.entry.command }
    }

    /// Returns the place of the row among the open entries of its kind; `None` if it is not about
    /// something that waits.
    pub fn open_place(&self) -> Option<OpenIndexPlace> {
        let IndexEntry { kind, key, command } = &self.entry;
        let (execution, command) = (self.execution, *command);
        let waits = command.is_some() || *kind == IndexKind::AwaitedSlot;
        waits.then(|| OpenIndexPlace { at: self.at, execution, command, key: key.clone() })
    }
}

/// A place among the entries of a key. An entry without a command comes before those of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct IndexPlace {
    pub execution: ExecutionId,
    pub command: Option<CommandId>,
}

/// A place among the open entries of a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpenIndexPlace {
    pub at: Timestamp,
    pub execution: ExecutionId,
    /// The command that waits; `None` for the execution itself.
    pub command: Option<CommandId>,
    pub key: IndexKey,
}

/// The order of the entries of a key, by the start of their executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexOrder {
    NewestFirst,
    OldestFirst,
}

/// A page of the entries of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexPage {
    pub order: IndexOrder,
    /// Lists only entries that come after this place in the order of the page.
    pub after: Option<IndexPlace>,
    /// The number of entries, at most [`PAGE_MAX`].
    pub limit: usize,
}

impl IndexPage {
    /// True if a place is after the cursor of the page.
    pub(crate) fn admits(&self, place: IndexPlace) -> bool {
        self.after.is_none_or(|after| match self.order {
            IndexOrder::NewestFirst => place < after,
            IndexOrder::OldestFirst => after < place,
        })
    }

    /// Merges the same page of each part of the index into one page.
    pub fn of(&self, parts: Vec<Vec<IndexRow>>) -> Vec<IndexRow> {
        let mut rows = parts.concat();
        match self.order {
            IndexOrder::NewestFirst => rows.sort_by_key(|row| std::cmp::Reverse(row.place())),
            IndexOrder::OldestFirst => rows.sort_by_key(IndexRow::place),
        }
        rows.truncate(self.limit.min(PAGE_MAX));
        rows
    }
}
