//! Slow work, done outside the threads that serve requests.
//!
//! A decision is first made in place with a small work limit, which suffices for nearly all. A
//! slower one is repeated on one of a few blocking threads, so that slow decisions do not block the
//! other threads.

use std::thread::available_parallelism;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

use crate::Control;

/// The divisor of the number of processors that gives the number of concurrent slow decisions.
const SLOW_SHARE: usize = 2;

/// The limit of concurrent slow decisions in this process.
#[derive(Debug)]
pub(crate) struct Deciders {
    room: Semaphore,
}

impl Deciders {
    pub(crate) fn new() -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        Self { room: Semaphore::new((processors / SLOW_SHARE).max(1)) }
    }

    /// Runs slow work once a permit is free, while other tasks of this thread move to other
    /// threads. A single-threaded runtime runs it in place.
    pub(crate) async fn slow<T>(&self, work: impl FnOnce() -> T) -> T {
        match Handle::current().runtime_flavor() {
            RuntimeFlavor::CurrentThread => work(),
            _ => {
                let _room = self.room.acquire().await;
                tokio::task::block_in_place(work)
            }
        }
    }
}

impl Control {
    /// Runs slow work outside the threads that serve requests, once a permit is free.
    pub async fn run_blocking<T>(&self, work: impl FnOnce() -> T) -> T {
        self.parts.deciders.slow(work).await
    }
}
