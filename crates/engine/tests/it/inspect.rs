//! Tests of the views of a state: arcs that were taken, latest runs, and open work.

use std::time::Duration;

use noetl_engine::{CommandWait, Execution, OpenPart, TimeLimit};
use noetl_model::{CommandId, ErrorKind, Outcome, Place, ToolError};
use noetl_testkit::{Story, StoryOptions};
use serde_json::json;

use crate::{playbook, told};

/// Returns the arcs that were taken, with how often and the last event.
fn arcs(state: &Execution) -> Vec<String> {
    let arcs = state.arcs_taken();
    arcs.map(|(from, to, taken)| format!("{from} -> {to}: {} ({})", taken.times, taken.last))
        .collect()
}

#[test]
fn an_arc_into_a_join_counts_once() {
    let story = told(
        "
  - {step: start, tool: {kind: noop}, next: [a, b]}
  - {step: a, tool: {kind: noop}, next: join}
  - {step: b, tool: {kind: noop}, next: join}
  - {step: join, tool: {kind: noop}}
",
    );
    let taken: Vec<String> =
        arcs(&story.state).iter().map(|arc| arc.split(" (").next().unwrap().to_owned()).collect();
    assert_eq!(taken, ["a -> join: 1", "b -> join: 1", "start -> a: 1", "start -> b: 1"]);
}

#[test]
fn an_arc_of_a_cycle_counts_every_time_and_names_its_last_event() {
    let story = told(
        "
  - step: start
    tool: {kind: noop}
    set: {ctx.n: '{{ ctx.n | default(0) + 1 }}'}
    next: {arcs: [{step: start, when: '{{ ctx.n < 3 }}'}, {step: end}]}
  - {step: end, tool: {kind: noop}}
",
    );
    let entered = |step: &str| {
        let mut log = story.log.iter().rev();
        let is_entry = |it: &&noetl_model::Recorded| {
            it.event.tag().as_str() == "step.entered"
                && it.event.step().is_some_and(|name| name.as_str() == step)
        };
        log.find(is_entry).unwrap().seq
    };
    let (start, end) = (entered("start"), entered("end"));
    assert_eq!(
        arcs(&story.state),
        [format!("start -> end: 1 ({end})"), format!("start -> start: 2 ({start})")]
    );
    let latest = story.state.step("start").unwrap().latest.unwrap();
    assert_eq!((latest.run.0, latest.entered, latest.attempts), (2, start, 1));
    assert!(latest.ended.is_some_and(|ended| ended.seq > start));
}

#[test]
fn a_skip_has_its_reason_and_its_arc() {
    let story = told(
        "
  - {step: start, tool: {kind: noop}, next: [rare]}
  - {step: rare, when: '{{ false }}', tool: {kind: noop}, next: end}
  - {step: end, tool: {kind: noop}}
",
    );
    let skip = story.state.step("rare").unwrap().skipped.unwrap();
    assert_eq!(skip.reason, noetl_model::SkipReason::Guard);
    let arcs = arcs(&story.state);
    assert_eq!(arcs[1], format!("start -> rare: 1 ({})", skip.seq));
    assert!(arcs[0].starts_with("rare -> end: 1"), "{arcs:?}");
}

/// Returns a line for each open part.
fn open(story: &Story) -> Vec<String> {
    let parts = story.state.open_parts().map(|part| match part {
        OpenPart::Command(open) => {
            let wait = match open.waits_for {
                CommandWait::Worker => "a worker".to_owned(),
                CommandWait::Slot(slot) => format!("limit {}", slot.limit.name),
                CommandWait::Resumption(_) => "its resumption".to_owned(),
                CommandWait::Report { worker, attempt, .. } => format!("{worker}, {attempt}"),
                CommandWait::Child { execution, .. } => format!("child {execution}"),
                CommandWait::Condition { condition, .. } => format!("{condition:?}"),
                CommandWait::Callback { attempt, .. } => format!("a callback, {attempt}"),
                CommandWait::Approval { request, .. } => format!("approval {}", request.title),
            };
            let item = match open.task.place {
                Place::Item { index, .. } => format!(" item {index}"),
                Place::Task(_) | Place::Claim { .. } => String::new(),
            };
            format!("{}{item} waits for {wait} in {}", open.step, open.pool)
        }
        OpenPart::Retry { step, task, .. } => {
            format!("{} waits for retry {}", step.expect("a step"), task.retry)
        }
        OpenPart::TimeLimit { limit: TimeLimit::Expected, .. } => "expected end".to_owned(),
        OpenPart::TimeLimit { limit: TimeLimit::Execution, .. } => "limit of all".to_owned(),
        OpenPart::TimeLimit { limit: TimeLimit::Step | TimeLimit::Task, step, .. } => {
            format!("limit of {}", step.expect("a step"))
        }
        OpenPart::Join { step, arrived } => {
            let arrived: Vec<&str> = arrived.iter().map(|it| it.as_str()).collect();
            format!("{step} waits for others than {}", arrived.join(", "))
        }
    });
    let parts: Vec<String> = parts.collect();
    assert_eq!(parts.len(), story.state.open_parts_len());
    parts
}

#[test]
fn open_work_says_what_it_waits_for() {
    let yaml = playbook(
        "
  - {step: start, tool: {kind: noop}, next: [a, b]}
  - {step: a, tool: {kind: noop}, next: join}
  - step: b
    timeout: 60s
    tool: {kind: noop, retry: {max_attempts: 2, delay: 5}}
    next: join
  - {step: join, tool: {kind: noop}}
",
    );
    let mut story = Story::begin(&yaml, StoryOptions::default());
    assert_eq!(open(&story), ["start waits for a worker in shared"]);
    let done = || Outcome::Completed { output: json!(1).into() };
    story.claim(CommandId(0), 1, "w").unwrap();
    assert_eq!(open(&story), ["start waits for w, 1 in shared"]);
    story.report(CommandId(0), 1, "w", done()).unwrap();
    story.claim(CommandId(1), 1, "w").unwrap();
    story.report(CommandId(1), 1, "w", done()).unwrap();
    assert_eq!(
        open(&story),
        ["b waits for a worker in shared", "limit of b", "join waits for others than a",]
    );
    story.claim(CommandId(2), 1, "w").unwrap();
    story.now = story.now.after(Duration::from_secs(1));
    let error = ToolError::new(ErrorKind::Connection, "no");
    story.report(CommandId(2), 1, "w", Outcome::Failed { error, output: None }).unwrap();
    assert_eq!(open(&story), ["limit of b", "b waits for retry 1", "join waits for others than a"]);
}
