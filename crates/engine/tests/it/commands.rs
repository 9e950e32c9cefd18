//! Tests of claims, leases, attempts and reports.

use expect_test::expect;
use noetl_engine::{Input, Refusal};
use noetl_model::{Attempt, ChildExecutions, CommandId, ErrorKind, Outcome, ToolError};
use noetl_testkit::{Story, StoryOptions};
use serde_json::json;

use crate::playbook;

const STEP: &str = "\n  - {step: start, tool: {kind: noop, result: 1}}\n";
const FIRST: CommandId = CommandId(0);

fn begun() -> Story {
    Story::begin(&playbook(STEP), StoryOptions::default())
}

fn done(value: u32) -> Outcome {
    Outcome::completed(json!(value))
}

#[test]
fn a_report_ends_the_command_and_the_same_report_again_changes_nothing() {
    let mut story = begun();
    story.claim(FIRST, 1, "a").unwrap();
    assert!(!story.report(FIRST, 1, "a", done(1)).unwrap().is_empty());
    assert_eq!(story.report(FIRST, 1, "a", done(1)), Ok(Vec::new()));
    assert_eq!(story.status().as_str(), "COMPLETED");
}

#[test]
fn a_second_claim_with_the_same_attempt_is_refused() {
    let mut story = begun();
    story.claim(FIRST, 1, "a").unwrap();
    assert_eq!(story.claim(FIRST, 1, "b"), Err(Refusal::AlreadyClaimed(FIRST)));
    assert_eq!(story.claim(CommandId(9), 1, "b"), Err(Refusal::CommandFinished(CommandId(9))));
}

#[test]
fn a_report_after_another_worker_took_over_is_recorded_and_changes_nothing() {
    let mut story = begun();
    story.claim(FIRST, 1, "a").unwrap();
    story.claim(FIRST, 2, "b").unwrap();
    let superseded = Refusal::Superseded { command: FIRST, attempt: Attempt(1) };
    assert_eq!(story.report(FIRST, 1, "a", done(1)), Err(superseded.clone()));
    story.report(FIRST, 2, "b", done(2)).unwrap();
    assert_eq!(story.report(FIRST, 1, "a", done(1)), Err(superseded));
    assert_eq!(story.report(FIRST, 2, "b", done(2)), Ok(Vec::new()));
    expect![[r#"
        enter start
        issue 0: start (noop)
        superseded 0: attempt 1 of a
        done 0: 2
        leave start
        COMPLETED 2
        superseded 0: attempt 1 of a
    "#]]
    .assert_eq(&story.history());
}

#[test]
fn a_report_with_another_workers_attempt_is_refused() {
    let mut story = begun();
    story.claim(FIRST, 1, "a").unwrap();
    let superseded = Refusal::Superseded { command: FIRST, attempt: Attempt(1) };
    assert_eq!(story.report(FIRST, 1, "b", done(1)), Err(superseded));
}

#[test]
fn a_report_about_a_command_that_never_was_is_refused() {
    let mut story = begun();
    let unknown = CommandId(5);
    assert_eq!(story.report(unknown, 1, "a", done(1)), Err(Refusal::UnknownCommand(unknown)));
}

#[test]
fn a_superseded_report_stays_so_when_the_command_is_cancelled() {
    let mut story = begun();
    story.claim(FIRST, 1, "a").unwrap();
    story.claim(FIRST, 2, "b").unwrap();
    let superseded = Err(Refusal::Superseded { command: FIRST, attempt: Attempt(1) });
    assert_eq!(story.report(FIRST, 1, "a", done(1)), superseded);
    story
        .tell(&Input::Cancel {
            reason: "stop".into(),
            below: ChildExecutions::Cancelled,
            actor: None,
        })
        .unwrap();
    assert_eq!(story.report(FIRST, 1, "a", done(1)), superseded);
}

#[test]
fn a_command_that_three_workers_lost_fails_visibly() {
    let mut story = begun();
    for (attempt, worker) in [(1, "a"), (2, "b"), (3, "c")] {
        story.claim(FIRST, attempt, worker).unwrap();
    }
    story.tell(&Input::LeaseExhausted { command: FIRST, attempt: Attempt(3) }).unwrap();
    expect![[r#"
        enter start
        issue 0: start (noop)
        fail 0: the worker process ended or stopped answering 3 times while it ran this command, which is the limit; the log of the worker, or of its machine, tells why (worker_lost)
        step start failed: the worker process ended or stopped answering 3 times while it ran this command, which is the limit; the log of the worker, or of its machine, tells why
        FAILED the worker process ended or stopped answering 3 times while it ran this command, which is the limit; the log of the worker, or of its machine, tells why
    "#]]
    .assert_eq(&story.history());
}

#[test]
fn a_fourth_claim_fails_the_command_instead() {
    let mut story = begun();
    for (attempt, worker) in [(1, "a"), (2, "b"), (3, "c"), (4, "d")] {
        story.claim(FIRST, attempt, worker).unwrap();
    }
    assert_eq!(story.status().as_str(), "FAILED");
}

#[test]
fn a_lease_is_not_exhausted_while_attempts_are_left() {
    let mut story = begun();
    story.claim(FIRST, 1, "a").unwrap();
    let told = story.tell(&Input::LeaseExhausted { command: FIRST, attempt: Attempt(1) });
    assert_eq!(told, Ok(Vec::new()));
}

#[test]
fn every_attempt_offers_the_same_idempotency_key() {
    let mut story = begun();
    story.claim(FIRST, 1, "a").expect("it is this one's turn");
    let first = story.lease(FIRST);
    story.claim(FIRST, 2, "b").expect("it is this one's turn");
    let second = story.lease(FIRST);
    assert_eq!(first.idempotency_key, second.idempotency_key);
    assert_eq!((first.attempt, second.attempt), (Attempt(1), Attempt(2)));
}

/// Runs a failing step. Returns the idempotency key, its number and the task of each attempt.
fn keys_of(step: &str) -> Vec<(String, u32, String)> {
    let mut story = Story::begin(&playbook(step), StoryOptions::default());
    let mut keys = Vec::new();
    while !story.status().is_terminal() {
        let Some(command) = story.next_ready() else {
            let (timer, due_at) = story.next_timer().expect("something is under way");
            story.now = story.now.max(due_at);
            story.tell(&Input::TimerFired { timer }).expect("it is this one's turn");
            continue;
        };
        story.claim(command, 1, "lost").expect("it is this one's turn");
        story.claim(command, 2, "w").expect("it is this one's turn");
        let lease = story.lease(command);
        keys.push((lease.idempotency_key, lease.key_attempt, lease.label.clone()));
        let outcome = match step.contains("fail:") {
            true => {
                Outcome::Failed { error: ToolError::new(ErrorKind::Timeout, "busy"), output: None }
            }
            false => done(1),
        };
        story.report(command, 2, "w", outcome).expect("it is this one's turn");
    }
    keys
}

#[test]
fn a_retry_by_a_rule_offers_the_key_of_the_first_attempt_and_counts_on() {
    let keys =
        keys_of("  - {step: start, tool: {kind: noop, retry: {max_attempts: 3}, fail: busy}}");
    let numbers: Vec<u32> = keys.iter().map(|(_, number, _)| *number).collect();
    assert_eq!(numbers, [2, 4, 6], "each command is claimed twice");
    assert!(keys.iter().all(|(key, ..)| *key == keys[0].0), "{keys:?}");
}

#[test]
fn a_task_that_a_jump_leads_back_to_has_a_key_of_its_own() {
    let keys = keys_of(
        "
  - step: start
    tool:
      - one: {kind: noop}
      - two:
          kind: noop
          spec: {policy: {rules: [
            {when: '{{ (ctx.n or 0) < 1 }}', then: {do: jump, to: one, set: {ctx.n: 1}}},
            {else: {then: {do: break}}}]}}
",
    );
    let labels: Vec<&str> = keys.iter().map(|(_, _, label)| label.as_str()).collect();
    assert_eq!(labels, ["one", "two", "one", "two"]);
    let distinct: std::collections::BTreeSet<&String> = keys.iter().map(|(key, ..)| key).collect();
    assert_eq!(distinct.len(), 4, "{keys:?}");
    assert!(keys.iter().all(|(_, number, _)| *number == 2), "{keys:?}");
}

#[test]
fn facts_of_others_are_kept_and_change_nothing() {
    let mut story = begun();
    let before = story.state.clone();
    let fact = Input::Reported { name: "call.done".into(), step: None, body: json!({}) };
    story.tell(&fact).unwrap();
    assert_eq!(story.state.seq(), before.seq().next());
    story.run();
    story.tell(&fact).unwrap();
    assert_eq!(story.status().as_str(), "COMPLETED");
}
