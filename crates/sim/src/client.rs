//! Clients: they request executions until they get one, fork some, and cancel some.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use noetl_control::{ForkAt, ForkError, ForkRequest, MailboxAnswer, PlaybookChoice, StartRequest};
use noetl_engine::Refusal;
use noetl_model::{ErrorMode, ExecutionId, ExecutionStatus, Priority, Seq};
use serde_json::{Map, Value};

use crate::fleet::Fleet;
use crate::ledger::Ledger;

/// A request for one execution.
#[derive(Debug, Clone)]
pub(crate) struct ExecutionRequest {
    pub(crate) path: String,
    pub(crate) payload: Map<String, Value>,
    pub(crate) error_mode: Option<ErrorMode>,
    pub(crate) priority: Option<Priority>,
    /// The time of the request.
    pub(crate) at: Duration,
    pub(crate) planned_end: Option<PlannedEnd>,
    pub(crate) fork: Option<PlannedFork>,
}

/// A request to fork an execution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedFork {
    /// The delay after the start.
    pub(crate) after: Duration,
    /// The fork point, in percent of the events at that time.
    pub(crate) at: u64,
}

/// A manual end of an execution, and its delay after the start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedEnd {
    pub(crate) after: Duration,
    pub(crate) ending: ManualEnd,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum ManualEnd {
    Cancelled,
    Finalized(ExecutionStatus),
}

pub(crate) struct SimulatedClient {
    pub(crate) request: ExecutionRequest,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) ledger: Arc<Ledger>,
}

impl SimulatedClient {
    pub(crate) async fn run(self) {
        tokio::time::sleep(self.request.at).await;
        let execution = self.start().await;
        self.ledger.pages().started.insert(execution);
        if let Some(wish) = self.request.fork {
            tokio::time::sleep(wish.after).await;
            self.fork(execution, wish).await;
        }
        if let Some(planned_end) = self.request.planned_end {
            tokio::time::sleep(planned_end.after).await;
            self.interrupt(execution, planned_end.ending).await;
        }
    }

    async fn start(&self) -> ExecutionId {
        let ExecutionRequest { path, payload, error_mode, priority, .. } = &self.request;
        loop {
            let playbook = PlaybookChoice::Path { path: path.clone(), version: None };
            let mut request = StartRequest::new(playbook, payload.clone());
            request.input.error_mode = *error_mode;
            request.input.priority = *priority;
            let started = self.fleet.ask(async |control| control.start(request).await).await;
            if let Some(Ok(execution)) = started {
                return execution;
            }
        }
    }

    /// Forks an execution, possibly more than once if an answer is lost.
    async fn fork(&self, origin: ExecutionId, wish: PlannedFork) {
        loop {
            let forked = self
                .fleet
                .ask(async |control| {
                    let summary = control.summary(origin).await.ok()??;
                    let at = 1 + (summary.seq.0 - 1) * wish.at / 100;
                    let request = ForkRequest {
                        origin,
                        at: ForkAt::Event(Seq(at)),
                        playbook: None,
                        workload: Map::new(),
                        context: BTreeMap::new(),
                        actor: None,
                    };
                    Some((at, control.fork(request).await))
                })
                .await;
            match forked.flatten() {
                Some((_, Ok(fork))) => {
                    let mut pages = self.ledger.pages();
                    pages.started.insert(fork);
                    pages.forks += 1;
                    return;
                }
                // The origin may have been lost in a restore.
                _ if self.ledger.pages().restored => return,
                Some((_, Err(ForkError::Start(_)))) | None => {}
                Some((at, Err(error))) => {
                    let complaint = format!("{origin} cannot be forked at {at}: {error}");
                    self.ledger.pages().complaints.push(complaint);
                    return;
                }
            }
        }
    }

    async fn interrupt(&self, execution: ExecutionId, ending: ManualEnd) {
        let wanted = match ending {
            ManualEnd::Cancelled => ExecutionStatus::Cancelled,
            ManualEnd::Finalized(status) => status,
        };
        let mut asked_before = false;
        loop {
            let answer = self
                .fleet
                .ask(async |control| match ending {
                    ManualEnd::Cancelled => control.cancel(execution, "no longer wanted").await,
                    ManualEnd::Finalized(status) => {
                        control.finalize(execution, status, "ended by hand", None).await
                    }
                })
                .await;
            match answer {
                Some(Ok(
                    MailboxAnswer::Accepted
                    | MailboxAnswer::Leased(_)
                    | MailboxAnswer::HandedOver(_),
                )) => {
                    self.ledger.pages().interrupted.insert(execution, wanted);
                    return;
                }
                Some(Ok(MailboxAnswer::Refused(_))) if self.ledger.pages().restored => return,
                Some(Ok(MailboxAnswer::Refused(refusal))) => {
                    // No other client cancels the execution, so an earlier request of this client
                    // must have done it.
                    if refusal == Refusal::Finished(ExecutionStatus::Cancelled) && !asked_before {
                        let complaint = format!("{execution} was cancelled and the word was no");
                        self.ledger.pages().complaints.push(complaint);
                    }
                    return;
                }
                // The execution may have been lost in a restore.
                Some(Err(_)) | None if self.ledger.pages().restored => return,
                Some(Err(_)) | None => asked_before = true,
            }
        }
    }
}
