//! What goes wrong, how often, and until when.
//!
//! Invariant: after its end a storm does nothing any more, so that everything has to come to its end
//! by itself.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::rng::Rng;

/// The percentages a rate is drawn from; many worlds have no fault of a kind at all.
const RATES: [u64; 6] = [0, 0, 1, 3, 8, 20];

/// How often the servers of a world go to the store and back at most, many times more than they
/// need: beyond that somebody asks the same again and again in no time.
const TRAVELS_MAX: u64 = 400_000;

/// How often each fault strikes, in percent of the occasions it has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    /// A write does not happen.
    pub(crate) write_lost: u64,
    /// A write happens, and nobody hears of it.
    pub(crate) answer_lost: u64,
    /// A write is said to have failed and happens a while later.
    pub(crate) write_late: u64,
    /// A write is refused although nobody was faster.
    pub(crate) conflict: u64,
    pub(crate) read_lost: u64,
    pub(crate) slow: u64,
    pub(crate) hint_lost: u64,
    pub(crate) hint_repeated: u64,
    pub(crate) hint_late: u64,
    /// The answer of a server does not reach who asked.
    pub(crate) reply_lost: u64,
    pub(crate) worker_dies: u64,
    /// A worker sleeps through its lease and then goes on as if nothing had happened.
    pub(crate) worker_naps: u64,
    pub(crate) report_repeated: u64,
    /// A server dies or stops, instead of living on for another while.
    pub(crate) server_dies: u64,
    /// A call to the store is answered after its deadline that it failed; it may have been done.
    pub(crate) deadline: u64,
    /// The store's clock is set forward or back.
    pub(crate) clock_set: u64,
    /// The store goes back to a backup.
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

/// The faults of one world.
pub(crate) struct Storm {
    pub(crate) rates: Rates,
    end: Instant,
    rng: Mutex<Rng>,
    travels: AtomicU64,
}

impl Storm {
    pub(crate) fn drawn(mut rng: Rng, end: Instant) -> Self {
        Self {
            rates: Rates::drawn(&mut rng),
            end,
            rng: Mutex::new(rng),
            travels: AtomicU64::new(0),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// Whether a fault of a rate strikes now.
    pub(crate) fn strikes(&self, rate: u64) -> bool {
        !self.is_over() && self.rng().chance(rate)
    }

    /// Counts a way to the store or back; true if there have been too many.
    pub(crate) fn spins(&self) -> bool {
        self.travels.fetch_add(1, Ordering::Relaxed) >= TRAVELS_MAX
    }

    pub(crate) fn millis(&self, range: Range<u64>) -> Duration {
        self.rng().millis(range)
    }

    pub(crate) fn index(&self, len: usize) -> usize {
        self.rng().index(len)
    }

    pub(crate) fn chance(&self, percent: u64) -> bool {
        self.rng().chance(percent)
    }

    fn rng(&self) -> MutexGuard<'_, Rng> {
        self.rng.lock().expect("nothing panics while it draws")
    }
}
