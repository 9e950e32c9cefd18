//! Statements and transactions of the database file.

use futures::TryStreamExt as _;
use noetl_model::Timestamp;
use noetl_store::sql::{
    NamedStatement, SqlArgument, SqlColumn, SqlDatabase, SqlStatements, SqlTransaction,
    StatementKind, TransactionKind,
};
use noetl_store::to_row::to_json;
use noetl_store::{Blobs, StoreError, each_statement, included};
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, Sqlite, query, query_with};

use crate::SqliteStore;
use crate::row::{NamedRow, store_error};
use crate::store::{BEGIN, COMMIT, Durability, ManualTransaction};

pub(crate) static STATEMENTS: SqlStatements = each_statement!(included);

impl SqlDatabase for SqliteStore {
    type Row = NamedRow;
    type Transaction<'a> = SqliteStoreTransaction<'a>;

    const NEEDED_TABLES: &'static [&'static str] =
        &["catalog", "command", "event", "execution", "outbox", "payload", "snapshot", "timer"];

    fn sql(&self) -> &'static SqlStatements {
        &STATEMENTS
    }

    fn blobs(&self) -> Option<&dyn Blobs> {
        self.blobs.as_deref()
    }

    fn stored_text(&self, text: String) -> String {
        text
    }

    async fn rows(
        &self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
    ) -> Result<Vec<NamedRow>, StoreError> {
        let rows = match durability(statement.kind) {
            None => self.bound(statement, arguments).fetch_all(&self.readers).await,
            Some(durability) => {
                let mut writer = self.writer(durability).await?;
                self.bound(statement, arguments).fetch_all(&mut *writer).await
            }
        };
        Ok(rows.map_err(store_error)?.into_iter().map(NamedRow).collect())
    }

    async fn row(
        &self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
    ) -> Result<Option<NamedRow>, StoreError> {
        let row = match durability(statement.kind) {
            None => self.bound(statement, arguments).fetch_optional(&self.readers).await,
            Some(durability) => {
                let mut writer = self.writer(durability).await?;
                self.bound(statement, arguments).fetch_optional(&mut *writer).await
            }
        };
        Ok(row.map_err(store_error)?.map(NamedRow))
    }

    async fn write(
        &self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
    ) -> Result<u64, StoreError> {
        let durability = durability(statement.kind).unwrap_or(Durability::Durable);
        let mut writer = self.writer(durability).await?;
        let done = self.bound(statement, arguments).execute(&mut *writer).await;
        Ok(done.map_err(store_error)?.rows_affected())
    }

    async fn each(
        &self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
        mut add: impl FnMut(&NamedRow) -> Result<bool, StoreError> + Send,
    ) -> Result<(), StoreError> {
        let mut rows = self.bound(statement, arguments).fetch(&self.readers);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            if !add(&NamedRow(row))? {
                break;
            }
        }
        Ok(())
    }

    /// Begins a transaction. There is one writer, so no rows have to be locked.
    async fn begin(
        &self,
        kind: TransactionKind<'_>,
    ) -> Result<SqliteStoreTransaction<'_>, StoreError> {
        let durability = match kind {
            TransactionKind::Durable
            | TransactionKind::Registration { path: _ }
            | TransactionKind::Import { executions: _ } => Durability::Durable,
            TransactionKind::Lazy => Durability::Lazy,
            TransactionKind::Erasure { execution: _ } => Durability::Erasing,
        };
        let mut writer = self.manual_transaction(durability).await?;
        query(BEGIN).execute(&mut *writer).await.map_err(store_error)?;
        Ok(SqliteStoreTransaction { store: self, writer })
    }
}

/// A transaction on one of the writing connections.
pub struct SqliteStoreTransaction<'a> {
    store: &'a SqliteStore,
    writer: ManualTransaction<'a>,
}

impl SqlTransaction for SqliteStoreTransaction<'_> {
    type Row = NamedRow;

    async fn rows(
        &mut self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
    ) -> Result<Vec<NamedRow>, StoreError> {
        let rows = self.store.bound(statement, arguments).fetch_all(&mut *self.writer).await;
        Ok(rows.map_err(store_error)?.into_iter().map(NamedRow).collect())
    }

    async fn commit(mut self) -> Result<(), StoreError> {
        query(COMMIT).execute(&mut *self.writer).await.map_err(store_error)?;
        self.writer.settle();
        Ok(())
    }
}

impl SqliteStoreTransaction<'_> {
    /// Runs a statement and returns the number of rows it wrote.
    pub(crate) async fn write(
        &mut self,
        text: &'static str,
        arguments: &[SqlArgument<'_>],
    ) -> Result<u64, StoreError> {
        let statement = NamedStatement { kind: StatementKind::Write, text };
        let done = self.store.bound(&statement, arguments).execute(&mut *self.writer).await;
        Ok(done.map_err(store_error)?.rows_affected())
    }
}

impl SqliteStore {
    /// Returns a statement with its arguments. The clock is read once.
    fn bound(
        &self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
    ) -> Query<'static, Sqlite, SqliteArguments> {
        let now = self.clock.now();
        let mut bound = SqliteArguments::default();
        for argument in arguments {
            let added = match argument {
                SqlArgument::Integer(number) => bound.add(*number),
                SqlArgument::Text(text) => bound.add(text.as_deref()),
                SqlArgument::Bytes(bytes) => bound.add(*bytes),
                SqlArgument::Flag(flag) => bound.add(*flag),
                SqlArgument::Instant(at) => bound.add(at.map(Timestamp::as_micros)),
                SqlArgument::Now => bound.add(now.as_micros()),
                SqlArgument::After(delay) => bound.add(now.after(*delay).as_micros()),
                SqlArgument::Rows(columns) => bound.add(json_rows(columns, now)),
            };
            added.expect("numbers, texts and bytes can be bound");
        }
        query_with(statement.text, bound)
    }
}

/// Returns the writing connection that a statement needs; `None` for a read.
fn durability(kind: StatementKind) -> Option<Durability> {
    match kind {
        StatementKind::Read | StatementKind::Lookup => None,
        StatementKind::Write => Some(Durability::Durable),
        StatementKind::Lazy | StatementKind::Claim => Some(Durability::Lazy),
    }
}

/// Returns rows as a JSON array: of values for one column, of arrays for several.
fn json_rows(columns: &[SqlColumn<'_>], now: Timestamp) -> String {
    let mut json = "[".to_owned();
    for row in 0..columns.first().map_or(0, SqlColumn::len) {
        let cells: Vec<String> = columns.iter().map(|column| json_cell(column, row, now)).collect();
        if row > 0 {
            json.push(',');
        }
        match &cells[..] {
            [cell] => json.push_str(cell),
            cells => json.extend(["[", &cells.join(","), "]"]),
        }
    }
    json.push(']');
    json
}

fn json_cell(column: &SqlColumn<'_>, row: usize, now: Timestamp) -> String {
    match column {
        SqlColumn::Integers(values) => values[row].to_string(),
        SqlColumn::MaybeIntegers(values) => to_json(&values[row]),
        SqlColumn::Texts(values) => to_json(&values[row]),
        SqlColumn::Instants(values) => values[row].as_micros().to_string(),
        SqlColumn::Delays(values) => {
            to_json(&values[row].map(|delay| now.after(delay).as_micros()))
        }
        SqlColumn::Digests(values) => to_json(&values[row]),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn rows_are_arrays_and_a_single_column_is_an_array_of_values() {
        let now = Timestamp::from_micros(5);
        assert_eq!(json_rows(&[SqlColumn::Integers(vec![])], now), "[]");
        assert_eq!(json_rows(&[SqlColumn::Integers(vec![1, -2])], now), "[1,-2]");
        let rows = [
            SqlColumn::Texts(vec![Some("a\"b".into()), None]),
            SqlColumn::Delays(vec![Some(Duration::from_micros(2)), None]),
        ];
        assert_eq!(json_rows(&rows, now), r#"[["a\"b",7],[null,null]]"#);
    }
}
