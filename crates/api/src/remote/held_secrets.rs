//! The secrets of the leases that a worker of this process holds.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use noetl_model::{Held, Lease, LeaseSecret, WorkerId};

use crate::LeaseProof;

/// The most secrets that are kept. Heartbeats use those of all held commands, so they are not the
/// oldest.
const KEPT_MAX: NonZeroUsize = NonZeroUsize::new(32_768).expect("not zero");

/// The secrets, by command and attempt.
pub(super) struct HeldSecrets(Mutex<LruCache<Held, KeptSecret>>);

#[derive(Clone)]
struct KeptSecret {
    worker: WorkerId,
    secret: LeaseSecret,
}

impl HeldSecrets {
    pub(super) fn new() -> Self {
        Self(Mutex::new(LruCache::new(KEPT_MAX)))
    }

    /// Keeps the secret of a lease; a server of an earlier version gives none.
    pub(super) fn keep(&self, worker: &WorkerId, lease: &Lease) {
        if let Some(secret) = lease.secret.clone() {
            let kept = KeptSecret { worker: worker.clone(), secret };
            self.lock().put(Held::from(lease), kept);
        }
    }

    /// Returns the proofs for the commands whose secrets are kept.
    pub(super) fn proofs(&self, held: impl IntoIterator<Item = Held>) -> Vec<LeaseProof> {
        let mut kept = self.lock();
        let proof = |held: Held| {
            let KeptSecret { worker, secret } = kept.get(&held)?.clone();
            Some(LeaseProof { held, worker, secret })
        };
        held.into_iter().filter_map(proof).collect()
    }

    /// Returns the proofs for all commands of a worker.
    pub(super) fn proofs_of(&self, worker: &WorkerId, max: usize) -> Vec<LeaseProof> {
        let kept = self.lock();
        let of_worker = kept.iter().filter(|(_, kept)| kept.worker == *worker);
        let proof = |(held, kept): (&Held, &KeptSecret)| LeaseProof {
            held: *held,
            worker: kept.worker.clone(),
            secret: kept.secret.clone(),
        };
        of_worker.map(proof).take(max).collect()
    }

    /// Returns the proof that a command is held.
    pub(super) fn proof(&self, held: Held) -> Option<LeaseProof> {
        let KeptSecret { worker, secret } = self.lock().get(&held)?.clone();
        Some(LeaseProof { held, worker, secret })
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<Held, KeptSecret>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
