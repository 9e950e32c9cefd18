//! Workers: they lease, run, heartbeat and report, or start a job elsewhere; and crash, exceed their
//! leases, and repeat reports.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use noetl_control::{Control, PayloadError};
use noetl_model::{
    Digest, HeartbeatAnswer, Held, Lease, Logs, Outcome, Payload, Pool, Report, ReportAnswer,
    WorkerId,
};
use noetl_testkit::{RanCommand, ScriptedWorker};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::fleet::Fleet;
use crate::job::SimulatedJob;
use crate::ledger::{self, Ledger};

/// The number of commands that a worker runs at once.
const SLOTS_MAX: usize = 3;
/// The percentage of commands for which a worker starts a job elsewhere.
const JOB_PERCENT: u64 = 8;
/// The time a worker waits for a command.
const WAIT: Duration = Duration::from_secs(2);

/// A worker slot: when a worker crashes, another takes its place.
pub(crate) struct WorkerSlot {
    pub(crate) name: String,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) closing: CancellationToken,
}

struct SimulatedWorker {
    id: WorkerId,
    fleet: Arc<Fleet>,
    ledger: Arc<Ledger>,
    closing: CancellationToken,
}

/// The state of a worker after a command.
enum WorkerState {
    Alive,
    Crashed,
}

impl WorkerSlot {
    /// Runs one worker after another until there is no more work.
    pub(crate) async fn run(self) {
        for life in 1u32.. {
            let worker = SimulatedWorker {
                id: WorkerId::new(format!("{}-{life}", self.name)),
                fleet: Arc::clone(&self.fleet),
                ledger: Arc::clone(&self.ledger),
                closing: self.closing.clone(),
            };
            worker.run_until_crash().await;
            if self.closing.is_cancelled() {
                return;
            }
            tokio::time::sleep(self.fleet.faults().millis(0..3000)).await;
        }
    }
}

impl SimulatedWorker {
    async fn run_until_crash(self) {
        while !self.closing.is_cancelled() {
            let leases = self
                .fleet
                .ask(async |control| {
                    control.lease(&self.id, &Pool::shared(), SLOTS_MAX, WAIT).await
                })
                .await;
            let Some(Ok(leases)) = leases else { continue };
            let faults = self.fleet.faults();
            if faults.strikes(faults.rates.worker_dies) {
                // A crashed worker may have done some of the work without a report.
                join_all(leases.iter().take(1).map(|lease| self.run(lease))).await;
                return;
            }
            let states =
                join_all(leases.into_iter().map(|lease| self.run_command_chain(lease))).await;
            if states.iter().any(|state| matches!(state, WorkerState::Crashed)) {
                return;
            }
        }
    }

    /// Runs a command, and the commands that the worker is given with its reports.
    async fn run_command_chain(&self, lease: Lease) -> WorkerState {
        let mut lease = Some(lease);
        while let Some(command) = lease.take() {
            match self.run_command(&command, &mut lease).await {
                WorkerState::Alive => {}
                WorkerState::Crashed => return WorkerState::Crashed,
            }
        }
        WorkerState::Alive
    }

    async fn run_command(&self, lease: &Lease, next: &mut Option<Lease>) -> WorkerState {
        let faults = self.fleet.faults();
        if faults.strikes(faults.rates.worker_naps) {
            let lease_ms = u64::try_from(self.fleet.lease().as_millis()).expect("short");
            tokio::time::sleep(faults.millis(lease_ms / 2..3 * lease_ms)).await;
        } else if !self.work(lease).await {
            return WorkerState::Alive;
        }
        let Some(outcome) = self.run(lease).await else { return WorkerState::Alive };
        if faults.chance(JOB_PERCENT) {
            return self.start_job(lease, outcome).await;
        }
        if faults.strikes(faults.rates.worker_dies) {
            return WorkerState::Crashed;
        }
        let report = Report {
            execution: lease.execution,
            command: lease.command,
            attempt: lease.attempt,
            worker: self.id.clone(),
            outcome,
            logs: Logs::default(),
            next: faults.chance(50).then(Pool::shared),
        };
        *next = self.report(&report).await;
        if faults.strikes(faults.rates.report_repeated) {
            tokio::time::sleep(faults.millis(0..20_000)).await;
            let again = self.report(&report).await;
            let claim = |lease: &Lease| (lease.command, lease.attempt);
            let is_other = again.is_some() && again.as_ref().map(claim) != next.as_ref().map(claim);
            if is_other && !self.ledger.pages().restored {
                let complaint = "a report that was repeated was handed another command";
                self.ledger.pages().complaints.push(complaint.to_owned());
            }
        }
        WorkerState::Alive
    }

    /// Starts a job that outlives the worker, and parks the command, unless the worker crashes.
    async fn start_job(&self, lease: &Lease, outcome: Outcome) -> WorkerState {
        let faults = self.fleet.faults();
        let held = Held::from(lease);
        tokio::spawn(
            SimulatedJob::started(held, outcome, &self.fleet, &self.ledger)
                .run(self.closing.clone()),
        );
        if faults.strikes(faults.rates.worker_dies) {
            return WorkerState::Crashed;
        }
        while !self.closing.is_cancelled() {
            let answer = self.fleet.ask(async |control| control.park(held, &self.id).await).await;
            match answer {
                Some(Ok(_)) if faults.strikes(faults.rates.report_repeated) => {
                    tokio::time::sleep(faults.millis(0..20_000)).await;
                }
                Some(Ok(_)) => break,
                Some(Err(_)) | None => {}
            }
        }
        WorkerState::Alive
    }

    /// Simulates the duration of the work, with heartbeats. Returns false if the work should stop.
    async fn work(&self, lease: &Lease) -> bool {
        let faults = self.fleet.faults();
        let long = faults.chance(5);
        let lease_ms = u64::try_from(self.fleet.lease().as_millis()).expect("short");
        let mut left = faults.millis(if long { lease_ms..3 * lease_ms } else { 0..500 });
        // Some workers ignore the answers to their heartbeats.
        let listens = faults.chance(80);
        loop {
            let beat = (self.fleet.lease() / 3).min(left);
            tokio::time::sleep(beat).await;
            left -= beat;
            if left.is_zero() {
                return true;
            }
            let held = [Held::from(lease)];
            let answer = self.fleet.ask(async |control| control.heartbeat(&held).await).await;
            let answer = answer.and_then(Result::ok).and_then(|answers| answers.first().copied());
            match answer {
                Some(HeartbeatAnswer::Lost(_)) if listens => return false,
                Some(HeartbeatAnswer::Extended { .. } | HeartbeatAnswer::Lost(_)) | None => {}
            }
        }
    }

    /// Runs the tool, which depends only on the lease. Returns `None` if its values cannot be
    /// loaded.
    async fn run(&self, lease: &Lease) -> Option<Outcome> {
        let values = self.values(lease).await?;
        let mut pages = self.ledger.pages();
        let (step, label) = (lease.step.to_string(), lease.label.clone());
        let before = RanCommand { step, label, config: Value::Null };
        let ran = vec![before; pages.earlier_commands(lease)];
        let outcome = ScriptedWorker { ran }.run(lease, &|payload| match payload {
            Payload::Inline(value) => Arc::clone(value),
            Payload::Ref(reference) => Arc::clone(&values[&reference.digest]),
        });
        let key = (lease.execution, lease.command, lease.attempt);
        let ran = ledger::ToolRun { worker: self.id.clone(), outcome: outcome.clone() };
        let runs = pages.runs.entry(key).or_default();
        runs.push(ran);
        if runs.len() > 1 && !pages.restored {
            pages.complaints.push(format!("{key:?} was leased twice"));
        }
        Some(outcome)
    }

    /// Loads the large values that a lease refers to. Returns `None` once the world closes.
    async fn values(&self, lease: &Lease) -> Option<BTreeMap<Digest, Arc<Value>>> {
        let mut values = BTreeMap::new();
        for payload in lease.bindings.0.values() {
            let Payload::Ref(reference) = payload else { continue };
            let value = self.value(reference.digest).await?;
            values.insert(reference.digest, value);
        }
        Some(values)
    }

    async fn value(&self, digest: Digest) -> Option<Arc<Value>> {
        while !self.closing.is_cancelled() {
            match self.fleet.ask(async |control: Control| control.payload(digest).await).await {
                Some(Ok(value)) => return Some(value),
                Some(Err(error @ (PayloadError::Missing(_) | PayloadError::Damaged(_)))) => {
                    let mut pages = self.ledger.pages();
                    if !pages.restored {
                        pages.complaints.push(error.to_string());
                    }
                    return None;
                }
                Some(Err(PayloadError::Unavailable(_))) | None => {}
            }
        }
        None
    }

    /// Reports until there is an answer, and returns the next lease if one comes with it.
    async fn report(&self, report: &Report) -> Option<Lease> {
        while !self.closing.is_cancelled() {
            let answer = self.fleet.ask(async |control| control.report(report.clone()).await).await;
            if let Some(Ok(answer)) = answer {
                let key = (report.execution, report.command, report.attempt);
                let (answer, next) = match answer {
                    ReportAnswer::Continued(next) => (ReportAnswer::Accepted, Some(*next)),
                    ReportAnswer::Accepted
                    | ReportAnswer::Superseded
                    | ReportAnswer::Unknown
                    | ReportAnswer::Refused { .. } => (answer, None),
                };
                self.ledger.pages().answered(key, answer);
                return next;
            }
        }
        None
    }
}
