//! Statements and transactions of one database.

use futures::TryStreamExt as _;
use noetl_store::sql::{
    NamedStatement, SqlArgument, SqlColumn, SqlDatabase, SqlStatements, SqlTransaction,
    StatementKind, TransactionKind,
};
use noetl_store::{Blobs, StoreError, each_statement, included};
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{Arguments as _, Postgres, query, query_with};
use tokio::time::timeout;

use crate::PgStore;
use crate::instant::Instant;
use crate::open::PING_MAX;
use crate::pool::PooledTransaction;
use crate::row::{Named, is_disconnected, micros, plain, store_error};

pub(crate) static STATEMENTS: SqlStatements = each_statement!(included);

/// A statement with its arguments.
type PgQuery = Query<'static, Postgres, PgArguments>;

impl SqlDatabase for PgStore {
    type Row = Named;
    type Transaction<'a> = PgStoreTransaction<'a>;

    const NEEDED_TABLES: &'static [&'static str] = &[
        "catalog",
        "command",
        "event",
        "execution",
        "outbox",
        "projection_snapshot",
        "result_store",
        "timer",
    ];

    fn sql(&self) -> &'static SqlStatements {
        &STATEMENTS
    }

    fn blobs(&self) -> Option<&dyn Blobs> {
        self.blobs.as_deref()
    }

    fn stored_text(&self, text: String) -> String {
        plain(&text).into_owned()
    }

    async fn rows(
        &self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
    ) -> Result<Vec<Named>, StoreError> {
        match statement.kind {
            StatementKind::Read
            | StatementKind::Lookup
            | StatementKind::Write
            | StatementKind::Lazy => {
                let statement = self.bound(statement, arguments);
                let rows = statement.fetch_all(&mut *self.pool.connection().await?).await;
                Ok(rows.map_err(store_error)?.into_iter().map(Named).collect())
            }
            StatementKind::Claim => self.claimed(statement, arguments).await,
        }
    }

    async fn row(
        &self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
    ) -> Result<Option<Named>, StoreError> {
        let row = match statement.kind {
            StatementKind::Lookup => self.looked_up(|| self.bound(statement, arguments)).await?,
            StatementKind::Read
            | StatementKind::Write
            | StatementKind::Lazy
            | StatementKind::Claim => {
                let statement = self.bound(statement, arguments);
                let row = statement.fetch_optional(&mut *self.pool.connection().await?).await;
                row.map_err(store_error)?
            }
        };
        Ok(row.map(Named))
    }

    async fn write(
        &self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
    ) -> Result<u64, StoreError> {
        self.written(statement.text, arguments).await?.map_err(store_error)
    }

    async fn each(
        &self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
        mut add: impl FnMut(&Named) -> Result<bool, StoreError> + Send,
    ) -> Result<(), StoreError> {
        let mut connection = self.pool.connection().await?;
        let mut rows = self.bound(statement, arguments).fetch(&mut *connection);
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            if !add(&Named(row))? {
                break;
            }
        }
        Ok(())
    }

    async fn begin(&self, kind: TransactionKind<'_>) -> Result<PgStoreTransaction<'_>, StoreError> {
        let mut inner = self.pool.begin().await?;
        match kind {
            // A statement says itself that its commit does not wait for the disk.
            TransactionKind::Durable | TransactionKind::Lazy => {}
            TransactionKind::Erasure { execution } => {
                let lock = query(include_str!("../sql/lock_execution.sql")).bind(execution.0);
                lock.execute(&mut *inner).await.map_err(store_error)?;
            }
            TransactionKind::Registration { path } => {
                let lock = query(include_str!("../sql/lock_path.sql")).bind(path);
                lock.execute(&mut *inner).await.map_err(store_error)?;
            }
            TransactionKind::Import { executions } => {
                let lock = query(include_str!("../sql/lock_imported.sql")).bind(executions);
                lock.execute(&mut *inner).await.map_err(store_error)?;
            }
        }
        Ok(PgStoreTransaction { store: self, inner })
    }
}

/// A transaction on one connection.
pub struct PgStoreTransaction<'a> {
    store: &'a PgStore,
    inner: PooledTransaction,
}

impl SqlTransaction for PgStoreTransaction<'_> {
    type Row = Named;

    async fn rows(
        &mut self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
    ) -> Result<Vec<Named>, StoreError> {
        let rows = self.store.bound(statement, arguments).fetch_all(&mut *self.inner).await;
        Ok(rows.map_err(store_error)?.into_iter().map(Named).collect())
    }

    async fn commit(self) -> Result<(), StoreError> {
        self.inner.commit().await.map_err(store_error)
    }
}

impl PgStore {
    /// Runs a statement in its own transaction and returns the number of rows it wrote, or the error
    /// of the database.
    pub(crate) async fn written(
        &self,
        text: &'static str,
        arguments: &[SqlArgument<'_>],
    ) -> Result<Result<u64, sqlx::Error>, StoreError> {
        let statement = query_with(text, self.arguments(arguments));
        let done = statement.execute(&mut *self.pool.connection().await?).await;
        Ok(done.map(|done| done.rows_affected()))
    }

    /// Runs a statement while no other publisher runs one.
    async fn claimed(
        &self,
        statement: &NamedStatement,
        arguments: &[SqlArgument<'_>],
    ) -> Result<Vec<Named>, StoreError> {
        let mut transaction = self.begin(TransactionKind::Lazy).await?;
        let lock = query(include_str!("../sql/lock_publishers.sql"));
        lock.execute(&mut *transaction.inner).await.map_err(store_error)?;
        let rows = transaction.rows(statement, arguments).await?;
        transaction.commit().await?;
        Ok(rows)
    }

    /// Returns the row that a statement finds, in one round trip: uses the last connection without
    /// a ping, and another one if it is dead.
    async fn looked_up(
        &self,
        find: impl Fn() -> PgQuery + Send + Sync,
    ) -> Result<Option<PgRow>, StoreError> {
        let mut connection = if let Some(mut kept) = self.writers.last() {
            let is_trusted = kept.is_trusted();
            let asked = find().fetch_optional(&mut *kept.connection);
            let answered =
                if is_trusted { Ok(asked.await) } else { timeout(PING_MAX, asked).await };
            match answered {
                Ok(Ok(row)) => {
                    self.writers.keep(kept.connection);
                    return Ok(row);
                }
                Ok(Err(error)) if !is_disconnected(&error) => return Err(store_error(error)),
                Ok(Err(_)) | Err(_) => self.writers.replaced().await.map_err(store_error)?,
            }
        } else {
            self.pool.connection().await?
        };
        let row = find().fetch_optional(&mut *connection).await.map_err(store_error)?;
        self.writers.keep(connection);
        Ok(row)
    }

    fn bound(&self, statement: &NamedStatement, arguments: &[SqlArgument<'_>]) -> PgQuery {
        query_with(statement.text, self.arguments(arguments))
    }

    fn arguments(&self, arguments: &[SqlArgument<'_>]) -> PgArguments {
        let mut bound = PgArguments::default();
        for argument in arguments {
            let added = match argument {
                SqlArgument::Integer(number) => bound.add(*number),
                SqlArgument::Text(text) => bound.add(text.as_deref().map(plain)),
                SqlArgument::Bytes(bytes) => bound.add(*bytes),
                SqlArgument::Flag(flag) => bound.add(*flag),
                SqlArgument::Instant(at) => bound.add(at.map(Instant)),
                SqlArgument::Now => bound.add(self.now()),
                SqlArgument::After(delay) => bound.add(micros(*delay)),
                SqlArgument::Rows(columns) => {
                    columns.iter().try_for_each(|column| add_column(&mut bound, column))
                }
            };
            added.expect("numbers, texts, bytes and arrays of them can be bound");
        }
        bound
    }
}

/// Binds the values of a column as an array.
fn add_column(bound: &mut PgArguments, column: &SqlColumn<'_>) -> Result<(), BoxDynError> {
    match column {
        SqlColumn::Integers(values) => bound.add(&values[..]),
        SqlColumn::MaybeIntegers(values) => bound.add(&values[..]),
        SqlColumn::Texts(values) => {
            let texts = values.iter().map(|text| text.as_deref().map(|it| plain(it).into_owned()));
            bound.add(texts.collect::<Vec<Option<String>>>())
        }
        SqlColumn::Instants(values) => {
            bound.add(values.iter().map(|at| Instant(*at)).collect::<Vec<_>>())
        }
        SqlColumn::Delays(values) => {
            bound.add(values.iter().map(|delay| delay.map(micros)).collect::<Vec<_>>())
        }
        SqlColumn::Digests(values) => {
            bound.add(values.iter().map(|digest| digest.as_bytes().to_vec()).collect::<Vec<_>>())
        }
    }
}
