//! Rate-limited warnings, for causes that clients control, so that they cannot fill the log.

use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::listen::rate::{Limiter, Rate};

/// Rate of warnings about the same subject.
const RATE: Rate = Rate { burst: 5, every: Duration::from_secs(10) };
/// Rate of all warnings of one kind.
const RATE_OF_ALL: Rate = Rate { burst: 20, every: Duration::from_secs(1) };

/// Decides which warnings of one kind are logged; `K` is the subject of a warning.
#[derive(Debug)]
pub(crate) struct Warnings<K: Hash + Eq> {
    each: Limiter<K>,
    all: Limiter<()>,
    left_out: AtomicU64,
}

impl<K: Hash + Eq> Warnings<K> {
    pub(crate) fn new() -> Self {
        Self {
            each: Limiter::new(RATE),
            all: Limiter::new(RATE_OF_ALL),
            left_out: AtomicU64::new(0),
        }
    }

    /// Returns the number of suppressed warnings since the last one if this warning is to be
    /// logged.
    pub(crate) fn admit(&self, about: K) -> Option<u64> {
        if self.each.take(about).and_then(|()| self.all.take(())).is_ok() {
            return Some(self.left_out.swap(0, Ordering::Relaxed));
        }
        self.left_out.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_logged_a_few_times_and_then_counted() {
        let warnings = Warnings::new();
        let logged = (0..1000).filter_map(|_| warnings.admit("a")).count();
        assert_eq!(logged, 5);
        assert_eq!(warnings.admit("b"), Some(995));
        tokio::time::advance(RATE.every).await;
        assert_eq!(warnings.admit("a"), Some(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_about_many_things_is_a_flood_too() {
        let warnings = Warnings::new();
        assert_eq!((0..1000).filter_map(|number| warnings.admit(number)).count(), 20);
    }
}
