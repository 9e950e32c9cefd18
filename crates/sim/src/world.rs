//! A world: made from a seed, left alone until everything in it has ended, and then examined.

use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use noetl_bus::LocalBus;
use noetl_control::{Control, Settings};
use noetl_model::IdGenerator;
use noetl_store::{MemoryStore, Outbox as _, Timers as _};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Tally;
use crate::bus::FaultyBus;
use crate::client::Client;
use crate::clock::SimulatedClock;
use crate::fleet::{Fleet, Ground};
use crate::ledger::Ledger;
use crate::oracle::{self, Remains};
use crate::playbooks::Plan;
use crate::rng::Rng;
use crate::storm::Storm;
use crate::worker::Bench;

/// How long after the storm everything must have ended.
const CALM_MAX: Duration = Duration::from_secs(900);
/// How long a server may take to stop, or anybody to notice that the world closes.
const CLOSING_MAX: Duration = Duration::from_secs(120);
/// More events than any execution here needs.
const EVENTS_MAX: u64 = 5000;

/// Lives through a seed; the error is what must not be.
pub(crate) async fn live(seed: u64) -> Result<Tally, String> {
    let mut rng = Rng::new(seed);
    let clock = SimulatedClock::right(Instant::now());
    let store = Arc::new(MemoryStore::new(Arc::new(clock)));
    let plan = Plan::drawn(&mut rng);
    let observer = observer(&store, clock);
    for document in &plan.playbooks {
        let registered = observer.register(&document.path, &document.yaml).await;
        registered.map_err(|error| format!("{error:?} in\n{}", document.yaml))?;
    }

    let end = Instant::now() + rng.millis(15_000..60_000);
    let storm = Arc::new(Storm::drawn(rng.fork(), end));
    let ground = Ground {
        store: Arc::clone(&store),
        bus: Arc::new(FaultyBus { bus: LocalBus::new(), storm: Arc::clone(&storm) }),
        clock,
        storm,
        settings: settings(&mut rng),
        skew_ms: *rng.pick(&[0, 10, 1000]),
    };
    let (servers, workers) = (rng.index(3) + 1, rng.index(4) + 1);
    let fleet = Fleet::new(ground, servers);
    let ledger = Arc::new(Ledger::default());
    let closing = CancellationToken::new();

    let tending = (0..servers).map(|slot| tokio::spawn(Arc::clone(&fleet).tend(slot)));
    let tending: Vec<_> = tending.collect();
    let clients = plan.requests.iter().map(|request| Client {
        request: request.clone(),
        fleet: Arc::clone(&fleet),
        ledger: Arc::clone(&ledger),
    });
    let clients: Vec<_> = clients.map(|client| tokio::spawn(client.insist())).collect();
    let benches = (0..workers).map(|number| Bench {
        name: format!("w{number}"),
        fleet: Arc::clone(&fleet),
        ledger: Arc::clone(&ledger),
        closing: closing.clone(),
    });
    let benches: Vec<_> = benches.map(|bench| tokio::spawn(bench.occupy())).collect();

    let settled = async {
        join_all(clients).await;
        let deaths = join_all(tending).await;
        while !at_rest(&store).await {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        deaths.into_iter().flatten().sum()
    };
    let deaths = tokio::time::timeout_at(end + CALM_MAX, settled).await;
    let deaths = deaths.map_err(|_| "not everything has come to its end".to_owned())?;
    closing.cancel();
    let closed = tokio::time::timeout(CLOSING_MAX, join_all(benches)).await;
    closed.map_err(|_| "a worker waits for an answer for ever".to_owned())?;
    if !fleet.stop(CLOSING_MAX).await {
        return Err("a server does not stop".to_owned());
    }
    let pages = ledger.pages();
    let remains = Remains { store: &store, control: &observer, plan: &plan, pages: &pages };
    let tally = oracle::examine(&remains).await?;
    Ok(Tally { deaths, ..tally })
}

/// A control plane that sees what is stored, and whose loops never run.
fn observer(store: &Arc<MemoryStore>, clock: SimulatedClock) -> Control {
    Control::new(
        Arc::clone(store) as Arc<dyn noetl_store::Store>,
        Arc::new(LocalBus::new()),
        Arc::new(clock),
        Arc::new(IdGenerator::new(u16::MAX)),
        Settings::default(),
    )
}

/// Settings that make everything happen often: short leases, small caches, many snapshots.
fn settings(rng: &mut Rng) -> Settings {
    Settings {
        lease: rng.millis(5000..15_000),
        poll: rng.millis(500..2500),
        sweep_every: rng.millis(500..4000),
        stall_after: rng.millis(5000..30_000),
        snapshot_every: NonZeroU64::new(rng.between(1..20)).expect("not zero"),
        states_max: NonZeroUsize::new(rng.index(8) + 1).expect("not zero"),
        playbooks_max: NonZeroUsize::new(*rng.pick(&[1, 8, 8, 8])).expect("not zero"),
        events_max: EVENTS_MAX,
        attempts_max: *rng.pick(&[3, 20]),
        payload_bytes_max: *rng.pick(&[0, 30_000, 1_000_000]),
    }
}

async fn at_rest(store: &MemoryStore) -> bool {
    let owed = store.owed().await.expect("a store in memory answers");
    let timer = store.next_due().await.expect("a store in memory answers");
    let all_ended =
        oracle::summaries(store).await.iter().all(|summary| summary.status.is_terminal());
    all_ended && owed == 0 && timer.is_none()
}
