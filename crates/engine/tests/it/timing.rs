//! The times of commands.

use std::time::Duration;

use noetl_engine::{CommandOutcome, CommandTiming, Input, begin, command_timing, evolve};
use noetl_model::{ChildExecutions, ErrorKind, Outcome, ToolError};
use noetl_testkit::{Story, StoryOptions};
use serde_json::json;

use crate::playbook;

const TEXT: &str = "
executor: {spec: {priority: 7}}
workflow:
  - {step: start, tool: {kind: http, url: 'http://example.com'}}
";

fn begun() -> Story {
    let mut story = Story::begin(&playbook(TEXT), StoryOptions::default());
    story.now = story.now.after(Duration::from_secs(2));
    story
}

/// Returns the times of all commands in the log of a story, in the order of their ends.
fn timings(story: &Story) -> Vec<CommandTiming> {
    let mut state = begin(Story::EXECUTION, &story.log[0]).expect("a start");
    let mut found = Vec::new();
    for recorded in &story.log[1..] {
        found.extend(command_timing(&state, recorded));
        evolve(&mut state, recorded).expect("a legal log");
    }
    found
}

fn check(story: &Story, end: CommandOutcome, queued: Option<u64>, ran: Option<u64>) {
    let [timing] = timings(story).try_into().expect("one command has ended");
    assert_eq!((timing.end, timing.priority.level()), (end, 7));
    let seconds = |it: Option<Duration>| it.map(|it| it.as_secs());
    assert_eq!((seconds(timing.queued), seconds(timing.ran)), (queued, ran));
}

#[test]
fn a_command_waits_until_its_claim_and_runs_until_its_end() {
    for (outcome, end) in [
        (Outcome::completed(json!(1)), CommandOutcome::Completed),
        (Outcome::failed(ToolError::new(ErrorKind::Exception, "no")), CommandOutcome::Failed),
    ] {
        let mut story = begun();
        let command = story.next_ready().expect("a command is ready");
        story.claim(command, 1, "w").expect("it is ready");
        story.now = story.now.after(Duration::from_secs(5));
        story.report(command, 1, "w", outcome).expect("it is claimed");
        check(&story, end, Some(2), Some(5));
    }
}

#[test]
fn a_command_that_no_worker_claimed_has_not_run() {
    let mut story = begun();
    let (reason, below) = ("enough".to_owned(), ChildExecutions::Cancelled);
    story.tell(&Input::Cancel { reason, below, actor: None }).expect("it runs");
    check(&story, CommandOutcome::Cancelled, None, None);
}
