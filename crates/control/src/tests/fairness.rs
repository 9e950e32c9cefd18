//! Tests of fairness: a large execution does not block small ones.

use noetl_model::{LeaseScope, ReportAnswer};

use super::*;

const LARGE: &str = r"
workflow:
  - step: start
    loop: {in: 200000, iterator: it, spec: {mode: parallel}}
    tool: {kind: noop}
";

const SMALL: &str = r"
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: second}]}
  - step: second
    tool: {kind: noop}
    next: {arcs: [{step: third}]}
  - step: third
    tool: {kind: noop}
";

/// The largest number of commands of the large execution per command of a small one.
const LARGE_PER_SMALL_MAX: usize = 2;

async fn started(control: &Control, path: &str) -> ExecutionId {
    control.start(StartRequest::new(by_path(path), Map::new())).await.expect("a start")
}

async fn with_both(world: &World) -> Control {
    let control = world.control();
    register_at(&control, "large", LARGE).await;
    register_at(&control, "small", SMALL).await;
    control
}

/// Returns a report of a worker with a free slot.
fn with_room(lease: &Lease) -> Report {
    let next = Some(Pool::shared());
    Report { next, ..report(lease, "w", completed(Value::Null)) }
}

/// Returns the next command of a worker with one slot: the one leased with its report, if any.
async fn next_of_slot(control: &Control, done: Option<Lease>) -> Lease {
    if let Some(done) = done
        && let ReportAnswer::Continued(next) =
            control.report(with_room(&done)).await.expect("an answer")
    {
        return *next;
    }
    lease(control, "w", 1).await.pop().expect("a command")
}

#[tokio::test(start_paused = true)]
async fn a_small_execution_does_not_wait_for_the_items_of_a_large_one() {
    let world = World::new();
    let control = with_both(&world).await;
    let large = started(&control, "large").await;
    let mut slot = None;
    for _ in 0..20 {
        slot = Some(next_of_slot(&control, slot).await);
    }
    for _ in 0..3 {
        let small = started(&control, "small").await;
        let mut of_large = 0;
        while ended(&control, small).await.is_none() {
            let next = next_of_slot(&control, slot).await;
            of_large += usize::from(next.execution == large);
            assert!(of_large <= 3 * LARGE_PER_SMALL_MAX, "the small execution waits");
            slot = Some(next);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_execution_goes_on_while_nobody_else_waits() {
    let world = World::new();
    let control = with_both(&world).await;
    started(&control, "large").await;
    let first = lease(&control, "w", 1).await.pop().expect("a command");
    let answer = control.report(with_room(&first)).await.expect("an answer");
    assert!(matches!(answer, ReportAnswer::Continued(_)), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn executions_are_served_in_turn_by_slots_that_become_free_one_by_one() {
    let world = World::new();
    let control = with_both(&world).await;
    let mut executions = Vec::new();
    for _ in 0..3 {
        executions.push(started(&control, "large").await);
    }
    let mut served = Vec::new();
    for _ in 0..6 {
        served.push(lease(&control, "w", 1).await.pop().expect("a command").execution);
    }
    assert_eq!(served, [executions.clone(), executions].concat());
}

/// Waits for a command in the slot kept for idle executions.
async fn lease_idle(control: &Control) -> Vec<Lease> {
    let (worker, pool, wait) = (WorkerId::new("w"), Pool::shared(), Duration::from_secs(1));
    control.lease_from(LeaseScope::Idle, &worker, &pool, 1, wait).await.expect("an answer")
}

#[tokio::test(start_paused = true)]
async fn the_slot_for_idle_executions_gets_no_command_of_one_that_runs() {
    let world = World::new();
    let control = with_both(&world).await;
    started(&control, "large").await;
    let held = lease(&control, "w", 1).await;
    assert_eq!(lease_idle(&control).await, [], "a worker holds a command of the large execution");
    control.report(report(&held[0], "w", completed(Value::Null))).await.expect("an answer");
    assert_eq!(lease_idle(&control).await.len(), 1, "no worker does any more");
}

#[tokio::test(start_paused = true)]
async fn a_small_execution_starts_in_the_slot_for_idle_executions_while_all_others_are_busy() {
    let world = World::new();
    let control = with_both(&world).await;
    started(&control, "large").await;
    let _held = lease(&control, "w", 4).await;
    let waiting = tokio::spawn({
        let control = control.clone();
        async move { lease_idle(&control).await }
    });
    while !control.is_awaited(&Pool::shared()) {
        tokio::task::yield_now().await;
    }
    let small = started(&control, "small").await;
    let leases = waiting.await.expect("no panic");
    assert_eq!(leases.iter().map(|lease| lease.execution).collect::<Vec<_>>(), [small]);
}
