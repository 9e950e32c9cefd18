//! Tests of limits: rates after a pause, many requests at once, messages that come again, and
//! executions that wait for long.

use noetl_engine::grant_slots;
use noetl_model::{Event, IndexKind, LimitName, Message};
use noetl_store::{
    Executions as _, LimitChange, OutboxRow, PauseProgress, PauseRow, PausedKind, Pauses as _,
    SlotLimits as _,
};

use super::*;
use crate::{PAUSES_MAX, PauseCaller, SetPauseError};

const WIDE: &str = r"
workflow:
  - step: start
    loop: {in: 400, iterator: it, spec: {mode: parallel, max_in_flight: 400}}
    limit: {name: crm, LIMIT}
    tool: {kind: noop}
";

const SINGLE: &str = r"
executor: {spec: {concurrency: {limit: 1, on_conflict: CONFLICT}}}
workflow:
  - step: start
    tool: {kind: noop}
";

fn crm() -> LimitName {
    "crm".parse().expect("a name")
}

async fn holders(world: &World) -> u64 {
    world.store.limit(&crm()).await.expect("an answer").map_or(0, |limit| limit.holders)
}

/// Leases commands until there are `count`, and returns the times of their leases.
async fn leases_over_time(control: &Control, count: usize) -> Vec<Duration> {
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.len() < count {
        let leased = lease(control, "w", 100).await;
        times.extend(leased.iter().map(|_| begun.elapsed()));
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(begun.elapsed() < Duration::from_secs(600), "stuck at {}", times.len());
    }
    times
}

#[tokio::test(start_paused = true)]
async fn commands_that_a_pause_held_back_begin_at_their_rate() {
    let world = World::new();
    let server = world.running();
    let control = &server.control;
    register(control, &WIDE.replace("LIMIT", "rate: 5")).await;
    let execution = start(control).await;
    control.pause(execution, PauseCaller::default()).await.expect("a pause");
    tokio::time::sleep(Duration::from_secs(600)).await;
    control.resume(execution, PauseCaller::default()).await.expect("a resumption");
    let times = leases_over_time(control, 60).await;
    // A burst of one, what begins in a second, and the grant of a late look.
    for (first, from) in times.iter().enumerate() {
        for (last, until) in times.iter().enumerate().skip(first) {
            let count = u32::try_from(last - first + 1).expect("few");
            let most = 1.0 + 5.0 + 1.0 + 5.0 * (*until - *from).as_secs_f64();
            assert!(f64::from(count) <= most, "{count} from {from:?} until {until:?}");
        }
    }
    let took = times.last().expect("some").as_secs_f64();
    assert!((9.0..14.0).contains(&took), "{took}");
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn commands_that_no_worker_takes_use_up_a_rate() {
    let world = World::new();
    let server = world.running();
    let control = &server.control;
    register(control, &WIDE.replace("LIMIT", "rate: 5")).await;
    let execution = start(control).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(holders(&world).await, 6);
    assert_eq!(lease(control, "w", 100).await.len(), 6);
    // A command that ends without having begun gives its grant back.
    control.cancel(execution, "enough").await.expect("a cancellation");
    tokio::time::sleep(WAIT).await;
    assert_eq!(holders(&world).await, 0);
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_raised_grants_all_that_wait() {
    let world = World::new();
    let server = world.running();
    let control = &server.control;
    register(control, &WIDE.replace("LIMIT", "max: 1")).await;
    start(control).await;
    tokio::time::sleep(WAIT).await;
    assert_eq!(holders(&world).await, 1);
    register(control, &WIDE.replace("LIMIT", "max: 1000").replace("in: 400", "in: 1")).await;
    start(control).await;
    tokio::time::sleep(WAIT).await;
    assert_eq!(holders(&world).await, 401);
    server.stop().await;
}

/// The first execution has ended, and its request comes again.
#[tokio::test(start_paused = true)]
async fn a_request_that_comes_again_after_its_release_cancels_nobody() {
    let world = World::new();
    let server = world.running();
    let control = &server.control;
    register(control, &SINGLE.replace("CONFLICT", "cancel_running")).await;
    let first = start(control).await;
    assert_eq!(work(control, first).await, ExecutionStatus::Completed);
    let second = start(control).await;
    let leased = lease(control, "w", 1).await.pop().expect("a lease");
    let request = log(control, first).await.into_iter().find_map(|it| match it.event {
        Event::SlotRequested { command, limit, on_conflict } => Some(OutboxRow {
            id: 1,
            execution: first,
            message: Message::RequestSlot {
                command,
                limit,
                on_conflict,
                priority: noetl_model::Priority::default(),
                defined_by: noetl_model::CatalogId(1),
                at: it.at,
            },
            attempts: 2,
        }),
        _ => None,
    });
    let request = request.expect("a request");
    let results = control.deliver_to_limit(vec![&request]).await;
    assert_eq!(results.len(), 1);
    tokio::time::sleep(WAIT).await;
    control.report(report(&leased, "w", completed(Value::Null))).await.expect("an answer");
    assert_eq!(work(control, second).await, ExecutionStatus::Completed);
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_execution_that_waits_for_hours_records_nothing_and_keeps_its_request() {
    let world = World::new();
    let server = world.running();
    let control = &server.control;
    register(control, &SINGLE.replace("CONFLICT", "queue")).await;
    let first = start(control).await;
    tokio::time::sleep(WAIT).await;
    let second = start(control).await;
    tokio::time::sleep(WAIT).await;
    let before = log(control, second).await.len();
    tokio::time::sleep(Duration::from_secs(6 * 3600)).await;
    assert_eq!(log(control, second).await.len(), before);
    let open = world.store.open_index(IndexKind::AwaitedSlot, None, 10).await.expect("an answer");
    assert_eq!(open.len(), 1);
    // The limit loses the request, such as by a restore of its database.
    let limit = LimitName::of_playbook("p", None);
    for row in world.store.slot_queue(&limit, 10).await.expect("an answer") {
        let lost = LimitChange::Release(row.key);
        world.store.change_limit(&lost.into(), grant_slots).await.expect("an answer");
    }
    tokio::time::sleep(Duration::from_secs(180)).await;
    assert_eq!(work(control, first).await, ExecutionStatus::Completed);
    assert_eq!(work(control, second).await, ExecutionStatus::Completed);
    let open = world.store.open_index(IndexKind::AwaitedSlot, None, 10).await.expect("an answer");
    assert_eq!(open, []);
    server.stop().await;
}

fn pool_pause(name: String) -> PauseRow {
    PauseRow {
        kind: PausedKind::Pool,
        name,
        progress: PauseProgress::Paused,
        actor: None,
        reason: None,
        since: Timestamp::from_millis(1),
        resumed_by: None,
        resume_reason: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_counts_however_many_there_are_and_one_too_many_is_refused() {
    let world = World::new();
    let server = world.running();
    let control = &server.control;
    register(control, &SINGLE.replace("CONFLICT", "queue")).await;
    for number in 0..PAUSES_MAX - 1 {
        let row = pool_pause(format!("a{number:05}"));
        world.store.put_pause(&row).await.expect("an answer");
    }
    control.pause_pool(&Pool::shared(), PauseCaller::default()).await.expect("a pause");
    assert_eq!(control.pauses().await.expect("an answer").len(), PAUSES_MAX);
    let execution = start(control).await;
    assert_eq!(lease(control, "w", 1).await, []);
    let refused = control.pause_pool(&Pool::new("b"), PauseCaller::default()).await;
    assert!(matches!(refused, Err(SetPauseError::TooMany)), "{refused:?}");
    control.pause_pool(&Pool::shared(), PauseCaller::default()).await.expect("it is paused");
    assert!(control.resume_pool(&Pool::shared()).await.expect("a resumption"));
    assert_eq!(work(control, execution).await, ExecutionStatus::Completed);
    server.stop().await;
}

const MILLION: &str = r"
workflow:
  - step: start
    loop: {in: 1000000, iterator: it, spec: {mode: parallel, max_in_flight: 100}}
    tool: {kind: noop}
";

/// The events that a loop over a million items may have written before its items are run.
const OPENED_MAX: usize = 300;

#[tokio::test(start_paused = true)]
async fn a_loop_over_a_million_items_is_bounded_paused_and_cancelled() {
    let world = World::new();
    let server = world.running();
    let control = &server.control;
    register(control, MILLION).await;
    let execution = start(control).await;
    let mut held = lease(control, "w", 1000).await;
    assert_eq!(held.len(), 100, "as many as may be in flight");
    assert!(log(control, execution).await.len() < OPENED_MAX);
    for leased in held.drain(..50) {
        control.report(report(&leased, "w", completed(Value::Null))).await.expect("an answer");
    }
    assert_eq!(lease(control, "w", 1000).await.len(), 50);
    control.pause(execution, PauseCaller::default()).await.expect("a pause");
    let paused = log(control, execution).await.len();
    for leased in held {
        control.report(report(&leased, "w", completed(Value::Null))).await.expect("an answer");
    }
    assert_eq!(lease(control, "w", 1000).await, [], "nothing new starts");
    control.resume(execution, PauseCaller::default()).await.expect("a resumption");
    assert_eq!(lease(control, "w", 1000).await.len(), 50);
    let begun = std::time::Instant::now();
    control.cancel(execution, "not needed").await.expect("it is cancelled");
    assert_eq!(ended(control, execution).await, Some(ExecutionStatus::Cancelled));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(log(control, execution).await.len() < paused + 2 * OPENED_MAX);
    server.stop().await;
}
