//! Tests of steps that run at most once.

use std::time::Duration;

use noetl_engine::{Input, Refusal, replay};
use noetl_model::{Attempt, CommandId, ErrorKind, Event, ExecutionStatus, WorkerId};
use noetl_testkit::{Story, StoryOptions};

use crate::playbook;

const PLAIN: &str = "
  - {step: start, run: at_most_once, tool: {kind: noop}}
";
const HANDLED: &str = "
  - step: start
    run: at_most_once
    tool: {kind: noop}
    next:
      arcs:
        - {step: ask, when: '{{ output.error.kind == \"worker_lost\" }}'}
        - {step: end}
  - {step: ask, tool: {kind: noop}}
  - {step: end, tool: {kind: noop}}
";
const USUAL: &str = "
  - {step: start, run: at_least_once, tool: {kind: noop}}
";

const FIRST: CommandId = CommandId(0);

fn claim(attempt: u32, worker: &str) -> Input {
    Input::Claim {
        command: FIRST,
        attempt: Attempt(attempt),
        worker: WorkerId::new(worker),
        lease: Duration::from_secs(30),
        after: None,
    }
}

fn claimed(text: &str) -> Story {
    let mut story = Story::begin(&playbook(text), StoryOptions::default());
    story.tell(&claim(1, "a")).expect("the command is free");
    story
}

/// Returns the number of claims in the log.
fn claims(story: &Story) -> usize {
    let claims = story.log.iter().filter(|it| matches!(it.event, Event::CommandClaimed { .. }));
    claims.count()
}

#[track_caller]
fn check_lost(story: &Story) {
    let lost = story.log.iter().find_map(|it| match &it.event {
        Event::CommandFailed { error, .. } => Some(error),
        _ => None,
    });
    let lost = lost.expect("the command has failed");
    assert_eq!((lost.kind, lost.retryable), (ErrorKind::WorkerLost, false));
    assert!(lost.message.contains("at_most_once"), "{}", lost.message);
    assert_eq!(claims(story), 1, "{}", story.history());
    let replayed = replay(Story::EXECUTION, story.log.clone()).expect("a legal log");
    assert_eq!(replayed.as_ref(), Some(&story.state));
}

#[test]
fn a_second_claim_fails_the_command_instead_of_running_it() {
    let mut story = claimed(PLAIN);
    story.tell(&claim(2, "b")).expect("the claim is answered");
    check_lost(&story);
    assert_eq!(story.status(), ExecutionStatus::Failed);
}

#[test]
fn an_expired_lease_fails_the_command() {
    let mut story = claimed(PLAIN);
    let expired = Input::LeaseExhausted { command: FIRST, attempt: Attempt(1) };
    story.tell(&expired).expect("the sweeper is answered");
    check_lost(&story);
    assert_eq!(story.status(), ExecutionStatus::Failed);
}

#[test]
fn an_arc_handles_the_loss() {
    let mut story = claimed(HANDLED);
    story.tell(&claim(2, "b")).expect("the claim is answered");
    check_lost(&story);
    let entered = |step: &str| {
        story.log.iter().any(
            |it| matches!(&it.event, Event::StepEntered { step: it, .. } if it.as_str() == step),
        )
    };
    assert!(entered("ask") && !entered("end"), "{}", story.history());
}

#[test]
fn a_report_after_the_failure_is_superseded_and_one_before_it_counts() {
    let report = |attempt: u32| Input::Report {
        command: FIRST,
        attempt: Attempt(attempt),
        worker: WorkerId::new("a"),
        ended: noetl_engine::CommandResult::Completed {
            output: noetl_model::Payload::inline(serde_json::json!(1)),
        },
        logs: noetl_model::Logs::default(),
    };
    let mut story = claimed(PLAIN);
    story.tell(&report(1)).expect("the lease was not taken over");
    assert_eq!(story.status(), ExecutionStatus::Completed);
    let mut story = claimed(PLAIN);
    story.tell(&claim(2, "b")).expect("the claim is answered");
    let refused = story.tell(&report(1));
    assert_eq!(refused, Err(Refusal::Superseded { command: FIRST, attempt: Attempt(1) }));
}

#[test]
fn a_usual_step_is_claimed_again() {
    let mut story = claimed(USUAL);
    let expired = Input::LeaseExhausted { command: FIRST, attempt: Attempt(1) };
    story.tell(&expired).expect("the sweeper is answered");
    assert_eq!(claims(&story), 1);
    story.tell(&claim(2, "b")).expect("the command is taken over");
    assert_eq!(claims(&story), 2);
}

#[test]
fn a_command_that_nobody_has_claimed_is_not_lost() {
    let mut story = Story::begin(&playbook(PLAIN), StoryOptions::default());
    let expired = Input::LeaseExhausted { command: FIRST, attempt: Attempt(0) };
    story.tell(&expired).expect("the sweeper is answered");
    assert_eq!(story.status(), ExecutionStatus::Running);
}
