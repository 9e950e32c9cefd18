//! The work of the stores for a step.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use noetl_store::SystemClock;
use noetl_store_postgres::{ClusterSettings, Shards, TimeSource};
use noetl_store_sqlite::SqliteStore;
use noetl_testkit::PostgresServer;
use sqlx::{Connection as _, PgConnection, Row as _};
use tokio::sync::Mutex;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{Layer, registry};

use crate::counted::{CountedControl, Load};
use crate::counts::check;

/// The lock held during a count: the bytes written by a process include those of all its tests.
static ALONE: Mutex<()> = Mutex::const_new(());

/// The work of a store up to one moment.
#[derive(Debug, Clone, Copy)]
struct Work {
    transactions: u64,
    statements: u64,
    rows: u64,
    bytes: u64,
}

impl Work {
    /// Returns the named cost of each step since `then`.
    fn each(self, then: Work, store: &str, load: Load) -> Vec<(String, f64)> {
        let each = |now: u64, then: u64| {
            let count = u32::try_from(now.saturating_sub(then)).expect("a small number");
            f64::from(count) / f64::from(load.steps_in_all())
        };
        let named = |what: &str, count| (format!("{store} {} {what}", load.name), count);
        vec![
            named("transactions", each(self.transactions, then.transactions)),
            named("statements", each(self.statements, then.statements)),
            named("rows", each(self.rows, then.rows)),
            named("bytes", each(self.bytes, then.bytes)),
        ]
    }
}

/// The statements of SQLite and the rows they changed, as logged by its driver.
#[derive(Debug, Default)]
struct Told {
    statements: AtomicU64,
    rows: AtomicU64,
}

struct Listener(Arc<Told>);

impl<S: tracing::Subscriber> Layer<S> for Listener {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "sqlx::query" {
            self.0.statements.fetch_add(1, Ordering::Relaxed);
            event.record(&mut Rows(&self.0));
        }
    }
}

struct Rows<'a>(&'a Told);

impl Visit for Rows<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "rows_affected" {
            self.0.rows.fetch_add(value, Ordering::Relaxed);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

/// Returns the number of commits, from the header of the WAL index.
fn commits(database: &Path) -> u64 {
    let mut index = database.as_os_str().to_owned();
    index.push("-shm");
    let header = fs::read(index).expect("there is an index");
    let (_, number) = header[..12].split_at(8);
    u32::from_ne_bytes(number.try_into().expect("four bytes")).into()
}

/// Returns all bytes that this process has passed to write calls.
fn written() -> u64 {
    let io = fs::read_to_string("/proc/self/io").expect("a process knows itself");
    let line = io.lines().find_map(|line| line.strip_prefix("wchar:")).expect("it is there");
    line.trim().parse().expect("a number")
}

#[tokio::test]
async fn a_step_does_no_more_on_sqlite_than_expected() {
    let _alone = ALONE.lock().await;
    let told = Arc::new(Told::default());
    let listening = registry().with(Listener(Arc::clone(&told)));
    tracing::subscriber::set_global_default(listening).expect("each test has its own process");
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("noetl.db");
    let store = SqliteStore::open(&path, Arc::new(SystemClock)).await.expect("it opens");
    let plane = CountedControl::on(Arc::new(store));
    let work = || Work {
        transactions: commits(&path),
        statements: told.statements.load(Ordering::Relaxed),
        rows: told.rows.load(Ordering::Relaxed),
        bytes: written(),
    };
    let mut counted = Vec::new();
    for load in Load::ALL {
        let before = work();
        plane.run(load).await;
        counted.extend(work().each(before, "sqlite", load));
    }
    check(&counted);
}

/// Returns the work of all connections so far. Connections report it when they end, so all others
/// have to be closed, and are waited for.
async fn asked(connection: &mut PgConnection) -> Work {
    let others = "SELECT count(*) FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    while sqlx::query_scalar::<_, i64>(others).fetch_one(&mut *connection).await.expect("a count")
        > 0
    {
        tokio::task::yield_now().await;
    }
    let row = sqlx::query(
        "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS transactions,
            (SELECT sum(calls)::bigint FROM pg_stat_statements) AS statements,
            (SELECT (tup_inserted + tup_updated + tup_deleted)::bigint
             FROM pg_stat_database WHERE datname = current_database()) AS rows,
            pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS bytes",
    )
    .fetch_one(connection)
    .await
    .expect("it counts");
    let get = |name: &str| u64::try_from(row.get::<i64, _>(name)).expect("counts are positive");
    Work {
        transactions: get("transactions"),
        statements: get("statements"),
        rows: get("rows"),
        bytes: get("bytes"),
    }
}

#[tokio::test]
async fn a_step_does_no_more_on_postgresql_than_expected() {
    let _alone = ALONE.lock().await;
    // Full-page writes after each checkpoint would make the counts random.
    let server = PostgresServer::private_with(&[
        "shared_preload_libraries=pg_stat_statements",
        "full_page_writes=off",
        "fsync=off",
    ]);
    let url = server.url("postgres");
    let mut connection = PgConnection::connect(&url).await.expect("it runs");
    let extension = sqlx::query("CREATE EXTENSION pg_stat_statements");
    extension.execute(&mut connection).await.expect("it is installed");
    // The queries of this connection repeat until the others have ended, so their number is random.
    let uncounted = sqlx::query("SET pg_stat_statements.track = 'none'");
    uncounted.execute(&mut connection).await.expect("it can be set");
    let open = async || {
        let read = |name: &str| (name == "DATABASE_URL").then(|| url.clone());
        let settings = ClusterSettings::from_env(read).expect("an address");
        Shards::connect(settings, TimeSource::Database).await.expect("it opens")
    };
    // Creating the tables is not counted.
    open().await.close().await;
    let mut counted = Vec::new();
    for load in Load::ALL {
        let before = asked(&mut connection).await;
        let store = Arc::new(open().await);
        let plane = CountedControl::on(store.clone());
        plane.run(load).await;
        drop(plane);
        store.close().await;
        counted.extend(asked(&mut connection).await.each(before, "postgres", load));
    }
    check(&counted);
}
