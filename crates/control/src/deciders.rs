//! Work that takes long enough to hold others up: done beside the threads that serve requests.
//!
//! A decision is first made where it is asked for, with little effort: nearly all of them are done
//! then, at no further cost. One that needs more is made again by one of a few threads that serve
//! nobody meanwhile, so that any number of slow decisions leaves the other threads free.

use std::thread::available_parallelism;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

use crate::Control;

/// Slow decisions that are made at the same time: half of the processors, and at least one.
const SLOW_SHARE: usize = 2;

/// The room for slow decisions in this process.
#[derive(Debug)]
pub(crate) struct Deciders {
    room: Semaphore,
}

impl Deciders {
    pub(crate) fn new() -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        Self { room: Semaphore::new((processors / SLOW_SHARE).max(1)) }
    }

    /// Does slow work once there is room for it, while the other tasks of this thread go on
    /// elsewhere. A runtime of one thread has no elsewhere: there it is done in place.
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
    /// Does work that takes noticeable time beside the threads that serve requests, once there is room.
    pub async fn apart<T>(&self, work: impl FnOnce() -> T) -> T {
        self.parts.deciders.slow(work).await
    }
}
