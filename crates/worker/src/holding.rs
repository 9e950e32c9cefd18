//! The commands that this worker holds.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use noetl_api::Cancellation;
use noetl_model::{Held, Lease};
use tokio_util::sync::CancellationToken;

/// The commands held, each with the token that stops it.
#[derive(Default)]
pub(crate) struct HeldCommands {
    commands: Mutex<BTreeMap<Held, CancellationToken>>,
}

/// A leased command to be run.
#[derive(Debug)]
pub(crate) struct Assigned {
    pub(crate) lease: Lease,
    /// Cancelled when the command is lost.
    pub(crate) lost: CancellationToken,
}

impl HeldCommands {
    /// Registers a leased command as held.
    pub(crate) fn assign(&self, lease: Lease) -> Assigned {
        let lost = CancellationToken::new();
        self.lock().insert(Held::from(&lease), lost.clone());
        Assigned { lease, lost }
    }

    pub(crate) fn all(&self) -> Vec<Held> {
        self.lock().keys().copied().collect()
    }

    /// True if at most one command is held, so that no other can end at the same time.
    pub(crate) fn is_single(&self) -> bool {
        self.lock().len() <= 1
    }

    /// Removes a command whose report was answered.
    pub(crate) fn release(&self, held: &Held) {
        self.lock().remove(held);
    }

    /// Stops and removes a command that was leased to another worker, cancelled or ended.
    pub(crate) fn lose(&self, held: &Held) {
        if let Some(token) = self.lock().remove(held) {
            token.cancel();
        }
    }

    pub(crate) fn lose_cancelled(&self, cancelled: Cancellation) {
        self.lose_where(|held| {
            (held.execution, held.command) == (cancelled.execution, cancelled.command)
        });
    }

    pub(crate) fn lose_all(&self) {
        self.lose_where(|_| true);
    }

    fn lose_where(&self, mut is_lost: impl FnMut(&Held) -> bool) {
        self.lock().retain(|held, token| {
            let lost = is_lost(held);
            if lost {
                token.cancel();
            }
            !lost
        });
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Held, CancellationToken>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
