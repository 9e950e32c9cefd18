//! Tests of executions from start to end.

use expect_test::{Expect, expect};
use noetl_engine::Refusal;
use noetl_model::{Cutoff, Event};
use noetl_store::EventLog as _;
use serde_json::json;

use super::*;
use crate::{MailboxAnswer, RegisterError, STATE_PROJECTION};

#[track_caller]
fn check(workflow: &str, expected: Expect) {
    check_with(workflow, Map::new(), expected);
}

#[track_caller]
fn check_with(workflow: &str, payload: Map<String, Value>, expected: Expect) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let actual = runtime.block_on(async {
        let plane = World::new().running();
        register(&plane.control, workflow).await;
        let execution = start_with(&plane.control, payload).await;
        work(&plane.control, execution).await;
        let history = history(&plane.control, execution).await;
        plane.stop().await;
        history
    });
    expected.assert_eq(&actual);
}

const TWO_STEPS: &str = r#"
workflow:
  - step: start
    tool: {kind: noop, result: {n: 2}}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: "{{ start.n + 1 }}"}
"#;

#[test]
fn steps_follow_one_another_to_the_end() {
    check(
        TWO_STEPS,
        expect![[r#"
        enter start
        issue 0: start (noop)
        done 0: {"n":2}
        leave start
        enter end from start
        issue 1: end (noop)
        done 1: 3
        leave end
        COMPLETED 3
    "#]],
    );
}

#[test]
fn a_failed_tool_fails_the_execution() {
    check(
        r#"
workflow:
  - step: start
    tool: {kind: noop, fail: no luck}
"#,
        expect![[r#"
            enter start
            issue 0: start (noop)
            fail 0: no luck (exception)
            step start failed: no luck
            FAILED no luck
        "#]],
    );
}

#[test]
fn items_reported_together_are_listed_in_their_order() {
    check(
        r#"
workflow:
  - step: start
    loop: {in: [a, b, c], iterator: letter, spec: {mode: parallel, max_in_flight: 3}}
    tool: {kind: noop, result: "{{ letter }}{{ letter }}"}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: "{{ start.results | join('-') }}"}
"#,
        expect![[r#"
            enter start
            loop over 3 items, Parallel, 3 in flight
            issue 0: start item 0 (noop)
            issue 1: start item 1 (noop)
            issue 2: start item 2 (noop)
            done 0: "aa"
            item 0 done
            done 1: "bb"
            item 1 done
            done 2: "cc"
            item 2 done
            leave start: {"results":["aa","bb","cc"],"data":["aa","bb","cc"],"stats":{"total":3,"completed":3,"failed":0}}
            enter end from start
            issue 3: end (noop)
            done 3: "aa-bb-cc"
            leave end
            COMPLETED "aa-bb-cc"
        "#]],
    );
}

#[test]
fn a_large_output_travels_by_reference_and_is_read_by_a_later_step() {
    let payload = json!({ "text": "x".repeat(100_000) });
    check_with(
        r#"
workload: {text: ""}
workflow:
  - step: start
    tool: {kind: noop, result: {text: "{{ text }}!"}}
    next: {arcs: [{step: end, when: "{{ start.text | length > 100000 }}"}]}
  - step: end
    tool: {kind: noop, result: "{{ start.text | length }}"}
"#,
        payload.as_object().unwrap().clone(),
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: "<100012 bytes>"
            leave start
            enter end from start
            issue 1: end (noop)
            done 1: 100001
            leave end
            COMPLETED 100001
        "#]],
    );
}

#[test]
fn a_loop_with_large_outputs_is_read_by_its_own_arcs_and_by_a_later_step() {
    let payload = json!({ "text": "x".repeat(17_000), "long": "x".repeat(20_000) });
    check_with(
        r#"
workload: {text: "", long: ""}
workflow:
  - step: start
    loop: {in: [a, "{{ text }}", "{{ long }}"], iterator: it, spec: {mode: parallel}}
    tool: {kind: noop, result: "{{ it }}!"}
    set: {ctx.count: "{{ output.stats.total }}"}
    next: {arcs: [{step: end, when: "{{ start.results[2] | length > 20000 }}"}]}
  - step: end
    tool: {kind: noop, result: "{{ ctx.count }} {{ start.results[0] }} {{ start.data[1] | length }}"}
"#,
        payload.as_object().unwrap().clone(),
        expect![[r#"
            enter start
            loop over 3 items, Parallel, 500 in flight
            issue 0: start item 0 (noop)
            issue 1: start item 1 (noop)
            issue 2: start item 2 (noop)
            done 0: "a!"
            item 0 done
            done 1: "<17003 bytes>"
            item 1 done
            done 2: "<20003 bytes>"
            item 2 done
            set ctx: {"count":3}
            leave start: "<74093 bytes>"
            enter end from start
            issue 3: end (noop)
            done 3: "3 a! 17001"
            leave end
            COMPLETED "3 a! 17001"
        "#]],
    );
}

#[test]
fn a_large_value_that_is_set_is_kept_apart_and_read_and_changed_later() {
    let payload = json!({ "text": "x".repeat(100_000) });
    check_with(
        r#"
workload: {text: ""}
workflow:
  - step: start
    tool: {kind: noop, result: 1}
    set: {ctx.page: {text: "{{ text }}", n: 1}, ctx.small: 1}
    next: {arcs: [{step: change}]}
  - step: change
    tool: {kind: noop, result: "{{ page.text | length }}"}
    set: {ctx.page.n: 2, ctx.length: "{{ ctx.page.text | length }}"}
    next: {arcs: [{step: item}]}
  - step: item
    loop: {in: [1], iterator: it}
    tool:
      - {name: a, kind: noop, result: "{{ ctx.page.n }}", set: {iter.rows: "{{ text }}"}}
      - {name: b, kind: noop, result: "{{ iter.rows | length }}-{{ iter.it }}-{{ rows | length }}"}
"#,
        payload.as_object().unwrap().clone(),
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: 1
            set ctx: {"small":1,"page":"<100017 bytes>"}
            leave start
            enter change from start
            issue 1: change (noop)
            done 1: 100000
            set ctx: {"length":100000,"page":"<100017 bytes>"}
            leave change
            enter item from change
            loop over 1 items, Sequential, 1 in flight
            issue 2: item item 0 (noop)
            done 2: 2
            set item 0: {"rows":"<100002 bytes>"}
            issue 3: item item 0 task 1 (noop)
            done 3: "100000-1-100000"
            item 0 done: {"a":2,"b":"100000-1-100000"}
            leave item: {"results":[{"a":2,"b":"100000-1-100000"}],"data":[{"a":2,"b":"100000-1-100000"}],"stats":{"total":1,"completed":1,"failed":0}}
            COMPLETED {"results":[{"a":2,"b":"100000-1-100000"}],"data":[{"a":2,"b":"100000-1-100000"}],"stats":{"total":1,"completed":1,"failed":0}}
        "#]],
    );
}

#[tokio::test(start_paused = true)]
async fn a_document_that_is_not_a_playbook_is_not_registered() {
    let control = World::new().control();
    let error = control.register("x.yaml", "kind: Playbook\nworkflow: 3\n").await.unwrap_err();
    assert!(matches!(error, RegisterError::Invalid(_)), "{error:?}");
    let error = control.start(StartRequest::new(by_path("x"), Map::new())).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no playbook x");
}

#[tokio::test(start_paused = true)]
async fn the_same_content_is_the_same_version() {
    let control = World::new().control();
    let document = |n: u32| {
        format!(
            "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: p}}\n\
             workflow: [{{step: start, tool: {{kind: noop, result: {n}}}}}]\n"
        )
    };
    let mut versions = Vec::new();
    for n in [1, 1, 2] {
        versions.push(control.register("p.yaml", &document(n)).await.unwrap().entry.version);
    }
    assert_eq!(versions, [1, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_new_control_plane_goes_on_where_another_has_stopped() {
    let world = World::new();
    let first = world.running();
    register(&first.control, TWO_STEPS).await;
    let execution = start(&first.control).await;
    let leased = lease(&first.control, "w", 1).await.pop().expect("a command");
    first.stop().await;

    let second = world.running();
    second.control.report(report(&leased, "w", completed(json!({ "n": 4 })))).await.unwrap();
    assert_eq!(work(&second.control, execution).await, ExecutionStatus::Completed);
    let state = second.control.state(execution, Cutoff::Latest).await.unwrap();
    assert_eq!(state.step_output("end"), Some(&Payload::inline(json!(5))));
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_rerun_has_the_same_workload_and_an_id_of_its_own() {
    let plane = World::new().running();
    let control = &plane.control;
    register(control, "workload: {n: 1, m: 2}\nworkflow: [{step: start, tool: {kind: noop}}]\n")
        .await;
    let payload = json!({ "n": 7 });
    let first = start_with(control, payload.as_object().unwrap().clone()).await;
    let second = control.rerun(first, None).await.unwrap();
    assert_ne!(first, second);
    let workload = control.state(second, Cutoff::Latest).await.unwrap().workload().clone();
    assert_eq!(workload, Payload::inline(json!({ "n": 7, "m": 2 })));
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_state_at_a_cutoff_is_the_fold_of_the_events_before() {
    let plane = World::new().running();
    register(&plane.control, TWO_STEPS).await;
    let execution = start(&plane.control).await;
    work(&plane.control, execution).await;
    let third = log(&plane.control, execution).await[2].clone();
    for cutoff in [Cutoff::Seq(Seq(3)), Cutoff::Event(third.event_id)] {
        let state = plane.control.state(execution, cutoff).await.unwrap();
        assert_eq!((state.status(), state.seq()), (ExecutionStatus::Running, Seq(3)));
    }
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_state_that_took_a_long_fold_is_saved_for_the_next_read() {
    let world = World::new();
    let settings = |every: u64| ControlSettings {
        state_saved_every: every.try_into().unwrap(),
        ..ControlSettings::default()
    };
    let first = Running::of(world.control_on(world.store.clone(), settings(1000)));
    register(&first.control, TWO_STEPS).await;
    let execution = start(&first.control).await;
    work(&first.control, execution).await;
    first.stop().await;
    assert_eq!(world.store.saved_replays(execution).await.unwrap().len(), 0);
    let second = Running::of(world.control_on(world.store.clone(), settings(4)));
    for seq in [3, 5] {
        let state = second.control.state_at(execution, Seq(seq)).await.unwrap();
        assert_eq!(state.seq(), Seq(seq));
    }
    let third = Running::of(world.control_on(world.store.clone(), settings(4)));
    third.control.state_at(execution, Seq(6)).await.unwrap();
    second.stop().await;
    third.stop().await;
    let saved = world.store.saved_replays(execution).await.unwrap();
    let saved: Vec<(&str, u64)> =
        saved.iter().map(|mark| (mark.projection.as_str(), mark.seq.0)).collect();
    // A fold of fewer events is not worth it: 3 events, then 2 more.
    assert_eq!(saved, [(STATE_PROJECTION, 6)]);
}

#[tokio::test(start_paused = true)]
async fn a_follower_sees_every_event_once_and_in_order() {
    let plane = World::new().running();
    register(&plane.control, TWO_STEPS).await;
    let execution = start(&plane.control).await;
    let mut follow = plane.control.events_follow(execution, Seq::ZERO);
    let following = tokio::spawn(async move {
        let mut seen = Vec::new();
        loop {
            let recorded = follow.next().await.expect("an event");
            let last = matches!(recorded.event, Event::ExecutionCompleted { .. });
            seen.push(recorded);
            if last {
                return seen;
            }
        }
    });
    work(&plane.control, execution).await;
    assert_eq!(following.await.unwrap(), log(&plane.control, execution).await);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_and_what_came_after_is_the_whole_fold() {
    let world = World::new();
    let settings =
        || ControlSettings { snapshot_every: 4.try_into().unwrap(), ..ControlSettings::default() };
    let first = Running::of(world.control_on(world.store.clone(), settings()));
    register(&first.control, TWO_STEPS).await;
    let execution = start(&first.control).await;
    let leased = lease(&first.control, "w", 1).await.pop().expect("a command");
    first.control.report(report(&leased, "w", completed(json!({ "n": 4 })))).await.unwrap();
    assert_eq!(lease(&first.control, "w", 1).await.len(), 1);
    first.stop().await;

    let saved = noetl_store::EventLog::latest(&*world.store, execution).await.unwrap();
    let mut saved = saved.expect("a snapshot");
    let latest = |control: Control| async move {
        control.state(execution, Cutoff::Latest).await.expect("a state")
    };
    // No snapshot is used for a time cutoff.
    let end = Cutoff::Time(Timestamp::from_micros(i64::MAX));
    let whole = world.control().state(execution, end).await.unwrap();
    assert!(saved.seq < whole.seq(), "there is something after it");
    assert_eq!(latest(world.control()).await, whole);
    for seq in (1..=whole.seq().0).map(Seq) {
        let state = world.control().state(execution, Cutoff::Seq(seq)).await.unwrap();
        let log = log(&world.control(), execution).await.into_iter();
        let scratch = noetl_engine::replay(execution, log.take_while(|it| it.seq <= seq));
        assert_eq!(Some(state), scratch.unwrap(), "at {seq}");
    }

    *saved.body.last_mut().unwrap() ^= 1;
    noetl_store::EventLog::save(&*world.store, execution, &saved).await.unwrap();
    assert_eq!(latest(world.control()).await, whole, "a damaged snapshot is ignored");
}

#[tokio::test(start_paused = true)]
async fn a_state_that_was_not_saved_for_long_is_saved_however_few_events_came() {
    let world = World::new();
    let after = Duration::from_secs(60);
    let settings = ControlSettings { snapshot_after: after, ..ControlSettings::default() };
    let plane = Running::of(world.control_on(world.store.clone(), settings));
    register(&plane.control, TWO_STEPS).await;
    let (early, late) = (start(&plane.control).await, start(&plane.control).await);
    assert_eq!(lease(&plane.control, "w", 1).await[0].execution, early);
    tokio::time::advance(after).await;
    assert_eq!(lease(&plane.control, "w", 1).await[0].execution, late);
    plane.stop().await;

    let saved = async |execution| {
        noetl_store::EventLog::latest(&*world.store, execution).await.expect("the store answers")
    };
    assert_eq!(saved(early).await, None);
    let seq = world.control().state(late, Cutoff::Latest).await.expect("a state").seq();
    assert_eq!(saved(late).await.map(|snapshot| snapshot.seq), Some(seq));
}

#[tokio::test(start_paused = true)]
async fn a_state_that_was_not_used_lately_is_forgotten() {
    let world = World::new();
    let states_max = std::num::NonZeroUsize::new(2).expect("not zero");
    let control = world.control_on(
        world.store.clone(),
        ControlSettings { states_max, ..ControlSettings::default() },
    );
    register(&control, TWO_STEPS).await;
    let mut started = Vec::new();
    for _ in 0..3 {
        started.push(start(&control).await);
    }
    let kept: Vec<bool> =
        started.iter().map(|it| control.parts.states.get(*it).is_some()).collect();
    assert_eq!(kept, [false, true, true]);
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_of_another_shape_or_ahead_of_the_log_is_ignored() {
    let world = World::new();
    let control = world.control();
    register(&control, TWO_STEPS).await;
    let execution = start(&control).await;
    let whole = control.state(execution, Cutoff::Latest).await.unwrap();
    let save = async |snapshot: &noetl_store::Snapshot| {
        noetl_store::EventLog::save(&*world.store, execution, snapshot).await.unwrap();
    };
    let mut ahead = whole.clone();
    let event = Event::ExecutionStalled { detail: "never written".to_owned() };
    let recorded = Recorded {
        seq: whole.seq().next(),
        event_id: noetl_model::EventId(1),
        at: Timestamp::from_millis(0),
        event,
        prev: None,
    };
    noetl_engine::evolve(&mut ahead, &recorded).unwrap();
    let mut snapshot = crate::state::snapshot::encode(&ahead).unwrap();
    save(&snapshot).await;
    assert_eq!(world.control().state(execution, Cutoff::Latest).await.unwrap(), whole);
    snapshot.shape += 1;
    save(&snapshot).await;
    assert_eq!(world.control().state(execution, Cutoff::Latest).await.unwrap(), whole);
}

#[tokio::test(start_paused = true)]
async fn an_execution_can_be_ended_by_hand_once() {
    let control = World::new().control();
    register(&control, TWO_STEPS).await;
    let execution = start(&control).await;
    let mut answers = Vec::new();
    for status in [ExecutionStatus::Running, ExecutionStatus::Failed, ExecutionStatus::Completed] {
        answers.push(control.finalize(execution, status, "by hand", None).await.unwrap());
    }
    let expected = [
        MailboxAnswer::Refused(Refusal::NotAnEnd(ExecutionStatus::Running)),
        MailboxAnswer::Accepted,
        MailboxAnswer::Refused(Refusal::Finished(ExecutionStatus::Failed)),
    ];
    assert_eq!(answers, expected);
    assert_eq!(ended(&control, execution).await, Some(ExecutionStatus::Failed));
}
