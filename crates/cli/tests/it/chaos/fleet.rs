//! Servers and workers on one database and one broker, each of which may be killed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use noetl_model::{ExecutionId, ExecutionStatus, LimitName, Recorded};
use noetl_store::{Executions, Outbox, SlotLimits as _, StoreError};
use noetl_store_postgres::{ClusterSettings, Shards, TimeSource};
use noetl_testkit::{NatsServer, PostgresServer};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::existing::{self, Existing};
use super::{PLAYBOOK, Size, output_of};
use crate::oracle::{Expected, log_of, verify};
use crate::sandbox::{Sandbox, signal};
use crate::server::{KEY, Process};

/// Timeout for another execution to end: lost leases have to expire first, perhaps more than once.
const END_MAX: Duration = Duration::from_secs(240);
/// Timeout for a server to become ready.
const READY_MAX: Duration = Duration::from_secs(60);
/// Timeout of a request.
const ANSWER_MAX: Duration = Duration::from_secs(45);
/// Polling interval.
const LOOK: Duration = Duration::from_millis(50);

/// The running processes, and the executions started on them.
pub(super) struct Fleet {
    servers: Vec<Option<Process>>,
    ports: Vec<u16>,
    workers: Vec<Process>,
    existing: Option<Existing>,
    started: Arc<Mutex<BTreeMap<u64, ExecutionId>>>,
    /// The path of the playbook that is started.
    path: &'static str,
    store: Shards,
    runtime: Runtime,
    pub(super) postgres: PostgresServer,
    pub(super) nats: NatsServer,
    sandbox: Sandbox,
    /// The number of servers started so far.
    lives: u32,
}

impl Fleet {
    /// Starts two servers with a worker each, and registers a playbook with a loop.
    pub(super) fn new() -> Self {
        Self::of(2, "tests/chaos", PLAYBOOK)
    }

    /// Starts servers with a worker each, and registers a playbook.
    pub(super) fn of(servers: usize, path: &'static str, playbook: &str) -> Self {
        let (postgres, nats) = (PostgresServer::private(), NatsServer::start());
        let runtime = Runtime::new().expect("a runtime starts");
        let store = runtime.block_on(connect(&postgres.url("postgres")));
        let ports: Vec<u16> = (0..servers).map(|_| free_port()).collect();
        let sandbox = Sandbox::new();
        let mut fleet = Self {
            servers: ports.iter().map(|_| None).collect(),
            ports,
            workers: Vec::new(),
            existing: None,
            started: Arc::default(),
            path,
            store,
            runtime,
            postgres,
            nats,
            sandbox,
            lives: 0,
        };
        for server in 0..fleet.ports.len() {
            fleet.start(server);
        }
        fleet.start_workers();
        let body = json!({ "content": playbook });
        let (status, answer) =
            call(fleet.ports[0], "/api/catalog/register", &body).expect("it runs");
        assert_eq!(status, 200, "{answer}");
        fleet
    }

    /// Starts a worker for each server, in place of those there were.
    fn start_workers(&mut self) {
        self.workers = (0..self.ports.len()).map(|server| self.worker(server)).collect();
    }

    fn worker(&self, server: usize) -> Process {
        let port = self.ports[server];
        let url = format!("http://127.0.0.1:{port}");
        let log = format!("worker-{port}.log");
        self.spawn(&["worker", "--server", &url, "--concurrency", "8"], &log)
    }

    /// Kills the worker of a server and starts another one.
    pub(super) fn kill_and_restart_worker(&mut self, server: usize) {
        let worker = self.worker(server);
        self.workers[server] = worker;
    }

    /// Sends a signal such as `STOP` to the worker of a server.
    pub(super) fn signal_worker(&self, server: usize, name: &str) {
        signal(&self.workers[server].0, name);
    }

    /// Kills servers, workers and the broker at once, and starts them again.
    pub(super) fn kill_and_restart_everything(&mut self) {
        for process in self.servers.iter().flatten().chain(&self.workers) {
            signal(&process.0, "KILL");
        }
        self.nats.kill();
        self.nats.start_again();
        for server in 0..self.ports.len() {
            self.kill_and_restart(server);
        }
        self.start_workers();
    }

    /// Adds workers of the existing kind, which get every second execution.
    pub(super) fn with_existing_workers(count: u64) -> Self {
        let mut fleet = Self::new();
        fleet.existing = Some(Existing::start(count, &fleet.nats.url(), &fleet.ports));
        fleet
    }

    /// Returns the number of crashes of existing workers.
    pub(super) fn deaths(&self) -> u64 {
        self.existing.as_ref().map_or(0, Existing::deaths)
    }

    /// Waits for the late posts of existing workers; returns how many were answered.
    pub(super) fn await_late(&self) -> u64 {
        self.existing.as_ref().map_or(0, Existing::await_late)
    }

    fn spawn(&self, args: &[&str], log: &str) -> Process {
        let log = File::create(self.sandbox.path(log)).expect("the home is ours");
        let mut command = self.sandbox.command(args);
        command.env("RUST_LOG", "warn").env("NOETL_ENCRYPTION_KEY", KEY);
        command.stdout(log.try_clone().expect("it is open")).stderr(log);
        Process(command.spawn().expect("the binary runs"))
    }

    fn start(&mut self, server: usize) {
        let listen = format!("127.0.0.1:{}", self.ports[server]);
        let (database, broker) = (self.postgres.url("postgres"), self.nats.url());
        let args = ["server", "--no-worker", "--listen", &listen];
        let args = [&args[..], &["--database", &database, "--nats", &broker]].concat();
        self.lives += 1;
        let log = format!("server-{server}-{}.log", self.lives);
        self.servers[server] = Some(self.spawn(&args, &log));
        let begun = Instant::now();
        while TcpStream::connect(&listen).is_err() {
            let said = || std::fs::read_to_string(self.sandbox.path(&log)).unwrap_or_default();
            assert!(begun.elapsed() < READY_MAX, "no server: {}", said());
            thread::sleep(LOOK);
        }
    }

    /// Kills a server and starts it again on the same port.
    pub(super) fn kill_and_restart(&mut self, server: usize) {
        self.servers[server] = None;
        self.start(server);
    }

    /// Starts executions through all servers in turn, evenly over time.
    pub(super) fn load(&self, size: Size) -> JoinHandle<()> {
        let path = self.path;
        let (ports, started) = (self.ports.clone(), Arc::clone(&self.started));
        let ledger = self.ledger();
        let pools: &[&str] = match &self.existing {
            Some(_) => &["shared", existing::POOL],
            None => &["shared"],
        };
        let pause = size.load / u32::try_from(size.executions).expect("a small number");
        thread::spawn(move || {
            for n in 0..size.executions {
                let pool = pools[usize::try_from(n).expect("a small number") % pools.len()];
                let execution = start_once(&ports, n, (path, pool), &ledger);
                started.lock().expect("nothing panics with it").insert(n, execution);
                thread::sleep(pause);
            }
        })
    }

    /// Starts executions in one request.
    pub(super) fn start_all(&self, count: usize) {
        let body = json!({ "executions": vec![json!({ "path": self.path }); count] });
        let answer = call(self.ports[0], "/api/execute/batch", &body).expect("it answers");
        let results = answer.1["results"].as_array().cloned().unwrap_or_default();
        let ids = results.iter().filter_map(|result| result["execution_id"].as_str()?.parse().ok());
        let ids: BTreeMap<u64, ExecutionId> = (0..).zip(ids.map(ExecutionId)).collect();
        assert_eq!(ids.len(), count, "{answer:?}");
        *self.started.lock().expect("nothing panics with it") = ids;
    }

    fn ledger(&self) -> PathBuf {
        self.sandbox.path("ledger")
    }

    pub(super) fn started(&self) -> Vec<ExecutionId> {
        self.started.lock().expect("nothing panics with it").values().copied().collect()
    }

    /// Returns the number of completed executions; retries while the database is down.
    pub(super) fn completed(&self) -> u64 {
        let begun = Instant::now();
        loop {
            match self.count(ExecutionStatus::Completed) {
                Ok(count) => return count,
                Err(error) => assert!(begun.elapsed() < READY_MAX, "{error:?}"),
            }
        }
    }

    fn count(&self, status: ExecutionStatus) -> Result<u64, StoreError> {
        self.runtime.block_on(Executions::count(&self.store, status, u64::MAX))
    }

    /// Waits until `count` executions have completed.
    pub(super) fn await_completed(&self, count: u64) {
        let (mut before, mut since) = (0, Instant::now());
        loop {
            let completed = self.completed();
            if completed >= count {
                return;
            }
            if completed > before {
                (before, since) = (completed, Instant::now());
            }
            let said = || format!("{completed} of {count} for {END_MAX:?}: {}", self.said());
            assert!(since.elapsed() < END_MAX, "{}", said());
            thread::sleep(LOOK);
        }
    }

    /// Waits until all executions have ended and the outbox is empty; returns when the last one
    /// ended.
    pub(super) fn await_ends(&self) -> Instant {
        let started = u64::try_from(self.started().len()).expect("a count fits");
        self.await_completed(started);
        let ended = Instant::now();
        let owed = || self.runtime.block_on(Outbox::owed(&self.store));
        while owed().expect("the database is there") > 0 {
            assert!(ended.elapsed() < END_MAX, "messages stay owed: {}", self.said());
            thread::sleep(LOOK);
        }
        ended
    }

    /// Checks the whole history; returns the number of effects and how many of them were
    /// repetitions.
    pub(super) fn verify(mut self) -> (usize, usize) {
        self.existing = None;
        let ledger = self.effects();
        let repeated = self.verify_effects(&ledger, output_of);
        (ledger.lines().count(), repeated)
    }

    /// Returns the lines that steps have written so far.
    pub(super) fn effects(&self) -> String {
        std::fs::read_to_string(self.ledger()).expect("there are effects")
    }

    /// Checks the whole history with the keys of the commands that had an effect, one on each line;
    /// returns how many of the effects were repetitions.
    pub(super) fn verify_effects(&self, keys: &str, output: fn(u64) -> Value) -> usize {
        let started = self.started();
        let executions = started.len();
        let expected = Expected { started: &started, executions, output, ledger: keys };
        self.runtime.block_on(verify(&self.store, expected))
    }

    /// Returns the events of an execution.
    pub(super) fn log(&self, execution: ExecutionId) -> Vec<Recorded> {
        self.runtime.block_on(log_of(&self.store, execution))
    }

    /// Waits until no request holds or awaits a slot of a limit.
    pub(super) fn await_idle_limit(&self, name: &LimitName) {
        let begun = Instant::now();
        let rows = || async {
            let holders = self.store.slot_holders(name, 10).await?;
            Ok::<_, StoreError>([holders, self.store.slot_queue(name, 10).await?].concat())
        };
        loop {
            let left = self.runtime.block_on(rows()).expect("the database is there");
            if left.is_empty() {
                return;
            }
            assert!(begun.elapsed() < END_MAX, "slots are left: {left:?}");
            thread::sleep(LOOK);
        }
    }

    /// Returns the number of servers.
    pub(super) fn servers(&self) -> usize {
        self.servers.len()
    }

    /// Returns the last log lines of servers and workers, for a failed assertion.
    fn said(&self) -> String {
        let running = self.count(ExecutionStatus::Running);
        let failed = self.count(ExecutionStatus::Failed);
        let mut said = format!("running {running:?}, failed {failed:?}\n");
        let files = std::fs::read_dir(self.sandbox.path("")).expect("the home is ours");
        for path in files.flatten().map(|file| file.path()) {
            if path.extension().is_some_and(|extension| extension == "log") {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                let lines: Vec<&str> = text.lines().rev().take(12).collect();
                said.push_str(&format!("{}, last first:\n{}\n", path.display(), lines.join("\n")));
            }
        }
        said
    }
}

pub(crate) async fn connect(url: &str) -> Shards {
    let settings = ClusterSettings::from_env(|name| match name {
        "DATABASE_URL" => Some(url.to_owned()),
        _ => None,
    });
    let settings = settings.expect("the settings are right");
    Shards::connect(settings, TimeSource::Database).await.expect("the database opens")
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it has an address").port()
}

/// Starts an execution, retrying until a server answers; the dedup key prevents a second start.
fn start_once(
    ports: &[u16],
    n: u64,
    (path, pool): (&str, &str),
    ledger: &std::path::Path,
) -> ExecutionId {
    let body = json!({
        "path": path,
        "payload": { "n": n, "ledger": ledger },
        "execution_pool": pool,
        "dedup": { "key": format!("chaos-{n}"), "window_secs": 3600 },
    });
    let begun = Instant::now();
    let mut turn = usize::try_from(n).expect("a small number");
    loop {
        let answer = call(ports[turn % ports.len()], "/api/execute", &body);
        if let Ok((200, answer)) = &answer {
            let id = answer["execution_id"].as_str().and_then(|id| id.parse().ok());
            return ExecutionId(id.unwrap_or_else(|| panic!("no execution in {answer}")));
        }
        assert!(begun.elapsed() < END_MAX, "execution {n} does not start: {answer:?}");
        thread::sleep(LOOK);
        turn += 1;
    }
}

/// Posts to a server that may be down or go down while it answers.
pub(crate) fn call(port: u16, path: &str, body: &Value) -> io::Result<(u16, Value)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(ANSWER_MAX))?;
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = answer.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok());
    status.zip(body).ok_or_else(|| io::Error::other(format!("half an answer: {answer:?}")))
}
