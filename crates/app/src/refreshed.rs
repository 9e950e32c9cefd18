//! A cached value that is refreshed in the background by one task at a time, for callers that must
//! not wait; they get the last value.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

#[derive(Debug)]
pub(crate) struct Refreshed<T> {
    state: watch::Sender<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    last: Option<RefreshedValue<T>>,
    is_refreshing: bool,
    /// The number of times the value was discarded; a refresh that began before has no effect.
    discards: u64,
}

/// A value and the time it was computed.
#[derive(Debug, Clone)]
pub(crate) struct RefreshedValue<T> {
    pub(crate) value: T,
    pub(crate) at: Instant,
}

impl<T> Default for Refreshed<T> {
    fn default() -> Self {
        Self { state: watch::Sender::new(State { last: None, is_refreshing: false, discards: 0 }) }
    }
}

impl<T: Clone + Send + Sync + 'static> Refreshed<T> {
    /// True if there is a last value and it passes a test.
    pub(crate) fn last_is(&self, test: impl Fn(&T) -> bool) -> bool {
        self.state.borrow().last.as_ref().is_some_and(|last| test(&last.value))
    }

    /// Discards the value, because what it is computed from has changed.
    pub(crate) fn discard(&self) {
        self.state.send_modify(|state| {
            let discards = state.discards + 1;
            *state = State { last: None, is_refreshing: false, discards };
        });
    }

    /// Returns the value, refreshed if it is older than `age_max` and if that takes at most
    /// `wait_max`; otherwise the last one. `refresh` returns `None` if the value cannot be
    /// computed.
    pub(crate) async fn get(
        self: &Arc<Self>,
        age_max: Duration,
        wait_max: Duration,
        refresh: impl Future<Output = Option<T>> + Send + 'static,
    ) -> Option<RefreshedValue<T>> {
        let mut changes = self.state.subscribe();
        let mut discards = 0;
        let is_begun = self.state.send_if_modified(|state| {
            discards = state.discards;
            let is_due = state.last.as_ref().is_none_or(|last| last.at.elapsed() >= age_max);
            let begins = is_due && !state.is_refreshing;
            state.is_refreshing |= begins;
            begins
        });
        if is_begun {
            let this = Arc::clone(self);
            // Spawned separately, so that a panic does not stop refreshing for good.
            let refresh = tokio::spawn(refresh);
            drop(tokio::spawn(async move {
                let value = refresh.await.ok().flatten();
                this.state.send_if_modified(|state| {
                    let is_current = state.discards == discards;
                    if is_current {
                        state.is_refreshing = false;
                        if let Some(value) = value {
                            state.last = Some(RefreshedValue { value, at: Instant::now() });
                        }
                    }
                    is_current
                });
            }));
        }
        let done = changes.wait_for(|state| !state.is_refreshing);
        // A late value is used by the next caller.
        let _late = timeout(wait_max, done).await;
        self.state.borrow().last.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_value_is_kept_until_it_is_old() {
        let value = Arc::new(Refreshed::default());
        let get = async |next: u32| {
            value.get(SECOND, SECOND, async move { Some(next) }).await.map(|known| known.value)
        };
        assert_eq!(get(1).await, Some(1));
        assert_eq!(get(2).await, Some(1));
        tokio::time::advance(SECOND).await;
        assert_eq!(get(3).await, Some(3));
    }

    #[tokio::test(start_paused = true)]
    async fn waiters_end_at_their_deadline_and_one_task_looks() {
        let value = Arc::new(Refreshed::default());
        value.get(Duration::ZERO, SECOND, async { Some(1) }).await;
        let begun = Instant::now();
        let known = value.get(Duration::ZERO, SECOND, pending()).await.expect("the last one");
        assert_eq!((known.value, begun.elapsed()), (1, SECOND));
        let known =
            value.get(Duration::ZERO, SECOND, async { Some(2) }).await.expect("it is there");
        assert_eq!(known.value, 1, "the first look is still under way");
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_began_before_the_value_was_discarded_is_not_the_last() {
        let value = Arc::new(Refreshed::default());
        let (send, late) = tokio::sync::oneshot::channel();
        value.get(SECOND, Duration::ZERO, async { late.await.ok() }).await;
        value.discard();
        let known = value.get(SECOND, SECOND, async { Some(2) }).await.expect("it is there");
        assert_eq!(known.value, 2);
        send.send(1).expect("the first look waits");
        tokio::task::yield_now().await;
        let known = value.get(SECOND, SECOND, async { Some(3) }).await.expect("it is there");
        assert_eq!(known.value, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_panics_is_not_the_last() {
        let value = Arc::new(Refreshed::default());
        let panics = async { panic!("a look that fails") };
        assert!(value.get(Duration::ZERO, SECOND, panics).await.is_none());
        assert_eq!(
            value.get(SECOND, SECOND, async { Some(2) }).await.expect("it is there").value,
            2
        );
    }
}
