//! The faults of a world: kinds, rates and end.
//!
//! Invariant: after the end of a [`FaultPlan`] there are no faults, so every execution has to end.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::rng::Rng;

/// The percentages from which a rate is drawn; many worlds have no fault of a given kind.
const RATES: [u64; 6] = [0, 0, 1, 3, 8, 20];

/// The maximum number of messages between servers and store, many times more than needed: beyond
/// that, a server is in a busy loop.
const TRAVELS_MAX: u64 = 400_000;

/// The probability of each fault, in percent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    /// A write does not happen.
    pub(crate) write_lost: u64,
    /// A write happens, and its answer is lost.
    pub(crate) answer_lost: u64,
    /// A write is reported as failed and happens later.
    pub(crate) write_late: u64,
    /// A write is rejected as a conflict without another writer.
    pub(crate) conflict: u64,
    pub(crate) read_lost: u64,
    pub(crate) slow: u64,
    pub(crate) hint_lost: u64,
    pub(crate) hint_repeated: u64,
    pub(crate) hint_late: u64,
    /// The answer of a server does not reach its caller.
    pub(crate) reply_lost: u64,
    pub(crate) worker_dies: u64,
    /// A worker sleeps beyond its lease and then continues normally.
    pub(crate) worker_naps: u64,
    pub(crate) report_repeated: u64,
    /// A server crashes or stops.
    pub(crate) server_dies: u64,
    /// A call to the store fails at its deadline; it may have been done.
    pub(crate) deadline: u64,
    /// The store's clock is set forward or back.
    pub(crate) clock_set: u64,
    /// The store is restored from a backup.
    pub(crate) restored: u64,
}

impl Rates {
    fn drawn(rng: &mut Rng) -> Self {
        let mut rate = || *rng.pick(&RATES);
        Self {
            write_lost: rate(),
            answer_lost: rate(),
            write_late: rate(),
            conflict: rate(),
            read_lost: rate(),
            slow: rate(),
            hint_lost: 5 * rate(),
            hint_repeated: rate(),
            hint_late: rate(),
            reply_lost: rate(),
            worker_dies: rate(),
            worker_naps: rate(),
            report_repeated: rate(),
            server_dies: 5 * rate(),
            deadline: rate() / 2,
            clock_set: 3 * rate(),
            restored: 2 * rate(),
        }
    }
}

/// A bug that is planted into the store, to check that the oracle finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedBug {
    /// A limit grants one slot more than it has.
    OneTooMany,
    /// Requests for slots are lost.
    LostRequest,
    /// Releases of slots are lost.
    LostRelease,
    /// A delivered signal is kept for another wait.
    SignalTwice,
    /// No server sees that a playbook or a pool is paused.
    PauseIgnored,
    /// Some appends are answered and not written.
    LostAppend,
    /// The messages of some appends are lost.
    LostMessages,
}

impl PlantedBug {
    pub const ALL: &'static [PlantedBug] = &[
        PlantedBug::OneTooMany,
        PlantedBug::LostRequest,
        PlantedBug::LostRelease,
        PlantedBug::SignalTwice,
        PlantedBug::PauseIgnored,
        PlantedBug::LostAppend,
        PlantedBug::LostMessages,
    ];
}

/// The faults of one world.
pub(crate) struct FaultPlan {
    pub(crate) rates: Rates,
    pub(crate) planted: Option<PlantedBug>,
    end: Instant,
    rng: Mutex<Rng>,
    travels: AtomicU64,
}

impl FaultPlan {
    pub(crate) fn drawn(mut rng: Rng, end: Instant, planted: Option<PlantedBug>) -> Self {
        Self {
            rates: Rates::drawn(&mut rng),
            planted,
            end,
            rng: Mutex::new(rng),
            travels: AtomicU64::new(0),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// Returns true if a fault with this rate happens now.
    pub(crate) fn strikes(&self, rate: u64) -> bool {
        !self.is_over() && self.rng().chance(rate)
    }

    /// Counts a message to or from the store. Returns true if there have been too many.
    pub(crate) fn spins(&self) -> bool {
        self.travels.fetch_add(1, Ordering::Relaxed) >= TRAVELS_MAX
    }

    pub(crate) fn millis(&self, range: Range<u64>) -> Duration {
        self.rng().millis(range)
    }

    pub(crate) fn index(&self, len: usize) -> usize {
        self.rng().index(len)
    }

    /// True if this bug is planted.
    pub(crate) fn has(&self, bug: PlantedBug) -> bool {
        self.planted == Some(bug)
    }

    pub(crate) fn chance(&self, percent: u64) -> bool {
        self.rng().chance(percent)
    }

    fn rng(&self) -> MutexGuard<'_, Rng> {
        self.rng.lock().expect("nothing panics while it draws")
    }
}
