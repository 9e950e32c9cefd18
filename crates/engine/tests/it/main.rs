//! Tests of the rules of an execution: a playbook, the outputs of its tasks, the resulting history.

mod approvals;
mod audit;
mod budgets;
mod cache;
mod children;
mod commands;
mod endings;
mod failures;
mod holds;
mod inspect;
mod joins;
mod labels;
mod late;
mod loops;
mod notices;
mod once;
mod parked;
mod pipelines;
mod properties;
mod routing;
mod rules;
mod scopes;
mod timing;
mod views;
mod waits;

use expect_test::Expect;
use noetl_testkit::{Story, StoryOptions};
use serde_json::Value;

/// Returns a playbook around some steps, or around everything from `workload` on.
fn playbook(text: &str) -> String {
    let header = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: test}\n";
    let workflow = if text.contains("workflow:") { "" } else { "workflow:\n" };
    format!("{header}{workflow}{text}")
}

/// Runs the playbook and compares its history. The history must be the same with every payload
/// stored by reference, and the log must replay to the final state.
#[track_caller]
fn check(text: &str, then: Expect) -> Story {
    check_with(text, StoryOptions::default(), then)
}

#[track_caller]
fn check_with(text: &str, options: StoryOptions, then: Expect) -> Story {
    let yaml = playbook(text);
    let mut story = Story::begin(&yaml, options.clone());
    let history = story.run().history();
    let mut stored = Story::begin(&yaml, StoryOptions { inline_max: 0, ..options });
    assert_eq!(history, stored.run().history(), "with every payload stored elsewhere");
    let replayed = noetl_engine::replay(Story::EXECUTION, story.log.clone());
    assert_eq!(replayed.expect("a legal log").as_ref(), Some(&story.state));
    then.assert_eq(&history);
    story
}

/// Runs the playbook, for tests that compare steps and outputs instead of events.
#[track_caller]
fn told(text: &str) -> Story {
    told_with(text, StoryOptions::default())
}

#[track_caller]
fn told_with(text: &str, options: StoryOptions) -> Story {
    let yaml = playbook(text);
    let mut story = Story::begin(&yaml, options.clone());
    story.run();
    let mut stored = Story::begin(&yaml, StoryOptions { inline_max: 0, ..options });
    assert_eq!(story.history(), stored.run().history(), "with every payload stored elsewhere");
    story
}

/// Returns options with a payload.
fn payload(value: Value) -> StoryOptions {
    let payload = value.as_object().expect("a payload is a map").clone();
    StoryOptions { payload, ..StoryOptions::default() }
}
