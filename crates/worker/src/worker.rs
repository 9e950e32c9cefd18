//! The main loop of a worker: lease commands while slots are free, run them, drain on shutdown.

use std::sync::Arc;
use std::time::Duration;

use noetl_api::{ControlError, ControlPlane, LeaseRequest, WorkerNotice};
use noetl_model::{Lease, LeaseScope, Pool, Report, WorkerId};
use noetl_tools::{CallMemory, Registry};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::attend;
use crate::backoff::Backoff;
use crate::holding::{Assigned, HeldCommands};
use crate::logs::{LiveLogs, LogSender};
use crate::report::{QueuedReport, Reporter, WAITING_MAX};
use crate::run::{self, Done};

/// The time for which a slot runs follow-up commands of an execution before it goes to other executions.
const FOLLOW_UP_MAX: Duration = Duration::from_millis(250);
/// The number of slots from which one of them is kept for idle executions.
const RESERVE_FROM: usize = 16;
/// The most commands leased in one call.
const LEASES_MAX: usize = 256;
/// The time within which tools stop after they are cancelled.
const STOP_WAIT: Duration = Duration::from_secs(5);
/// Timeout of releasing the remaining leases.
const RELEASE_WAIT: Duration = Duration::from_secs(5);
/// Timeout of the last reports.
const LAST_REPORTS_WAIT: Duration = Duration::from_secs(10);

/// The settings of a worker.
#[derive(Debug, Clone)]
pub struct WorkerSettings {
    pub id: WorkerId,
    /// The pool from which commands are leased.
    pub pool: Pool,
    /// The number of commands run concurrently.
    pub concurrency: usize,
    /// Interval of the heartbeats.
    pub heartbeat: Duration,
    /// Interval of the notices by which the control plane lists this worker; `None` to send none.
    pub announce: Option<Duration>,
    /// The time for which a lease request waits for work.
    pub lease_wait: Duration,
    /// The time for which running commands may go on after shutdown begins.
    pub drain: Duration,
}

impl WorkerSettings {
    /// The default settings: the shared pool, a heartbeat every 10 s.
    pub fn new(id: WorkerId, concurrency: usize) -> Self {
        Self {
            id,
            pool: Pool::shared(),
            concurrency,
            heartbeat: Duration::from_secs(10),
            announce: Some(Duration::from_secs(15)),
            lease_wait: Duration::from_secs(20),
            drain: Duration::from_secs(30),
        }
    }
}

/// Leases commands from a control plane, runs them and reports their outcomes.
pub struct Worker {
    control: Arc<dyn ControlPlane>,
    registry: Arc<Registry>,
    holding: Arc<HeldCommands>,
    logs: Arc<LiveLogs>,
    settings: WorkerSettings,
}

/// The parts of the worker that each command's task uses.
struct CommandRunner {
    control: Arc<dyn ControlPlane>,
    registry: Arc<Registry>,
    logs: Arc<LiveLogs>,
    worker: WorkerId,
    pool: Pool,
    reports: mpsc::Sender<QueuedReport>,
    shutdown: CancellationToken,
}

impl Worker {
    pub fn new(
        control: Arc<dyn ControlPlane>,
        registry: Registry,
        settings: WorkerSettings,
    ) -> Self {
        let (holding, logs) = (Arc::default(), Arc::default());
        Self { control, registry: Arc::new(registry), holding, logs, settings }
    }

    /// Works until `shutdown`, lets running commands finish within the drain time, then releases
    /// the remaining leases.
    pub async fn run(&self, shutdown: CancellationToken) {
        let mut attendants = JoinSet::new();
        attendants.spawn(attend::heartbeat(
            self.control.clone(),
            self.settings.id.clone(),
            self.holding.clone(),
            self.settings.heartbeat,
        ));
        if let Some(interval) = self.settings.announce {
            let notice = WorkerNotice {
                worker: self.settings.id.clone(),
                pool: self.settings.pool.clone(),
                slots: self.settings.concurrency.max(1),
            };
            attendants.spawn(attend::announce(self.control.clone(), notice, interval));
        }
        attendants
            .spawn(attend::watch_cancellations(self.control.cancellations(), self.holding.clone()));
        attendants.spawn(LogSender::new(self.control.clone(), self.logs.clone()).run());
        let (reports, waiting) = mpsc::channel(WAITING_MAX);
        let reporter = Reporter { control: self.control.clone(), holding: self.holding.clone() };
        let mut reporting = JoinSet::new();
        reporting.spawn(reporter.run(waiting));

        let tasks = self.lease_until(&shutdown, reports).await;
        self.drain(tasks).await;
        let reported = tokio::time::timeout(LAST_REPORTS_WAIT, reporting.join_next()).await;
        if reported.is_err() {
            tracing::warn!("the last reports were not answered");
        }
        // Nothing runs here any more, so other workers may take the remaining leases.
        attendants.shutdown().await;
        let released = self.control.release(&self.settings.id);
        if !matches!(tokio::time::timeout(RELEASE_WAIT, released).await, Ok(Ok(()))) {
            tracing::warn!("cannot release the remaining leases; they will expire");
        }
    }

    /// Leases commands as slots become free; returns the tasks still running at shutdown.
    async fn lease_until(
        &self,
        shutdown: &CancellationToken,
        reports: mpsc::Sender<QueuedReport>,
    ) -> JoinSet<()> {
        let runner = Arc::new(CommandRunner {
            control: self.control.clone(),
            registry: self.registry.clone(),
            logs: self.logs.clone(),
            worker: self.settings.id.clone(),
            pool: self.settings.pool.clone(),
            reports,
            shutdown: shutdown.clone(),
        });
        let reserved = usize::from(self.settings.concurrency >= RESERVE_FROM);
        let slots = Semaphore::new(self.settings.concurrency.max(1) - reserved);
        let tasks = Mutex::new(JoinSet::new());
        tokio::join!(
            self.keep_leasing(&runner, LeaseScope::All, slots, &tasks),
            self.keep_leasing(&runner, LeaseScope::Idle, Semaphore::new(reserved), &tasks),
        );
        tasks.into_inner()
    }

    /// Leases commands for free slots and spawns their tasks, until shutdown.
    async fn keep_leasing(
        &self,
        runner: &Arc<CommandRunner>,
        scope: LeaseScope,
        slots: Semaphore,
        tasks: &Mutex<JoinSet<()>>,
    ) {
        let slots = Arc::new(slots);
        let mut backoff = Backoff::new();
        loop {
            let leasing = async {
                let free = free_slots(&slots).await;
                let leases = self.lease(scope, free.len()).await;
                (free, leases)
            };
            let (free, leases) = tokio::select! {
                biased;
                leased = leasing => leased,
                () = runner.shutdown.cancelled() => return,
            };
            let mut tasks = tasks.lock().await;
            while tasks.try_join_next().is_some() {}
            match leases {
                Ok(leases) => {
                    backoff = Backoff::new();
                    for (lease, slot) in leases.into_iter().zip(free) {
                        // Registered as held before the task first runs, so that no heartbeat
                        // misses the command.
                        let assigned = self.holding.assign(lease);
                        tasks.spawn(runner.clone().run_commands(assigned, slot));
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot request leases; will retry");
                    drop((free, tasks));
                    tokio::select! {
                        () = backoff.wait() => {}
                        () = runner.shutdown.cancelled() => return,
                    }
                }
            }
        }
    }

    async fn lease(&self, scope: LeaseScope, max: usize) -> Result<Vec<Lease>, ControlError> {
        let request = LeaseRequest {
            worker: self.settings.id.clone(),
            pool: self.settings.pool.clone(),
            scope,
            max,
            wait: self.settings.lease_wait,
        };
        self.control.lease(request).await
    }

    /// Waits for the running commands; stops them if the drain time has passed.
    async fn drain(&self, mut tasks: JoinSet<()>) {
        let finished = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(self.settings.drain, finished).await.is_ok() {
            return;
        }
        tracing::warn!(commands = tasks.len(), "stopping commands that did not finish in time");
        self.holding.lose_all();
        let stopped = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_WAIT, stopped).await.is_err() {
            tasks.shutdown().await;
        }
    }
}

impl CommandRunner {
    /// Runs a command and reports it, then runs follow-up commands for up to `FOLLOW_UP_MAX`, then
    /// frees the slot.
    async fn run_commands(self: Arc<Self>, assigned: Assigned, slot: OwnedSemaphorePermit) {
        let begun = Instant::now();
        let mut assigned = Some(assigned);
        while let Some(Assigned { lease, lost }) = assigned.take() {
            let shared = (&self.logs, &lost);
            let run = run::run(self.control.as_ref(), &self.registry, &self.worker, lease, shared);
            let Some(Done { report, memory }) = run.await else { break };
            let goes_on = begun.elapsed() < FOLLOW_UP_MAX && !self.shutdown.is_cancelled();
            assigned = if goes_on {
                let report = Report { next: Some(self.pool.clone()), ..report };
                self.report_and_continue(report, memory).await
            } else {
                self.hand_in(QueuedReport { report, memory, next: None }).await;
                None
            };
        }
        drop(slot);
    }

    /// Sends a report and waits for the follow-up command; `None` if there is none or the worker
    /// stops.
    async fn report_and_continue(&self, report: Report, memory: CallMemory) -> Option<Assigned> {
        let (next, following) = oneshot::channel();
        self.hand_in(QueuedReport { report, memory, next: Some(next) }).await;
        self.shutdown.run_until_cancelled(following).await?.ok()
    }

    async fn hand_in(&self, handed_in: QueuedReport) {
        // The channel is closed only if the worker gave up on its last reports.
        let _gone = self.reports.send(handed_in).await;
    }
}

/// Waits for a free slot, then returns all free slots.
async fn free_slots(slots: &Arc<Semaphore>) -> Vec<OwnedSemaphorePermit> {
    let first = slots.clone().acquire_owned().await.expect("the semaphore is never closed");
    let mut free = vec![first];
    while free.len() < LEASES_MAX
        && let Ok(slot) = slots.clone().try_acquire_owned()
    {
        free.push(slot);
    }
    free
}

#[cfg(test)]
mod tests;
