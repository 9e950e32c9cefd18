//! A token bucket: how many messages may be fetched under a limit per second.

use std::time::Duration;

use tokio::time::Instant;

/// The shortest wait for the next token.
const WAIT_MIN: Duration = Duration::from_millis(20);

/// Holds at most one second's worth of tokens; always full if there is no limit.
#[derive(Debug)]
pub(super) struct Bucket {
    per_second: Option<f64>,
    filled: Option<(Instant, f64)>,
}

impl Bucket {
    pub(super) fn new(per_second: Option<u32>) -> Self {
        Self { per_second: per_second.map(f64::from), filled: None }
    }

    fn level(&self, now: Instant, per_second: f64) -> f64 {
        let Some((at, level)) = self.filled else { return per_second };
        let since = now.saturating_duration_since(at).as_secs_f64();
        (level + since * per_second).min(per_second)
    }

    /// Returns the number of messages that may be fetched.
    pub(super) fn room(&self, now: Instant) -> usize {
        let Some(per_second) = self.per_second else { return usize::MAX };
        let level = self.level(now, per_second);
        // Bounded: the level is at most `per_second`.
        (0..).take_while(|count: &u32| f64::from(*count) + 1.0 <= level).count()
    }

    /// Takes one token per fetched message.
    pub(super) fn take(&mut self, now: Instant, count: usize) {
        let Some(per_second) = self.per_second else { return };
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.filled = Some((now, self.level(now, per_second) - f64::from(count)));
    }

    /// Returns the time until the next message may be fetched.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        let Some(per_second) = self.per_second else { return WAIT_MIN };
        let lacking = (1.0 - self.level(now, per_second)).max(0.0);
        Duration::from_secs_f64(lacking / per_second).max(WAIT_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_allows_so_many_and_no_more() {
        let begun = Instant::now();
        let at = |millis| begun + Duration::from_millis(millis);
        let mut bucket = Bucket::new(Some(4));
        assert_eq!(bucket.room(at(0)), 4);
        bucket.take(at(0), 3);
        assert_eq!(bucket.room(at(0)), 1);
        bucket.take(at(0), 1);
        assert_eq!((bucket.room(at(0)), bucket.wait(at(0))), (0, Duration::from_millis(250)));
        assert_eq!(bucket.room(at(249)), 0);
        assert_eq!(bucket.room(at(251)), 1);
        assert_eq!(bucket.room(at(60_000)), 4, "what was not fetched is not saved up");
    }

    #[test]
    fn without_a_limit_there_is_always_room() {
        let mut bucket = Bucket::new(None);
        bucket.take(Instant::now(), 1_000_000);
        assert_eq!(bucket.room(Instant::now()), usize::MAX);
    }
}
