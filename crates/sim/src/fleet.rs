//! The servers: control planes that share a store, crash at any point and restart.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use noetl_bus::Bus;
use noetl_control::{Control, ControlSettings};
use noetl_model::IdGenerator;
use noetl_store::{Clock as _, ClockReading, MemoryStore, RemoteClock};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::clock::SimulatedClock;
use crate::faults::FaultPlan;
use crate::ledger::Ledger;
use crate::store::Connection;

/// The time a caller waits for the answer of a server.
const ANSWER_MAX: Duration = Duration::from_secs(20);
/// The pause after an unanswered request, or while no server is up.
const PAUSE: Duration = Duration::from_millis(400);

/// The maximum delay of the first reading of the store's clock, in milliseconds.
const READING_MS_MAX: u64 = 1000;
/// The maximum offset to which the store's clock is set, in milliseconds.
const CLOCK_SET_MS_MAX: u64 = 7_200_000;

/// The parts that all servers of a world share.
pub(crate) struct SharedParts {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) clock: SimulatedClock,
    pub(crate) faults: Arc<FaultPlan>,
    pub(crate) settings: ControlSettings,
    /// The maximum error of a server's clock, in either direction.
    pub(crate) skew_ms: u64,
}

/// A set of servers, each up or down.
pub(crate) struct Fleet {
    ground: SharedParts,
    slots: Mutex<Vec<ServerSlot>>,
}

enum ServerSlot {
    Down,
    Up(Server),
}

struct Server {
    control: Control,
    dead: CancellationToken,
    stop: CancellationToken,
    loops: JoinHandle<()>,
}

impl Fleet {
    pub(crate) fn new(ground: SharedParts, size: usize) -> Arc<Self> {
        let slots = (0..size).map(|_| ServerSlot::Down).collect();
        let fleet = Self { ground, slots: Mutex::new(slots) };
        (0..size).for_each(|slot| fleet.boot(slot));
        Arc::new(fleet)
    }

    pub(crate) fn size(&self) -> usize {
        self.slots().len()
    }

    pub(crate) fn faults(&self) -> &FaultPlan {
        &self.ground.faults
    }

    pub(crate) fn lease(&self) -> Duration {
        self.ground.settings.lease
    }

    /// Returns a clock with a random error.
    pub(crate) fn skewed_clock(&self) -> SimulatedClock {
        let SharedParts { clock, faults, skew_ms, .. } = &self.ground;
        let drawn = faults.millis(0..2 * skew_ms + 1).as_millis();
        let skew_ms =
            i64::try_from(drawn).expect("small") - i64::try_from(*skew_ms).expect("small");
        clock.skewed(skew_ms)
    }

    /// Sends a request to any server. Returns `None` if no server is up, the server crashed, or its
    /// answer was lost.
    pub(crate) async fn ask<T>(&self, question: impl AsyncFnOnce(Control) -> T) -> Option<T> {
        let answer = match self.any() {
            Some((control, dead)) => tokio::select! {
                biased;
                () = dead.cancelled() => None,
                answer = question(control) => Some(answer),
                () = tokio::time::sleep(ANSWER_MAX) => None,
            },
            None => None,
        };
        let faults = self.faults();
        let answer = answer.filter(|_| !faults.strikes(faults.rates.reply_lost));
        if answer.is_none() {
            tokio::time::sleep(PAUSE).await;
        }
        answer
    }

    /// Takes one server down and restarts it, again and again, until the faults end. Returns how
    /// often the server went down.
    pub(crate) async fn tend(self: Arc<Self>, slot: usize) -> u64 {
        let faults = self.faults();
        let mut deaths = 0;
        loop {
            tokio::time::sleep(faults.millis(1000..20_000)).await;
            if faults.is_over() {
                return deaths;
            }
            if !faults.strikes(faults.rates.server_dies) {
                continue;
            }
            deaths += 1;
            self.take_down(slot).await;
            tokio::time::sleep(faults.millis(0..10_000)).await;
            self.boot(slot);
        }
    }

    /// Restores backups of the store and sets its clock until the faults end. Returns the number
    /// of restores.
    pub(crate) async fn tend_store(self: Arc<Self>) -> u64 {
        let SharedParts { faults, store, clock, ledger, .. } = &self.ground;
        let (mut restored, mut furthest_ms, mut now_ms) = (0, 0, 0);
        loop {
            let backup = (faults.rates.restored > 0).then(|| store.backup());
            tokio::time::sleep(faults.millis(500..15_000)).await;
            if faults.is_over() {
                // Instants that were set by the clock at its furthest offset have to come due.
                clock.set(furthest_ms);
                return restored;
            }
            if faults.strikes(faults.rates.clock_set) {
                let skew_ms = faults.millis(0..CLOCK_SET_MS_MAX).as_millis();
                let skew_ms = i64::try_from(skew_ms).expect("small");
                furthest_ms = furthest_ms.max(skew_ms);
                ledger.pages().clock_set_back |= skew_ms < now_ms;
                ledger.pages().clock_set = true;
                now_ms = skew_ms;
                clock.set(skew_ms);
            }
            if let Some(backup) = &backup
                && faults.strikes(faults.rates.restored)
            {
                store.restore(backup);
                ledger.restored(store).await;
                restored += 1;
            }
        }
    }

    /// Stops every server in order. Returns false if one of them does not stop.
    pub(crate) async fn stop(&self, patience: Duration) -> bool {
        let mut all_stopped = true;
        for slot in 0..self.size() {
            if let ServerSlot::Up(server) = self.vacate(slot) {
                server.stop.cancel();
                let stopped = tokio::time::timeout(patience, server.loops).await;
                all_stopped &= matches!(stopped, Ok(Ok(())));
            }
        }
        all_stopped
    }

    /// Takes a server down: mostly by a crash, sometimes by a graceful stop.
    async fn take_down(&self, slot: usize) {
        let ServerSlot::Up(server) = self.vacate(slot) else { return };
        if self.faults().chance(75) {
            server.dead.cancel();
        } else {
            server.stop.cancel();
            // The oracle checks for panics of its loops.
            let _stopped = server.loops.await;
        }
    }

    fn boot(&self, slot: usize) {
        let SharedParts { store, bus, faults, settings, ledger, clock, .. } = &self.ground;
        let dead = CancellationToken::new();
        // A server reads the store's clock before anything else; the answer takes a while.
        let (asked, way) = (Instant::now(), faults.millis(0..READING_MS_MAX));
        let first = ClockReading { at: clock.now(), asked, answered: asked + way };
        let connection = Connection {
            store: Arc::clone(store),
            faults: Arc::clone(faults),
            dead: dead.clone(),
            ledger: Arc::clone(ledger),
            clock: Arc::new(RemoteClock::new(first)),
        };
        // The machine keeps its number, and its clock may have been set back in the meantime.
        let ids = IdGenerator::new(u16::try_from(slot).expect("there are few servers"));
        let control = Control::new(
            Arc::new(connection),
            Arc::clone(bus),
            Arc::new(self.skewed_clock()),
            Arc::new(ids),
            settings.clone(),
        );
        let stop = CancellationToken::new();
        let loops = tokio::spawn({
            let (control, stop) = (control.clone(), stop.clone());
            async move { control.run(stop).await }
        });
        self.slots()[slot] = ServerSlot::Up(Server { control, dead, stop, loops });
    }

    fn any(&self) -> Option<(Control, CancellationToken)> {
        let slots = self.slots();
        let up: Vec<&Server> = slots
            .iter()
            .filter_map(|slot| match slot {
                ServerSlot::Up(server) => Some(server),
                ServerSlot::Down => None,
            })
            .collect();
        if up.is_empty() {
            return None;
        }
        let server = up[self.faults().index(up.len())];
        Some((server.control.clone(), server.dead.clone()))
    }

    fn vacate(&self, slot: usize) -> ServerSlot {
        std::mem::replace(&mut self.slots()[slot], ServerSlot::Down)
    }

    fn slots(&self) -> MutexGuard<'_, Vec<ServerSlot>> {
        self.slots.lock().expect("nothing panics while it holds the servers")
    }
}
