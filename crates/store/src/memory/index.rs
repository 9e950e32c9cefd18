//! The in-memory index of executions.

use std::collections::BTreeMap;

use noetl_model::{ExecutionId, IndexChange, IndexEntry, IndexKey, IndexKind, Timestamp};

use super::MemoryStore;
use crate::{IndexPage, IndexRow, OpenIndexPlace, PAGE_MAX, StoreError};

/// The time of each entry.
#[derive(Clone, Default)]
pub(super) struct IndexTable(BTreeMap<(IndexEntry, ExecutionId), Timestamp>);

impl IndexTable {
    pub(super) fn change(&mut self, execution: ExecutionId, changes: &[IndexChange]) {
        for change in changes {
            match change {
                IndexChange::Add { entry, at } => {
                    self.0.insert((entry.clone(), execution), *at);
                }
                IndexChange::Remove { entry } => {
                    self.0.remove(&(entry.clone(), execution));
                }
            }
        }
    }

    pub(super) fn remove_all(&mut self, execution: ExecutionId) {
        self.0.retain(|(_, of), _| *of != execution);
    }

    pub(super) fn has(&self, entry: &IndexEntry, execution: ExecutionId) -> bool {
        self.0.contains_key(&(entry.clone(), execution))
    }

    fn rows(&self) -> impl Iterator<Item = IndexRow> {
        self.0.iter().map(|((entry, execution), at)| IndexRow {
            execution: *execution,
            entry: entry.clone(),
            at: *at,
        })
    }
}

impl MemoryStore {
    pub(crate) async fn indexed(
        &self,
        kind: IndexKind,
        key: &IndexKey,
        page: IndexPage,
    ) -> Result<Vec<IndexRow>, StoreError> {
        let tables = self.lock();
        let found = tables.index.rows().filter(|row| {
            row.entry.kind == kind && row.entry.key == *key && page.admits(row.place())
        });
        Ok(page.of(vec![found.collect()]))
    }

    pub(crate) async fn open_index(
        &self,
        kind: IndexKind,
        after: Option<&OpenIndexPlace>,
        limit: usize,
    ) -> Result<Vec<IndexRow>, StoreError> {
        let tables = self.lock();
        let mut open: Vec<(OpenIndexPlace, IndexRow)> = tables
            .index
            .rows()
            .filter(|row| row.entry.kind == kind)
            .filter_map(|row| Some((row.open_place()?, row)))
            .filter(|(place, _)| after.is_none_or(|after| after < place))
            .collect();
        open.sort_by(|(one, _), (other, _)| one.cmp(other));
        open.truncate(limit.min(PAGE_MAX));
        Ok(open.into_iter().map(|(_, row)| row).collect())
    }
}
