//! Messages through a broker into executions, while runtime, server and broker are killed at
//! random: each message becomes one execution with its payload; none is lost, none is started
//! twice.
//!
//! `NOETL_INTAKE_MESSAGES` sets the number of messages.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use noetl_model::{Event, ExecutionStatus, Payload, Seq};
use noetl_store::{EventLog as _, ExecutionFilter, Executions as _, PAGE_MAX, Page};
use noetl_store_postgres::Shards;
use noetl_testkit::{NatsServer, PostgresServer, Publisher};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::chaos::fleet::{call, connect, free_port};
use crate::sandbox::Sandbox;
use crate::server::{KEY, Process};

const MESSAGES: u64 = 300;
/// Timeout for all messages to become executions that have ended.
const END_MAX: Duration = Duration::from_secs(600);
const READY_MAX: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);
/// Time after which the broker redelivers an unacknowledged message.
const ACK_WAIT: Duration = Duration::from_secs(5);

const PLAYBOOK: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: order, path: tests/order}
workflow:
  - step: start
    tool: {kind: noop, result: {n: '{{ workload.n }}'}}
";

const SUBSCRIPTION: &str = "\
apiVersion: noetl.io/v1
kind: Subscription
metadata: {name: orders, path: subscriptions/orders}
spec:
  source: nats
  mode: pull
  url: ${NATS}
  stream: ORDERS
  consumer: drain
  runtime: {batch: 50, timeout_ms: 500}
  dispatch: {playbook: tests/order, batch_dispatch: true, batch_max: 50}
  limits: {max_in_flight: 200}
";

/// All processes that a message passes through.
struct Path {
    sandbox: Sandbox,
    port: u16,
    nats: NatsServer,
    postgres: PostgresServer,
    server: Option<Process>,
    runtime: Option<Process>,
    lives: u32,
    tokio: Runtime,
}

impl Path {
    fn new() -> Self {
        let mut path = Self {
            sandbox: Sandbox::new(),
            port: free_port(),
            nats: NatsServer::start(),
            postgres: PostgresServer::private(),
            server: None,
            runtime: None,
            lives: 0,
            tokio: Runtime::new().expect("a runtime starts"),
        };
        path.start_server();
        path.register(PLAYBOOK);
        path.register(&SUBSCRIPTION.replace("${NATS}", &path.nats.url()));
        path
    }

    fn register(&self, content: &str) {
        let body = json!({ "content": content });
        let (status, answer) = call(self.port, "/api/catalog/register", &body).expect("it runs");
        assert_eq!(status, 200, "{answer}");
    }

    fn spawn(&mut self, args: &[&str], what: &str) -> Process {
        self.lives += 1;
        let log = File::create(self.sandbox.path(&format!("{what}-{}.log", self.lives)));
        let log = log.expect("the home is ours");
        let mut command = self.sandbox.command(args);
        command.env("RUST_LOG", "warn").env("NOETL_ENCRYPTION_KEY", KEY);
        command.stdout(log.try_clone().expect("it is open")).stderr(log);
        Process(command.spawn().expect("the binary runs"))
    }

    fn start_server(&mut self) {
        let listen = format!("127.0.0.1:{}", self.port);
        let database = self.postgres.url("postgres");
        let args = ["server", "--listen", &listen, "--database", &database];
        self.server = Some(self.spawn(&args, "server"));
        let begun = Instant::now();
        while TcpStream::connect(&listen).is_err() {
            assert!(begun.elapsed() < READY_MAX, "no server: {}", self.said());
            thread::sleep(LOOK);
        }
    }

    fn start_runtime(&mut self) {
        let url = format!("http://127.0.0.1:{}", self.port);
        let args = ["worker", "--server", &url, "--subscription", "subscriptions/orders"];
        self.runtime = Some(self.spawn(&args, "runtime"));
    }

    /// Kills one process and starts it again.
    fn kill(&mut self, part: u64) {
        match part % 3 {
            0 => {
                self.runtime = None;
                self.start_runtime();
            }
            1 => {
                self.server = None;
                self.start_server();
            }
            _ => {
                self.nats.kill();
                self.nats.start_again();
            }
        }
    }

    /// Returns the number of completed executions.
    fn completed(&self, store: &Shards) -> u64 {
        let count = noetl_store::Executions::count(store, ExecutionStatus::Completed, u64::MAX);
        self.tokio.block_on(count).expect("the database is there")
    }

    /// Returns the last log lines of all processes, for a failed assertion.
    fn said(&self) -> String {
        let files = std::fs::read_dir(self.sandbox.path("")).expect("the home is ours");
        let logs = files.flatten().map(|file| file.path());
        let logs = logs.filter(|path| path.extension().is_some_and(|it| it == "log"));
        logs.map(|path| {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<&str> = text.lines().rev().take(5).collect();
            format!("{}, last first:\n{}\n", path.display(), lines.join("\n"))
        })
        .collect()
    }
}

/// Pseudo-random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

fn messages() -> u64 {
    let said = std::env::var("NOETL_INTAKE_MESSAGES").ok();
    said.map_or(MESSAGES, |count| count.parse().expect("a number of messages"))
}

/// Counts the executions of each message.
async fn payloads(store: &Shards) -> BTreeMap<u64, u32> {
    let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
    let mut before = None;
    loop {
        let page = Page { before, limit: PAGE_MAX };
        let page = store.list(&ExecutionFilter::default(), page).await.expect("it lists");
        let Some(last) = page.last() else { return seen };
        before = Some(last.execution);
        for summary in &page {
            assert_eq!(summary.status, ExecutionStatus::Completed, "{summary:?}");
            let first = store.read(summary.execution, Seq::ZERO, 1).await.expect("it reads");
            let Event::ExecutionStarted { workload: Payload::Inline(workload), .. } =
                &first[0].event
            else {
                panic!("{:?} begins otherwise", summary.execution);
            };
            let n = workload["n"].as_u64().expect("a number");
            assert_eq!(workload["square"], json!(n * n), "{workload}");
            assert_eq!(workload["message"]["data"]["n"], json!(n), "{workload}");
            *seen.entry(n).or_default() += 1;
        }
    }
}

#[test]
fn each_message_becomes_one_execution_whatever_is_killed() {
    let count = messages();
    let mut path = Path::new();
    let url = path.nats.url();
    let publisher = path.tokio.block_on(async {
        let publisher = Publisher::connect(&url).await;
        publisher.make_stream("ORDERS", "orders").await;
        publisher.make_consumer("ORDERS", "drain", ACK_WAIT).await;
        publisher
    });
    path.start_runtime();
    let store = path.tokio.block_on(connect(&path.postgres.url("postgres")));
    let begun = Instant::now();
    let publishing = path.tokio.spawn(async move {
        for n in 0..count {
            let body: Value = json!({ "n": n, "square": n * n });
            publisher.publish("orders.new", &format!("order-{n}"), &[], &body.to_string()).await;
        }
        publisher
    });
    let (mut dice, mut kills) = (Dice(count), [0; 3]);
    while path.completed(&store) < count {
        assert!(begun.elapsed() < END_MAX, "messages are missing: {}", path.said());
        thread::sleep(Duration::from_millis(300 + dice.next(1200)));
        let part = dice.next(3);
        path.kill(part);
        kills[usize::try_from(part).expect("one of three")] += 1;
    }
    let took = begun.elapsed();
    let publisher = path.tokio.block_on(publishing).expect("everything is published");
    // Redelivered messages must not start another execution.
    let begun = Instant::now();
    while path.tokio.block_on(publisher.left("ORDERS", "drain")) != Some(0) {
        assert!(begun.elapsed() < END_MAX, "messages are left: {}", path.said());
        thread::sleep(LOOK);
    }
    assert_eq!(path.tokio.block_on(publisher.count("ORDERS")), Some(count));
    let seen = path.tokio.block_on(payloads(&store));
    let twice: Vec<u64> = seen.iter().filter(|(_, times)| **times > 1).map(|(n, _)| *n).collect();
    assert_eq!(twice, [0; 0], "came twice");
    assert_eq!(seen.keys().copied().collect::<Vec<u64>>(), (0..count).collect::<Vec<u64>>());
    println!(
        "{count} messages became {} executions in {:.1} s; killed: runtime {}, server {}, NATS {}",
        seen.len(),
        took.as_secs_f64(),
        kills[0],
        kills[1],
        kills[2]
    );
}
