//! The sender of signals: it sends every signal that a playbook waits for to every execution of the
//! playbook, again and again, because it does not know what it has sent before.

use std::sync::Arc;

use noetl_control::{Control, SentSignal};
use noetl_model::{ExecutionId, SignalName};
use noetl_store::MemoryStore;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fleet::Fleet;
use crate::oracle::summaries;
use crate::playbooks::WorldPlan;

/// The number in the body of every signal.
pub(crate) const SIGNAL_NUMBER: u64 = 3;

pub(crate) struct Signaller {
    pub(crate) plan: Arc<WorldPlan>,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) closing: CancellationToken,
}

impl Signaller {
    /// Sends signals until the world closes: a restore of the store can lose what was recorded.
    pub(crate) async fn run(self) {
        while !self.closing.is_cancelled() {
            let pause = self.fleet.faults().millis(500..15_000);
            tokio::select! {
                () = self.closing.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            for summary in summaries(&self.store).await {
                let Some(document) = self.plan.document(&summary.playbook.path) else { continue };
                if summary.status.is_terminal() {
                    continue;
                }
                for name in &document.signals {
                    self.send(summary.execution, name).await;
                }
            }
        }
    }

    /// Sends a signal. A refusal, a fault and a lost answer are all followed by the next attempt.
    async fn send(&self, execution: ExecutionId, name: &SignalName) {
        let sent = signal(name);
        let send = async |control: Control| control.signal(execution, sent).await.is_ok();
        self.fleet.ask(send).await;
    }
}

/// Returns the signal of a name. Its key is the name, so an execution takes it once.
pub(crate) fn signal(name: &SignalName) -> SentSignal {
    SentSignal {
        name: name.clone(),
        body: json!({ "n": SIGNAL_NUMBER }),
        sender: None,
        key: Some(name.to_string()),
    }
}
