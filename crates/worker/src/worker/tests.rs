use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use noetl_api::Cancellation;
use noetl_model::{
    Attempt, Bindings, CommandId, Digest, ExecutionId, HeartbeatAnswer, Held, LostReason, Outcome,
    Payload, PayloadRef, ReportAnswer, StepName, Timestamp, ToolKind,
};
use noetl_tools::{Call, Tool, ToolResult};
use serde_json::{Value, json};
use tokio::sync::{Notify, broadcast};
use tokio::task::JoinHandle;

use super::*;

const EXECUTION: ExecutionId = ExecutionId(7);

/// A fake control plane: leases the queued commands and records every call.
struct Control {
    queue: Mutex<VecDeque<Lease>>,
    /// Leases returned with the answer to a report that asks for a next command.
    following: Mutex<VecDeque<Lease>>,
    reports: Mutex<Vec<Report>>,
    /// The number of reports in each answered call.
    batches: Mutex<Vec<usize>>,
    /// The notices that workers have sent about themselves.
    announced: Mutex<Vec<WorkerNotice>>,
    heartbeats: AtomicUsize,
    lost: Mutex<BTreeSet<CommandId>>,
    /// The workers that released their leases, each with the number of reports received by then.
    released: Mutex<Vec<(WorkerId, usize)>>,
    payloads: BTreeMap<String, Arc<Value>>,
    /// The number of calls that fail before one is answered.
    outages: AtomicUsize,
    changed: Notify,
    cancellations: broadcast::Sender<Cancellation>,
}

impl Control {
    fn new(leases: Vec<Lease>) -> Arc<Self> {
        Self::with_payloads(leases, BTreeMap::new())
    }

    fn with_payloads(leases: Vec<Lease>, payloads: BTreeMap<String, Arc<Value>>) -> Arc<Self> {
        Arc::new(Self {
            queue: Mutex::new(leases.into()),
            following: Mutex::default(),
            reports: Mutex::default(),
            batches: Mutex::default(),
            announced: Mutex::default(),
            heartbeats: AtomicUsize::new(0),
            lost: Mutex::default(),
            released: Mutex::default(),
            payloads,
            outages: AtomicUsize::new(0),
            changed: Notify::new(),
            cancellations: broadcast::channel(16).0,
        })
    }

    fn check_available(&self) -> Result<(), ControlError> {
        let failing = self
            .outages
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match failing {
            Ok(_) => Err(ControlError::unavailable("out for lunch")),
            Err(_) => Ok(()),
        }
    }

    /// Waits until `count` commands are reported; returns the outcomes by command.
    async fn reported(&self, count: usize) -> BTreeMap<u64, Outcome> {
        self.until(|| count <= self.reports.lock().unwrap().len()).await;
        let reports = self.reports.lock().unwrap();
        reports.iter().map(|report| (report.command.0, report.outcome.clone())).collect()
    }

    async fn until(&self, holds: impl Fn() -> bool) {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if holds() {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("it comes to pass");
    }
}

#[async_trait]
impl ControlPlane for Control {
    async fn lease(&self, request: LeaseRequest) -> Result<Vec<Lease>, ControlError> {
        self.check_available()?;
        let leases: Vec<Lease> = {
            let mut queue = self.queue.lock().unwrap();
            let count = request.max.min(queue.len());
            queue.drain(..count).collect()
        };
        if leases.is_empty() {
            tokio::time::sleep(request.wait).await;
        }
        self.changed.notify_waiters();
        Ok(leases)
    }

    async fn heartbeat(
        &self,
        _worker: &WorkerId,
        held: &[Held],
    ) -> Result<Vec<HeartbeatAnswer>, ControlError> {
        self.heartbeats.fetch_add(1, Ordering::SeqCst);
        self.changed.notify_waiters();
        let lost = self.lost.lock().unwrap();
        let answer = |held: &Held| match lost.contains(&held.command) {
            true => HeartbeatAnswer::Lost(LostReason::Superseded),
            false => HeartbeatAnswer::Extended { until: Timestamp::from_millis(0) },
        };
        Ok(held.iter().map(answer).collect())
    }

    async fn announce(&self, notice: &WorkerNotice) -> Result<(), ControlError> {
        self.announced.lock().unwrap().push(notice.clone());
        self.changed.notify_waiters();
        Ok(())
    }

    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportAnswer>, ControlError> {
        self.check_available()?;
        self.batches.lock().unwrap().push(reports.len());
        let mut answers = Vec::new();
        for report in reports {
            let too_large = matches!(&report.outcome,
                Outcome::Completed { output } if 1000 < output.to_string().len());
            if too_large {
                answers.push(ReportAnswer::Refused { reason: "too large".into() });
            } else {
                let mut following = self.following.lock().unwrap();
                let next = report.next.as_ref().and_then(|_| following.pop_front());
                answers.push(next.map_or(ReportAnswer::Accepted, |lease| {
                    ReportAnswer::Continued(Box::new(lease))
                }));
                self.reports.lock().unwrap().push(report.clone());
            }
        }
        self.changed.notify_waiters();
        Ok(answers)
    }

    async fn payload(&self, _: Held, reference: &PayloadRef) -> Result<Arc<Value>, ControlError> {
        self.check_available()?;
        let found = self.payloads.get(&reference.digest.to_string());
        found.cloned().ok_or(ControlError::PayloadMissing(*reference))
    }

    async fn release(&self, worker: &WorkerId) -> Result<(), ControlError> {
        let reports = self.reports.lock().unwrap().len();
        self.released.lock().unwrap().push((worker.clone(), reports));
        Ok(())
    }

    fn cancellations(&self) -> broadcast::Receiver<Cancellation> {
        self.cancellations.subscribe()
    }
}

/// A tool that blocks until the gate opens, and counts its running calls.
struct Gate {
    control: Arc<Control>,
    open: Arc<Semaphore>,
    running: Arc<AtomicUsize>,
}

#[async_trait]
impl Tool for Gate {
    async fn run(&self, call: &Call) -> ToolResult {
        self.running.fetch_add(1, Ordering::SeqCst);
        self.control.changed.notify_waiters();
        tokio::select! {
            passed = self.open.acquire() => passed.expect("never closed").forget(),
            () = call.cancel.cancelled() => {}
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        self.control.changed.notify_waiters();
        ToolResult::completed(json!("passed"))
    }
}

struct Panics;

#[async_trait]
impl Tool for Panics {
    async fn run(&self, _call: &Call) -> ToolResult {
        panic!("out of cheese")
    }
}

fn lease(command: u64, tool: ToolKind, config: Value) -> Lease {
    Lease {
        execution: EXECUTION,
        command: CommandId(command),
        attempt: Attempt(1),
        lease_until: Timestamp::from_millis(0),
        step: StepName::new("step"),
        label: "step".into(),
        tool,
        config,
        bindings: Bindings::default(),
        is_strict: false,
        timeout_ms: None,
        idempotency_key: format!("7-{command}"),
        key_attempt: 1,
        item: None,
        trace: None,
        secrets: noetl_model::OpenedSecrets::default(),
        secret: None,
    }
}

fn noop(command: u64, result: Value) -> Lease {
    lease(command, ToolKind::Noop, json!({"result": result}))
}

fn completed(output: Value) -> Outcome {
    Outcome::completed(output)
}

fn message(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Completed { .. } => "completed",
        Outcome::Failed { error, .. } => &error.message,
    }
}

/// A running worker, with [`Gate`] as the tool kind `wasm` and [`Panics`] as `agent`.
struct Running {
    control: Arc<Control>,
    open: Arc<Semaphore>,
    at_gate: Arc<AtomicUsize>,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    fn start(control: &Arc<Control>, change: impl FnOnce(&mut WorkerSettings)) -> Self {
        let (open, at_gate) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
        let gate = Gate { control: control.clone(), open: open.clone(), running: at_gate.clone() };
        let registry =
            Registry::standard(noetl_tools::ToolSettings::from_environment(std::env::vars()))
                .with(ToolKind::Wasm, gate)
                .with(ToolKind::Agent, Panics);
        let mut settings = WorkerSettings::new(WorkerId::new("w1"), 4);
        settings.heartbeat = Duration::from_millis(10);
        settings.lease_wait = Duration::from_millis(10);
        change(&mut settings);
        let worker = Worker::new(control.clone(), registry, settings);
        let shutdown = CancellationToken::new();
        let task = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { worker.run(shutdown).await }
        });
        Self { control: control.clone(), open, at_gate, shutdown, task }
    }

    async fn stop(self) {
        self.shutdown.cancel();
        self.task.await.unwrap();
    }

    async fn until_at_gate(&self, count: usize) {
        self.control.until(|| self.at_gate.load(Ordering::SeqCst) == count).await;
    }
}

#[tokio::test]
async fn commands_are_run_with_their_values_and_reported() {
    let far = Arc::new(json!({"rows": [1, 2]}));
    let digest = Digest::of(far.to_string().as_bytes());
    let mut first = noop(1, json!("{{ name }} {{ start.rows | length }}"));
    first.bindings.0.insert("name".into(), Payload::inline(json!("ann")));
    first.bindings.0.insert("start".into(), Payload::Ref(PayloadRef { digest, size: 14 }));
    let mut second = noop(2, json!("{{ start }}"));
    let missing = PayloadRef { digest: Digest::of(b"gone"), size: 4 };
    second.bindings.0.insert("start".into(), Payload::Ref(missing));
    let payloads = BTreeMap::from([(digest.to_string(), far)]);
    let control = Control::with_payloads(vec![first, second], payloads);
    let worker = Running::start(&control, |_| {});
    let outcomes = control.reported(2).await;
    assert_eq!(outcomes[&1], completed(json!("ann 2")));
    let told = message(&outcomes[&2]);
    assert!(told.starts_with("cannot fetch the value of `start`: there is no payload"), "{told}");
    worker.stop().await;
}

#[tokio::test]
async fn a_slot_goes_on_with_what_follows() {
    let control = Control::new(vec![noop(1, json!(1))]);
    *control.following.lock().unwrap() = (2..=5).map(|command| noop(command, json!(1))).collect();
    let worker = Running::start(&control, |settings| settings.concurrency = 1);
    assert_eq!(control.reported(5).await.len(), 5);
    worker.stop().await;
}

#[tokio::test]
async fn a_stopping_worker_does_not_lease_more() {
    let control = Control::new(vec![lease(1, ToolKind::Wasm, json!({}))]);
    control.following.lock().unwrap().push_back(noop(2, json!(1)));
    let worker = Running::start(&control, |_| {});
    worker.until_at_gate(1).await;
    worker.shutdown.cancel();
    worker.open.add_permits(1);
    assert_eq!(control.reported(1).await.len(), 1);
    worker.stop().await;
    assert_eq!(control.following.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_stopping_worker_does_not_wait_for_the_next_command() {
    let control = Control::new(vec![lease(1, ToolKind::Wasm, json!({}))]);
    control.following.lock().unwrap().push_back(noop(2, json!(1)));
    let worker = Running::start(&control, |settings| settings.lease_wait = Duration::from_secs(60));
    worker.until_at_gate(1).await;
    control.outages.store(usize::MAX, Ordering::SeqCst);
    worker.open.add_permits(1);
    control.until(|| control.outages.load(Ordering::SeqCst) < usize::MAX).await;
    worker.shutdown.cancel();
    control.outages.store(0, Ordering::SeqCst);
    assert_eq!(control.reported(1).await.len(), 1);
    worker.stop().await;
    assert_eq!(control.reports.lock().unwrap().len(), 1, "what came too late is not run");
}

#[tokio::test]
async fn a_worker_rides_out_an_unavailable_control_plane() {
    let control = Control::new(vec![noop(1, json!(1)), noop(2, json!(2))]);
    control.outages.store(3, Ordering::SeqCst);
    let worker = Running::start(&control, |_| {});
    control.reported(2).await;
    worker.stop().await;
}

#[tokio::test]
async fn a_report_is_repeated_until_it_is_answered_and_others_travel_with_it() {
    let leases = (1..=3).map(|command| lease(command, ToolKind::Wasm, json!({}))).collect();
    let control = Control::new(leases);
    let worker = Running::start(&control, |settings| settings.lease_wait = Duration::from_secs(60));
    worker.until_at_gate(3).await;
    control.outages.store(usize::MAX, Ordering::SeqCst);
    worker.open.add_permits(1);
    control.until(|| control.outages.load(Ordering::SeqCst) < usize::MAX).await;
    worker.open.add_permits(2);
    worker.until_at_gate(0).await;
    control.outages.store(0, Ordering::SeqCst);
    let outcomes = control.reported(3).await;
    assert!(outcomes.values().all(|outcome| *outcome == completed(json!("passed"))));
    let mut batches = control.batches.lock().unwrap().clone();
    batches.sort_unstable();
    assert_eq!(batches, [1, 2]);
    worker.stop().await;
}

#[tokio::test]
async fn a_report_that_is_refused_becomes_one_that_says_so() {
    let control = Control::new(vec![noop(1, json!("x".repeat(2000)))]);
    let worker = Running::start(&control, |_| {});
    let outcomes = control.reported(1).await;
    assert_eq!(message(&outcomes[&1]), "the control plane refused the report: too large");
    worker.stop().await;
}

#[tokio::test]
async fn a_tool_that_panics_has_failed() {
    let control = Control::new(vec![lease(1, ToolKind::Agent, json!({})), noop(2, json!(2))]);
    let worker = Running::start(&control, |settings| settings.concurrency = 1);
    let outcomes = control.reported(2).await;
    assert_eq!(message(&outcomes[&1]), "the tool `agent` panicked: out of cheese");
    assert_eq!(outcomes[&2], completed(json!(2)));
    worker.stop().await;
}

#[tokio::test]
async fn slots_are_kept_full_and_never_overfull() {
    let leases = (1..=10).map(|command| lease(command, ToolKind::Wasm, json!({}))).collect();
    let control = Control::new(leases);
    let worker = Running::start(&control, |_| {});
    for left in (4..=10).rev() {
        worker.until_at_gate(4).await;
        assert_eq!(control.queue.lock().unwrap().len(), left - 4);
        worker.open.add_permits(1);
        if 4 < left {
            control.until(|| control.queue.lock().unwrap().len() < left - 4).await;
        }
    }
    worker.open.add_permits(10);
    control.reported(10).await;
    worker.stop().await;
}

/// A shell command that writes the process id of its grandchild to `pid_file`, then waits for it.
fn with_grandchild(pid_file: &std::path::Path) -> Lease {
    let script = format!("sh -c 'sleep 600 & echo $! > {}; wait'", pid_file.display());
    lease(1, ToolKind::Shell, json!({"command": script}))
}

async fn written(pid_file: &std::path::Path) -> String {
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    loop {
        if let Ok(text) = std::fs::read_to_string(pid_file)
            && text.ends_with('\n')
        {
            return text.trim().to_owned();
        }
        assert!(std::time::Instant::now() < deadline, "the grandchild never ran");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn until_gone(pid: &str) {
    let deadline = std::time::Instant::now() + Duration::from_secs(5);
    let alive = || {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.contains(") Z "))
    };
    while alive() {
        assert!(std::time::Instant::now() < deadline, "process {pid} is still there");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_cancelled_command_is_gone_with_its_processes_and_is_not_reported() {
    let directory = tempfile::tempdir().unwrap();
    let pid_file = directory.path().join("pid");
    let control = Control::new(vec![with_grandchild(&pid_file)]);
    let worker = Running::start(&control, |settings| settings.heartbeat = Duration::from_secs(60));
    let pid = written(&pid_file).await;
    let cancelled = Cancellation { execution: EXECUTION, command: CommandId(1) };
    control.cancellations.send(cancelled).unwrap();
    until_gone(&pid).await;
    worker.stop().await;
    assert_eq!(*control.reports.lock().unwrap(), []);
}

#[tokio::test]
async fn a_command_that_a_heartbeat_reports_as_lost_is_stopped_and_not_reported() {
    let leases = (1..=2).map(|command| lease(command, ToolKind::Wasm, json!({}))).collect();
    let control = Control::new(leases);
    let worker = Running::start(&control, |_| {});
    worker.until_at_gate(2).await;
    control.lost.lock().unwrap().insert(CommandId(1));
    worker.until_at_gate(1).await;
    worker.open.add_permits(1);
    let outcomes = control.reported(1).await;
    worker.stop().await;
    assert_eq!(outcomes.keys().copied().collect::<Vec<_>>(), [2]);
}

#[tokio::test]
async fn a_command_is_held_until_its_report_is_answered() {
    let control = Control::new(vec![lease(1, ToolKind::Wasm, json!({}))]);
    let worker = Running::start(&control, |settings| settings.lease_wait = Duration::from_secs(60));
    worker.until_at_gate(1).await;
    control.outages.store(3, Ordering::SeqCst);
    worker.open.add_permits(1);
    worker.until_at_gate(0).await;
    let before = control.heartbeats.load(Ordering::SeqCst);
    control.until(|| before + 2 < control.heartbeats.load(Ordering::SeqCst)).await;
    assert!(control.reports.lock().unwrap().is_empty(), "heartbeats came before the report");
    control.reported(1).await;
    worker.stop().await;
}

#[tokio::test]
async fn a_stopping_worker_finishes_its_commands() {
    let leases = (1..=3).map(|command| lease(command, ToolKind::Wasm, json!({}))).collect();
    let control = Control::new(leases);
    let worker = Running::start(&control, |settings| settings.concurrency = 2);
    worker.until_at_gate(2).await;
    worker.shutdown.cancel();
    let before = control.heartbeats.load(Ordering::SeqCst);
    control.until(|| before + 2 < control.heartbeats.load(Ordering::SeqCst)).await;
    worker.open.add_permits(3);
    worker.stop().await;
    assert_eq!(control.reports.lock().unwrap().len(), 2);
    assert_eq!(control.queue.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_command_still_running_after_the_drain_is_stopped_and_left_to_its_lease() {
    let directory = tempfile::tempdir().unwrap();
    let pid_file = directory.path().join("pid");
    let control = Control::new(vec![with_grandchild(&pid_file)]);
    let worker = Running::start(&control, |settings| settings.drain = Duration::from_millis(20));
    let pid = written(&pid_file).await;
    worker.stop().await;
    until_gone(&pid).await;
    assert_eq!(*control.reports.lock().unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_worker_registers_itself_periodically() {
    let control = Control::new(Vec::new());
    let settings =
        WorkerSettings { pool: Pool::new("gpu"), ..WorkerSettings::new(WorkerId::new("w"), 3) };
    let registry =
        Registry::standard(noetl_tools::ToolSettings::from_environment(std::env::vars()));
    let worker = Worker::new(control.clone(), registry, settings);
    let running = tokio::spawn(async move { worker.run(CancellationToken::new()).await });
    tokio::time::sleep(Duration::from_secs(31)).await;
    running.abort();
    let notice = WorkerNotice { worker: WorkerId::new("w"), pool: Pool::new("gpu"), slots: 3 };
    assert_eq!(*control.announced.lock().unwrap(), [notice.clone(), notice.clone(), notice]);
}
