//! Tests of executions started by others.

use expect_test::{Expect, expect};
use noetl_model::{CommandId, Cutoff, ErrorKind, Origin, ReportAnswer};
use noetl_store::{Catalog as _, Outbox as _};
use serde_json::json;

use super::*;
use crate::loops::relay::VISIBILITY;
use crate::{MailboxAnswer, PLAYBOOK_ARCHIVED};

const CHILD: &str = r#"
workload: {n: 0}
workflow:
  - step: start
    tool: {kind: noop, result: "{{ n * 10 }}"}
"#;

/// Runs a parent with the given child and compares its history without ids.
#[track_caller]
fn check(parent: &str, child: &str, expected: Expect) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let actual = runtime.block_on(async {
        let plane = World::new().running();
        register_at(&plane.control, "child", child).await;
        register(&plane.control, parent).await;
        let execution = start(&plane.control).await;
        work(&plane.control, execution).await;
        let history = history(&plane.control, execution).await;
        plane.stop().await;
        let is_long =
            |word: &&str| word.trim_end_matches(':').parse::<i64>().is_ok_and(|id| id > 1_000_000);
        let mut lines = String::new();
        for line in history.lines() {
            let words: Vec<&str> =
                line.split(' ').map(|word| if is_long(&word) { "ID" } else { word }).collect();
            lines.push_str(&words.join(" "));
            lines.push('\n');
        }
        lines
    });
    expected.assert_eq(&actual);
}

#[test]
fn a_step_waits_for_its_child_and_has_its_output() {
    check(
        r#"
workflow:
  - step: start
    tool: {kind: playbook, return_result: true, path: child, input: {n: 4}}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: "{{ start + 1 }}"}
"#,
        CHILD,
        expect![[r#"
            enter start
            issue 0: start (playbook)
            child of 0: ID
            done 0: 40
            leave start
            enter end from start
            issue 1: end (noop)
            done 1: 41
            leave end
            COMPLETED 41
        "#]],
    );
}

#[tokio::test(start_paused = true)]
async fn a_parent_of_an_archived_playbook_fails_with_its_code_and_running_children_go_on() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register_at(control, "child", CHILD).await;
    let parent = r#"
workflow:
  - step: start
    tool: {kind: playbook, return_result: true, path: child}
"#;
    register(control, parent).await;
    let child = control.start(StartRequest::new(by_path("child"), Map::new())).await.unwrap();
    let now = Timestamp::from_millis(1_800_000_000_000);
    world.store.set_archived("child", Some(now)).await.unwrap();
    let execution = start(control).await;
    assert_eq!(work(control, execution).await, ExecutionStatus::Failed);
    let state = control.state(execution, Cutoff::Latest).await.unwrap();
    let error = state.summary().error.expect("an error");
    assert_eq!((error.kind, error.code.as_deref()), (ErrorKind::NotFound, Some(PLAYBOOK_ARCHIVED)));
    assert!(error.message.contains("noetl catalog restore child"), "{}", error.message);
    assert_eq!(work(control, child).await, ExecutionStatus::Completed);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_step_that_wants_nothing_of_its_child_does_not_wait_for_it() {
    let plane = World::new().running();
    let control = &plane.control;
    register_at(control, "child", CHILD).await;
    register(
        control,
        r#"
workflow:
  - step: start
    tool: {kind: playbook, path: child, input: {n: 4}}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: "{{ start.status }} {{ start.path }} {{ start.async }}"}
"#,
    )
    .await;
    let execution = start(control).await;
    work(control, execution).await;
    let told = history(control, execution).await;
    assert!(told.ends_with("COMPLETED \"started child true\"\n"), "{told}");

    let state = control.state(execution, Cutoff::Latest).await.unwrap();
    let output = state.step_output("start").and_then(Payload::as_inline).unwrap();
    let child = ExecutionId(output["execution_id"].as_str().unwrap().parse().unwrap());
    work(control, child).await;
    let state = control.state(child, Cutoff::Latest).await.unwrap();
    assert_eq!(state.status(), ExecutionStatus::Completed);
    let parent = state.summary().parent.map(|parent| parent.execution());
    assert_eq!(parent, Some(execution), "and it is known whose it is");
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_that_ended_before_its_command_was_issued_ends_the_command() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register_at(control, "child", CHILD).await;
    register(
        control,
        r#"
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: call}]}
  - step: call
    tool: {kind: playbook, return_result: true, path: child, input: {n: 4}}
"#,
    )
    .await;
    let execution = start(control).await;
    let command = CommandId(1);
    let origin = Origin::Parent { execution, command, return_step: None, depth: 1, iter: None };
    let mut early = StartRequest::new(by_path("child"), Map::new());
    early.input.origin = origin;
    let child = control.start(early).await.unwrap();
    control.cancel(child, "its parent is of another time").await.unwrap();
    while world.store.owed().await.unwrap() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(work(control, execution).await, ExecutionStatus::Failed);
    let told = history(control, execution).await;
    assert!(told.contains("its parent is of another time"), "{told}");
    plane.stop().await;
}

#[test]
fn a_child_that_takes_too_long_fails_its_task_and_is_cancelled() {
    check(
        r#"
workflow:
  - step: start
    tool: {kind: playbook, path: child, return_result: true, timeout: 10}
    next: {arcs: [{step: end, when: "{{ output.error.kind == 'timeout' }}"}]}
  - step: end
    tool: {kind: noop, result: "{{ start.error.message }}"}
"#,
        r#"
workflow:
  - step: start
    tool: {kind: noop, fail: again, spec: {policy: {rules: [{when: true, then: {do: retry, attempts: 99, delay: 60}}]}}}
"#,
        expect![[r#"
            enter start
            issue 0: start (playbook)
            timer 0 set (task timeout)
            child of 0: ID
            timer 0 fired
            fail 0: the child of step `start` took too long (timeout)
            step start failed, handled: the child of step `start` took too long
            enter end from start
            issue 1: end (noop)
            done 1: "the child of step `start` took too long"
            leave end
            COMPLETED "the child of step `start` took too long"
        "#]],
    );
}

#[test]
fn a_loop_starts_a_child_for_each_item() {
    check(
        r#"
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: {kind: playbook, return_result: true, path: child, input: {n: "{{ n }}"}}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: "{{ start.results }}"}
"#,
        CHILD,
        expect![[r#"
            enter start
            loop over 3 items, Parallel, 2 in flight
            issue 0: start item 0 (playbook)
            issue 1: start item 1 (playbook)
            child of 0: ID
            child of 1: ID
            done 0: 10
            item 0 done
            issue 2: start item 2 (playbook)
            done 1: 20
            item 1 done
            child of 2: ID
            done 2: 30
            item 2 done
            leave start: {"results":[10,20,30],"data":[10,20,30],"stats":{"total":3,"completed":3,"failed":0}}
            enter end from start
            issue 3: end (noop)
            done 3: [10,20,30]
            leave end
            COMPLETED [10,20,30]
        "#]],
    );
}

#[test]
fn a_child_that_fails_fails_its_step() {
    check(
        r#"
workflow:
  - step: start
    tool: {kind: playbook, return_result: true, path: child}
"#,
        r#"
workflow:
  - step: start
    tool: {kind: noop, fail: no luck}
"#,
        expect![[r#"
            enter start
            issue 0: start (playbook)
            child of 0: ID
            fail 0: child execution ID ended as FAILED: no luck (child)
            step start failed: child execution ID ended as FAILED: no luck
            FAILED child execution ID ended as FAILED: no luck
        "#]],
    );
}

#[test]
fn a_child_that_does_not_exist_fails_its_step() {
    check(
        r#"
workflow:
  - step: start
    tool: {kind: playbook, return_result: true, path: nowhere}
"#,
        CHILD,
        expect![[r#"
            enter start
            issue 0: start (playbook)
            fail 0: child `nowhere` cannot be started: there is no playbook nowhere (not_found)
            step start failed: child `nowhere` cannot be started: there is no playbook nowhere
            FAILED child `nowhere` cannot be started: there is no playbook nowhere
        "#]],
    );
}

#[test]
fn a_playbook_that_calls_itself_ends_at_the_limit() {
    check(
        r#"
workflow:
  - step: start
    tool: {kind: playbook, return_result: true, path: child}
"#,
        r#"
workflow:
  - step: start
    tool: {kind: playbook, return_result: true, path: child}
"#,
        expect![[r#"
            enter start
            issue 0: start (playbook)
            child of 0: ID
            fail 0: child `child` cannot be started: child executions can be nested 16 levels deep, not 17 (child)
            step start failed: child `child` cannot be started: child executions can be nested 16 levels deep, not 17
            FAILED child `child` cannot be started: child executions can be nested 16 levels deep, not 17
        "#]],
    );
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_parent_cancels_its_child() {
    let plane = World::new().running();
    let control = &plane.control;
    register_at(control, "child", CHILD).await;
    register(
        control,
        "workflow: [{step: start, tool: {kind: playbook, return_result: true, path: child}}]\n",
    )
    .await;
    let parent = start(control).await;
    let leased = lease(control, "w", 1).await.pop().expect("the child's command");
    let child = leased.execution;
    assert_ne!(child, parent);
    assert_eq!(control.cancel(parent, "enough").await.unwrap(), MailboxAnswer::Accepted);
    let mut follow = control.events_follow(child, Seq::ZERO);
    while ended(control, child).await.is_none() {
        follow.next().await.unwrap();
    }
    assert_eq!(ended(control, child).await, Some(ExecutionStatus::Cancelled));
    let late = control.report(report(&leased, "w", completed(json!(1)))).await.unwrap();
    assert_eq!(late, ReportAnswer::Accepted, "a late report is routine");
    plane.stop().await;
}

/// Starts an execution of [`CHILD`] by request below another one.
async fn linked(control: &Control, above: ExecutionId) -> Result<ExecutionId, crate::StartError> {
    let playbook = PlaybookChoice::Path { path: "child".to_owned(), version: None };
    let request = StartRequest::new(playbook, serde_json::Map::new());
    control.start(control.linked(request, above).await?).await
}

#[tokio::test(start_paused = true)]
async fn linked_executions_are_cancelled_at_every_depth() {
    let plane = World::new().running();
    let control = &plane.control;
    register_at(control, "child", CHILD).await;
    register(control, "workflow: [{step: start, tool: {kind: noop}}]\n").await;
    let first = start(control).await;
    let second = linked(control, first).await.unwrap();
    let third = linked(control, second).await.unwrap();
    let beside = linked(control, ExecutionId(1)).await.unwrap();
    let state = control.state(third, noetl_model::Cutoff::Latest).await.unwrap();
    assert_eq!(state.depth(), 2);
    assert_eq!(control.cancel(first, "enough").await.unwrap(), MailboxAnswer::Accepted);
    for below in [second, third] {
        let mut follow = control.events_follow(below, Seq::ZERO);
        while ended(control, below).await.is_none() {
            follow.next().await.unwrap();
        }
        assert_eq!(ended(control, below).await, Some(ExecutionStatus::Cancelled));
    }
    assert_eq!(ended(control, beside).await, None);
    let late = linked(control, first).await;
    assert!(matches!(late, Err(crate::StartError::ParentCancelled(_))), "{late:?}");
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_may_spare_what_is_below() {
    let plane = World::new().running();
    let control = &plane.control;
    register_at(control, "child", CHILD).await;
    register(
        control,
        "workflow: [{step: start, tool: {kind: playbook, return_result: true, path: child}}]\n",
    )
    .await;
    let parent = start(control).await;
    let below = linked(control, parent).await.unwrap();
    let mut leased = lease(control, "w", 2).await;
    while leased.len() < 2 {
        leased.extend(lease(control, "w", 1).await);
    }
    let spared = control.cancel_with(parent, "enough", ChildExecutions::Kept, None).await.unwrap();
    assert_eq!(spared, MailboxAnswer::Accepted);
    for lease in &leased {
        control.report(report(lease, "w", completed(json!(1)))).await.unwrap();
    }
    let mut children: Vec<ExecutionId> = leased.iter().map(|lease| lease.execution).collect();
    assert!(children.contains(&below), "{children:?}");
    children.sort_unstable();
    for child in children {
        assert_eq!(ended(control, child).await, Some(ExecutionStatus::Completed));
    }
    assert_eq!(ended(control, parent).await, Some(ExecutionStatus::Cancelled));
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_is_started_by_a_control_plane_that_remembers_less() {
    let world = World::new();
    let (quiet, plane) = (world.control(), world.running());
    register_at(&quiet, "child", CHILD).await;
    register(
        &quiet,
        r#"
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: playbook, return_result: true, path: child}
"#,
    )
    .await;
    let parent = start(&quiet).await;
    let leased = lease(&plane.control, "w", 1).await.pop().expect("a command");
    quiet.report(report(&leased, "w", completed(json!(1)))).await.unwrap();
    let begun = Instant::now();
    let mut follow = plane.control.events_follow(parent, Seq::ZERO);
    while !matches!(follow.next().await.unwrap().event, noetl_model::Event::ChildStarted { .. }) {}
    assert!(begun.elapsed() < Duration::from_secs(3), "after {:?}", begun.elapsed());
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_parent_learns_of_its_child_although_the_messenger_has_died() {
    let world = World::new();
    let first = world.running();
    register_at(&first.control, "child", CHILD).await;
    register(
        &first.control,
        "workflow: [{step: start, tool: {kind: playbook, return_result: true, path: child}}]\n",
    )
    .await;
    let parent = start(&first.control).await;
    let leased = lease(&first.control, "w", 1).await.pop().expect("the child's command");
    let survivor = first.control.clone();
    first.stop().await;
    survivor.report(report(&leased, "w", completed(json!(1)))).await.unwrap();
    assert!(ended(&survivor, leased.execution).await.is_some());
    let taken = noetl_store::Outbox::take(
        &*world.store,
        noetl_store::Take {
            consumer: noetl_store::OutboxConsumer::Relay,
            limit: 10,
            hold: VISIBILITY,
        },
    )
    .await
    .unwrap();
    assert_eq!(taken.len(), 1, "{taken:?}");

    let begun = Instant::now();
    let second = world.running();
    assert_eq!(work(&second.control, parent).await, ExecutionStatus::Completed);
    let waited = begun.elapsed();
    assert!(waited <= VISIBILITY + WAIT, "after {waited:?}");
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn two_control_planes_start_one_child() {
    let world = World::new();
    let planes = [world.running(), world.running()];
    register_at(&planes[0].control, "child", CHILD).await;
    register(
        &planes[0].control,
        "workflow: [{step: start, tool: {kind: playbook, return_result: true, path: child, input: {n: 1}}}]\n",
    )
    .await;
    let parent = start(&planes[0].control).await;
    assert_eq!(work(&planes[1].control, parent).await, ExecutionStatus::Completed);
    let filter = noetl_store::ExecutionFilter { parent: Some(parent), ..Default::default() };
    let page = noetl_store::Page { before: None, limit: 10 };
    let children = planes[0].control.list(&filter, page).await.unwrap();
    assert_eq!(children.len(), 1);
    for plane in planes {
        plane.stop().await;
    }
}
