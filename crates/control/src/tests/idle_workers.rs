//! Tests of commands handed to waiting workers, and of workers that are gone.

use futures::future::FutureExt as _;
use noetl_model::{Attempt, EventTag, ReportAnswer};
use noetl_store::Outbox as _;

use super::faulty::{Fault, FaultyStore};
use super::*;

const CHAIN: &str = r"
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: second}]}
  - step: second
    tool: {kind: noop}
";

const EACH: &str = r"
workflow:
  - step: start
    loop: {in: [1, 2, 3, 4, 5], iterator: it, spec: {mode: parallel}}
    tool: {kind: noop}
";

/// Spawns a worker and returns once it waits.
async fn waiting(control: &Control, worker: &'static str, max: usize) -> JoinHandle<Vec<Lease>> {
    let task = tokio::spawn({
        let control = control.clone();
        async move { lease(&control, worker, max).await }
    });
    while !control.is_awaited(&Pool::shared()) {
        tokio::task::yield_now().await;
    }
    task
}

async fn tags(control: &Control, execution: ExecutionId) -> Vec<EventTag> {
    log(control, execution).await.iter().map(|recorded| recorded.event.tag()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_command_is_handed_to_a_worker_that_waits_in_the_commit_that_issues_it() {
    let world = World::new();
    // No relay runs, so a pending message would stay.
    let control = world.control();
    register(&control, CHAIN).await;
    let worker = waiting(&control, "a", 10).await;
    let begun = Instant::now();
    let execution = start(&control).await;
    let first = worker.await.unwrap().pop().expect("a command");
    assert_eq!(tags(&control, execution).await.last(), Some(&EventTag::CommandClaimed));
    assert_eq!(world.store.owed().await.unwrap(), 0, "nobody is told of a command that is taken");

    let worker = waiting(&control, "a", 10).await;
    control.report(report(&first, "a", completed(Value::Null))).await.unwrap();
    let second = worker.await.unwrap().pop().expect("the next command");
    assert_eq!(second.step.as_str(), "second");
    assert!(begun.elapsed() < Duration::from_millis(1), "nobody had to look");
}

#[tokio::test(start_paused = true)]
async fn a_worker_is_handed_what_it_has_room_for_and_the_rest_waits() {
    let world = World::new();
    let control = world.control();
    register(&control, EACH).await;
    let worker = waiting(&control, "a", 2).await;
    start(&control).await;
    assert_eq!(worker.await.unwrap().len(), 2);
    assert_eq!(lease(&control, "b", 10).await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_command_handed_to_a_worker_that_has_gone_is_leased_again_at_once() {
    let world = World::new();
    let control = world.control();
    register(&control, CHAIN).await;
    let (id, pool) = (WorkerId::new("a"), Pool::shared());
    let mut worker = Box::pin(control.lease(&id, &pool, 1, WAIT));
    while !control.is_awaited(&Pool::shared()) {
        assert!((&mut worker).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    start(&control).await;
    // The command is leased to a caller that is gone.
    drop(worker);
    let begun = Instant::now();
    let again = lease(&control, "b", 1).await.pop().expect("the command");
    assert_eq!(again.attempt, Attempt(2));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

/// Checks the first command leased on a store that fails that append.
async fn check_fault(fault: Fault) {
    let world = World::new();
    let plane = Running::of(world.control());
    register(&plane.control, CHAIN).await;
    plane.stop().await;
    let store = Arc::new(FaultyStore::new(world.store.clone(), fault, 2));
    let control = world.control_on(store, ControlSettings::default());
    start(&control).await;
    let first = lease(&control, "a", 1).await;
    assert_eq!(first.len(), 1);
    let worker = waiting(&control, "a", 1).await;
    control.report(report(&first[0], "a", completed(Value::Null))).await.unwrap();
    let second = worker.await.unwrap().pop().expect("the next command");
    assert_eq!(second.attempt, Attempt(1), "it is claimed once");
    let ended = control.report(report(&second, "a", completed(Value::Null))).await.unwrap();
    assert_eq!(ended, ReportAnswer::Accepted);
}

#[tokio::test(start_paused = true)]
async fn a_hand_over_that_was_not_written_is_made_again() {
    check_fault(Fault::BeforeWrite).await;
}

#[tokio::test(start_paused = true)]
async fn a_hand_over_whose_answer_was_lost_is_not_made_again() {
    check_fault(Fault::AnswerLost).await;
}

/// Returns the report of a chain's first command by a worker with a free slot.
async fn first_of_chain(control: &Control, next: &Pool) -> Report {
    register(control, CHAIN).await;
    start(control).await;
    let first = lease(control, "a", 1).await.pop().expect("a command");
    Report { next: Some(next.clone()), ..report(&first, "a", completed(Value::Null)) }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_reports_and_has_room_is_handed_what_follows_in_the_same_commit() {
    let world = World::new();
    let control = world.control();
    let said = first_of_chain(&control, &Pool::shared()).await;
    let owed = world.store.owed().await.unwrap();
    let next = match control.report(said.clone()).await.unwrap() {
        ReportAnswer::Continued(next) => next,
        other => panic!("{other:?}"),
    };
    assert_eq!((next.step.as_str(), next.attempt), ("second", Attempt(1)));
    assert_eq!(tags(&control, said.execution).await.last(), Some(&EventTag::CommandClaimed));
    assert_eq!(world.store.owed().await.unwrap(), owed, "nobody else is told of it");
    let ended = control.report(report(&next, "a", completed(Value::Null))).await.unwrap();
    assert_eq!(ended, ReportAnswer::Accepted);
}

#[tokio::test(start_paused = true)]
async fn a_next_command_in_another_pool_is_not_handed_over() {
    let world = World::new();
    let control = world.control();
    let said = first_of_chain(&control, &Pool::new("gpu")).await;
    assert_eq!(control.report(said).await.unwrap(), ReportAnswer::Accepted);
    assert_eq!(lease(&control, "b", 1).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_next_command_is_released_if_the_reporting_worker_has_gone() {
    let world = World::new();
    let control = world.control();
    let said = first_of_chain(&control, &Pool::shared()).await;
    let mut reporting = Box::pin(control.report(said));
    assert!((&mut reporting).now_or_never().is_none(), "it is being written");
    drop(reporting);
    let begun = Instant::now();
    let again = lease(&control, "b", 1).await.pop().expect("the command");
    assert_eq!((again.step.as_str(), again.attempt), ("second", Attempt(2)));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

/// Returns the command that a repeated report is answered with.
fn continued(answer: ReportAnswer) -> Box<Lease> {
    match answer {
        ReportAnswer::Continued(lease) => lease,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_report_whose_answer_was_lost_with_its_server_is_answered_with_the_same_command() {
    let world = World::new();
    let first_server = world.control();
    let said = first_of_chain(&first_server, &Pool::shared()).await;
    let lost = continued(first_server.report(said.clone()).await.unwrap());
    // Another server, with nothing in memory.
    let other_server = world.control();
    let again = continued(other_server.report(said.clone()).await.unwrap());
    assert_eq!((again.command, again.attempt), (lost.command, Attempt(1)));
    let claims = tags(&other_server, said.execution).await;
    let claims = claims.iter().filter(|tag| **tag == EventTag::CommandClaimed).count();
    assert_eq!(claims, 2, "it is not claimed again");
    let ended = other_server.report(report(&again, "a", completed(Value::Null))).await.unwrap();
    assert_eq!(ended, ReportAnswer::Accepted);
    // An ended command is not returned again.
    let late = other_server.report(said).await.unwrap();
    assert_eq!(late, ReportAnswer::Accepted);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_another_worker_has_claimed_is_not_handed_over_again() {
    let world = World::new();
    let control = world.control();
    let said = first_of_chain(&control, &Pool::shared()).await;
    let lost = continued(control.report(said.clone()).await.unwrap());
    // A repeated report extends the lease of a command that was not received.
    tokio::time::sleep(Duration::from_secs(29)).await;
    let again = continued(control.report(said.clone()).await.unwrap());
    assert!(again.lease_until > lost.lease_until);
    tokio::time::sleep(Duration::from_secs(31)).await;
    let taken = lease(&control, "b", 1).await.pop().expect("the command");
    assert_eq!((taken.command, taken.attempt), (lost.command, Attempt(2)));
    assert_eq!(control.report(said).await.unwrap(), ReportAnswer::Accepted);
}

#[tokio::test(start_paused = true)]
async fn a_report_of_a_worker_without_room_is_not_answered_with_a_command() {
    let world = World::new();
    let control = world.control();
    let said = first_of_chain(&control, &Pool::shared()).await;
    continued(control.report(said.clone()).await.unwrap());
    let answer = control.report(Report { next: None, ..said }).await.unwrap();
    assert_eq!(answer, ReportAnswer::Accepted);
}
