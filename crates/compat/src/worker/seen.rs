//! A cache for fast answers to existing workers: claims and recently posted events.
//!
//! On a miss the log is read. Only an event of another program that is posted again much later, or
//! to another server, is recorded twice; recording it has no further effect.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard};

use lru::LruCache;
use noetl_model::{Attempt, EventId, ExecutionId, WorkerId};

const CLAIMS_MAX: NonZeroUsize = NonZeroUsize::new(65_536).expect("not zero");
const POSTED_MAX: NonZeroUsize = NonZeroUsize::new(65_536).expect("not zero");

/// The cache of one server.
pub struct RecentEvents {
    claims: Mutex<LruCache<(EventId, WorkerId), Attempt>>,
    /// The count of rewinds of the store at the time each event was recorded.
    posted: Mutex<LruCache<(ExecutionId, i64), u64>>,
}

impl Default for RecentEvents {
    fn default() -> Self {
        Self {
            claims: Mutex::new(LruCache::sparse(CLAIMS_MAX)),
            posted: Mutex::new(LruCache::sparse(POSTED_MAX)),
        }
    }
}

impl RecentEvents {
    /// Caches the attempt under which a worker holds the command that an event issued.
    pub fn claimed(&self, issued: EventId, worker: &WorkerId, attempt: Attempt) {
        held(&self.claims).put((issued, worker.clone()), attempt);
    }

    pub fn attempt(&self, issued: EventId, worker: &WorkerId) -> Option<Attempt> {
        held(&self.claims).get(&(issued, worker.clone())).copied()
    }

    /// True if an event numbered by another program was recorded recently, and the store was not
    /// rewound since.
    pub fn was_posted(&self, execution: ExecutionId, event: i64, rewinds: u64) -> bool {
        held(&self.posted).get(&(execution, event)) == Some(&rewinds)
    }

    pub fn posted(&self, execution: ExecutionId, event: i64, rewinds: u64) {
        held(&self.posted).put((execution, event), rewinds);
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics while it holds what was seen")
}
