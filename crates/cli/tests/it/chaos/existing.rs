//! Imitations of the existing worker: it pulls notifications, claims, acknowledges before the work,
//! posts single events and sends heartbeats only for its registration. The imitations crash, post
//! twice, have a wrong clock and post late.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_nats::jetstream::{self, consumer, stream};
use futures::StreamExt as _;
use serde_json::{Value, json};

use super::fleet::call;

/// The pool that these workers serve.
pub(super) const POOL: &str = "existing";
/// Interval of the heartbeats.
const BEAT_EVERY: Duration = Duration::from_secs(5);
/// Delay of the late posts of a crashed worker: by then its command is leased to another one.
const LATE: Duration = Duration::from_secs(36);
/// The most attempts of a post, and the first delay between attempts, which doubles each time.
const POSTS_MAX: u32 = 4;
const POST_PAUSE: Duration = Duration::from_millis(500);
/// The commands at which a worker crashes: before it has done anything, or after the work but
/// before the posts.
const DIES_EARLY_AT: u64 = 7;
const DIES_LATE_AT: u64 = 13;
/// Every n-th post is sent twice.
const TWICE_EVERY: u64 = 3;

/// Running workers; stopped when dropped.
pub(super) struct Existing {
    stop: Arc<AtomicBool>,
    tally: Arc<Tally>,
    threads: Vec<JoinHandle<()>>,
}

/// Counts of what has happened to the workers.
#[derive(Default)]
struct Tally {
    deaths: AtomicU64,
    /// Threads of crashed workers that still have to post.
    late: Mutex<Vec<JoinHandle<()>>>,
    late_answers: AtomicU64,
}

impl Existing {
    pub(super) fn start(count: u64, nats: &str, ports: &[u16]) -> Self {
        let (stop, tally) = (Arc::new(AtomicBool::new(false)), Arc::new(Tally::default()));
        let threads = (0..count).map(|index| {
            let (nats, ports) = (nats.to_owned(), ports.to_vec());
            let (stop, tally) = (Arc::clone(&stop), Arc::clone(&tally));
            thread::spawn(move || live(index, &nats, &ports, &stop, &tally))
        });
        let threads = threads.collect();
        Self { stop, tally, threads }
    }

    /// Returns the number of crashes so far.
    pub(super) fn deaths(&self) -> u64 {
        self.tally.deaths.load(Ordering::Relaxed)
    }

    /// Waits for the late posts; returns how many of them were answered.
    pub(super) fn await_late(&self) -> u64 {
        let late = std::mem::take(&mut *self.tally.late.lock().expect("nothing panics with it"));
        for thread in late {
            thread.join().expect("it posts");
        }
        self.tally.late_answers.load(Ordering::Relaxed)
    }
}

impl Drop for Existing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has already reported it.
            let _ended = thread.join();
        }
    }
}

/// Runs one worker after another, each with a new name, until told to stop.
fn live(index: u64, nats: &str, ports: &[u16], stop: &AtomicBool, tally: &Arc<Tally>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    let mut begun = 0;
    for life in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let worker = Worker { name: format!("existing-{index}-{life}"), index, ports, tally };
        let _beating = worker.register();
        // The reason of a crash does not matter: the next worker takes over.
        let ended = runtime.block_on(worker.work(nats, &mut begun, stop));
        if ended.is_err() || !stop.load(Ordering::Relaxed) {
            tally.deaths.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Stops the heartbeats of a worker when dropped.
struct Beating(Option<mpsc::Sender<()>>);

impl Drop for Beating {
    fn drop(&mut self) {
        self.0.take();
    }
}

struct Worker<'a> {
    name: String,
    index: u64,
    ports: &'a [u16],
    tally: &'a Arc<Tally>,
}

impl Worker<'_> {
    /// Registers the worker and starts its heartbeats.
    fn register(&self) -> Beating {
        let registration = json!({
            "name": self.name, "component_type": "worker_pool", "runtime": { "kind": "rust" },
            "status": "ready", "hostname": "here", "labels": { "pool_name": POOL },
        });
        let mut turn = 0;
        while !matches!(
            call(self.ports[turn % self.ports.len()], "/api/worker/pool/register", &registration),
            Ok((200, _))
        ) {
            turn += 1;
            thread::sleep(Duration::from_millis(100));
        }
        let (alive, dead) = mpsc::channel::<()>();
        let (name, ports) = (self.name.clone(), self.ports.to_vec());
        thread::spawn(move || {
            let mut turn = 0;
            while let Err(mpsc::RecvTimeoutError::Timeout) = dead.recv_timeout(BEAT_EVERY) {
                // A lost heartbeat is followed by another.
                let body = json!({ "name": name });
                let _lost = call(ports[turn % ports.len()], "/api/worker/pool/heartbeat", &body);
                turn += 1;
            }
        });
        Beating(Some(alive))
    }

    /// Works until the worker crashes or is told to stop.
    async fn work(&self, nats: &str, begun: &mut u64, stop: &AtomicBool) -> io::Result<()> {
        let client = async_nats::connect(nats).await.map_err(io::Error::other)?;
        let commands = commands_of(client).await?;
        while !stop.load(Ordering::Relaxed) {
            let pulled = commands.fetch().max_messages(1).expires(Duration::from_secs(1));
            let mut pulled = pulled.messages().await.map_err(io::Error::other)?;
            let Some(message) = pulled.next().await else { continue };
            let message = message.map_err(io::Error::other)?;
            let notification: Value = serde_json::from_slice(&message.payload)?;
            // A worker crashes if its server is down, and the notification is redelivered.
            let (status, claimed) = self.claim(&notification)?;
            let kind = match status {
                200 | 409 => jetstream::AckKind::Ack,
                _ => jetstream::AckKind::Nak(None),
            };
            message.ack_with(kind).await.map_err(io::Error::other)?;
            if status == 200 {
                *begun += 1;
                self.carry_out(port_of(&notification), &claimed, *begun)?;
            }
        }
        Ok(())
    }

    fn claim(&self, notification: &Value) -> io::Result<(u16, Value)> {
        let path = format!("/api/commands/{}/claim", notification["event_id"]);
        call(port_of(notification), &path, &json!({ "worker_id": self.name }))
    }

    /// Runs a command and posts its outcome.
    fn carry_out(&self, port: u16, claimed: &Value, begun: u64) -> io::Result<()> {
        let died = || Err(io::Error::other("it has died"));
        if begun == DIES_EARLY_AT {
            return died();
        }
        let data = done(claimed)?;
        let posts = self.posts(claimed, &data);
        if begun == DIES_LATE_AT {
            let tally = Arc::clone(self.tally);
            let late = thread::spawn(move || {
                thread::sleep(LATE);
                for post in posts {
                    // A late post is either applied or refused.
                    if let Ok((200 | 409, _)) = call(port, "/api/events", &post) {
                        tally.late_answers.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
            self.tally.late.lock().expect("nothing panics with it").push(late);
            return died();
        }
        for (index, post) in (0..).zip(&posts) {
            self.post(port, post)?;
            if (begun + index).is_multiple_of(TWICE_EVERY) {
                self.post(port, post)?;
            }
        }
        Ok(())
    }

    /// Returns the posts about a command that succeeded.
    fn posts(&self, claimed: &Value, data: &Value) -> Vec<Value> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let command = &claimed["meta"]["command_id"];
        let tool = json!({ "status": "success", "data": data });
        let said = [
            ("command.started", "STARTED", json!({ "command_id": command })),
            (
                "call.done",
                "COMPLETED",
                json!({ "command_id": command, "call_index": 0,
                    "result": { "status": "success", "context": tool } }),
            ),
            ("command.completed", "success", json!({ "command_id": command, "status": "success" })),
        ];
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // The worker's clock is an hour behind.
        let millis = u64::try_from(now.as_millis()).unwrap_or_default() - 3_600_000;
        said.into_iter()
            .map(|(name, status, context)| {
                let count = COUNT.fetch_add(1, Ordering::Relaxed) % 4096;
                json!({
                    "execution_id": claimed["execution_id"], "event_type": name,
                    "step": claimed["node_name"], "status": status,
                    "created_at": "2020-02-29T23:59:59Z", "context": context,
                    "event_id": (millis << 20) | (self.index << 12) | count,
                    "worker_id": self.name, "meta": { "attempts": 0 },
                })
            })
            .collect()
    }

    fn post(&self, port: u16, body: &Value) -> io::Result<()> {
        for attempt in 0..POSTS_MAX {
            // A superseded worker is answered with 409 and has nothing more to post.
            if let Ok((200 | 409, _)) = call(port, "/api/events", body) {
                return Ok(());
            }
            thread::sleep(POST_PAUSE * 2u32.pow(attempt));
        }
        Err(io::Error::other("nobody takes the event"))
    }
}

async fn commands_of(client: async_nats::Client) -> io::Result<consumer::PullConsumer> {
    let context = jetstream::new(client);
    let stream = context.get_or_create_stream(stream::Config {
        name: "noetl_commands".to_owned(),
        subjects: vec!["noetl.commands".to_owned(), "noetl.commands.>".to_owned()],
        ..stream::Config::default()
    });
    let stream = stream.await.map_err(io::Error::other)?;
    let wanted = consumer::pull::Config {
        durable_name: Some("existing-pool".to_owned()),
        filter_subject: format!("noetl.commands.{POOL}.>"),
        ack_policy: consumer::AckPolicy::Explicit,
        ack_wait: Duration::from_secs(5),
        ..consumer::pull::Config::default()
    };
    stream.get_or_create_consumer("existing-pool", wanted).await.map_err(io::Error::other)
}

/// Returns the port of the server that sent a notification.
fn port_of(notification: &Value) -> u16 {
    let url = notification["server_url"].as_str().unwrap_or_default();
    url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("an address with a port")
}

/// Does the work of the playbook's tools, whose configuration the server has rendered.
fn done(claimed: &Value) -> io::Result<Value> {
    let config = &claimed["context"]["tool_config"];
    match claimed["node_name"].as_str() {
        Some("start") => {
            let n = claimed["context"]["render_context"]["workload"]["n"].as_u64();
            let n = n.unwrap_or_default();
            Ok(json!({ "next": n + 1 }))
        }
        Some("each") => {
            let environment = &config["env"];
            let ledger = environment["LEDGER"].as_str().unwrap_or_default();
            let key = claimed["meta"]["idempotency_key"].as_str().unwrap_or_default();
            let mut ledger = std::fs::File::options().append(true).create(true).open(ledger)?;
            ledger.write_all(format!("{key}\n").as_bytes())?;
            let item = &environment["ITEM"];
            let item = item.as_str().map_or_else(|| item.to_string(), str::to_owned);
            Ok(json!({ "stdout": format!("item {item}\n"), "exit_code": 0 }))
        }
        _ => Ok(config["result"].clone()),
    }
}
