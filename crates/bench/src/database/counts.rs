//! Statistics of the work that a database did.

use std::fs::File;
use std::io::Read as _;
use std::ops::Sub;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use sqlx::{PgConnection, Row as _};

use crate::machine::ProcessUsage;
use crate::numbers::number;
use crate::sheet::Sheet;

/// The work of a database, since its creation or between two moments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    /// The number of writing transactions.
    pub(crate) transactions: u64,
    /// The number of statements; not counted for SQLite.
    pub(crate) statements: Option<u64>,
    /// The bytes written: to the write-ahead log of PostgreSQL, or to the log and file of SQLite.
    pub(crate) bytes: u64,
}

/// The version in the header of SQLite's WAL index. The header contains this version, an unused
/// field, and a counter of writing transactions.
const INDEX_VERSION: u32 = 3_007_000;

impl Counts {
    pub(super) fn of_sqlite(path: &Path, server: u32) -> Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push("-shm");
        let mut header = [0; 12];
        let mut index = File::open(&name).context("open the index of SQLite's log")?;
        index.read_exact(&mut header).context("read the index of SQLite's log")?;
        let word = |at: usize| {
            let bytes = header[at..at + 4].try_into().expect("it has four bytes");
            u32::from_ne_bytes(bytes)
        };
        ensure!(word(0) == INDEX_VERSION, "the index of SQLite's log has another form");
        let bytes = ProcessUsage::of(server)?.written;
        Ok(Self { transactions: word(8).into(), statements: None, bytes })
    }

    pub(super) async fn of_postgres(connection: &mut PgConnection) -> Result<Self> {
        let row = sqlx::query(include_str!("../../sql/counts.sql"))
            .fetch_one(connection)
            .await
            .context("ask PostgreSQL what it has done")?;
        let get = |name: &str| -> Result<u64> { Ok(row.try_get::<i64, _>(name)?.try_into()?) };
        Ok(Self {
            transactions: get("transactions")?,
            statements: Some(get("statements")?),
            bytes: get("bytes")?,
        })
    }

    /// Adds the cost of each of `count` steps or items to a sheet.
    pub(crate) fn tell(&self, sheet: &mut Sheet, of: &str, each: &'static str, count: u64) {
        let share = |total: u64| number(total) / number(count);
        sheet.figure(format!("{of}: transactions"), share(self.transactions), each);
        if let Some(statements) = self.statements {
            sheet.figure(format!("{of}: statements"), share(statements), each);
        }
        sheet.figure(format!("{of}: bytes written"), share(self.bytes), each);
    }
}

impl Sub for Counts {
    type Output = Counts;

    fn sub(self, earlier: Counts) -> Counts {
        let statements = self.statements.zip(earlier.statements);
        Counts {
            transactions: self.transactions.saturating_sub(earlier.transactions),
            statements: statements.map(|(now, then)| now.saturating_sub(then)),
            bytes: self.bytes.saturating_sub(earlier.bytes),
        }
    }
}
