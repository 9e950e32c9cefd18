//! Tests of the terminal event: exactly one, and no change after it.

use expect_test::expect;
use noetl_engine::{Input, Refusal};
use noetl_model::{ChildExecutions, CommandId, Event, ExecutionStatus, Seq};
use noetl_testkit::{Story, StoryOptions};

use crate::{check, playbook};

const FAN_OUT: &str = "
  - {step: start, tool: {kind: noop}, next: [a, b]}
  - {step: a, tool: {kind: noop}}
  - {step: b, tool: {kind: noop, retry: {max_attempts: 3, delay: 60}, fail: busy}}
";

fn fanned_out() -> Story {
    let mut story = Story::begin(&playbook(FAN_OUT), StoryOptions::default());
    story.claim(CommandId(0), 1, "w").expect("it is this one's turn");
    let outcome = noetl_model::Outcome::completed(serde_json::json!(1));
    story.report(CommandId(0), 1, "w", outcome).expect("it is this one's turn");
    story.claim(CommandId(1), 1, "w").expect("it is this one's turn");
    story
}

#[test]
fn cancelling_takes_back_every_command_and_ends_the_execution() {
    let mut story = fanned_out();
    story
        .tell(&Input::Cancel {
            reason: "no longer wanted".into(),
            below: ChildExecutions::Cancelled,
            actor: None,
        })
        .unwrap();
    expect![[r#"
        enter start
        issue 0: start (noop)
        done 0: 1
        leave start
        enter a from start
        issue 1: a (noop)
        enter b from start
        issue 2: b (noop)
        cancel 1: no longer wanted
        cancel 2: no longer wanted
        CANCELLED no longer wanted
    "#]]
    .assert_eq(&story.history());
    let again = story.tell(&Input::Cancel {
        reason: "again".into(),
        below: ChildExecutions::Cancelled,
        actor: None,
    });
    assert_eq!(again, Err(Refusal::Finished(ExecutionStatus::Cancelled)));
    assert_eq!(story.next_ready(), None);
}

#[test]
fn a_claim_after_the_end_is_refused_and_a_late_report_is_harmless() {
    let mut story = fanned_out();
    story
        .tell(&Input::Cancel {
            reason: "stop".into(),
            below: ChildExecutions::Cancelled,
            actor: None,
        })
        .unwrap();
    let finished = Refusal::Finished(ExecutionStatus::Cancelled);
    assert_eq!(story.claim(CommandId(2), 1, "w"), Err(finished));
    let seq = story.state.seq();
    let outcome = noetl_model::Outcome::completed(serde_json::json!(1));
    assert_eq!(story.report(CommandId(1), 1, "w", outcome), Ok(Vec::new()));
    assert_eq!(story.state.seq(), seq);
}

#[test]
fn finalizing_ends_an_execution_by_hand_and_only_once() {
    let mut story = fanned_out();
    let running =
        Input::Finalize { status: ExecutionStatus::Running, reason: String::new(), actor: None };
    assert_eq!(story.tell(&running), Err(Refusal::NotAnEnd(ExecutionStatus::Running)));
    let failed =
        Input::Finalize { status: ExecutionStatus::Failed, reason: "given up".into(), actor: None };
    story.tell(&failed).unwrap();
    let completed =
        Input::Finalize { status: ExecutionStatus::Completed, reason: String::new(), actor: None };
    assert_eq!(story.tell(&completed), Err(Refusal::Finished(ExecutionStatus::Failed)));
    let last = story.history().lines().last().unwrap_or_default().to_owned();
    assert_eq!(last, "FAILED given up");
}

#[test]
fn timers_of_an_ended_execution_are_gone() {
    let mut story = fanned_out();
    story.claim(CommandId(2), 1, "w").unwrap();
    let error = noetl_model::ToolError::new(noetl_model::ErrorKind::Exception, "busy");
    let outcome = noetl_model::Outcome::failed(error);
    story.report(CommandId(2), 1, "w", outcome).unwrap();
    assert!(story.next_timer().is_some());
    story
        .tell(&Input::Cancel {
            reason: "stop".into(),
            below: ChildExecutions::Cancelled,
            actor: None,
        })
        .unwrap();
    assert_eq!(story.next_timer(), None);
}

#[test]
fn a_step_that_takes_too_long_is_stopped_and_its_failure_can_be_handled() {
    let mut story = Story::begin(
        &playbook(
            "
  - step: start
    spec: {timeout: 5}
    tool: {kind: noop}
    next: {arcs: [{step: late, when: '{{ output.error.kind == \"timeout\" }}'}]}
  - {step: late, tool: {kind: noop}}
",
        ),
        StoryOptions::default(),
    );
    story.claim(CommandId(0), 1, "w").unwrap();
    let (timer, due_at) = story.next_timer().expect("the step has a timeout");
    story.now = due_at;
    story.tell(&Input::TimerFired { timer }).unwrap();
    story.run();
    expect![[r#"
        enter start
        timer 0 set (step timeout)
        issue 0: start (noop)
        timer 0 fired
        cancel 0: the step has timed out
        step start failed, handled: step `start` took longer than 5s
        enter late from start
        issue 1: late (noop)
        done 1: {"status":"ok"}
        leave late
        COMPLETED {"status":"ok"}
    "#]]
    .assert_eq(&story.history());
}

#[test]
fn a_step_that_is_in_time_drops_its_timer() {
    check(
        "
  - {step: start, spec: {timeout: 5}, tool: {kind: noop}}
",
        expect![[r#"
            enter start
            timer 0 set (step timeout)
            issue 0: start (noop)
            done 0: {"status":"ok"}
            timer 0 cancelled
            leave start
            COMPLETED {"status":"ok"}
        "#]],
    );
}

#[test]
fn an_execution_that_takes_too_long_fails() {
    let mut story = Story::begin(
        &playbook(
            "
executor: {spec: {timeout: 60}}
workflow:
  - {step: start, tool: {kind: noop}}
",
        ),
        StoryOptions::default(),
    );
    let (timer, due_at) = story.next_timer().expect("the execution has a timeout");
    story.now = due_at;
    story.tell(&Input::TimerFired { timer }).unwrap();
    expect![[r#"
        timer 0 set (execution timeout)
        enter start
        issue 0: start (noop)
        timer 0 fired
        cancel 0: the execution has failed
        FAILED the execution took longer than 60s
    "#]]
    .assert_eq(&story.history());
    assert_eq!(
        story.tell(&Input::TimerFired { timer }),
        Err(Refusal::Finished(ExecutionStatus::Failed))
    );
}

#[test]
fn a_command_that_no_worker_gets_is_noted_and_one_that_a_worker_has_is_not() {
    let mut story = fanned_out();
    let command = story.next_ready().expect("a command");
    let input = Input::NotClaimed { command, detail: "ready for 30 s".into() };
    let stalled = |detail: &str| Event::ExecutionStalled { detail: detail.to_owned() };
    assert_eq!(story.tell(&input), Ok(vec![stalled("ready for 30 s")]));
    story.claim(command, 1, "w").expect("it is free");
    assert_eq!(story.tell(&input), Ok(Vec::new()));
    let ended = CommandId(99);
    let input = Input::NotClaimed { command: ended, detail: "ready for 30 s".into() };
    let noted = stalled("ready for 30 s; by the log it has ended");
    assert_eq!(story.tell(&input), Ok(vec![noted]));
}

#[test]
fn events_that_a_log_has_lost_are_noted_also_after_the_end() {
    let mut story = fanned_out();
    let input = Input::Rewound { seen: Seq(20), found: Seq(3) };
    let noted = vec![Event::ExecutionRewound { seen: Seq(20), found: Seq(3) }];
    assert_eq!(story.tell(&input), Ok(noted.clone()));
    story.run();
    assert_eq!(story.tell(&input), Ok(noted));
}

#[test]
fn a_timer_is_refused_before_it_is_due() {
    let mut story = fanned_out();
    let command = CommandId(2);
    story.claim(command, 1, "w").expect("it is free");
    let error = noetl_model::ToolError::new(noetl_model::ErrorKind::Connection, "busy");
    let failed = noetl_model::Outcome::Failed { error, output: None };
    story.report(command, 1, "w", failed).expect("it is this one's turn");
    let (timer, due_at) = story.next_timer().expect("it is tried again later");
    let fired = Input::TimerFired { timer };
    story.now = noetl_model::Timestamp::from_micros(due_at.as_micros() - 1);
    assert_eq!(story.tell(&fired), Err(Refusal::NotDue(timer)));
    story.now = due_at;
    assert!(story.tell(&fired).is_ok());
}

#[test]
fn an_unknown_timer_is_refused() {
    let mut story = fanned_out();
    let timer = noetl_model::TimerId(44);
    assert_eq!(story.tell(&Input::TimerFired { timer }), Err(Refusal::UnknownTimer(timer)));
}

#[test]
fn an_execution_with_open_work_is_not_stalled() {
    let mut story = fanned_out();
    assert_eq!(story.tell(&Input::Stalled { detail: "?".into() }), Ok(Vec::new()));
}
