//! Tests of control planes on an in-memory store with simulated time: the whole crate without
//! network and disk.

mod admission;
mod cached;
mod children;
mod clocks;
mod fairness;
mod faulty;
mod forks;
mod holds;
mod idle_workers;
mod interleavings;
mod leases;
mod life;
mod limits;
mod notifying;
mod parked;
mod races;
mod rewinds;
mod schedules;
mod slow;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use noetl_bus::LocalBus;
use noetl_model::{
    ChildExecutions, Digest, ExecutionId, ExecutionStatus, IdGenerator, Lease, Outcome, Payload,
    Pool, Recorded, Report, Seq, Timestamp, WorkerId,
};
use noetl_store::{Clock, MemoryStore, Store};
use noetl_testkit::{ScriptedWorker, history_line};
use serde_json::{Map, Value};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{Control, ControlSettings, PlaybookChoice, StartRequest};

/// The time a worker waits for a command; free in simulated time.
const WAIT: Duration = Duration::from_secs(1);
/// The number of empty polls after which an execution counts as stuck.
const LOOKS_MAX: u32 = 200;

/// The clock of the runtime, which tests pause.
struct SimulatedClock {
    begun: Instant,
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000).after(self.begun.elapsed())
    }
}

/// The store, bus and clock, which outlive a control plane.
struct World {
    store: Arc<MemoryStore>,
    bus: Arc<LocalBus>,
    clock: Arc<SimulatedClock>,
    machines: std::cell::Cell<u16>,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(SimulatedClock { begun: Instant::now() });
        Self {
            store: Arc::new(MemoryStore::new(clock.clone())),
            bus: Arc::new(LocalBus::new()),
            clock,
            machines: std::cell::Cell::new(0),
        }
    }

    /// Creates a control plane with its own caches.
    fn control(&self) -> Control {
        self.control_on(self.store.clone(), ControlSettings::default())
    }

    fn control_on(&self, store: Arc<dyn Store>, settings: ControlSettings) -> Control {
        self.machines.update(|machine| machine + 1);
        let ids = Arc::new(IdGenerator::new(self.machines.get()));
        Control::new(store, self.bus.clone(), self.clock.clone(), ids, settings)
    }

    /// Creates a control plane and runs its loops.
    fn running(&self) -> Running {
        Running::of(self.control())
    }
}

/// A control plane and its loops.
struct Running {
    control: Control,
    stop: CancellationToken,
    loops: JoinHandle<()>,
}

impl Running {
    fn of(control: Control) -> Self {
        let stop = CancellationToken::new();
        let loops = tokio::spawn({
            let (control, stop) = (control.clone(), stop.clone());
            async move { control.run(stop).await }
        });
        Self { control, stop, loops }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.loops.await.expect("the loops end in order");
    }
}

/// Registers a workflow in YAML as the playbook `p`.
async fn register(control: &Control, workflow: &str) {
    register_at(control, "p", workflow).await;
}

async fn register_at(control: &Control, path: &str, workflow: &str) {
    let document = format!(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: {path}, path: {path}}}\n{workflow}"
    );
    if let Err(error) = control.register("p.yaml", &document).await {
        panic!("the playbook is not valid: {error:?}");
    }
}

fn by_path(path: &str) -> PlaybookChoice {
    PlaybookChoice::Path { path: path.to_owned(), version: None }
}

async fn start(control: &Control) -> ExecutionId {
    start_with(control, Map::new()).await
}

async fn start_with(control: &Control, payload: Map<String, Value>) -> ExecutionId {
    control.start(StartRequest::new(by_path("p"), payload)).await.expect("a start")
}

/// Leases available commands, waiting a while for the first.
async fn lease(control: &Control, worker: &str, max: usize) -> Vec<Lease> {
    control.lease(&WorkerId::new(worker), &Pool::shared(), max, WAIT).await.expect("leases")
}

fn report(lease: &Lease, worker: &str, outcome: Outcome) -> Report {
    Report {
        execution: lease.execution,
        command: lease.command,
        attempt: lease.attempt,
        worker: WorkerId::new(worker),
        outcome,
        logs: noetl_model::Logs::default(),
        next: None,
    }
}

fn completed(output: Value) -> Outcome {
    Outcome::completed(output)
}

/// Runs a leased command as its configuration says.
async fn run(control: &Control, lease: &Lease, worker: &mut ScriptedWorker) -> Outcome {
    let mut stored = BTreeMap::<Digest, Arc<Value>>::new();
    for payload in lease.bindings.0.values() {
        if let Payload::Ref(reference) = payload {
            let value = control.payload(reference.digest).await.expect("a stored payload");
            stored.insert(reference.digest, value);
        }
    }
    worker.run(lease, &|payload| match payload {
        Payload::Inline(value) => value.clone(),
        Payload::Ref(reference) => stored[&reference.digest].clone(),
    })
}

/// Runs commands until an execution has ended, reporting each batch of leases together.
async fn work(control: &Control, execution: ExecutionId) -> ExecutionStatus {
    let mut worker = ScriptedWorker::default();
    for _ in 0..LOOKS_MAX {
        if let Some(status) = ended(control, execution).await {
            return status;
        }
        let mut reports = Vec::new();
        for leased in lease(control, "w", 10).await {
            let outcome = run(control, &leased, &mut worker).await;
            reports.push(report(&leased, "w", outcome));
        }
        for answer in control.report_all(reports).await {
            answer.expect("an answer");
        }
    }
    panic!("stuck:\n{}", history(control, execution).await);
}

async fn ended(control: &Control, execution: ExecutionId) -> Option<ExecutionStatus> {
    let summary = control.summary(execution).await.expect("a summary");
    let status = summary.expect("the execution exists").status;
    status.is_terminal().then_some(status)
}

async fn log(control: &Control, execution: ExecutionId) -> Vec<Recorded> {
    control.events(execution, Seq::ZERO, usize::MAX).await.expect("events")
}

/// Returns the history of an execution, a line per event, without claims and start.
async fn history(control: &Control, execution: ExecutionId) -> String {
    let resolve = |payload: &Payload| match payload {
        Payload::Inline(value) => value.clone(),
        Payload::Ref(reference) => Arc::new(Value::from(format!("<{} bytes>", reference.size))),
    };
    let log = log(control, execution).await;
    log.iter().filter_map(|recorded| history_line(&recorded.event, &resolve)).collect()
}
