//! Test databases: one for each test, copied from a migrated template.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use noetl_store::conformance::TestClock;
use noetl_store_postgres::{PgSettings, PgStore, PoolSettings, TimeSource};
use noetl_testkit::PostgresServer;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

use crate::statements::files;

/// The maximum number of concurrent tests times the databases each of them uses.
const LENT_MAX: i64 = 200;

/// Empties a used test database quickly.
const EMPTY: &str = "
    SET session_replication_role = replica;
    TRUNCATE noetl.command, noetl.timer, noetl.outbox, noetl.catalog, noetl.start_key, noetl.feed_batch,
        noetl.feed, noetl.subscription, noetl.subscription_event, noetl.failed_message, noetl.turn,
        noetl.projected_event, noetl.schedule, noetl.schedule_event RESTART IDENTITY;
    DO $$
    DECLARE
        name text;
    BEGIN
        FOR name IN
            SELECT relname FROM pg_class
            WHERE
                relnamespace = 'noetl'::regnamespace
                AND relkind IN ('r', 'p')
                AND NOT relispartition
                AND relname NOT IN ('schema_migration', 'partitioned', 'feed_shift', 'reference_start')
        LOOP
            EXECUTE format('DELETE FROM noetl.%I', name);
        END LOOP;
    END
    $$;
    RESET session_replication_role";

/// A database that no other test uses.
pub(crate) struct Database {
    pub(crate) name: String,
    keeping: Keeping,
}

enum Keeping {
    /// A database that other tests use later; the connection holds its lock.
    Lent { _lock: PgConnection },
    /// A database that is dropped with its value.
    Own,
    /// The template of the other databases.
    Template,
}

impl Database {
    /// Returns a database with the schema and no rows. Creating one is slow, so a test that does
    /// not change the schema gets a used one.
    pub(crate) async fn migrated() -> Self {
        let template = template().await;
        let mut lock = connect("postgres").await;
        for number in 0..LENT_MAX {
            if !answer(&mut lock, &format!("SELECT pg_try_advisory_lock(2, {number})")).await {
                continue;
            }
            let name = format!("lent_{number}_{template}");
            if exists(&mut lock, &name).await {
                let end = format!(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
                );
                execute(&mut lock, &end).await;
                execute(&mut connect(&name).await, EMPTY).await;
            } else {
                execute(&mut lock, &format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
            }
            return Self { name, keeping: Keeping::Lent { _lock: lock } };
        }
        panic!("{LENT_MAX} databases are in use");
    }

    /// Returns a new database with the schema, for a test that changes the schema.
    pub(crate) async fn own() -> Self {
        let template = template().await;
        Self::made(&format!("TEMPLATE {template}")).await
    }

    pub(crate) async fn empty() -> Self {
        Self::made("").await
    }

    async fn made(how: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("own_{}_{number}", std::process::id());
        execute(&mut connect("postgres").await, &format!("CREATE DATABASE {name} {how}")).await;
        Self { name, keeping: Keeping::Own }
    }

    pub(crate) fn settings(&self) -> PgSettings {
        let database = PostgresServer::shared().url(&self.name).parse().expect("the URL is one");
        PgSettings {
            database,
            pool: PoolSettings { connections_min: 0, ..PoolSettings::default() },
        }
    }

    pub(crate) async fn open(&self, clock: TestClock) -> PgStore {
        let time = TimeSource::Clock(Arc::new(clock));
        PgStore::connect(self.settings(), time).await.expect("the database opens")
    }

    /// Opens a connection that bypasses the store.
    pub(crate) async fn connect(&self) -> PgConnection {
        connect(&self.name).await
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        match self.keeping {
            Keeping::Lent { .. } | Keeping::Template => return,
            Keeping::Own => {}
        }
        let statement = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime starts").block_on(async {
                execute(&mut connect("postgres").await, &statement).await;
            });
        });
        assert!(dropping.join().is_ok() || std::thread::panicking(), "the database can be dropped");
    }
}

/// Returns the name of the migrated template, which the first test creates.
async fn template() -> String {
    let mut hasher = DefaultHasher::new();
    for file in files("migrations").into_iter().chain(files("sql/functions")) {
        file.hash(&mut hasher);
    }
    let name = format!("template_{:x}", hasher.finish());
    let mut admin = connect("postgres").await;
    execute(&mut admin, "SELECT pg_advisory_lock(1)").await;
    if !exists(&mut admin, &name).await {
        let mut made = Database::empty().await;
        made.open(TestClock::default()).await.close().await;
        execute(&mut admin, &format!("ALTER DATABASE {} RENAME TO {name}", made.name)).await;
        made.keeping = Keeping::Template;
    }
    execute(&mut admin, "SELECT pg_advisory_unlock(1)").await;
    name
}

async fn exists(connection: &mut PgConnection, database: &str) -> bool {
    let found = format!("SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = '{database}')");
    answer(connection, &found).await
}

pub(crate) async fn answer(connection: &mut PgConnection, statement: &str) -> bool {
    let answer = sqlx::query_scalar(AssertSqlSafe(statement.to_owned())).fetch_one(connection);
    answer.await.expect("the server answers")
}

async fn connect(database: &str) -> PgConnection {
    let url = PostgresServer::shared().url(database);
    PgConnection::connect(&url).await.expect("the server can be reached")
}

pub(crate) async fn execute(connection: &mut PgConnection, statement: &str) {
    let done = connection.execute(AssertSqlSafe(statement.to_owned())).await;
    done.unwrap_or_else(|error| panic!("{statement}: {error}"));
}
