//! Imitations of the existing worker: pulled notifications, a claim, an ack before the work, single
//! posts, no heartbeat but that of its registration. They die, say things twice, have a wrong clock and
//! come back late.

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
/// How often a worker says that it is there.
const BEAT_EVERY: Duration = Duration::from_secs(5);
/// After how long one that has died says what it had to say: its command is another's by then.
const LATE: Duration = Duration::from_secs(36);
/// How often a post is tried, and the first pause between tries; each further one is twice as long.
const POSTS_MAX: u32 = 4;
const POST_PAUSE: Duration = Duration::from_millis(500);
/// At which commands a worker dies: before it has done anything, or with everything but the posts.
const DIES_EARLY_AT: u64 = 7;
const DIES_LATE_AT: u64 = 13;
/// Every so many posts are made twice.
const TWICE_EVERY: u64 = 3;

/// Some workers, until they are dropped.
pub(super) struct Existing {
    stop: Arc<AtomicBool>,
    tally: Arc<Tally>,
    threads: Vec<JoinHandle<()>>,
}

/// What has happened to them.
#[derive(Default)]
struct Tally {
    deaths: AtomicU64,
    /// Those that have died and still have something to say.
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

    /// How often one of them has died so far.
    pub(super) fn deaths(&self) -> u64 {
        self.tally.deaths.load(Ordering::Relaxed)
    }

    /// Waits for those who are late; the answer is how many of their posts were answered.
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
            // One that panicked has said so.
            let _ended = thread.join();
        }
    }
}

/// One life after another, each under a name of its own.
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
        // What ends a life is told by how the next one goes on.
        let ended = runtime.block_on(worker.work(nats, &mut begun, stop));
        if ended.is_err() || !stop.load(Ordering::Relaxed) {
            tally.deaths.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Ends the heartbeats of a life.
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
    /// Says that it is there, and goes on saying so.
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
                // A beat that is lost is followed by another.
                let body = json!({ "name": name });
                let _lost = call(ports[turn % ports.len()], "/api/worker/pool/heartbeat", &body);
                turn += 1;
            }
        });
        Beating(Some(alive))
    }

    /// Works until it dies or is to stop.
    async fn work(&self, nats: &str, begun: &mut u64, stop: &AtomicBool) -> io::Result<()> {
        let client = async_nats::connect(nats).await.map_err(io::Error::other)?;
        let commands = commands_of(client).await?;
        while !stop.load(Ordering::Relaxed) {
            let pulled = commands.fetch().max_messages(1).expires(Duration::from_secs(1));
            let mut pulled = pulled.messages().await.map_err(io::Error::other)?;
            let Some(message) = pulled.next().await else { continue };
            let message = message.map_err(io::Error::other)?;
            let notification: Value = serde_json::from_slice(&message.payload)?;
            // It dies of a server that is not there, and the notification comes again.
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

    /// Does what a command asks for, and posts what came of it.
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
                    // Nobody waits for this any more: it is taken for what it is, or refused.
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

    /// What is posted about a command that succeeded.
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
        // Its clock is an hour behind.
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
            // A superseded worker is told so, and has nothing more to say.
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

/// Where the server is that has sent a notification.
fn port_of(notification: &Value) -> u16 {
    let url = notification["server_url"].as_str().unwrap_or_default();
    url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("an address with a port")
}

/// What the tools of the playbook would do.
fn done(claimed: &Value) -> io::Result<Value> {
    let context = &claimed["context"]["render_context"];
    match claimed["node_name"].as_str() {
        Some("start") => {
            let n = context["workload"]["n"].as_u64().unwrap_or_default();
            Ok(json!({ "next": n + 1 }))
        }
        Some("each") => {
            let ledger = context["workload"]["ledger"].as_str().unwrap_or_default();
            let key = claimed["meta"]["idempotency_key"].as_str().unwrap_or_default();
            let mut ledger = std::fs::File::options().append(true).create(true).open(ledger)?;
            ledger.write_all(format!("{key}\n").as_bytes())?;
            Ok(json!({ "stdout": format!("item {}\n", context["item"]), "exit_code": 0 }))
        }
        _ => {
            let results = context["each"]["results"].as_array().cloned().unwrap_or_default();
            let items: String = results.iter().filter_map(|it| it["stdout"].as_str()).collect();
            Ok(json!({ "next": context["start"]["next"], "items": items }))
        }
    }
}
