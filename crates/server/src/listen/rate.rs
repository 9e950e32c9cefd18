//! Rate limits: a token bucket per client.
//!
//! Invariant: the number of buckets is bounded; an evicted client starts again with a full bucket.

use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::Duration;

use lru::LruCache;
use tokio::time::Instant;

/// Maximum number of clients with a bucket.
const CLIENTS_MAX: NonZeroUsize = NonZeroUsize::new(65_536).expect("not zero");

/// A rate limit of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Number of permits in a full bucket.
    pub burst: u32,
    /// Time until one permit is added.
    pub every: Duration,
}

impl Rate {
    /// Creates a rate of `times` per second with bursts of `burst`.
    pub fn per_second(times: u32, burst: u32) -> Self {
        Self { burst: burst.max(1), every: Duration::from_secs(1) / times.max(1) }
    }
}

/// A token bucket, stored as the instant at which it is full.
#[derive(Debug, Clone, Copy)]
struct ClientBucket {
    full_at: Instant,
}

impl ClientBucket {
    /// Takes one permit; the error is the time to wait for it.
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
    buckets: Mutex<LruCache<K, ClientBucket>>,
}

impl<K: Hash + Eq> Limiter<K> {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, buckets: Mutex::new(LruCache::sparse(CLIENTS_MAX)) }
    }

    /// Takes one permit of a client; the error is the time to wait for it.
    pub(crate) fn take(&self, client: K) -> Result<(), Duration> {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().expect("nothing panics while it holds the buckets");
        buckets.get_or_insert_mut(client, || ClientBucket { full_at: now }).take(self.rate, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes permits at these milliseconds; expects `+` or the milliseconds to wait, for each.
    #[track_caller]
    fn check(rate: Rate, asked_at: &[u64], expected: &str) {
        let begun = Instant::now();
        let mut bucket = ClientBucket { full_at: begun };
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
    fn a_long_idle_caller_gets_no_more_than_a_burst() {
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
