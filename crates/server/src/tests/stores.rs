//! Servers on real sockets, on each kind of store.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use noetl_bus_nats::{NatsBus, NatsSettings};
use noetl_store::SystemClock;
use noetl_store_postgres::{ClusterSettings, Shards, TimeSource};
use noetl_store_sqlite::SqliteStore;
use noetl_testkit::{NatsServer, PostgresServer};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::*;
use crate::serve;

/// SQL that empties a database after a case. Rows written by migrations stay.
const EMPTY: &str = "
    SET session_replication_role = replica;
    DO $$
    DECLARE name text;
    BEGIN
        FOR name IN
            SELECT relname FROM pg_catalog.pg_class
            WHERE relnamespace = 'noetl'::regnamespace AND relkind IN ('r', 'p')
                AND NOT relispartition
                AND relname NOT IN (
                    'partitioned', 'resource', 'schema_migration', 'feed_shift', 'public_event_name',
                    'reference_start'
                )
        LOOP
            EXECUTE format('DELETE FROM noetl.%I', name);
        END LOOP;
    END $$";

/// A kind of store, and the resources for it.
pub(super) enum Backing {
    Sqlite(TempDir),
    Postgres { databases: Vec<String>, _nats: Option<NatsServer>, broker: Option<String> },
}

impl Backing {
    pub(super) fn sqlite() -> Self {
        Self::Sqlite(TempDir::new().expect("a directory"))
    }

    /// Creates a cluster of `shards` databases.
    pub(super) async fn postgres(shards: usize) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let server = PostgresServer::shared();
        let mut admin = connect(&server.url("postgres")).await;
        let mut databases = Vec::new();
        for _ in 0..shards {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("contract_{}_{number}", std::process::id());
            execute(&mut admin, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
            execute(&mut admin, &format!("CREATE DATABASE {name}")).await;
            databases.push(name);
        }
        Self::Postgres { databases, _nats: None, broker: None }
    }

    /// Adds a broker of its own.
    pub(super) fn with_nats(self) -> Self {
        match self {
            Self::Postgres { databases, .. } => {
                let nats = NatsServer::start();
                let broker = Some(nats.url());
                Self::Postgres { databases, _nats: Some(nats), broker }
            }
            Self::Sqlite(_) => panic!("one process has nobody to tell"),
        }
    }

    /// Adds a broker that is shared.
    pub(super) fn with_broker(self, nats: &NatsServer) -> Self {
        match self {
            Self::Postgres { databases, .. } => {
                Self::Postgres { databases, _nats: None, broker: Some(nats.url()) }
            }
            Self::Sqlite(_) => panic!("one process has nobody to tell"),
        }
    }

    /// Starts a server on an empty store of this kind.
    pub(super) async fn server(&self) -> Server {
        self.leasing_server(LEASE).await
    }

    /// Starts a server with leases of a given length, on an empty store of this kind.
    pub(super) async fn leasing_server(&self, lease: Duration) -> Server {
        let server = self.idle_with(lease).await;
        let (control, stop) = (server.state.control().clone(), server.stop.clone());
        tokio::spawn(async move { control.run(stop).await });
        server
    }

    /// Starts a server whose loops do not run, on an empty store of this kind.
    pub(super) async fn idle_server(&self) -> Server {
        self.idle_with(LEASE).await
    }

    async fn idle_with(&self, lease: Duration) -> Server {
        let clock = Arc::new(SystemClock);
        let (store, bus): (Arc<dyn Everything>, Arc<dyn noetl_bus::Bus>) = match self {
            Self::Sqlite(directory) => {
                static COUNT: AtomicU32 = AtomicU32::new(0);
                let number = COUNT.fetch_add(1, Ordering::Relaxed);
                let path = directory.path().join(format!("{number}.db"));
                let store = SqliteStore::open(&path, clock.clone()).await.expect("a file");
                (Arc::new(store), Arc::new(LocalBus::new()))
            }
            Self::Postgres { databases, broker, .. } => {
                let bus: Arc<dyn noetl_bus::Bus> = match broker {
                    Some(url) => {
                        let settings = NatsSettings::at(url);
                        Arc::new(NatsBus::connect(settings).await.expect("a broker"))
                    }
                    None => Arc::new(LocalBus::new()),
                };
                (Arc::new(shards(databases).await), bus)
            }
        };
        let settings = TestSettings {
            app: app_settings(lease),
            ..settings(Authentication::Open, Hosts::Loopback)
        };
        let server = Server::idle(settings, store, bus, clock);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(serve(
            listener,
            server.state.clone(),
            Duration::from_secs(10),
            server.stop.clone(),
        ));
        server.at(format!("http://{address}"))
    }
}

async fn shards(databases: &[String]) -> Shards {
    let urls: Vec<String> =
        databases.iter().map(|name| PostgresServer::shared().url(name)).collect();
    let read = |name: &str| (name == "NOETL_SHARDS").then(|| urls.join(","));
    let settings = ClusterSettings::from_env(read).expect("settings");
    let shards = Shards::connect(settings, TimeSource::Database).await.expect("databases");
    for url in &urls {
        execute(&mut connect(url).await, EMPTY).await;
    }
    shards
}

async fn connect(url: &str) -> PgConnection {
    let connecting = tokio::time::timeout(Duration::from_secs(30), PgConnection::connect(url));
    connecting.await.expect("in time").expect("a database")
}

async fn execute(connection: &mut PgConnection, statement: &str) {
    connection.execute(AssertSqlSafe(statement.to_owned())).await.expect("it can be done");
}
