//! Tests of forks.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use noetl_model::Event;
use noetl_store::Catalog as _;
use serde_json::json;

use super::*;
use crate::{ForkAt, ForkError, ForkRequest, SentSignal, SignalByKey, verify};

fn wish(origin: ExecutionId, at: ForkAt) -> ForkRequest {
    let (playbook, workload, context) = (None, Map::new(), BTreeMap::new());
    ForkRequest { origin, at, playbook, workload, context, actor: None }
}

/// A pipeline, a parallel loop, branches, a join, `set`: more than fifty events.
const RICH: &str = r#"
workload: {n: 7}
workflow:
  - step: start
    tool:
      - one: {kind: noop, result: 1}
      - two: {kind: noop, result: "{{ one + 1 }}"}
    set: {ctx.two: "{{ two }}"}
    next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: right}]}
  - step: left
    loop: {in: "{{ n }}", iterator: i, spec: {mode: parallel, max_in_flight: 2}}
    tool: {kind: noop, result: "{{ i * 10 }}"}
    next: {arcs: [{step: end}]}
  - step: right
    tool: {kind: noop, result: "{{ ctx.two }}"}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: "{{ left.results | join('-') }}/{{ right }}"}
"#;

/// Returns the output of an execution, which must have completed.
async fn output(control: &Control, execution: ExecutionId) -> Value {
    match log(control, execution).await.pop().map(|recorded| recorded.event) {
        Some(Event::ExecutionCompleted { output, .. }) => {
            let value = control.resolve(execution, &output).await;
            (*value.expect("the output is stored")).clone()
        }
        other => panic!("it has not completed: {other:?}"),
    }
}

async fn is_proven(world: &World, execution: ExecutionId) {
    let verdict = verify(&*world.store, execution, |_| ()).await.expect("the store answers");
    let verdict = verdict.expect("it exists");
    assert_eq!(verdict.fault, None, "{execution}");
    assert_eq!(verdict.proven_from, Some(Seq(1)));
}

#[tokio::test(start_paused = true)]
async fn a_fork_from_every_event_completes_with_the_same_output() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register(control, RICH).await;
    let origin = start(control).await;
    work(control, origin).await;
    let expected = output(control, origin).await;
    assert_eq!(expected, json!("0-10-20-30-40-50-60/2"));
    let events = log(control, origin).await;
    assert!(events.len() >= 50, "{}", events.len());
    is_proven(&world, origin).await;
    for recorded in &events {
        let fork = control.fork(wish(origin, ForkAt::Event(recorded.seq))).await.unwrap();
        work(control, fork).await;
        assert_eq!(output(control, fork).await, expected, "at {recorded:?}");
        is_proven(&world, fork).await;
        let shared = control.summary(fork).await.unwrap().unwrap().fork.expect("a fork");
        assert_eq!(shared.execution, origin);
        assert!(shared.seq <= recorded.seq);
        let own = log(control, fork).await;
        let past = usize::try_from(shared.seq.0).unwrap();
        assert_eq!(own[..past], events[..past], "the past is the same");
    }
    assert_eq!(log(control, origin).await, events, "the origin is not touched");
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_fork_of_a_fork_shares_both_pasts() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register(control, RICH).await;
    let origin = start(control).await;
    work(control, origin).await;
    let expected = output(control, origin).await;
    let cut = Seq(log(control, origin).await.len() as u64 / 2);
    let first = control.fork(wish(origin, ForkAt::Event(cut))).await.unwrap();
    work(control, first).await;
    for recorded in log(control, first).await {
        let second = control.fork(wish(first, ForkAt::Event(recorded.seq))).await.unwrap();
        work(control, second).await;
        assert_eq!(output(control, second).await, expected, "at {}", recorded.seq);
        is_proven(&world, second).await;
        let shared = control.summary(second).await.unwrap().unwrap().fork.expect("a fork");
        assert_eq!(shared.execution, first);
    }
    plane.stop().await;
}

/// Waits for a signal by the key of the execution, then for one that is sent before.
const WAITING: &str = r#"
workflow:
  - step: start
    tool: {kind: wait, signal: go, key: "{{ execution_id }}", timeout: 1h}
    next: early
  - step: early
    tool: {kind: wait, signal: early}
    next: end
  - step: end
    tool: {kind: noop, result: "{{ start.body }}/{{ early.body }}"}
"#;

async fn signal(control: &Control, execution: ExecutionId, key: Option<&str>, name: &str) {
    let (name, body) = (name.parse().expect("a name"), json!(name));
    match key {
        Some(key) => {
            let key = key.parse().expect("a key");
            let (sender, actor, once, kept_for) = (None, None, None, None);
            let sent = SignalByKey { name, key, body, sender, actor, once, kept_for };
            let taken = control.signal_by_key(sent).await.expect("it is sent");
            assert_eq!(taken.map(|target| target.execution), Some(execution));
        }
        None => {
            let sent = SentSignal { name, body, sender: None, key: None, actor: None };
            control.signal(execution, sent).await.expect("it is sent");
        }
    }
}

/// True if a fork has taken over a signal with this name.
fn has(log: &[Recorded], signal: &str) -> bool {
    log.iter().any(|recorded| {
        matches!(&recorded.event, Event::SignalReceived { name, .. } if name.as_str() == signal)
    })
}

#[tokio::test(start_paused = true)]
async fn a_fork_from_every_event_of_a_wait_waits_for_itself() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register(control, WAITING).await;
    let origin = start(control).await;
    signal(control, origin, None, "early").await;
    signal(control, origin, Some(&origin.to_string()), "go").await;
    work(control, origin).await;
    assert_eq!(output(control, origin).await, json!("go/early"));
    for recorded in log(control, origin).await {
        let fork = control.fork(wish(origin, ForkAt::Event(recorded.seq))).await;
        let fork = fork.unwrap_or_else(|error| panic!("at {recorded:?}: {error:?}"));
        let past = log(control, fork).await;
        if !has(&past, "early") {
            signal(control, fork, None, "early").await;
        }
        if !has(&past, "go") {
            signal(control, fork, Some(&fork.to_string()), "go").await;
        }
        work(control, fork).await;
        assert_eq!(output(control, fork).await, json!("go/early"), "at {recorded:?}");
        is_proven(&world, fork).await;
    }
    plane.stop().await;
}

async fn check_retry(broken: &str, repaired: Option<&str>, expected: Expect) {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register(control, broken).await;
    let origin = start(control).await;
    work(control, origin).await;
    let summary = control.summary(origin).await.unwrap().unwrap();
    assert_eq!(summary.status, ExecutionStatus::Failed);
    let mut request = wish(origin, ForkAt::Failure);
    if let Some(repaired) = repaired {
        register(control, repaired).await;
        request.playbook = Some(by_path("p"));
    }
    let fork = control.fork(request).await.unwrap();
    work(control, fork).await;
    let shared = control.summary(fork).await.unwrap().unwrap().fork.unwrap().seq;
    let own: Vec<String> = log(control, fork)
        .await
        .into_iter()
        .filter(|recorded| recorded.seq > shared)
        .filter_map(|recorded| {
            history_line(&recorded.event, &|payload| match payload {
                Payload::Inline(value) => value.clone(),
                Payload::Ref(_) => Arc::new(Value::Null),
            })
        })
        .filter(|line| !line.starts_with("fork"))
        .map(|line| line + "\n")
        .collect();
    expected.assert_eq(&own.concat());
    is_proven(&world, fork).await;
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_repaired_playbook_turns_a_failed_execution_into_a_completed_one() {
    let steps = |second: &str| {
        format!(
            "workflow:\n  - step: start\n    tool: {{kind: noop, result: 1}}\n    next: second\n  - \
             step: second\n    tool: {{kind: noop, {second}}}\n"
        )
    };
    check_retry(
        &steps("fail: no luck"),
        Some(&steps("result: \"{{ start + 1 }}\"")),
        expect![[r#"
            issue 2: second (noop)

            done 2: 2

            leave second

            COMPLETED 2

        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn of_a_loop_only_the_failed_items_are_done_again() {
    let steps = |tool: &str| {
        format!(
            "workflow:\n  - step: start\n    loop: {{in: 4, iterator: i, spec: {{mode: parallel, \
             max_in_flight: 4}}}}\n    tool: {{kind: noop, {tool}}}\n"
        )
    };
    check_retry(
        &steps("result: \"{{ i }}\", fail: {times: \"{{ 100 if i % 2 else 0 }}\"}"),
        Some(&steps("result: \"{{ i * 10 }}\"")),
        expect![[r#"
            issue 4: start item 1 (noop)

            issue 5: start item 3 (noop)

            done 4: 10

            item 1 done

            done 5: 30

            item 3 done

            leave start: {"results":[0,10,2,30],"data":[0,10,2,30],"stats":{"total":4,"completed":4,"failed":0}}

            COMPLETED {"results":[0,10,2,30],"data":[0,10,2,30],"stats":{"total":4,"completed":4,"failed":0}}

        "#]],
    )
    .await;
}

async fn check_time(workflow: &str) {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register(control, workflow).await;
    let origin = start(control).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    let summary = control.summary(origin).await.unwrap().unwrap();
    assert_eq!(summary.status, ExecutionStatus::Failed);
    let fork = control.fork(wish(origin, ForkAt::Failure)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(50)).await;
    work(control, fork).await;
    assert_eq!(output(control, fork).await["stats"]["completed"], json!(3));
    is_proven(&world, fork).await;
    plane.stop().await;
}

const LOOP: &str = "    loop: {in: 3, iterator: i, spec: {mode: parallel, max_in_flight: 3}}\n    \
                    tool: {kind: noop, result: 1}\n";

#[tokio::test(start_paused = true)]
async fn a_step_that_ran_out_of_time_has_all_of_it_again() {
    check_time(&format!("workflow:\n  - step: start\n    spec: {{timeout: 60}}\n{LOOP}")).await;
}

#[tokio::test(start_paused = true)]
async fn an_execution_that_ran_out_of_time_has_all_of_it_again() {
    let head = "executor: {spec: {timeout: 60}}\nworkflow:\n  - step: start\n";
    check_time(&format!("{head}{LOOP}")).await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_execution_goes_on_where_it_was() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register(control, RICH).await;
    let origin = start(control).await;
    let first = lease(control, "w", 1).await;
    let report = report(&first[0], "w", completed(json!(1)));
    control.report(report).await.unwrap();
    control.cancel(origin, "not now").await.unwrap();
    let fork = control.fork(wish(origin, ForkAt::Failure)).await.unwrap();
    work(control, fork).await;
    assert_eq!(output(control, fork).await, json!("0-10-20-30-40-50-60/2"));
    is_proven(&world, fork).await;
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_fork_may_change_workload_and_context() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register(control, RICH).await;
    let origin = start(control).await;
    work(control, origin).await;
    let workload = json!({ "n": 2 }).as_object().unwrap().clone();
    let mut request = ForkRequest { workload, ..wish(origin, ForkAt::Event(Seq(4))) };
    let fork = control.fork(request.clone()).await.unwrap();
    work(control, fork).await;
    assert_eq!(output(control, fork).await, json!("0-10/2"));

    let left = log(control, origin).await.into_iter().find(|recorded| {
        matches!(&recorded.event, Event::StepEntered { step, .. } if step.as_str() == "left")
    });
    request.at = ForkAt::Event(left.expect("it was entered").seq);
    request.context.insert("two".to_owned(), json!("changed"));
    let fork = control.fork(request).await.unwrap();
    work(control, fork).await;
    assert_eq!(output(control, fork).await, json!("0-10/changed"));
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_impossible_fork_is_refused_with_its_reason() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register(control, RICH).await;
    let origin = start(control).await;
    work(control, origin).await;
    let at = |seq| wish(origin, ForkAt::Event(Seq(seq)));
    assert!(matches!(control.fork(at(0)).await, Err(ForkError::UnknownEvent(..))));
    assert!(matches!(control.fork(at(10_000)).await, Err(ForkError::UnknownEvent(..))));
    let retry = control.fork(wish(origin, ForkAt::Failure)).await;
    assert!(matches!(retry, Err(ForkError::NotFailed { .. })), "{retry:?}");
    register_at(control, "other", "workflow:\n  - step: only\n    tool: {kind: noop}\n").await;
    let other = ForkRequest { playbook: Some(by_path("other")), ..at(6) };
    let refused = control.fork(other).await;
    assert!(matches!(refused, Err(ForkError::Unforkable(_))), "{refused:?}");
    plane.stop().await;
}

/// Returns a playbook whose second step fails or outputs its version.
fn versioned(second: &str) -> String {
    format!(
        "workload: {{n: 1}}\nworkflow:\n  - step: start\n    tool: {{kind: noop, result: 1}}\n    \
         next: second\n  - step: second\n    tool: {{kind: noop, {second}}}\n"
    )
}

const SECOND: &str = "result: \"second version, n is {{ workload.n }}\"";

/// Returns a failed execution and its retry with another version and another workload.
async fn retried(control: &Control) -> (ExecutionId, ExecutionId) {
    register(control, &versioned("fail: no luck")).await;
    let origin = start(control).await;
    work(control, origin).await;
    register(control, &versioned(SECOND)).await;
    let workload = json!({ "n": 2 }).as_object().unwrap().clone();
    let wished = wish(origin, ForkAt::Failure);
    let retry = ForkRequest { playbook: Some(by_path("p")), workload, ..wished };
    let retry = control.fork(retry).await.unwrap();
    work(control, retry).await;
    assert_eq!(output(control, retry).await, json!("second version, n is 2"));
    (origin, retry)
}

#[tokio::test(start_paused = true)]
async fn a_fork_of_a_retry_has_the_version_and_the_workload_of_the_retry() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    let (origin, retry) = retried(control).await;
    let shared = control.summary(retry).await.unwrap().unwrap().fork.expect("a fork").seq;
    let mut is_second_open = false;
    for recorded in log(control, retry).await {
        let fork = control.fork(wish(retry, ForkAt::Event(recorded.seq))).await.unwrap();
        work(control, fork).await;
        is_second_open |= recorded.event.step().is_some_and(|step| step.as_str() == "second");
        // A command issued by the first version is repeated unchanged.
        if !is_second_open || shared < recorded.seq {
            let expected = json!("second version, n is 2");
            assert_eq!(output(control, fork).await, expected, "at {}", recorded.seq);
        }
        let summary = control.summary(fork).await.unwrap().unwrap();
        assert_eq!(summary.playbook.version, 2, "at {}", recorded.seq);
        is_proven(&world, fork).await;
    }
    let fork = control.fork(wish(origin, ForkAt::Event(Seq(1)))).await.unwrap();
    let summary = control.summary(fork).await.unwrap().unwrap();
    assert_eq!(summary.playbook.version, 1, "the origin keeps its own");
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_rerun_of_a_fork_has_the_version_and_the_workload_of_the_fork() {
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    let (_, retry) = retried(control).await;
    let rerun = control.rerun(retry, None).await.unwrap();
    work(control, rerun).await;
    assert_eq!(output(control, rerun).await, json!("second version, n is 2"));
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_document_is_registered_only_if_the_fork_is_possible() {
    let document = |workflow: &str| {
        format!(
            "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: p, path: p}}\n{workflow}"
        )
    };
    let world = World::new();
    let plane = world.running();
    let control = &plane.control;
    register(control, &versioned("fail: no luck")).await;
    let origin = start(control).await;
    work(control, origin).await;
    let newest = async || world.store.by_path("p", None).await.unwrap().unwrap().version;
    let unfit = document("workflow:\n  - step: only\n    tool: {kind: noop}\n");
    let refused = control.fork_onto(wish(origin, ForkAt::Failure), "p.yaml", &unfit).await;
    assert!(matches!(refused, Err(ForkError::Unforkable(_))), "{refused:?}");
    let unknown = wish(origin, ForkAt::Event(Seq(1000)));
    let refused = control.fork_onto(unknown, "p.yaml", &document(&versioned(SECOND))).await;
    assert!(matches!(refused, Err(ForkError::UnknownEvent(..))), "{refused:?}");
    let refused = control.fork_onto(wish(origin, ForkAt::Failure), "p.yaml", "kind: x").await;
    assert!(matches!(refused, Err(ForkError::Register(_))), "{refused:?}");
    assert_eq!(newest().await, 1, "a refused fork registers nothing");

    let fits = document(&versioned(SECOND));
    let fork = control.fork_onto(wish(origin, ForkAt::Failure), "p.yaml", &fits).await.unwrap();
    work(control, fork).await;
    assert_eq!(output(control, fork).await, json!("second version, n is 1"));
    assert_eq!(newest().await, 2);
    plane.stop().await;
}
