//! Tests of child executions: the parent waits for the child and receives its result.

use expect_test::{Expect, expect};
use noetl_engine::{
    ATTEMPTS_MAX, ChildCall, ChildRequest, CommandResult, DecisionArgs, EVENTS_MAX, Effect, Effort,
    Input, Loaded, RUNS_MAX, Refusal, child_request, effects_of,
};
use noetl_model::{
    ChildExecutions, CommandId, ErrorKind, Event, ExecutionId, Message, Origin, Parent, Payload,
    Recorded, StepName, TimerId, ToolError,
};
use noetl_testkit::{Story, StoryOptions};
use serde_json::json;

use crate::{playbook, told_with};

const PARENT: &str = "
workload: {who: world}
workflow:
  - step: start
    tool: {kind: playbook, path: greet/one, return_step: greet, input: {name: '{{ workload.who }}', n: 1}}
    next: {arcs: [{step: repair, when: '{{ event.name == \"step.failed\" }}'}, {step: end}]}
  - {step: end, tool: {kind: noop, result: '{{ start.text }}'}}
  - {step: repair, tool: {kind: noop}}
";
const FIRST: CommandId = CommandId(0);
const CHILD: ExecutionId = ExecutionId(99);

fn parent() -> Story {
    Story::begin(&playbook(PARENT), StoryOptions::default())
}

fn call(story: &Story) -> ChildCall {
    let loaded = Loaded::default();
    let given = DecisionArgs {
        playbook: &story.playbook,
        now: story.now,
        loaded: &loaded,
        effort: Effort::Whole,
        runs_max: RUNS_MAX,
        events_max: EVENTS_MAX,
        attempts_max: ATTEMPTS_MAX,
        fork_changes: None,
    };
    child_request(&story.state, FIRST, given).expect("everything is here")
}

/// Checks the playbook that a playbook tool requests and the step whose result it waits for.
#[track_caller]
fn asks(tool: &str, expected: Expect) {
    let step = format!("\n  - {{step: start, tool: {{kind: playbook, {tool}}}}}\n");
    let actual = match call(&Story::begin(&playbook(&step), StoryOptions::default())) {
        ChildCall::Start(ChildRequest { playbook, origin, .. }) => match origin {
            Origin::Parent { return_step: Some(step), .. } => {
                format!("{playbook}, waits for {step}")
            }
            Origin::Parent { return_step: None, .. } => format!("{playbook}, waits"),
            Origin::Linked { .. } => format!("{playbook}, goes on"),
            Origin::Request | Origin::Schedule { .. } | Origin::Rerun { .. } => {
                format!("{playbook}, from nowhere")
            }
        },
        ChildCall::Invalid(error) => error.to_string(),
        ChildCall::Settled | ChildCall::Blocked => "nothing".to_owned(),
    };
    expected.assert_eq(&actual);
}

#[test]
fn a_parent_waits_if_it_wants_something_of_its_child() {
    asks("path: a", expect!["a, goes on"]);
    asks("path: a, version: latest", expect!["a, goes on"]);
    asks("path: a, version: 2, return_step: end", expect!["a@2, waits for end"]);
    asks("path: a, return_result: true", expect!["a, waits"]);
    asks("path: a, return_result: false", expect!["a, goes on"]);
    asks("path: a, return_result: true, result_step: b", expect!["a, waits for b"]);
    asks("path: a, return_step: '{{ workload.none }}'", expect!["a, goes on"]);
    asks("path: a, wait: true", expect!["a, waits"]);
    asks("path: a, wait: false, return_step: b", expect!["a, goes on"]);
    asks("catalog_id: '77', return_step: b", expect!["77, waits for b"]);
    asks("catalog_id: x", expect!["a playbook tool needs `path`: the catalog path of the child"]);
}

#[test]
fn a_playbook_tool_asks_the_control_plane_for_a_child() {
    let story = parent();
    assert_eq!((story.next_ready(), story.next_child()), (None, Some(FIRST)));
    let ChildCall::Start(request) = call(&story) else { panic!("a valid request") };
    assert_eq!(request.playbook.to_string(), "greet/one");
    assert_eq!(json!(request.payload), json!({ "name": "world", "n": 1 }));
    assert_eq!(
        request.origin,
        Origin::Parent {
            execution: Story::EXECUTION,
            command: FIRST,
            return_step: Some(StepName::new("greet")),
            depth: 1,
            iter: None,
        }
    );
}

#[test]
fn the_parent_goes_on_with_the_childs_output() {
    let mut story = parent();
    story.tell(&Input::ChildStarted { command: FIRST, child: CHILD }).unwrap();
    assert_eq!(call(&story), ChildCall::Settled);
    let output = Payload::inline(json!({ "text": "hello world" }));
    let ended = Input::ChildEnded { command: FIRST, ended: CommandResult::Completed { output } };
    story.tell(&ended).unwrap();
    assert_eq!(story.tell(&ended), Ok(Vec::new()), "told twice");
    story.run();
    expect![[r#"
        enter start
        issue 0: start (playbook)
        child of 0: 99
        done 0: {"text":"hello world"}
        leave start
        enter end from start
        issue 1: end (noop)
        done 1: "hello world"
        leave end
        COMPLETED "hello world"
    "#]]
    .assert_eq(&story.history());
}

#[test]
fn a_failed_child_fails_its_step_which_may_handle_it() {
    let mut story = parent();
    story.tell(&Input::ChildStarted { command: FIRST, child: CHILD }).unwrap();
    let error = ToolError::new(ErrorKind::Child, "the child failed");
    let ended = CommandResult::Failed { error, output: None };
    story.tell(&Input::ChildEnded { command: FIRST, ended }).unwrap();
    story.run();
    assert_eq!(story.state.step_runs("repair"), 1);
    assert_eq!(story.status().as_str(), "COMPLETED");
}

#[test]
fn a_worker_cannot_take_what_waits_for_a_child() {
    let mut story = parent();
    story.tell(&Input::ChildStarted { command: FIRST, child: CHILD }).unwrap();
    assert_eq!(story.claim(FIRST, 1, "w"), Err(Refusal::AlreadyClaimed(FIRST)));
    let other = Input::ChildStarted { command: FIRST, child: ExecutionId(100) };
    assert_eq!(story.tell(&other), Err(Refusal::AlreadyClaimed(FIRST)));
}

/// Cancels the execution and returns the effects of all events, without those on the index.
fn cancelled(mut story: Story, below: ChildExecutions) -> Vec<Effect> {
    let mut before = story.state.clone();
    let cancel = Input::Cancel { reason: "stop".into(), below, actor: None };
    let events = story.tell(&cancel).expect("it runs");
    let mut effects = Vec::new();
    for event in events {
        let recorded = Recorded {
            seq: before.seq().next(),
            event_id: noetl_model::EventId(1),
            at: story.now,
            event,
            prev: None,
        };
        effects.extend(effects_of(&before, &recorded));
        noetl_engine::evolve(&mut before, &recorded).expect("it was decided");
    }
    effects.retain(|effect| !matches!(effect, Effect::Index(_)));
    effects
}

fn waiting_for_a_child() -> Story {
    let mut story = parent();
    let started = Input::ChildStarted { command: FIRST, child: CHILD };
    story.tell(&started).expect("it waits for one");
    story
}

#[test]
fn a_cancellation_that_spares_children_sends_them_no_message() {
    let effects = cancelled(waiting_for_a_child(), ChildExecutions::Kept);
    assert_eq!(effects, [Effect::Dequeue { command: FIRST }]);
}

#[test]
fn a_linked_execution_has_its_depth_and_does_not_report_its_end() {
    let origin = Origin::Linked { execution: ExecutionId(7), depth: 3 };
    let story = Story::begin(
        &playbook("\n  - {step: start, tool: {kind: noop}}\n"),
        StoryOptions { origin, ..StoryOptions::default() },
    );
    assert_eq!(story.state.depth(), 3);
    let above = story.state.summary().parent;
    assert_eq!(above, Some(Parent::Named { execution: ExecutionId(7) }));
    let told: Vec<Effect> = cancelled(story, ChildExecutions::Kept);
    assert_eq!(told, [Effect::Dequeue { command: FIRST }]);
}

#[test]
fn cancelling_a_parent_cancels_its_child() {
    let effects = cancelled(waiting_for_a_child(), ChildExecutions::Cancelled);
    expect![[r#"
        [
            Dequeue {
                command: CommandId(
                    0,
                ),
            },
            Send(
                CancelChild {
                    child: ExecutionId(
                        99,
                    ),
                    reason: "stop",
                },
            ),
            Send(
                CancelLinked {
                    reason: "stop",
                },
            ),
        ]
    "#]]
    .assert_eq(&format!("{effects:#?}\n"));
}

#[test]
fn a_request_that_cannot_be_is_an_error_of_its_command() {
    let story = Story::begin(
        &playbook("\n  - {step: start, tool: {kind: playbook, path: '{{ workload.missing }}'}}\n"),
        StoryOptions::default(),
    );
    let ChildCall::Invalid(error) = call(&story) else { panic!("an invalid request") };
    assert_eq!(error.kind, ErrorKind::Config);
    assert!(error.message.contains("`path`"), "{error}");
}

fn child_options(return_step: Option<&str>) -> StoryOptions {
    StoryOptions {
        origin: Origin::Parent {
            execution: ExecutionId(1),
            command: CommandId(4),
            return_step: return_step.map(StepName::new),
            depth: 2,
            iter: Some(json!({ "index": 3 })),
        },
        ..StoryOptions::default()
    }
}

const CHILD_PLAYBOOK: &str = "
  - {step: start, tool: {kind: noop, result: first}, next: last}
  - step: last
    loop: {in: [1], iterator: n}
    tool: {kind: noop, result: '{{ [iter.parent.index, iter.index] }}'}
";

#[test]
fn a_child_gives_back_the_step_that_was_asked_for_else_the_last() {
    let output = |return_step| {
        let story = told_with(CHILD_PLAYBOOK, child_options(return_step));
        match &story.log.last().map(|it| it.event.clone()) {
            Some(Event::ExecutionCompleted { output, .. }) => (*story.resolve(output)).clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(output(Some("start")), json!("first"));
    assert_eq!(output(None)["results"], json!([[3, 0]]));
}

#[test]
fn a_childs_loop_sees_its_parents_item() {
    let story = told_with(CHILD_PLAYBOOK, child_options(None));
    assert_eq!(story.output("last")["results"], json!([[3, 0]]));
    assert_eq!(story.state.depth(), 2);
}

#[test]
fn a_child_over_its_timeout_is_cancelled() {
    let step = "\n  - {step: start, tool: {kind: playbook, path: a, wait: true, timeout: 5}}\n";
    let mut story = Story::begin(&playbook(step), StoryOptions::default());
    story.tell(&Input::ChildStarted { command: FIRST, child: CHILD }).unwrap();
    story.now = story.next_timer().expect("a time limit").1;
    story.tell(&Input::TimerFired { timer: TimerId(0) }).unwrap();
    let failed = |recorded: &Recorded| matches!(recorded.event, Event::CommandFailed { .. });
    let place = story.log.iter().position(failed).expect("the task has failed");
    let before = noetl_engine::replay(Story::EXECUTION, story.log[..place].to_vec());
    let effects = effects_of(&before.unwrap().unwrap(), &story.log[place]);
    let told = effects.iter().find_map(|effect| match effect {
        Effect::Send(Message::CancelChild { child, .. }) => Some(*child),
        _ => None,
    });
    assert_eq!(told, Some(CHILD));
}
