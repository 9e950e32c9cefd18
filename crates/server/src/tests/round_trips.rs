//! Counts the round trips to PostgreSQL that a start takes, on the wire.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use noetl_control::{ControlSettings, PlaybookChoice, StartError, StartRequest};
use noetl_model::IdGenerator;
use noetl_store::{StartKey, SystemClock};
use noetl_store_postgres::{PgSettings, PgStore, PoolSettings, TimeSource};
use noetl_testkit::PostgresServer;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixStream};

use super::*;

const PLAYBOOK: &str = "apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: round_trips, path: round_trips}
workflow:
  - step: start
    tool: {kind: noop}
";

/// Maximum number of round trips of a start: the lookup of the playbook, and the write.
const ROUND_TRIPS_MAX: u64 = 2;
/// Number of concurrent starts.
const TOGETHER: usize = 50;

/// A proxy to the database that counts round trips.
struct CountingProxy {
    port: u16,
    round_trips: Arc<AtomicU64>,
}

impl CountingProxy {
    async fn start(socket: std::path::PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let round_trips = Arc::new(AtomicU64::new(0));
        let counted = round_trips.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&socket).await.expect("the server");
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let answered = Arc::new(AtomicBool::new(true));
                let (questions, round_trips) = (answered.clone(), counted.clone());
                tokio::spawn(pass_on(from_client, to_server, move || {
                    if questions.swap(false, Ordering::SeqCst) {
                        round_trips.fetch_add(1, Ordering::SeqCst);
                    }
                }));
                tokio::spawn(pass_on(from_server, to_client, move || {
                    answered.store(true, Ordering::SeqCst);
                }));
            }
        });
        Self { port, round_trips }
    }

    /// Returns the number of round trips that a future takes.
    async fn counted<T>(&self, doing: impl Future<Output = T>) -> (T, u64) {
        let before = self.round_trips.load(Ordering::SeqCst);
        let done = doing.await;
        (done, self.round_trips.load(Ordering::SeqCst) - before)
    }
}

/// Copies a stream, calling `tell` before each piece is written.
async fn pass_on(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    tell: impl Fn(),
) {
    let mut piece = vec![0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut piece).await {
        tell();
        if to.write_all(&piece[..count]).await.is_err() {
            return;
        }
    }
}

/// Creates a control plane without running loops, on a database behind a counting proxy.
async fn counted_control() -> (Control, CountingProxy) {
    let server = PostgresServer::shared();
    let name = format!("turns_{}", std::process::id());
    let mut admin = PgConnection::connect(&server.url("postgres")).await.expect("the server");
    for statement in [format!("DROP DATABASE IF EXISTS {name}"), format!("CREATE DATABASE {name}")]
    {
        admin.execute(AssertSqlSafe(statement)).await.expect("a database");
    }
    let direct: PgConnectOptions = server.url(&name).parse().expect("a URL");
    let directory = direct.get_socket().expect("the server listens on a socket");
    let proxy = CountingProxy::start(directory.join(".s.PGSQL.5432")).await;
    let database = PgConnectOptions::new_without_pgpass()
        .host("127.0.0.1")
        .port(proxy.port)
        .username(PostgresServer::USER)
        .database(&name);
    let pool = PoolSettings { connections_min: 0, ..PoolSettings::default() };
    let settings = PgSettings { database, pool };
    let store = PgStore::connect(settings, TimeSource::Database).await.expect("a store");
    // The backlog is counted at intervals, not for each start.
    let settings = ControlSettings { backlog_max: None, ..ControlSettings::default() };
    let ids = Arc::new(IdGenerator::new(1));
    let bus = Arc::new(LocalBus::new());
    let control = Control::new(Arc::new(store), bus, Arc::new(SystemClock), ids, settings);
    control.register("round_trips.yaml", PLAYBOOK).await.expect("a playbook");
    (control, proxy)
}

fn wish(key: Option<&str>) -> StartRequest {
    let choice = PlaybookChoice::Path { path: "round_trips".to_owned(), version: None };
    let key = key.map(|name| StartKey {
        scope: "round_trips".to_owned(),
        name: name.to_owned(),
        keep: Duration::from_secs(60),
        request: None,
    });
    StartRequest { key, ..StartRequest::new(choice, serde_json::Map::new()) }
}

#[tokio::test]
async fn a_start_takes_two_round_trips_with_a_key_or_without() {
    let (control, proxy) = counted_control().await;
    // Warms up: connections are opened and statements prepared once.
    for key in [None, Some("first"), None, Some("second")] {
        control.start(wish(key)).await.expect("a start");
    }
    for key in [None, Some("third")] {
        let (started, round_trips) = proxy.counted(control.start(wish(key))).await;
        started.expect("a start");
        assert!(round_trips <= ROUND_TRIPS_MAX, "{key:?}: {round_trips} round trips");
    }
    let again = control.start(wish(Some("third"))).await;
    assert!(matches!(again, Err(StartError::KeyTaken(_))), "{again:?}");
}

#[tokio::test]
async fn starts_that_come_together_share_their_round_trips() {
    let (control, proxy) = counted_control().await;
    for key in [None, Some("first")] {
        control.start(wish(key)).await.expect("a start");
    }
    let names: Vec<String> = (0..TOGETHER).map(|number| format!("together {number}")).collect();
    let starts = names.iter().map(|name| control.start(wish(Some(name))));
    let (started, round_trips) = proxy.counted(futures::future::join_all(starts)).await;
    assert!(started.iter().all(Result::is_ok));
    assert!(round_trips <= ROUND_TRIPS_MAX, "{TOGETHER} starts: {round_trips} round trips");
}
