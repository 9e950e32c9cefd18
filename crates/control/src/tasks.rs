//! Background tasks, tracked so that a shutdown can wait for them.

use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Spawns and tracks tasks.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    running: TaskTracker,
}

impl Tasks {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        // Detached on purpose: the tracker waits for the task.
        drop(self.running.spawn(task));
    }

    /// Waits until no task runs.
    pub(crate) async fn finished(&self) {
        self.running.close();
        self.running.wait().await;
        self.running.reopen();
    }
}

/// Waits for a wake-up or for `at_most`. Returns false once the loop has to stop.
pub(crate) async fn pause(stop: &CancellationToken, wake: &Notify, at_most: Duration) -> bool {
    if at_most.is_zero() {
        // The shortest sleep is a millisecond; a loop with more work only yields.
        tokio::task::yield_now().await;
        return !stop.is_cancelled();
    }
    tokio::select! {
        biased;
        () = stop.cancelled() => false,
        () = wake.notified() => true,
        () = tokio::time::sleep(at_most) => true,
    }
}

/// Sleeps for `duration`. Returns false once the loop has to stop.
pub(crate) async fn rest(stop: &CancellationToken, duration: Duration) -> bool {
    tokio::select! {
        biased;
        () = stop.cancelled() => false,
        () = tokio::time::sleep(duration) => true,
    }
}

/// Runs a cleanup if the task that holds it panics, so that one bug does not block later work.
pub(crate) struct OnPanic<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}
