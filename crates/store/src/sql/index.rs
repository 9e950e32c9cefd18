//! The index of executions.

use noetl_model::{IndexKey, IndexKind, Timestamp};

use super::{SqlArgument, SqlDatabase, all_of};
use crate::from_row;
use crate::to_row::{at_most, index_command};
use crate::{IndexOrder, IndexPage, IndexRow, OpenIndexPlace, PAGE_MAX, StoreError};

pub async fn indexed<D: SqlDatabase>(
    database: &D,
    kind: IndexKind,
    key: &IndexKey,
    page: IndexPage,
) -> Result<Vec<IndexRow>, StoreError> {
    let sql = database.sql();
    let (statement, first) = match page.order {
        IndexOrder::NewestFirst => (&sql.list_index_newest, i64::MAX),
        IndexOrder::OldestFirst => (&sql.list_index_oldest, i64::MIN),
    };
    let (execution, command) = match page.after {
        Some(place) => (place.execution.0, index_command(place.command)),
        None => (first, first),
    };
    let arguments: [SqlArgument<'_>; 5] = [
        kind.as_str().into(),
        key.as_str().into(),
        execution.into(),
        command.into(),
        at_most(page.limit, PAGE_MAX).into(),
    ];
    all_of(database, statement, &arguments, |row| from_row::index_row(row, kind)).await
}

pub async fn open_index<D: SqlDatabase>(
    database: &D,
    kind: IndexKind,
    after: Option<&OpenIndexPlace>,
    limit: usize,
) -> Result<Vec<IndexRow>, StoreError> {
    let (at, execution, command, key) = match after {
        Some(OpenIndexPlace { at, execution, command, key }) => {
            (*at, execution.0, index_command(*command), key.as_str())
        }
        None => (Timestamp::from_micros(0), i64::MIN, i64::MIN, ""),
    };
    let arguments: [SqlArgument<'_>; 6] = [
        kind.as_str().into(),
        at.into(),
        execution.into(),
        command.into(),
        key.into(),
        at_most(limit, PAGE_MAX).into(),
    ];
    let statement = &database.sql().list_open_index;
    all_of(database, statement, &arguments, |row| from_row::index_row(row, kind)).await
}
