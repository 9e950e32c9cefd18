//! The steps that wait for a signal, of all executions.

use noetl_model::{CommandId, ExecutionId, IndexKey, IndexKind, SignalName, Timestamp};
use noetl_store::{IndexRow, OpenIndexPlace, PAGE_MAX, StoreError};

use crate::app::App;

/// A step that waits for a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSignalWait {
    pub execution: ExecutionId,
    pub name: SignalName,
    /// The correlation key of the wait.
    pub key: Option<String>,
    pub since: Timestamp,
}

/// Steps that wait for a signal, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenSignalWaits {
    pub waits: Vec<OpenSignalWait>,
    /// The cursor of the next page; `None` on the last page.
    pub next: Option<String>,
}

impl App {
    /// Lists a page of the steps that wait for a signal, oldest first; `after` is the cursor that the
    /// page before has returned.
    pub async fn open_signal_waits(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<OpenSignalWaits, StoreError> {
        let limit = limit.clamp(1, PAGE_MAX - 1);
        let after = after.and_then(place_of);
        // One more shows if there is another page.
        let mut rows =
            self.store().open_index(IndexKind::Signal, after.as_ref(), limit + 1).await?;
        let is_last = rows.len() <= limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| !is_last).and_then(IndexRow::open_place);
        let waits = rows.into_iter().filter_map(|row| {
            let (name, key) = match row.entry.key.as_str().split_once(' ') {
                Some((name, key)) => (name, Some(key.to_owned())),
                None => (row.entry.key.as_str(), None),
            };
            let (execution, since) = (row.execution, row.at);
            Some(OpenSignalWait { execution, name: name.parse().ok()?, key, since })
        });
        Ok(OpenSignalWaits { waits: waits.collect(), next: last.as_ref().map(cursor) })
    }
}

/// Writes a place as a cursor.
fn cursor(place: &OpenIndexPlace) -> String {
    let command = place.command.map_or(0, |command| command.0);
    let (at, execution) = (place.at.as_micros(), place.execution.0);
    format!("{at}.{execution}.{command}.{}", place.key)
}

/// Reads a cursor; `None` if it is not one, which lists from the beginning.
fn place_of(cursor: &str) -> Option<OpenIndexPlace> {
    let mut parts = cursor.splitn(4, '.');
    let mut next = || parts.next();
    Some(OpenIndexPlace {
        at: Timestamp::from_micros(next()?.parse().ok()?),
        execution: ExecutionId(next()?.parse().ok()?),
        command: Some(CommandId(next()?.parse().ok()?)),
        key: IndexKey::new(next()?),
    })
}
