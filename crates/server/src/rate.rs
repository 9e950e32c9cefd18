//! How often somebody may ask: a bucket of permissions for each client, refilled as time goes by.
//!
//! Invariant: the number of buckets is bounded; one that is forgotten is a full one.

use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::Duration;

use lru::LruCache;
use tokio::time::Instant;

/// How many clients are remembered.
const CLIENTS_MAX: NonZeroUsize = NonZeroUsize::new(65_536).expect("not zero");

/// How often one client may do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many times at once.
    pub burst: u32,
    /// How long one more takes to be allowed.
    pub every: Duration,
}

impl Rate {
    /// So many times a second, and so many at once.
    pub fn per_second(times: u32, burst: u32) -> Self {
        Self { burst: burst.max(1), every: Duration::from_secs(1) / times.max(1) }
    }
}

/// What is left of a client's permissions, as the instant from which on its bucket is full.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    full_at: Instant,
}

impl Bucket {
    /// Takes one permission, or says how long to wait for it.
    fn take(&mut self, rate: Rate, now: Instant) -> Result<(), Duration> {
        let full_at = self.full_at.max(now) + rate.every;
        let wait = full_at.saturating_duration_since(now + rate.every * rate.burst);
        if !wait.is_zero() {
            return Err(wait);
        }
        self.full_at = full_at;
        Ok(())
    }
}

/// The buckets of many clients.
#[derive(Debug)]
pub(crate) struct Limiter<K: Hash + Eq> {
    rate: Rate,
    buckets: Mutex<LruCache<K, Bucket>>,
}

impl<K: Hash + Eq> Limiter<K> {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, buckets: Mutex::new(LruCache::sparse(CLIENTS_MAX)) }
    }

    /// Takes one of a client's permissions, or says how long to wait for it.
    pub(crate) fn take(&self, client: K) -> Result<(), Duration> {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().expect("nothing panics while it holds the buckets");
        buckets.get_or_insert_mut(client, || Bucket { full_at: now }).take(self.rate, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks at these milliseconds; the answers are `+` or the milliseconds to wait.
    #[track_caller]
    fn check(rate: Rate, asked_at: &[u64], expected: &str) {
        let begun = Instant::now();
        let mut bucket = Bucket { full_at: begun };
        let answers =
            asked_at.iter().map(|at| match bucket.take(rate, begun + Duration::from_millis(*at)) {
                Ok(()) => "+".to_owned(),
                Err(wait) => wait.as_millis().to_string(),
            });
        assert_eq!(answers.collect::<Vec<String>>().join(" "), expected);
    }

    #[test]
    fn a_burst_is_allowed_and_then_one_as_time_goes_by() {
        let rate = Rate::per_second(10, 3);
        check(rate, &[0, 0, 0, 0, 50, 100, 100], "+ + + 100 50 + 100");
    }

    #[test]
    fn who_waits_long_gets_no_more_than_a_burst() {
        check(Rate::per_second(10, 2), &[60_000, 60_000, 60_000], "+ + 100");
    }

    #[tokio::test(start_paused = true)]
    async fn clients_do_not_share() {
        let limiter = Limiter::new(Rate::per_second(1, 1));
        assert_eq!(limiter.take('a'), Ok(()));
        assert_eq!(limiter.take('b'), Ok(()));
        assert_eq!(limiter.take('a'), Err(Duration::from_secs(1)));
    }
}
