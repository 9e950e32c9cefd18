//! Tests from stored events to overviews.

use expect_test::{Expect, expect};
use noetl_model::{CatalogId, ErrorKind, EventId, ItemCounts, Labels, Seq, StepCounts};
use serde_json::{Value, json};

use super::*;

fn summary(playbook: PlaybookRef) -> Summary {
    Summary {
        execution: ExecutionId(1),
        playbook,
        status: ExecutionStatus::Running,
        seq: Seq::ZERO,
        started_at: Timestamp::from_millis(0),
        ended_at: None,
        parent: None,
        current_step: None,
        steps: StepCounts::default(),
        items: ItemCounts::default(),
        error: None,
        head: None,
        fork: None,
        labels: Labels::default(),
        actor: None,
    }
}

/// Applies stored events, one per second, and checks the resulting overview.
#[track_caller]
fn check(events: &[Value], expected: &Expect) {
    let playbook = PlaybookRef { catalog_id: CatalogId(1), path: "p".into(), version: 1 };
    let mut overview = Overview::of(&summary(playbook));
    let mut shown = String::new();
    for (event, second) in events.iter().zip(0..) {
        let at = Timestamp::from_millis(second * 1000);
        let event = serde_json::from_value(event.clone()).unwrap();
        let recorded = Recorded { seq: Seq(1), event_id: EventId(1), at, event, prev: None };
        let change = overview.see(&recorded);
        shown.push_str(&format!("{} {change:?}\n", recorded.event.tag().as_str()));
    }
    shown.push_str(&format!("{} after {:?}\n", overview.status(), overview.took()));
    for StepView { step, status, runs, took, items, failure, .. } in &overview.steps {
        let items = items.map(|items| format!(" {}/{:?}", items.ended(), items.total));
        let failure = failure.as_ref().map(|failure| format!(" failed at {:?}", failure.item));
        let (items, failure) = (items.unwrap_or_default(), failure.unwrap_or_default());
        shown.push_str(&format!("{step} {status} runs {runs} took {took:?}{items}{failure}\n"));
    }
    expected.assert_eq(&shown);
}

fn entered(run: u64, step: &str) -> Value {
    json!({"type": "step.entered", "run": run, "step": step})
}

fn completed(run: u64, step: &str) -> Value {
    json!({"type": "step.completed", "run": run, "step": step})
}

fn error() -> Value {
    serde_json::to_value(ToolError::new(ErrorKind::Exception, "no")).unwrap()
}

#[test]
fn each_run_of_a_step_has_its_own_duration() {
    let playbook = PlaybookRef { catalog_id: CatalogId(1), path: "p".into(), version: 1 };
    let mut overview = Overview::of(&summary(playbook));
    let mut durations = Vec::new();
    let events = [entered(0, "a"), completed(0, "a"), entered(1, "a"), completed(1, "a")];
    for (event, second) in events.into_iter().zip([0, 5, 6, 8]) {
        let at = Timestamp::from_millis(second * 1000);
        let event = serde_json::from_value(event).unwrap();
        overview.see(&Recorded { seq: Seq(1), event_id: EventId(1), at, event, prev: None });
        durations.push((overview.steps[0].run_took.as_secs(), overview.steps[0].took.as_secs()));
    }
    assert_eq!(durations, [(0, 0), (5, 5), (0, 5), (2, 7)]);
}

#[test]
fn the_runs_of_a_step_are_counted_and_their_times_added() {
    check(
        &[
            entered(0, "a"),
            completed(0, "a"),
            entered(1, "a"),
            completed(1, "a"),
            json!({"type": "execution.completed", "output": {"inline": 1}}),
        ],
        &expect![[r#"
            step.entered StepEntered(0)
            step.completed StepEnded(0)
            step.entered StepEntered(0)
            step.completed StepEnded(0)
            execution.completed ExecutionEnded
            COMPLETED after Some(4s)
            a COMPLETED runs 2 took 2s
        "#]],
    );
}

#[test]
fn a_loop_counts_its_items_and_a_failure_knows_its_own() {
    let address = json!({"run": 0, "place": {"item": {"index": 1, "task": 0}}, "retry": 0});
    check(
        &[
            entered(0, "each"),
            json!({"type": "loop.opened", "run": 0, "items": {"range": 3}, "mode": "parallel",
                   "in_flight_max": 2}),
            json!({"type": "iteration.completed", "run": 0, "index": 0}),
            json!({"type": "command.issued", "command": 7, "task": address, "step": "each",
                   "tool": "python", "pool": "shared", "bindings": {}}),
            json!({"type": "command.failed", "command": 7, "attempt": 1, "error": error()}),
            json!({"type": "iteration.failed", "run": 0, "index": 1, "error": error()}),
            json!({"type": "step.failed", "run": 0, "step": "each", "error": error(),
                   "handled": false}),
            json!({"type": "execution.failed", "error": error(), "steps": ["each"]}),
        ],
        &expect![[r#"
            step.entered StepEntered(0)
            loop.opened ItemsEnded(0)
            iteration.completed ItemsEnded(0)
            command.issued Nothing
            command.failed Nothing
            iteration.failed ItemsEnded(0)
            step.failed StepEnded(0)
            execution.failed ExecutionEnded
            FAILED after Some(7s)
            each FAILED runs 1 took 6s 2/Some(3) failed at Some(1)
        "#]],
    );
}

#[test]
fn a_fork_counts_items_that_are_done_again_once_and_no_time_before_it() {
    let address = json!({"run": 0, "place": {"item": {"index": 1, "task": 0}}, "retry": 0});
    check(
        &[
            entered(0, "each"),
            json!({"type": "loop.opened", "run": 0, "items": {"range": 2}, "mode": "parallel",
                   "in_flight_max": 2}),
            json!({"type": "iteration.completed", "run": 0, "index": 0}),
            json!({"type": "iteration.failed", "run": 0, "index": 1, "error": error()}),
            json!({"type": "execution.forked", "origin": {"execution": 9, "seq": 4},
                   "again": [address]}),
            json!({"type": "iteration.completed", "run": 0, "index": 1}),
            completed(0, "each"),
        ],
        &expect![[r#"
            step.entered StepEntered(0)
            loop.opened ItemsEnded(0)
            iteration.completed ItemsEnded(0)
            iteration.failed ItemsEnded(0)
            execution.forked Nothing
            iteration.completed ItemsEnded(0)
            step.completed StepEnded(0)
            RUNNING after None
            each COMPLETED runs 1 took 5s 2/Some(2)
        "#]],
    );
}

#[test]
fn steps_that_ran_at_the_cancellation_are_shown_as_cancelled() {
    check(
        &[
            entered(0, "a"),
            json!({"type": "step.skipped", "step": "b", "reason": "guard"}),
            json!({"type": "execution.cancelled", "reason": "enough"}),
        ],
        &expect![[r#"
            step.entered StepEntered(0)
            step.skipped StepEnded(1)
            execution.cancelled ExecutionEnded
            CANCELLED after Some(2s)
            a CANCELLED runs 1 took 2s
            b SKIPPED runs 0 took 0ns
        "#]],
    );
}

#[test]
fn a_retry_is_shown_with_its_time() {
    let address = json!({"run": 0, "place": {"task": 0}, "retry": 1});
    check(
        &[
            entered(0, "a"),
            json!({"type": "timer.set", "timer": 0, "due_at": 5_000_000,
                   "purpose": {"retry": {"task": address}}}),
        ],
        &expect![[r#"
            step.entered StepEntered(0)
            timer.set Retrying(0, Timestamp(5000000))
            RUNNING after None
            a RUNNING runs 1 took 0ns
        "#]],
    );
}

#[test]
fn a_failed_loop_names_the_item_that_failed_first() {
    let issued = |command: u64, index: u64| {
        json!({"type": "command.issued", "command": command, "step": "a", "tool": "noop",
               "task": {"run": 0, "place": {"item": {"index": index, "task": 0}}, "retry": 0},
               "pool": "shared", "bindings": {}})
    };
    let failed = |command: u64| json!({"type": "command.failed", "command": command, "attempt": 1, "error": error()});
    let item_failed = |index: u64| json!({"type": "iteration.failed", "run": 0, "index": index, "error": error()});
    check(
        &[
            entered(0, "a"),
            json!({"type": "loop.opened", "run": 0, "items": {"range": 3}, "mode": "parallel",
                   "in_flight_max": 3}),
            issued(0, 0),
            issued(1, 1),
            issued(2, 2),
            failed(1),
            item_failed(1),
            failed(2),
            item_failed(2),
            failed(0),
            item_failed(0),
            json!({"type": "step.failed", "run": 0, "step": "a", "error": error(), "handled": false}),
            json!({"type": "execution.failed", "error": error(), "steps": ["a"]}),
        ],
        &expect![[r#"
            step.entered StepEntered(0)
            loop.opened ItemsEnded(0)
            command.issued Nothing
            command.issued Nothing
            command.issued Nothing
            command.failed Nothing
            iteration.failed ItemsEnded(0)
            command.failed Nothing
            iteration.failed ItemsEnded(0)
            command.failed Nothing
            iteration.failed ItemsEnded(0)
            step.failed StepEnded(0)
            execution.failed ExecutionEnded
            FAILED after Some(12s)
            a FAILED runs 1 took 11s 3/Some(3) failed at Some(1)
        "#]],
    );
}
