//! Tests of executions that do not end by the time their playbook expects.

use std::time::Duration;

use expect_test::expect;
use noetl_engine::{Input, Refusal, replay};
use noetl_model::{ChildExecutions, ExecutionStatus};
use noetl_testkit::{Story, StoryOptions};
use serde_json::json;

use crate::{check, playbook};

const WAITS: &str = "
expect: {within: 10m}
workflow:
  - {step: start, tool: {kind: wait, signal: payment}, next: end}
  - {step: end, tool: {kind: noop}}
";
const FINAL: &str = "
expect: {within: 10m}
executor: {spec: {timeout: 5m, final_step: tidy}}
workflow:
  - {step: start, tool: {kind: wait, signal: payment}}
  - {step: tidy, tool: {kind: wait, for: 1h}}
";

fn begun(text: &str) -> Story {
    Story::begin(&playbook(text), StoryOptions::default())
}

/// Lets time pass and fires the timers that are due.
fn pass(story: &mut Story, minutes: u64) {
    story.now = story.now.after(Duration::from_secs(60 * minutes));
    while let Some((timer, _)) = story.next_timer().filter(|(_, due_at)| *due_at <= story.now) {
        story.tell(&Input::TimerFired { timer }).expect("the timer is due");
    }
}

#[track_caller]
fn check_replay(story: &Story) {
    let replayed = replay(Story::EXECUTION, story.log.clone()).expect("a legal log");
    assert_eq!(replayed.as_ref(), Some(&story.state));
}

#[test]
fn an_execution_that_ends_in_time_is_not_late() {
    let story = check(
        "
expect: {within: 10m}
workflow:
  - {step: start, tool: {kind: noop}}
",
        expect![[r#"
            timer 0 set (expected end)
            enter start
            issue 0: start (noop)
            done 0: {"status":"ok"}
            leave start
            COMPLETED {"status":"ok"}
        "#]],
    );
    assert_eq!(story.state.late_at(), None);
    assert_eq!(story.next_timer(), None, "the end drops the timer");
}

#[test]
fn a_late_execution_is_recorded_once_and_goes_on() {
    let mut story = begun(WAITS);
    let (timer, _) = story.next_timer().expect("a timer is set");
    pass(&mut story, 10);
    assert_eq!(story.state.late_at(), Some(story.now));
    assert_eq!(story.tell(&Input::TimerFired { timer }), Err(Refusal::UnknownTimer(timer)));
    let signal = noetl_engine::Signal {
        name: "payment".parse().expect("a name"),
        body: noetl_model::Payload::inline(json!(1)),
        sender: None,
        key: None,
        to: None,
        actor: None,
    };
    story.tell(&Input::Signal(signal)).expect("it is awaited");
    story.run();
    assert_eq!(story.status(), ExecutionStatus::Completed, "lateness changes no outcome");
    assert_eq!(story.history().matches("LATE").count(), 1);
    check_replay(&story);
}

#[test]
fn the_final_step_after_a_timeout_can_be_late_too() {
    let mut story = begun(FINAL);
    pass(&mut story, 5);
    assert_eq!(story.state.late_at(), None);
    pass(&mut story, 5);
    assert_eq!(story.state.late_at(), Some(story.now));
    check_replay(&story);
}

#[test]
fn an_execution_that_was_cancelled_is_never_late() {
    let mut story = begun(WAITS);
    let reason = "enough".to_owned();
    let below = ChildExecutions::Cancelled;
    story.tell(&Input::Cancel { reason, below, actor: None }).expect("it runs");
    pass(&mut story, 20);
    assert_eq!(story.state.late_at(), None);
}
