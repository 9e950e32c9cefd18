//! Tests of pauses, priorities and limits on several control planes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use noetl_engine::grant_slots;
use noetl_model::{CommandId, ErrorKind, Event, IndexKind, LimitName, Priority};
use noetl_store::{
    Access, Executions as _, LimitChange, PauseProgress, PauseRow, Pauses as _, SlotLimits as _,
    StoreError, Wrapper,
};

use super::*;
use crate::{PauseCaller, verify};

const WIDE: &str = r"
workflow:
  - step: start
    loop: {in: 12, iterator: it, spec: {mode: parallel}}
    limit: {name: crm, max: 2}
    tool: {kind: noop}
";

const SINGLE: &str = r"
executor: {spec: {concurrency: {limit: 2, on_conflict: queue}}}
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: second}]}
  - step: second
    tool: {kind: noop}
";

const SMALL: &str = r"
workflow:
  - step: start
    tool: {kind: noop}
";

fn ada() -> PauseCaller {
    PauseCaller { actor: Some("ada".to_owned()), reason: Some("repair".to_owned()) }
}

async fn started(control: &Control, path: &str) -> ExecutionId {
    control.start(StartRequest::new(by_path(path), Map::new())).await.expect("a start")
}

/// Returns the fault that a verification of an execution finds.
async fn fault_of(world: &World, execution: ExecutionId) -> Option<String> {
    let found = verify(&*world.store, execution, |_| ()).await.expect("an answer");
    found.expect("it exists").fault.map(|fault| fault.to_string())
}

/// The leases that are held now.
type HeldLeases = BTreeSet<(ExecutionId, CommandId)>;

/// Leases all that can be leased, checks the number of leases, and reports the oldest. Returns false
/// if there was nothing to do.
async fn round(control: &Control, held: &mut Vec<Lease>, max: usize) -> bool {
    held.extend(lease(control, "w", 100).await);
    let distinct: HeldLeases = held.iter().map(|it| (it.execution, it.command)).collect();
    assert!(distinct.len() <= max, "{} hold {max} slots", distinct.len());
    if held.is_empty() {
        return false;
    }
    let oldest = held.remove(0);
    control.report(report(&oldest, "w", completed(Value::Null))).await.expect("an answer");
    true
}

#[tokio::test(start_paused = true)]
async fn a_limit_holds_across_executions_and_control_planes() {
    let world = World::new();
    let (first, second) = (world.running(), world.running());
    register(&first.control, WIDE).await;
    let executions = [start(&first.control).await, start(&second.control).await];
    let mut held = Vec::new();
    let mut rounds = 0;
    while ended(&first.control, executions[0]).await.is_none()
        || ended(&first.control, executions[1]).await.is_none()
    {
        round(&first.control, &mut held, 2).await;
        round(&second.control, &mut held, 2).await;
        rounds += 1;
        assert!(rounds < 200, "stuck:\n{}", history(&first.control, executions[0]).await);
    }
    // Releases are messages that follow the end.
    tokio::time::sleep(WAIT).await;
    assert_eq!(world.store.held_slots(None, 10).await.expect("slots"), []);
    for execution in executions {
        assert_eq!(fault_of(&world, execution).await, None);
    }
    first.stop().await;
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_after_a_grant_loses_no_slot() {
    let world = World::new();
    let dying = world.running();
    register(&dying.control, SINGLE).await;
    let mut executions = Vec::new();
    for _ in 0..6 {
        executions.push(start(&dying.control).await);
    }
    // The first server ends before all grants are told.
    dying.stop.cancel();
    drop(dying);
    let other = world.running();
    for execution in executions {
        assert_eq!(work(&other.control, execution).await, ExecutionStatus::Completed);
    }
    other.stop().await;
}

#[tokio::test(start_paused = true)]
async fn executions_of_a_playbook_wait_for_their_turn_in_order_of_priority() {
    let world = World::new();
    let server = world.running();
    let control = &server.control;
    register(control, &SINGLE.replace("limit: 2", "limit: 1")).await;
    let first = start(control).await;
    tokio::time::sleep(WAIT).await;
    let second = start(control).await;
    let mut urgent = StartRequest::new(by_path("p"), Map::new());
    urgent.input.priority = Some(Priority::HIGHEST);
    let urgent = control.start(urgent).await.expect("a start");
    tokio::time::sleep(WAIT).await;
    let mut order = Vec::new();
    for _ in 0..6 {
        let leased = lease(control, "w", 10).await;
        assert_eq!(leased.len(), 1, "one execution runs at a time");
        order.push(leased[0].execution);
        control.report(report(&leased[0], "w", completed(Value::Null))).await.expect("an answer");
    }
    assert_eq!(order, [first, first, urgent, urgent, second, second]);
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_execution_that_finds_no_slot_is_skipped_fails_or_takes_the_place() {
    for (word, running, newer) in [
        ("skip", ExecutionStatus::Completed, ExecutionStatus::Cancelled),
        ("fail", ExecutionStatus::Completed, ExecutionStatus::Failed),
        ("cancel_running", ExecutionStatus::Cancelled, ExecutionStatus::Completed),
    ] {
        let world = World::new();
        let server = world.running();
        let control = &server.control;
        let single = SINGLE.replace("limit: 2", "limit: 1").replace("queue", word);
        register(control, &single).await;
        let first = start(control).await;
        tokio::time::sleep(WAIT).await;
        let second = start(control).await;
        tokio::time::sleep(WAIT).await;
        assert_eq!(work(control, second).await, newer, "{word}");
        assert_eq!(work(control, first).await, running, "{word}");
        if newer == ExecutionStatus::Failed {
            let summary = control.summary(second).await.expect("a summary").expect("it exists");
            assert_eq!(summary.error.map(|error| error.kind), Some(ErrorKind::Limit));
        }
        server.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_is_kept() {
    let world = World::new();
    let server = world.running();
    let control = &server.control;
    let rate = WIDE.replace("max: 2", "rate: 2, per: 1s, burst: 1");
    register(control, &rate).await;
    let begun = Instant::now();
    let execution = start(control).await;
    assert_eq!(work(control, execution).await, ExecutionStatus::Completed);
    // Twelve commands: one at once, the others half a second apart.
    let took = begun.elapsed().as_secs_f64();
    assert!((5.4..8.0).contains(&took), "{took}");
    server.stop().await;
}

/// A restored database of an execution has lost a grant of a rate that nobody keeps, and a restored
/// database of the limits has lost the request.
#[tokio::test(start_paused = true)]
async fn a_request_that_its_limit_has_lost_is_made_again_after_a_restart() {
    for amount in ["max: 1", "rate: 1, per: 30s, burst: 1"] {
        let world = World::new();
        let server = world.running();
        register(&server.control, &WIDE.replace("max: 2", amount).replace("in: 12", "in: 3")).await;
        let execution = start(&server.control).await;
        tokio::time::sleep(WAIT).await;
        let limit: LimitName = "crm".parse().expect("a name");
        let queue = world.store.slot_queue(&limit, 10).await.expect("an answer");
        assert_eq!(queue.len(), 2);
        server.stop().await;
        for row in queue {
            let lost = LimitChange::Release(row.key);
            world.store.change_limit(&lost.into(), grant_slots).await.expect("an answer");
        }
        let server = world.running();
        assert_eq!(work(&server.control, execution).await, ExecutionStatus::Completed);
        let open = world.store.open_index(IndexKind::AwaitedSlot, None, 10).await;
        assert_eq!(open.expect("an answer"), []);
        server.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_paused_execution_gets_no_lease_until_it_is_resumed() {
    let world = World::new();
    let server = world.running();
    let control = &server.control;
    register(control, &WIDE.replace("limit: {name: crm, max: 2}", "")).await;
    let execution = start(control).await;
    let held = lease(control, "w", 2).await;
    assert_eq!(held.len(), 2);
    control.pause(execution, ada()).await.expect("a pause");
    assert_eq!(lease(control, "w", 10).await.len(), 0);
    for it in &held {
        control.report(report(it, "w", completed(Value::Null))).await.expect("running ones end");
    }
    assert_eq!(lease(control, "w", 10).await.len(), 0);
    assert_eq!(fault_of(&world, execution).await, None);
    control.resume(execution, ada()).await.expect("a resumption");
    assert_eq!(work(control, execution).await, ExecutionStatus::Completed);
    let log = log(control, execution).await;
    let paused = log.iter().find(|it| matches!(it.event, Event::ExecutionPaused { .. }));
    let paused = paused.expect("it is recorded").seq;
    let resumed = log.iter().find(|it| matches!(it.event, Event::ExecutionResumed { .. }));
    let resumed = resumed.expect("it is recorded").seq;
    let between = log.iter().filter(|it| it.seq > paused && it.seq < resumed);
    assert!(!between.into_iter().any(|it| matches!(it.event, Event::CommandClaimed { .. })));
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_pool_leases_nothing_on_any_server() {
    let world = World::new();
    let (first, second) = (world.running(), world.running());
    register(&first.control, SMALL).await;
    // Both servers know that nothing is paused.
    for control in [&first.control, &second.control] {
        assert_eq!(lease(control, "w", 1).await.len(), 0);
    }
    first.control.pause_pool(&Pool::shared(), ada()).await.expect("a pause");
    let execution = start(&second.control).await;
    for control in [&first.control, &second.control] {
        assert_eq!(lease(control, "w", 1).await.len(), 0);
    }
    assert!(second.control.resume_pool(&Pool::shared()).await.expect("a resumption"));
    assert!(!second.control.resume_pool(&Pool::shared()).await.expect("an answer"));
    assert_eq!(work(&first.control, execution).await, ExecutionStatus::Completed);
    first.stop().await;
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_playbook_pauses_its_executions_and_new_ones_do_not_begin() {
    let world = World::new();
    let server = world.running();
    let control = &server.control;
    register(control, SMALL).await;
    register_at(control, "other", SMALL).await;
    let running = start(control).await;
    assert_eq!(control.pause_playbook("p", ada()).await.expect("a pause"), 1);
    let later = start(control).await;
    assert_eq!(lease(control, "w", 10).await.len(), 0);
    let other = started(control, "other").await;
    assert_eq!(work(control, other).await, ExecutionStatus::Completed);
    assert!(!history(control, later).await.contains("enter"), "it has not begun");
    assert_eq!(control.resume_playbook("p", ada()).await.expect("a resumption"), Some(2));
    assert_eq!(control.resume_playbook("p", ada()).await.expect("an answer"), None);
    for execution in [running, later] {
        assert_eq!(work(control, execution).await, ExecutionStatus::Completed);
    }
    server.stop().await;
}

/// The time within which a running server carries on what another one has not finished.
const CARRIED_ON: Duration = Duration::from_secs(31);

async fn progress(world: &World) -> Option<PauseProgress> {
    let pauses = world.store.pauses(None, 10).await.expect("an answer");
    pauses.first().map(|row| row.progress)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_while_it_pauses_or_resumes_a_playbook_is_replaced() {
    let world = World::new();
    let dying = world.running();
    register(&dying.control, SMALL).await;
    let mut executions = Vec::new();
    for _ in 0..3 {
        executions.push(start(&dying.control).await);
    }
    let short = Duration::from_secs(1);
    let pausing = dying.control.pause_playbook("p", ada());
    tokio::time::timeout(short, pausing).await.expect_err("it dies before it pauses them");
    dying.stop().await;
    assert_eq!(progress(&world).await, Some(PauseProgress::Pausing));
    let next = world.running();
    tokio::time::sleep(CARRIED_ON).await;
    assert_eq!(progress(&world).await, Some(PauseProgress::Paused));
    for execution in &executions {
        let log = log(&next.control, *execution).await;
        let paused = log.iter().filter(|it| matches!(it.event, Event::ExecutionPaused { .. }));
        assert_eq!(paused.count(), 1);
    }
    let eve = PauseCaller { actor: Some("eve".to_owned()), reason: None };
    let resuming = next.control.resume_playbook("p", eve);
    tokio::time::timeout(short, resuming).await.expect_err("it dies before it resumes them");
    next.stop().await;
    assert_eq!(progress(&world).await, Some(PauseProgress::Resuming));
    let last = world.running();
    tokio::time::sleep(CARRIED_ON).await;
    assert_eq!(progress(&world).await, None);
    for execution in executions {
        let log = log(&last.control, execution).await;
        let resumed = log.iter().find_map(|it| match &it.event {
            Event::ExecutionResumed { actor, .. } => Some(actor.clone()),
            _ => None,
        });
        assert_eq!(resumed, Some(Some("eve".to_owned())));
        assert_eq!(work(&last.control, execution).await, ExecutionStatus::Completed);
    }
    last.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_ends_while_it_is_applied_pauses_nothing() {
    let world = World::new();
    let (first, second) = (world.running(), world.running());
    register(&first.control, SMALL).await;
    let execution = start(&first.control).await;
    let (paused, resumed) = tokio::join!(
        first.control.pause_playbook("p", ada()),
        second.control.resume_playbook("p", ada()),
    );
    paused.expect("an answer");
    resumed.expect("an answer");
    tokio::time::sleep(CARRIED_ON).await;
    assert_eq!(progress(&world).await, None);
    assert_eq!(work(&first.control, execution).await, ExecutionStatus::Completed);
    first.stop().await;
    second.stop().await;
}

/// A store whose pauses cannot be read for a while.
struct SilentPauses {
    store: Arc<MemoryStore>,
    is_silent: AtomicBool,
}

impl Wrapper for SilentPauses {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.store
    }

    async fn call<T: Send>(
        &self,
        _access: Access,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let reads_pauses = std::any::type_name::<T>() == std::any::type_name::<Vec<PauseRow>>();
        if reads_pauses && self.is_silent.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable("connection reset".into()));
        }
        answer.await
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_leased_or_started_while_pauses_cannot_be_read() {
    let world = World::new();
    let store =
        Arc::new(SilentPauses { store: world.store.clone(), is_silent: AtomicBool::new(false) });
    let server = Running::of(world.control_on(store.clone(), ControlSettings::default()));
    let control = &server.control;
    let two_steps = SINGLE.split_once("workflow").expect("a workflow").1;
    register(control, &format!("workflow{two_steps}")).await;
    let first = start(control).await;
    let leased = lease(control, "w", 10).await.pop().expect("a lease");
    let waiting = start(control).await;
    store.is_silent.store(true, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let next = Some(Pool::shared());
    let done = Report { next, ..report(&leased, "w", completed(Value::Null)) };
    control.report(done).await.expect("reports are taken");
    let held = control.lease(&WorkerId::new("w"), &Pool::shared(), 10, WAIT).await;
    held.expect_err("the store is silent");
    let refused = control.start(StartRequest::new(by_path("p"), Map::new())).await;
    assert!(refused.expect_err("it may be paused").is_transient());
    let claims = log(control, first).await;
    let issued = claims.iter().filter(|it| matches!(it.event, Event::CommandIssued { .. }));
    let claimed = claims.iter().filter(|it| matches!(it.event, Event::CommandClaimed { .. }));
    assert_eq!((issued.count(), claimed.count()), (2, 1));
    store.is_silent.store(false, Ordering::Relaxed);
    for execution in [waiting, first] {
        assert_eq!(work(control, execution).await, ExecutionStatus::Completed);
    }
    server.stop().await;
}
