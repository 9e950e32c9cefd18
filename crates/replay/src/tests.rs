//! Tests of pictures, differences and timelines.

use std::collections::BTreeSet;
use std::time::Duration;

use expect_test::{Expect, expect};
use noetl_engine::{ApprovalDecision, Input};
use noetl_model::{CommandId, Event, ForkPoint, LimitName, Outcome as Told, Recorded, Verdict};
use noetl_testkit::{Story, StoryOptions};
use serde_json::{Map, Value, json};

use crate::{ComparableState, Difference, Operation, TimelineFold, critical_path, difference};
use crate::{RowActivity, RowSegment, WindowFold};

const PLAYBOOK: &str = "
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: demo, path: demo/look}
workflow:
  - step: start
    tool: {kind: rhai, code: '1'}
    next: {spec: {mode: inclusive}, arcs: [{step: quick}, {step: slow}]}
  - step: quick
    tool: {kind: rhai, code: '2'}
    next: {arcs: [{step: done}]}
  - step: slow
    tool: {kind: rhai, code: '3'}
    next: {arcs: [{step: done}]}
  - step: done
    tool: {kind: rhai, code: '4'}
";

/// Returns the log of an execution whose commands wait one second and run for the given ones.
fn told(seconds: [u64; 4]) -> Vec<Recorded> {
    let mut story = Story::begin(PLAYBOOK, StoryOptions::default());
    for (command, seconds) in (0..).map(CommandId).zip(seconds) {
        story.now = story.now.after(Duration::from_secs(1));
        story.claim(command, 1, "w").unwrap();
        story.now = story.now.after(Duration::from_secs(seconds));
        story.report(command, 1, "w", Told::Completed { output: json!(seconds).into() }).unwrap();
    }
    assert!(story.status().is_terminal());
    story.log
}

fn picture(log: &[Recorded]) -> ComparableState {
    let mut picture = ComparableState::new(Story::EXECUTION);
    log.iter().for_each(|recorded| picture.see(recorded).unwrap());
    picture
}

fn between(before: &[Recorded], after: &[Recorded]) -> Difference {
    difference(&picture(before).document(), &picture(after).document())
}

fn lines(difference: &Difference) -> String {
    difference.changes.iter().map(|change| format!("{change}\n")).collect()
}

#[test]
fn two_moments_differ_in_what_happened_between() {
    let log = told([1, 2, 3, 4]);
    let claimed = log.iter().position(|it| it.event.tag().as_str() == "command.claimed").unwrap();
    let difference = between(&log[..claimed], &log[..claimed + 2]);
    expect![[r#"
        ~ commands.start#0.status: "PENDING" -> "COMPLETED"
        ~ commands.start#0.attempts: 0 -> 1
    "#]]
    .assert_eq(&lines(&difference));
}

#[test]
fn an_execution_that_did_the_same_does_not_differ() {
    let (one, other) = (told([1, 1, 1, 1]), told([1, 1, 1, 1]));
    assert_eq!(between(&one, &other), Difference::default());
}

#[test]
fn two_executions_differ_in_what_came_out() {
    expect![[r#"
        ~ steps.done.output: 1 -> 5
    "#]]
    .assert_eq(&lines(&between(&told([1, 1, 1, 1]), &told([1, 1, 1, 5]))));
}

fn applied(mut document: Value, patch: &[Operation]) -> Value {
    for operation in patch {
        let path = match operation {
            Operation::Add { path, .. }
            | Operation::Remove { path }
            | Operation::Replace { path, .. } => path,
        };
        let (parent, name) = path.rsplit_once('/').unwrap();
        let name = name.replace("~1", "/").replace("~0", "~");
        let parent = document.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        match operation {
            Operation::Add { value, .. } => assert!(parent.insert(name, value.clone()).is_none()),
            Operation::Replace { value, .. } => {
                assert!(parent.insert(name, value.clone()).is_some());
            }
            Operation::Remove { .. } => assert!(parent.shift_remove(&name).is_some()),
        }
    }
    document
}

#[test]
fn a_patch_turns_any_moment_into_any_other() {
    let log = told([1, 2, 3, 4]);
    for from in 1..log.len() {
        for to in 1..log.len() {
            let (before, after) =
                (picture(&log[..from]).document(), picture(&log[..to]).document());
            let patch = difference(&before, &after).patch;
            assert_eq!(applied(before, &patch), after, "{from} to {to}");
        }
    }
}

#[test]
fn names_with_slashes_and_tildes_are_escaped() {
    let difference = difference(&json!({ "a/b": 1, "c~d": [1] }), &json!({ "c~d": [1, 2] }));
    expect![[r#"[{"op":"remove","path":"/a~1b"},{"op":"replace","path":"/c~0d","value":[1,2]}]"#]]
        .assert_eq(&serde_json::to_string(&difference.patch).unwrap());
}

#[track_caller]
fn check(log: &[Recorded], expected: Expect) {
    let mut fold = TimelineFold::new(Story::EXECUTION);
    log.iter().for_each(|recorded| fold.see(recorded));
    let timeline = fold.finish(None);
    let seconds = |micros: u64| micros / 1_000_000;
    let mut text = format!(
        "running {} waiting {} other {}\n",
        seconds(timeline.spent.running),
        seconds(timeline.spent.worker),
        seconds(timeline.spent.other),
    );
    for span in &timeline.steps {
        let critical = if span.is_critical { "*" } else { "-" };
        let (running, waiting) = (seconds(span.spent.running), seconds(span.spent.worker));
        let outcome = span.outcome;
        text +=
            &format!("{critical} {} {outcome:?} running {running} waiting {waiting}\n", span.step);
    }
    expected.assert_eq(&text);
}

#[test]
fn the_critical_path_goes_through_the_branch_that_ended_last() {
    check(
        &told([1, 2, 30, 4]),
        expect![[r#"
        running 37 waiting 4 other 0
        * start Completed running 1 waiting 1
        - quick Completed running 2 waiting 1
        * slow Completed running 30 waiting 4
        * done Completed running 4 waiting 1
    "#]],
    );
}

#[test]
fn the_critical_path_of_any_log_ends_with_the_run_that_its_end_waited_for() {
    for (seconds, events, expected) in [
        ([1, 2, 30, 4], usize::MAX, "start slow done"),
        // The commands run one after another, so the slow branch always ends last.
        ([1, 50, 1, 1], usize::MAX, "start slow done"),
        ([1, 2, 30, 4], 0, ""),
        // The execution has started, and its first step is open.
        ([1, 2, 30, 4], 3, "start…"),
    ] {
        let log = told(seconds);
        let path = critical_path(Story::EXECUTION, &log[..events.min(log.len())]);
        let names = path.iter().map(|run| match run.ended_at {
            Some(_) => run.step.to_string(),
            None => format!("{}…", run.step),
        });
        assert_eq!(names.collect::<Vec<_>>().join(" "), expected, "{seconds:?} {events}");
        assert!(
            path.iter()
                .zip(path.iter().skip(1))
                .all(|(one, next)| { one.ended_at.is_some_and(|ended| ended <= next.entered_at) })
        );
    }
}

#[test]
fn a_running_execution_is_shown_up_to_its_last_event() {
    let log = told([1, 2, 30, 4]);
    let third = log.iter().filter(|it| it.event.tag().as_str() == "command.claimed").nth(2);
    let until = usize::try_from(third.unwrap().seq.0).unwrap();
    check(
        &log[..until],
        expect![[r#"
        running 3 waiting 3 other 0
        * start Completed running 1 waiting 1
        - quick Completed running 2 waiting 1
        * slow Running running 0 waiting 4
    "#]],
    );
}

#[test]
fn the_time_between_a_past_and_its_fork_is_not_counted() {
    let mut log = told([1, 2, 30, 4]);
    let third = log.iter().filter(|it| it.event.tag().as_str() == "command.claimed").nth(2);
    log.truncate(usize::try_from(third.unwrap().seq.0).unwrap());
    let left = log.last().unwrap().clone();
    let day = Duration::from_hours(24);
    let origin = ForkPoint { execution: Story::EXECUTION, seq: left.seq };
    let event = Event::ExecutionForked {
        origin,
        playbook: None,
        workload: None,
        context: std::collections::BTreeMap::new(),
        again: Vec::new(),
        actor: None,
    };
    log.push(Recorded { seq: left.seq.next(), at: left.at.after(day), event, ..left });
    check(
        &log,
        expect![[r#"
        running 3 waiting 3 other 0
        * start Completed running 1 waiting 1
        - quick Completed running 2 waiting 1
        * slow Running running 0 waiting 4
    "#]],
    );
}

/// Returns each event with the event that led to it.
fn causes(log: &[Recorded]) -> String {
    let mut state: Option<noetl_engine::Execution> = None;
    let mut lines = String::new();
    for (index, recorded) in log.iter().enumerate() {
        let cause = crate::cause_of(state.as_ref(), recorded, &log[..index]);
        let cause = cause.map_or("-".to_owned(), |cause| cause.to_string());
        let step = recorded.event.step().map(|step| format!(" {step}")).unwrap_or_default();
        let tag = recorded.event.tag().as_str();
        lines += &format!("{} {tag}{step} <- {cause}\n", recorded.seq);
        match &mut state {
            Some(state) => noetl_engine::evolve(state, recorded).unwrap(),
            None => state = Some(noetl_engine::begin(Story::EXECUTION, recorded).unwrap()),
        }
    }
    lines
}

#[test]
fn every_event_but_the_first_has_a_cause() {
    expect![[r#"
        1 execution.started <- -
        2 step.entered start <- 1
        3 command.issued start <- 2
        4 command.claimed <- 3
        5 command.completed <- 4
        6 step.completed start <- 5
        7 step.entered quick <- 6
        8 command.issued quick <- 7
        9 step.entered slow <- 6
        10 command.issued slow <- 9
        11 command.claimed <- 8
        12 command.completed <- 11
        13 step.completed quick <- 12
        14 step.awaited done <- 13
        15 command.claimed <- 10
        16 command.completed <- 15
        17 step.completed slow <- 16
        18 step.entered done <- 17
        19 command.issued done <- 18
        20 command.claimed <- 19
        21 command.completed <- 20
        22 step.completed done <- 21
        23 execution.completed <- 22
    "#]]
    .assert_eq(&causes(&told([1, 2, 3, 4])));
}

#[test]
fn states_differ_in_steps_and_arcs_and_equal_ones_do_not() {
    let log = told([1, 2, 3, 4]);
    let at =
        |len: usize| noetl_engine::replay(Story::EXECUTION, log[..len].to_vec()).unwrap().unwrap();
    let entered =
        log.iter().position(|it| it.event.step().is_some_and(|it| it.as_str() == "quick"));
    let entered = entered.unwrap();
    let (before, after) = (at(entered), at(entered + 1));
    let difference = crate::state_difference(&before, &after);
    let steps: Vec<&str> = difference.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(steps, ["quick"]);
    assert!(difference.steps[0].before.is_none() && !difference.steps[0].has_other_output());
    let arcs: Vec<_> =
        difference.arcs.iter().map(|arc| (arc.from.as_str(), arc.to.as_str())).collect();
    assert_eq!(arcs, [("start", "quick")]);
    let none = crate::state_difference(&after, &after);
    assert!(none.steps.is_empty() && none.arcs.is_empty() && none.context.is_empty());
    assert_eq!((none.status, none.open), (None, None));
}

const WAITING: &str = "
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: waiting, path: demo/waiting}
workflow:
  - step: start
    limit: {name: crm, max: 1}
    tool: {kind: rhai, code: '1'}
    next: {arcs: [{step: ask}]}
  - step: ask
    tool: {kind: approval, title: Release}
";

/// Returns the log of an execution that waits 5 seconds for a slot, 1 for a worker, runs for 2 and
/// waits 20 for an approval.
fn waiting() -> Vec<Recorded> {
    let mut story = Story::begin(WAITING, StoryOptions::default());
    let pass =
        |story: &mut Story, seconds| story.now = story.now.after(Duration::from_secs(seconds));
    pass(&mut story, 5);
    let limit: LimitName = "crm".parse().expect("a name");
    story.tell(&Input::SlotGranted { command: Some(CommandId(0)), limit }).unwrap();
    pass(&mut story, 1);
    story.claim(CommandId(0), 1, "w").unwrap();
    pass(&mut story, 2);
    story.report(CommandId(0), 1, "w", Told::Completed { output: json!(1).into() }).unwrap();
    pass(&mut story, 20);
    let decision = ApprovalDecision {
        command: CommandId(1),
        verdict: Verdict::Approved,
        actor: None,
        actor_stated: false,
        link_by: None,
        comment: None,
        values: Map::new(),
    };
    story.tell(&Input::Decide(decision)).unwrap();
    assert!(story.status().is_terminal());
    story.log
}

#[test]
fn waits_for_a_slot_and_for_an_approval_are_told_from_other_waits() {
    let log = waiting();
    let mut fold = TimelineFold::new(Story::EXECUTION);
    log.iter().for_each(|recorded| fold.see(recorded));
    let spent = fold.finish(None).spent;
    let seconds = |micros: u64| micros / 1_000_000;
    assert_eq!(
        [spent.slot, spent.worker, spent.running, spent.approval, spent.timer].map(seconds),
        [5, 1, 2, 20, 0]
    );
    let mut fold = WindowFold::new(None, BTreeSet::new());
    log.iter().for_each(|recorded| fold.see(recorded));
    let rows = fold.finish();
    let activities = |step: &str| -> Vec<(RowActivity, u64)> {
        let segments = rows[step].segments.iter();
        let length = |it: &RowSegment| it.to.expect("it has ended").since(it.from).as_secs();
        segments.map(|it| (it.activity, length(it))).collect()
    };
    assert_eq!(
        activities("start"),
        [
            (RowActivity::WaitingForSlot, 5),
            (RowActivity::WaitingForWorker, 1),
            (RowActivity::Running, 2)
        ]
    );
    assert_eq!(activities("ask").last(), Some(&(RowActivity::WaitingForApproval, 20)));
}
