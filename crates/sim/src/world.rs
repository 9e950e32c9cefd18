//! A world: created from a seed, run until everything has ended, and then examined.

use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use noetl_bus::LocalBus;
use noetl_control::{Control, ControlSettings, NotificationSender};
use noetl_model::IdGenerator;
use noetl_store::{
    MemoryStore, Outbox as _, PAGE_MAX, SentSignals as _, SignalState, SlotLimits as _,
    StoredSignal, WorkQueue as _,
};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::bus::FaultyBus;
use crate::client::{ExecutionRequest, SimulatedClient};
use crate::clock::SimulatedClock;
use crate::faults::{FaultPlan, PlantedBug};
use crate::fleet::{Fleet, SharedParts};
use crate::ledger::Ledger;
use crate::oracle::{self, EndedWorld};
use crate::pauser::Pauser;
use crate::playbooks::WorldPlan;
use crate::rng::Rng;
use crate::signaller::Signaller;
use crate::worker::WorkerSlot;
use crate::{ExecutionLog, WorldCounts};

/// The time after the last fault within which everything must end.
const CALM_MAX: Duration = Duration::from_secs(900);
/// The time within which servers and workers must stop.
const CLOSING_MAX: Duration = Duration::from_secs(120);
const SERVERS_MAX: usize = 3;
const WORKERS_MAX: usize = 4;
/// Limits of events and step runs that no execution here reaches.
const EVENTS_MAX: u64 = 1000;
const RUNS_MAX: u64 = 1000;

/// Runs the world of a seed. Returns a violated rule as the error.
pub(crate) async fn live(
    seed: u64,
    planted: Option<PlantedBug>,
) -> Result<(WorldCounts, Vec<ExecutionLog>), String> {
    let mut rng = Rng::new(seed);
    let world = SimulatedWorld::made(&mut rng, planted).await?;
    let tasks = world.populate(&mut rng);
    let (deaths, restored) = world.settle(tasks).await?;
    let SimulatedWorld { store, observer, plan, ledger, .. } = &world;
    let pages = ledger.close();
    let ended = EndedWorld { store, control: observer, plan, pages: &pages };
    let (tally, histories) = oracle::examine(&ended).await?;
    Ok((WorldCounts { deaths, restored, ..tally }, histories))
}

struct SimulatedWorld {
    plan: Arc<WorldPlan>,
    store: Arc<MemoryStore>,
    /// A control plane that reads the store and runs nothing.
    observer: Control,
    fleet: Arc<Fleet>,
    ledger: Arc<Ledger>,
    storm_end: Instant,
    closing: CancellationToken,
}

/// The tasks of a world.
struct WorldTasks {
    /// The tasks that take servers down, which return how often they did.
    server_faults: Vec<JoinHandle<u64>>,
    /// The task that restores the store, which returns the number of restores.
    store: JoinHandle<u64>,
    clients: Vec<JoinHandle<()>>,
    workers: Vec<JoinHandle<()>>,
    signaller: JoinHandle<()>,
    pauser: JoinHandle<()>,
    pool_pauser: JoinHandle<()>,
}

impl SimulatedWorld {
    async fn made(rng: &mut Rng, planted: Option<PlantedBug>) -> Result<Self, String> {
        let clock = SimulatedClock::right(Instant::now());
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        let observer = observer(&store, clock.clone());
        let plan = Arc::new(WorldPlan::drawn(rng));
        for document in &plan.playbooks {
            let registered = observer.register(&document.path, &document.yaml).await;
            registered.map_err(|error| format!("{error:?} in\n{}", document.yaml))?;
        }
        let storm_end = Instant::now() + rng.millis(15_000..60_000);
        let faults = Arc::new(FaultPlan::drawn(rng.fork(), storm_end, planted));
        let ledger = Arc::<Ledger>::default();
        let ground = SharedParts {
            ledger: Arc::clone(&ledger),
            store: Arc::clone(&store),
            bus: Arc::new(FaultyBus { bus: LocalBus::new(), faults: Arc::clone(&faults) }),
            clock,
            faults,
            settings: settings(rng),
            skew_ms: *rng.pick(&[0, 10, 1000, 30_000, 7_200_000]),
        };
        let fleet = Fleet::new(ground, rng.index(SERVERS_MAX) + 1);
        let closing = CancellationToken::new();
        Ok(Self { plan, store, observer, fleet, ledger, storm_end, closing })
    }

    fn populate(&self, rng: &mut Rng) -> WorldTasks {
        let tend = |slot| tokio::spawn(Arc::clone(&self.fleet).tend(slot));
        let run_client = |request: &ExecutionRequest| {
            let client = SimulatedClient {
                request: request.clone(),
                fleet: Arc::clone(&self.fleet),
                ledger: Arc::clone(&self.ledger),
            };
            tokio::spawn(client.run())
        };
        let run_worker = |number| {
            let slot = WorkerSlot {
                name: format!("w{number}"),
                fleet: Arc::clone(&self.fleet),
                ledger: Arc::clone(&self.ledger),
                closing: self.closing.clone(),
            };
            tokio::spawn(slot.run())
        };
        let signaller = Signaller {
            plan: Arc::clone(&self.plan),
            store: Arc::clone(&self.store),
            fleet: Arc::clone(&self.fleet),
            closing: self.closing.clone(),
        };
        let pauser = Pauser {
            plan: Arc::clone(&self.plan),
            ledger: Arc::clone(&self.ledger),
            store: Arc::clone(&self.store),
            fleet: Arc::clone(&self.fleet),
            storm_end: self.storm_end,
            closing: self.closing.clone(),
        };
        WorldTasks {
            server_faults: (0..self.fleet.size()).map(tend).collect(),
            store: tokio::spawn(Arc::clone(&self.fleet).tend_store()),
            clients: self.plan.requests.iter().map(run_client).collect(),
            workers: (0..=rng.index(WORKERS_MAX)).map(run_worker).collect(),
            signaller: tokio::spawn(signaller.run()),
            pool_pauser: tokio::spawn(pauser.clone().pause_pool()),
            pauser: tokio::spawn(pauser.run()),
        }
    }

    /// Waits until everything has ended and all tasks have stopped. Returns how often servers went
    /// down and the store was restored.
    async fn settle(&self, tasks: WorldTasks) -> Result<(u64, u64), String> {
        let settled = async {
            join_all(tasks.clients).await;
            let deaths = join_all(tasks.server_faults).await;
            let restored = tasks.store.await.expect("it does not panic");
            while !at_rest(&self.store).await {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            (deaths.into_iter().flatten().sum(), restored)
        };
        let settled = tokio::time::timeout_at(self.storm_end + CALM_MAX, settled).await;
        let Ok(settled) = settled else { return Err(unended(&self.store).await) };
        self.closing.cancel();
        let closed = tokio::time::timeout(CLOSING_MAX, join_all(tasks.workers)).await;
        closed.map_err(|_| "a worker waits for an answer for ever".to_owned())?;
        tasks.signaller.await.expect("it does not panic");
        tasks.pauser.await.expect("it does not panic");
        tasks.pool_pauser.await.expect("it does not panic");
        if self.fleet.stop(CLOSING_MAX).await {
            Ok(settled)
        } else {
            Err("a server does not stop".to_owned())
        }
    }
}

fn observer(store: &Arc<MemoryStore>, clock: SimulatedClock) -> Control {
    Control::new(
        Arc::clone(store) as Arc<dyn noetl_store::Store>,
        Arc::new(LocalBus::new()),
        Arc::new(clock),
        Arc::new(IdGenerator::new(u16::MAX)),
        ControlSettings::default(),
    )
}

/// Returns settings that make rare paths frequent: short leases, small caches, many snapshots.
fn settings(rng: &mut Rng) -> ControlSettings {
    ControlSettings {
        lease: rng.millis(5000..15_000),
        poll: rng.millis(500..2500),
        sweep_every: rng.millis(500..4000),
        stall_after: rng.millis(5000..30_000),
        remind_every: Duration::from_secs(2),
        remind_after: Duration::from_secs(30),
        snapshot_every: NonZeroU64::new(rng.between(2..40)).expect("not zero"),
        snapshot_after: Duration::from_secs(rng.between(1..600)),
        state_saved_every: NonZeroU64::new(7).expect("not zero"),
        states_max: NonZeroUsize::new(*rng.pick(&[1, 64, 64, 64])).expect("not zero"),
        playbooks_max: NonZeroUsize::new(*rng.pick(&[1, 8, 8, 8])).expect("not zero"),
        runs_max: RUNS_MAX,
        events_max: EVENTS_MAX,
        attempts_max: *rng.pick(&[3, 20]),
        backlog_max: None,
        notifications: NotificationSender::Relay,
        payload_bytes_max: *rng.pick(&[0, 30_000, 1_000_000]),
        public_url: None,
    }
}

/// Describes the executions that have not ended.
async fn unended(store: &MemoryStore) -> String {
    let mut told = "not everything has come to its end".to_owned();
    for summary in oracle::summaries(store).await {
        if !summary.status.is_terminal() {
            let work = store.open_work(summary.execution).await;
            let work = work.expect("a store in memory answers");
            let (id, seq) = (summary.execution, summary.seq);
            told += &format!("\n{id} at {seq}, forked at {:?}: {work:?}", summary.fork);
            let log = oracle::log_of(store, id).await;
            for recorded in log {
                told += &format!("\n  {} {} {:?}", recorded.seq, recorded.at, recorded.event);
            }
        }
    }
    let held = store.held_slots(None, PAGE_MAX).await.expect("a store in memory answers");
    for slot in held {
        told += &format!("\nheld: {slot:?}");
    }
    for limit in store.limits(None, PAGE_MAX).await.expect("a store in memory answers") {
        told += &format!("\n{limit:?}");
    }
    told
}

async fn at_rest(store: &MemoryStore) -> bool {
    let owed = store.owed().await.expect("a store in memory answers");
    let timer = store.next_due().await.expect("a store in memory answers");
    let all_ended =
        oracle::summaries(store).await.iter().all(|summary| summary.status.is_terminal());
    // A slot or a request that nobody needs is found by a check of its holder, an assigned signal by
    // the sweep of signals.
    let limits = store.limits(None, PAGE_MAX).await.expect("a store in memory answers");
    let is_free = limits.iter().all(|limit| limit.holders == 0 && limit.queued == 0);
    let signals = store.open_signals(i64::MIN, PAGE_MAX).await.expect("a store in memory answers");
    let is_assigned = |it: &StoredSignal| matches!(it.state, SignalState::Assigned(_));
    let is_delivered = !signals.iter().any(is_assigned);
    all_ended && owed == 0 && timer.is_none() && is_free && is_delivered
}
