//! Tests of races between control planes, and of a failing store.

use noetl_engine::Input;
use noetl_model::{Cutoff, Event, ReportAnswer};
use noetl_store::{Append, EventLog as _};
use serde_json::json;

use super::faulty::{Fault, FaultyStore};
use super::*;
use crate::error::LoadError;
use crate::{MAILBOX_MAX, MailboxAnswer, SubmitError};

const LOOP: &str = r#"
workflow:
  - step: start
    loop: {in: "{{ range(12) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 6}}
    tool: {kind: noop, result: "{{ n * n }}"}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: "{{ start.results }}"}
"#;

fn squares() -> Payload {
    Payload::inline((0..12u64).map(|n| json!(n * n)).collect())
}

/// Checks that the log can be folded and that no command has ended twice.
async fn assert_sound(control: &Control, execution: ExecutionId) {
    let state = control.state(execution, Cutoff::Seq(Seq(u64::MAX))).await.expect("a legal log");
    assert_eq!(state.step_output("end"), Some(&squares()));
    let mut completed = std::collections::BTreeSet::new();
    for recorded in log(control, execution).await {
        if let Event::CommandCompleted { command, .. } = recorded.event {
            assert!(completed.insert(command), "command {command} has completed twice");
        }
    }
    assert_eq!(completed.len(), 13);
}

#[tokio::test(start_paused = true)]
async fn any_number_of_control_planes_may_serve_one_execution() {
    let world = World::new();
    let planes = [world.running(), world.running(), world.running()];
    register(&planes[0].control, LOOP).await;
    let execution = start(&planes[0].control).await;
    let working = planes.each_ref().map(|plane| work(&plane.control, execution));
    for status in futures::future::join_all(working).await {
        assert_eq!(status, ExecutionStatus::Completed);
    }
    assert_sound(&planes[0].control, execution).await;
    for plane in planes {
        plane.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_writes_nothing_rests_on_the_whole_log() {
    let world = World::new();
    let (first, second) = (world.control(), world.control());
    register(
        &first,
        r#"
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop}
"#,
    )
    .await;
    let execution = start(&first).await;
    let leased = lease(&second, "w", 1).await.pop().expect("a command");
    second.report(report(&leased, "w", completed(json!(1)))).await.unwrap();
    let leased = lease(&second, "w", 1).await.pop().expect("another");
    // The first one has no second command in memory, and a refusal would write nothing.
    let answer = first.report(report(&leased, "w", completed(json!(1)))).await.unwrap();
    assert_eq!(answer, ReportAnswer::Accepted);
    // The second one still has the execution as running in memory.
    let answer = second.cancel(execution, "enough").await.unwrap();
    let finished = noetl_engine::Refusal::Finished(ExecutionStatus::Completed);
    assert_eq!(answer, MailboxAnswer::Refused(finished));
}

/// Runs the loop on a store that fails at every `period`-th append, and returns its log.
async fn check_faults(fault: Fault, period: usize) -> Vec<Recorded> {
    let world = World::new();
    let store = Arc::new(FaultyStore::new(world.store.clone(), fault, period));
    let plane = Running::of(world.control_on(store, ControlSettings::default()));
    register(&plane.control, LOOP).await;
    let execution = start(&plane.control).await;
    assert_eq!(work(&plane.control, execution).await, ExecutionStatus::Completed);
    assert_sound(&plane.control, execution).await;
    let log = log(&plane.control, execution).await;
    plane.stop().await;
    log
}

#[test]
fn the_same_world_gives_the_same_log() {
    let told = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(check_faults(Fault::AnswerLost, 3))
    };
    assert_eq!(told(), told());
}

#[tokio::test(start_paused = true)]
async fn a_write_that_did_not_happen_is_made_again() {
    for period in 1..5 {
        check_faults(Fault::BeforeWrite, period + 1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_was_lost_is_not_made_again() {
    for period in 1..5 {
        check_faults(Fault::AnswerLost, period + 1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_bug_in_the_store_blocks_nobody() {
    check_faults(Fault::Panic, 4).await;
}

#[tokio::test(start_paused = true)]
async fn losing_every_race_is_an_error() {
    let world = World::new();
    let control = world.control();
    register(&control, LOOP).await;
    let execution = start(&control).await;
    let slow = Arc::new(FaultyStore::new(world.store.clone(), Fault::Conflict, 1));
    let slow = world.control_on(slow, ControlSettings::default());
    let error = slow.cancel(execution, "enough").await.unwrap_err();
    assert!(matches!(error, SubmitError::Contended(_)), "{error:?}");
    assert_eq!(ended(&control, execution).await, None);
}

#[tokio::test(start_paused = true)]
async fn an_execution_with_a_broken_log_stops_and_others_continue() {
    let world = World::new();
    let plane = world.running();
    register(&plane.control, LOOP).await;
    let broken = start(&plane.control).await;
    let healthy = start(&plane.control).await;
    let summary = plane.control.summary(broken).await.unwrap().unwrap();
    let seq = summary.seq.next();
    let event = Event::TimerFired { timer: noetl_model::TimerId(77) };
    let forged = Recorded {
        seq,
        event_id: noetl_model::EventId(1),
        at: world.clock.now(),
        event,
        prev: None,
    };
    let append = Append {
        execution: broken,
        expected: summary.seq,
        events: vec![forged],
        summary,
        queue: Vec::new(),
        timers: Vec::new(),
        outbox: Vec::new(),
        index: Vec::new(),
        payloads: Vec::new(),
        key: None,
    };
    world.store.append(&[append]).await.unwrap()[0].clone().unwrap();
    // The broken execution's commands wait longest, so a worker with one slot sees them first.
    let leased = lease(&plane.control, "w", 1).await;
    assert_eq!(leased.first().map(|lease| lease.execution), Some(healthy));
    let error = plane.control.cancel(broken, "enough").await.unwrap_err();
    assert!(matches!(error, SubmitError::Load(LoadError::Corrupt { .. })), "{error:?}");
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_full_mailbox_says_so() {
    let control = World::new().control();
    register(&control, LOOP).await;
    let execution = start(&control).await;
    let answers = futures::future::join_all((0..=MAILBOX_MAX).map(|n| {
        let input = Input::Reported { name: n.to_string(), step: None, body: Value::Null };
        control.submit(execution, input)
    }))
    .await;
    let busy = answers.iter().filter(|answer| matches!(answer, Err(SubmitError::Busy(_)))).count();
    assert_eq!(busy, 1, "all wait before the first is looked at");
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), MAILBOX_MAX);
}

#[tokio::test(start_paused = true)]
async fn a_lease_whose_answer_was_lost_is_still_handed_out() {
    let world = World::new();
    let store = Arc::new(FaultyStore::new(world.store.clone(), Fault::AnswerLost, 2));
    let control = world.control_on(store, ControlSettings::default());
    register(&control, "workflow: [{step: start, tool: {kind: noop}}]\n").await;
    start(&control).await;
    let leased = lease(&control, "w", 1).await;
    assert_eq!(leased.len(), 1);
    assert_eq!(leased[0].attempt, noetl_model::Attempt(1));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stays_away_is_reported_and_nothing_is_lost() {
    let world = World::new();
    let control = world.control();
    register(&control, "workflow: [{step: start, tool: {kind: noop}}]\n").await;
    let execution = start(&control).await;
    let leased = lease(&control, "w", 1).await.pop().expect("a command");
    let said = report(&leased, "w", completed(json!(1)));

    let away = Arc::new(FaultyStore::new(world.store.clone(), Fault::BeforeWrite, 1));
    let cut_off = world.control_on(away, ControlSettings::default());
    let error = cut_off.report(said.clone()).await.unwrap_err();
    assert!(matches!(error, SubmitError::Load(LoadError::Unavailable(_))), "{error:?}");

    assert_eq!(control.report(said).await.unwrap(), ReportAnswer::Accepted);
    assert_eq!(ended(&control, execution).await, Some(ExecutionStatus::Completed));
}
