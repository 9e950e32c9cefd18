//! Tests of the first event at which two logs part.

use noetl_model::{CommandId, ErrorKind, Event, ForkPoint, Outcome, Recorded, Seq, ToolError};
use noetl_testkit::{Story, StoryOptions};
use serde_json::{Map, Value, json};

use super::{LogSide, Parting, PartingFold};

const PLAYBOOK: &str = "
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: demo, path: demo/part}
workload: {limit: 1}
workflow:
  - step: start
    tool: {kind: rhai, code: '1', input: {limit: '{{ workload.limit }}'}}
    set: {ctx.total: '{{ output }}'}
    next: {spec: {mode: inclusive}, arcs: [{step: quick}, {step: slow}]}
  - step: quick
    tool: {kind: rhai, code: '2'}
    next: {arcs: [{step: done}]}
  - step: slow
    tool: {kind: rhai, code: '3'}
    next: {arcs: [{step: done}]}
  - step: done
    loop: {in: [1, 2], iterator: n, spec: {mode: parallel}}
    tool: {kind: rhai, code: '4'}
";

fn begun(payload: Value) -> Story {
    let Value::Object(payload) = payload else { panic!("a map") };
    Story::begin(PLAYBOOK, StoryOptions { payload, ..StoryOptions::default() })
}

/// Runs commands in an order, each with an output.
fn run(story: &mut Story, commands: &[(u64, Value)]) {
    for (command, output) in commands {
        let command = CommandId(*command);
        story.claim(command, 1, "w").unwrap();
        story
            .report(command, 1, "w", Outcome::Completed { output: output.clone().into() })
            .unwrap();
    }
}

fn log(payload: Value, commands: &[(u64, Value)]) -> Vec<Recorded> {
    let mut story = begun(payload);
    run(&mut story, commands);
    story.log
}

fn parting(left: &[Recorded], right: &[Recorded]) -> Option<Parting> {
    let mut fold = PartingFold::default();
    left.iter().for_each(|it| fold.see(LogSide::Left, it));
    right.iter().for_each(|it| fold.see(LogSide::Right, it));
    fold.finish()
}

/// Returns the types of the two events at which logs part.
fn told(left: &[Recorded], right: &[Recorded]) -> Option<(String, String)> {
    let found = parting(left, right)?;
    let name = |log: &[Recorded], seq: Option<Seq>| {
        let event = seq.and_then(|seq| log.iter().find(|it| it.seq == seq));
        event.map_or("-".to_owned(), |it| it.event.tag().as_str().to_owned())
    };
    Some((name(left, found.left), name(right, found.right)))
}

fn pair(left: &str, right: &str) -> Option<(String, String)> {
    Some((left.to_owned(), right.to_owned()))
}

#[test]
fn the_same_behaviour_in_another_order_does_not_part() {
    let one = [(0, json!(5)), (1, json!(6)), (2, json!(7)), (3, json!(8)), (4, json!(9))];
    let other = [(0, json!(5)), (2, json!(7)), (1, json!(6)), (4, json!(9)), (3, json!(8))];
    let (one, other) = (log(json!({}), &one), log(json!({}), &other));
    assert!(one.last().is_some_and(|it| matches!(it.event, Event::ExecutionCompleted { .. })));
    assert_eq!(parting(&one, &other), None);
}

#[test]
fn another_output_is_where_they_part() {
    let one = log(json!({}), &[(0, json!(5)), (1, json!(6)), (2, json!(7))]);
    let other = log(json!({}), &[(0, json!(5)), (2, json!(7)), (1, json!(0))]);
    assert_eq!(told(&one, &other), pair("command.completed", "command.completed"));
    let found = parting(&one, &other).unwrap();
    assert!(found.left < found.right, "{found:?}: the second run reports `quick` later");
}

#[test]
fn another_workload_parts_where_a_step_reads_it() {
    let one = log(json!({}), &[]);
    assert_eq!(told(&one, &log(json!({ "unread": 1 }), &[])), None);
    let other = log(json!({ "limit": 2 }), &[]);
    assert_eq!(told(&one, &other), pair("command.issued", "command.issued"));
}

#[test]
fn a_log_that_is_behind_parts_at_the_next_event_of_the_other() {
    let (one, other) = (log(json!({}), &[]), log(json!({}), &[(0, json!(5))]));
    assert_eq!(told(&one, &other), pair("-", "command.completed"));
    let mut fold = PartingFold::default();
    one.iter().for_each(|it| fold.see(LogSide::Left, it));
    other.iter().for_each(|it| fold.see(LogSide::Right, it));
    assert_eq!(fold.so_far(), None, "more of the left log may follow");
}

#[test]
fn an_error_parts_from_a_success() {
    let one = log(json!({}), &[(0, json!(5))]);
    let mut story = begun(Value::Object(Map::new()));
    story.claim(CommandId(0), 1, "other").unwrap();
    let error = ToolError::new(ErrorKind::Exception, "no");
    story.report(CommandId(0), 1, "other", Outcome::Failed { error, output: None }).unwrap();
    assert_eq!(told(&one, &story.log), pair("command.completed", "command.failed"));
}

#[test]
fn the_part_after_a_fork_is_compared_by_the_ids_that_both_share() {
    let whole = log(json!({}), &[(0, json!(5)), (1, json!(6)), (2, json!(7))]);
    let at = whole.iter().position(|it| matches!(it.event, Event::StepCompleted { .. })).unwrap();
    let (_, origin) = whole.split_at(at + 1);
    let forked = Event::ExecutionForked {
        origin: ForkPoint { execution: Story::EXECUTION, seq: whole[at].seq },
        playbook: None,
        workload: None,
        context: std::collections::BTreeMap::new(),
        again: Vec::new(),
        actor: None,
    };
    let mut fork = vec![Recorded { event: forked, ..origin[0].clone() }];
    fork.extend(origin.iter().cloned().map(|it| Recorded { seq: Seq(it.seq.0 + 1), ..it }));
    assert_eq!(parting(origin, &fork), None);
    fork.pop();
    assert!(parting(origin, &fork).is_some_and(|it| it.right.is_none()));
}
