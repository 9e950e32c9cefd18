//! The sender of signals: it sends every signal that a playbook waits for to every execution of the
//! playbook, by id or by correlation key, and decides about every approval, again and again, because
//! it does not know what it has sent before.

use std::sync::Arc;

use noetl_control::{Control, SentSignal, SignalByKey};
use noetl_engine::ApprovalDecision;
use noetl_model::{CommandId, ExecutionId, IndexKind, SignalName, Verdict};
use noetl_store::{Executions as _, MemoryStore, PAGE_MAX};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fleet::Fleet;
use crate::oracle::summaries;
use crate::playbooks::{SHARED_KEY, SHARED_SIGNAL, WorldPlan};

/// The number of signals that are sent for each execution with waits that share a key.
const SHARED_AT_ONCE: usize = 2;

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
        let mut order = 0;
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
                for name in &document.keyed {
                    self.send_by_key(summary.execution, name).await;
                }
                // As many as may wait, so that some are kept for waits that open later.
                for _ in 0..if document.has_shared { SHARED_AT_ONCE } else { 0 } {
                    order += 1;
                    let sent = shared_signal(order);
                    let send = async |control: Control| control.signal_by_key(sent).await.is_ok();
                    self.fleet.ask(send).await;
                }
            }
            self.decide().await;
        }
    }

    /// Sends a signal. A refusal, a fault and a lost answer are all followed by the next attempt.
    async fn send(&self, execution: ExecutionId, name: &SignalName) {
        let sent = signal(name);
        let send = async |control: Control| control.signal(execution, sent).await.is_ok();
        self.fleet.ask(send).await;
    }

    /// Sends a signal to the execution whose wait has the id of the execution as its key.
    async fn send_by_key(&self, execution: ExecutionId, name: &SignalName) {
        let sent = SignalByKey {
            name: name.clone(),
            key: execution.to_string().parse().expect("an id is a key"),
            body: json!({ "n": SIGNAL_NUMBER }),
            sender: None,
            actor: None,
            once: Some("once".to_owned()),
            kept_for: None,
        };
        let send = async |control: Control| control.signal_by_key(sent).await.is_ok();
        self.fleet.ask(send).await;
    }

    /// Decides about every approval that waits.
    async fn decide(&self) {
        let open = self.store.open_index(IndexKind::Approval, None, PAGE_MAX).await;
        for row in open.expect("the memory store lists approvals") {
            let Some(command) = row.entry.command else { continue };
            let decide = async |control: Control| {
                control.decide_approval(row.execution, decision(command)).await.is_ok()
            };
            self.fleet.ask(decide).await;
        }
    }
}

/// Returns a signal that any execution may take. Each has another number, so none is sent twice.
pub(crate) fn shared_signal(order: u64) -> SignalByKey {
    SignalByKey {
        name: SHARED_SIGNAL.parse().expect("a name"),
        key: SHARED_KEY.parse().expect("a key"),
        body: json!({ "n": SIGNAL_NUMBER, "order": order }),
        sender: None,
        actor: None,
        once: None,
        kept_for: None,
    }
}

/// Returns the decision about every approval.
pub(crate) fn decision(command: CommandId) -> ApprovalDecision {
    let values = json!({ "n": SIGNAL_NUMBER });
    ApprovalDecision {
        command,
        verdict: Verdict::Approved,
        actor: Some("simulation".to_owned()),
        actor_stated: false,
        link_by: None,
        comment: None,
        values: values.as_object().cloned().unwrap_or_default(),
    }
}

/// Returns the signal of a name. Its key is the name, so an execution takes it once.
pub(crate) fn signal(name: &SignalName) -> SentSignal {
    SentSignal {
        name: name.clone(),
        body: json!({ "n": SIGNAL_NUMBER }),
        sender: None,
        key: Some(name.to_string()),
        actor: None,
    }
}
