//! Tests with a store that loses events while a control plane runs.

use noetl_engine::Input;
use noetl_model::{Event, ReportAnswer};
use noetl_store::{EventLog as _, READ_BYTES_MAX, WorkQueue as _};
use serde_json::json;

use super::waiting::FLAKY;
use super::*;
use crate::LoadError;
use crate::state::rewind::{FoldEnd, LogComparison};

const CHAIN: &str = "
workflow:
  - {step: start, tool: {kind: noop}, next: [{step: second}]}
  - {step: second, tool: {kind: noop}, next: [{step: third}]}
  - {step: third, tool: {kind: noop}}
";

/// Returns the recorded losses of a log: the last event seen and the last event found.
fn losses(log: &[Recorded]) -> Vec<(u64, u64)> {
    let lost = log.iter().filter_map(|recorded| match recorded.event {
        Event::ExecutionRewound { seen, found } => Some((seen.0, found.0)),
        _ => None,
    });
    lost.collect()
}

/// Waits until the loss of events has been recorded.
async fn recorded_loss(control: &Control, execution: ExecutionId) -> (u64, u64) {
    let mut follow = control.events_follow(execution, Seq::ZERO);
    loop {
        let recorded = follow.next().await.expect("the log is whole");
        if let Some(loss) = losses(std::slice::from_ref(&recorded)).pop() {
            return loss;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_execution_that_had_ended_goes_on_from_what_the_store_still_has() {
    let world = World::new();
    let plane = world.running();
    register(&plane.control, CHAIN).await;
    let execution = start(&plane.control).await;
    let backup = world.store.backup();
    let kept = log(&plane.control, execution).await.len();
    work(&plane.control, execution).await;
    let seen = log(&plane.control, execution).await.len();
    world.store.restore(&backup);
    assert_eq!(ended(&plane.control, execution).await, None);
    assert_eq!(work(&plane.control, execution).await, ExecutionStatus::Completed);
    let loss = recorded_loss(&plane.control, execution).await;
    assert_eq!(loss, (seen as u64, kept as u64));
    assert_eq!(plane.control.rewinds(), 1);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn every_execution_in_memory_is_compared_once_one_has_lost_events() {
    let world = World::new();
    let plane = world.running();
    register(&plane.control, CHAIN).await;
    let executions = [start(&plane.control).await, start(&plane.control).await];
    let backup = world.store.backup();
    for execution in executions {
        work(&plane.control, execution).await;
    }
    world.store.restore(&backup);
    // Only the first execution gets an input; the other's worker could be away for long.
    let refused = plane.control.cancel(executions[0], "no longer wanted").await;
    refused.expect("an answer");
    for execution in executions {
        recorded_loss(&plane.control, execution).await;
    }
    assert_eq!(plane.control.rewinds(), 2);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_report_that_was_lost_with_its_event_is_applied_when_it_comes_again() {
    let world = World::new();
    let plane = world.running();
    register(&plane.control, CHAIN).await;
    let execution = start(&plane.control).await;
    let leased = lease(&plane.control, "w", 1).await.pop().expect("a command");
    let backup = world.store.backup();
    let said = report(&leased, "w", completed(json!(1)));
    let first = plane.control.report(said.clone()).await.unwrap();
    assert_eq!(first, ReportAnswer::Accepted);
    world.store.restore(&backup);
    assert_eq!(plane.control.report(said).await.unwrap(), ReportAnswer::Accepted);
    let log = log(&plane.control, execution).await;
    let applied = log.iter().filter(|it| matches!(it.event, Event::CommandCompleted { .. }));
    assert_eq!(applied.count(), 1, "it is in the log");
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_timer_that_had_fired_fires_again() {
    let world = World::new();
    let plane = world.running();
    register(&plane.control, FLAKY).await;
    let execution = start(&plane.control).await;
    let leased = lease(&plane.control, "w", 1).await.pop().expect("a command");
    let outcome = run(&plane.control, &leased, &mut ScriptedWorker::default()).await;
    plane.control.report(report(&leased, "w", outcome)).await.unwrap();
    assert!(world.store.next_due().await.unwrap().is_some());
    let backup = world.store.backup();
    let again = loop {
        if let Some(leased) = lease(&plane.control, "w", 1).await.pop() {
            break leased;
        }
    };
    plane.control.report(report(&again, "w", completed(Value::Null))).await.unwrap();
    world.store.restore(&backup);
    assert_eq!(work(&plane.control, execution).await, ExecutionStatus::Completed);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_log_that_was_written_anew_is_not_taken_for_the_one_that_was_seen() {
    let world = World::new();
    let (first, second) = (world.running(), world.running());
    register(&first.control, CHAIN).await;
    let execution = start(&first.control).await;
    let backup = world.store.backup();
    work(&first.control, execution).await;
    let seen = log(&first.control, execution).await.len();
    world.store.restore(&backup);
    // Another server writes the same number of different events.
    work(&second.control, execution).await;
    assert_eq!(log(&second.control, execution).await.len(), seen);
    let refused = first.control.cancel(execution, "too late").await.unwrap();
    assert!(matches!(refused, crate::MailboxAnswer::Refused(_)), "{refused:?}");
    assert_eq!(recorded_loss(&first.control, execution).await, (seen as u64, seen as u64));
    first.stop().await;
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_of_a_log_that_was_lost_is_not_used_once_the_log_is_as_long_again() {
    let world = World::new();
    let first = world.running();
    register(&first.control, CHAIN).await;
    let execution = start(&first.control).await;
    let backup = world.store.backup();
    work(&first.control, execution).await;
    let lost = first.control.state(execution, noetl_model::Cutoff::Latest).await.unwrap();
    first.stop().await;
    world.store.restore(&backup);
    // The snapshot was on its way to the store when the store was rewound.
    let snapshot = crate::state::snapshot::encode(&lost).unwrap();
    world.store.save(execution, &snapshot).await.unwrap();
    let second = world.running();
    assert_eq!(work(&second.control, execution).await, ExecutionStatus::Completed);
    let whole = noetl_engine::replay(execution, log(&second.control, execution).await);
    let state = world.control().state(execution, noetl_model::Cutoff::Latest).await.unwrap();
    assert_eq!(state, whole.unwrap().unwrap());
    assert_ne!(state.head(), lost.head());
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_follower_is_told_that_the_log_has_lost_events() {
    let world = World::new();
    let plane = world.running();
    register(&plane.control, CHAIN).await;
    let execution = start(&plane.control).await;
    let backup = world.store.backup();
    let mut follow = plane.control.events_follow(execution, Seq::ZERO);
    work(&plane.control, execution).await;
    let last = log(&plane.control, execution).await.len();
    for _ in 0..last {
        follow.next().await.expect("an event");
    }
    world.store.restore(&backup);
    let told = follow.next().await;
    assert!(matches!(told, Err(LoadError::Rewound { .. })), "{told:?}");
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_playbook_that_the_catalog_has_lost_cannot_be_started_any_more() {
    let world = World::new();
    let plane = world.running();
    register(&plane.control, CHAIN).await;
    let execution = start(&plane.control).await;
    let backup = world.store.backup();
    let lost = plane.control.register("q.yaml", LATER).await.expect("a playbook").entry.catalog_id;
    work(&plane.control, execution).await;
    world.store.restore(&backup);
    work(&plane.control, execution).await;
    let request = StartRequest::new(PlaybookChoice::Id(lost), Map::new());
    let refused = plane.control.start(request).await;
    assert!(matches!(refused, Err(crate::StartError::UnknownPlaybook(_))), "{refused:?}");
    plane.stop().await;
}

const LATER: &str = "
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: later, path: later}
workflow: [{step: start, tool: {kind: noop}}]
";

#[tokio::test(start_paused = true)]
async fn an_event_that_fills_a_page_does_not_hide_those_after_it() {
    let world = World::new();
    let plane = world.running();
    register(&plane.control, CHAIN).await;
    let execution = start(&plane.control).await;
    let body = json!("x".repeat(READ_BYTES_MAX));
    let note = Input::Reported { name: "note".to_owned(), step: None, body };
    plane.control.submit(execution, note).await.expect("it is noted");
    let noted = plane.control.known_state(execution).await.expect("it is there");
    plane.control.cancel(execution, "no longer wanted").await.expect("it is cancelled");
    let standing = plane.control.standing(FoldEnd::of(&noted)).await.expect("it is compared");
    assert_eq!(standing, LogComparison::Behind);
    let mut follow = plane.control.events_follow(execution, noted.seq());
    let next = tokio::time::timeout(Duration::from_secs(60), follow.next()).await;
    assert_eq!(next.expect("the log goes on").expect("it is whole").seq, noted.seq().next());
    plane.stop().await;
}
