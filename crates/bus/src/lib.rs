//! What messaging promises: a hint may be lost, repeated or reordered.
//!
//! A hint says "look again" and carries no truth; whoever listens also looks by itself from time to
//! time. So a bus can be slow or gone without anything going wrong, only later.
//!
//! Invariant: publishing never waits for a listener.

mod local;

use async_trait::async_trait;
use noetl_model::{CommandId, ExecutionId, Pool};

pub use local::{HINTS_MAX, HintReceiver, LocalBus};

/// Where it is worth looking again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// A command waits in this pool.
    CommandReady { pool: Pool },
    /// A command was cancelled; whoever runs it should stop.
    CommandCancelled { execution: ExecutionId, command: CommandId },
    /// The log of this execution has grown.
    ExecutionAdvanced { execution: ExecutionId },
    /// Hints were lost: anything may have happened.
    LookAgain,
}

/// Carries hints from whoever knows to whoever waits.
#[async_trait]
pub trait Bus: Send + Sync {
    /// Tells everybody who listens now. A hint that cannot be delivered is lost; nobody is told.
    async fn publish(&self, hint: Hint);

    /// Listens from now on.
    fn subscribe(&self) -> HintReceiver;
}
