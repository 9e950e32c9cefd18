//! The worker's life: lease while there is room, run, and at the end finish what was begun.

use std::sync::Arc;
use std::time::Duration;

use noetl_api::{ControlError, ControlPlane, LeaseRequest, WorkerNotice};
use noetl_model::{Lease, Pool, Report, WorkerId};
use noetl_tools::{CallMemory, Registry};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::attend;
use crate::backoff::Backoff;
use crate::holding::{Assigned, Holding};
use crate::report::{HandedIn, Reporter, WAITING_MAX};
use crate::run::{self, Done};

/// How long a slot goes on with what follows in an execution before others get their turn.
const GO_ON_MAX: Duration = Duration::from_millis(250);
/// How many commands are leased in one call.
const LEASES_MAX: usize = 256;
/// How long tools may take to stop once they are told to.
const STOP_WAIT: Duration = Duration::from_secs(5);
/// How long giving back what is left may take.
const RELEASE_WAIT: Duration = Duration::from_secs(5);
/// How long the last reports may take.
const LAST_REPORTS_WAIT: Duration = Duration::from_secs(10);

/// How a worker works.
#[derive(Debug, Clone)]
pub struct Settings {
    pub id: WorkerId,
    /// Whose commands it takes.
    pub pool: Pool,
    /// How many commands it runs at once.
    pub concurrency: usize,
    /// How often it says that it is alive.
    pub heartbeat: Duration,
    /// How often it tells the control plane about itself; `None` if it does not.
    pub announce: Option<Duration>,
    /// How long it waits for work before it asks again.
    pub lease_wait: Duration,
    /// How long running commands may go on once it is told to stop.
    pub drain: Duration,
}

impl Settings {
    /// The usual settings: the shared pool, a heartbeat every 10 s.
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

/// Takes commands from a control plane and runs them.
pub struct Worker {
    control: Arc<dyn ControlPlane>,
    registry: Arc<Registry>,
    holding: Arc<Holding>,
    settings: Settings,
}

/// What a command's task needs of its worker.
struct Desk {
    control: Arc<dyn ControlPlane>,
    registry: Arc<Registry>,
    worker: WorkerId,
    pool: Pool,
    reports: mpsc::Sender<HandedIn>,
    shutdown: CancellationToken,
}

impl Worker {
    pub fn new(control: Arc<dyn ControlPlane>, registry: Registry, settings: Settings) -> Self {
        Self { control, registry: Arc::new(registry), holding: Arc::default(), settings }
    }

    /// Works until `shutdown`, then finishes what runs, within the drain time, and gives the rest back.
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
            .spawn(attend::hear_cancellations(self.control.cancellations(), self.holding.clone()));
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
        // Nothing runs here any more: what is still leased is for others.
        attendants.shutdown().await;
        let released = self.control.release(&self.settings.id);
        if !matches!(tokio::time::timeout(RELEASE_WAIT, released).await, Ok(Ok(()))) {
            tracing::warn!("what was left could not be given back; its leases will run out");
        }
    }

    /// Leases commands as slots become free; gives the tasks that still run at the end.
    async fn lease_until(
        &self,
        shutdown: &CancellationToken,
        reports: mpsc::Sender<HandedIn>,
    ) -> JoinSet<()> {
        let desk = Arc::new(Desk {
            control: self.control.clone(),
            registry: self.registry.clone(),
            worker: self.settings.id.clone(),
            pool: self.settings.pool.clone(),
            reports,
            shutdown: shutdown.clone(),
        });
        let slots = Arc::new(Semaphore::new(self.settings.concurrency.max(1)));
        let mut tasks = JoinSet::new();
        let mut backoff = Backoff::new();
        loop {
            let leasing = async {
                let free = free_slots(&slots).await;
                let leases = self.lease(free.len()).await;
                (free, leases)
            };
            let (free, leases) = tokio::select! {
                biased;
                leased = leasing => leased,
                () = shutdown.cancelled() => return tasks,
            };
            while tasks.try_join_next().is_some() {}
            match leases {
                Ok(leases) => {
                    backoff = Backoff::new();
                    for (lease, slot) in leases.into_iter().zip(free) {
                        // Held before the task first runs, so that no heartbeat misses it.
                        let assigned = self.holding.assign(lease);
                        tasks.spawn(desk.clone().carry_out(assigned, slot));
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "no lease, will ask again");
                    drop(free);
                    tokio::select! {
                        () = backoff.wait() => {}
                        () = shutdown.cancelled() => return tasks,
                    }
                }
            }
        }
    }

    async fn lease(&self, max: usize) -> Result<Vec<Lease>, ControlError> {
        let request = LeaseRequest {
            worker: self.settings.id.clone(),
            pool: self.settings.pool.clone(),
            max,
            wait: self.settings.lease_wait,
        };
        self.control.lease(request).await
    }

    /// Waits for what runs; beyond the drain time, stops it.
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

impl Desk {
    /// Runs a command, hands in its report, and goes on with what follows as long as it is the slot's
    /// turn; the slot is free again after that.
    async fn carry_out(self: Arc<Self>, assigned: Assigned, slot: OwnedSemaphorePermit) {
        let begun = Instant::now();
        let mut assigned = Some(assigned);
        while let Some(Assigned { lease, lost }) = assigned.take() {
            let run = run::run(self.control.as_ref(), &self.registry, &self.worker, lease, &lost);
            let Some(Done { report, memory }) = run.await else { break };
            let goes_on = begun.elapsed() < GO_ON_MAX && !self.shutdown.is_cancelled();
            assigned = if goes_on {
                let report = Report { next: Some(self.pool.clone()), ..report };
                self.hand_in_for_more(report, memory).await
            } else {
                self.hand_in(HandedIn { report, memory, next: None }).await;
                None
            };
        }
        drop(slot);
    }

    /// Hands in a report and waits for what follows, if anything does and the worker is not to stop.
    async fn hand_in_for_more(&self, report: Report, memory: CallMemory) -> Option<Assigned> {
        let (next, following) = oneshot::channel();
        self.hand_in(HandedIn { report, memory, next: Some(next) }).await;
        self.shutdown.run_until_cancelled(following).await?.ok()
    }

    async fn hand_in(&self, handed_in: HandedIn) {
        // The reporter is gone only when the worker gave up on its reports.
        let _gone = self.reports.send(handed_in).await;
    }
}

/// All free slots, once there is one.
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
