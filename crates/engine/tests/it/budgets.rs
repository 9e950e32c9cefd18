//! Tests of the work limit for all templates of one decision.

use std::fmt::Write as _;

use noetl_engine::{DECISION_WORK_MAX, DecisionArgs, Effort, Input, Loaded, Needs, decide};
use noetl_model::{Attempt, CommandId, Event, ExecutionStatus, Logs, Payload, WorkerId};
use noetl_testkit::{Story, StoryOptions};
use serde_json::json;

use crate::{payload, playbook, told_with};

/// A guard that reads and writes about two million bytes, well within the limit of one template.
const HEAVY: &str = "(workload.text ~ 'a') == 'b'";
const GUARDS: usize = 150;

fn large() -> StoryOptions {
    payload(json!({ "text": "x".repeat(900_000) }))
}

/// Returns a playbook with `head` and a step with `count` arcs that all have this guard.
fn arcs(head: &str, count: usize, guard: &str) -> String {
    let mut text =
        format!("{head}workflow:\n  - step: start\n    tool: {{kind: noop}}\n    next:\n");
    text.push_str("      spec: {mode: inclusive}\n      arcs:\n");
    for n in 0..count {
        writeln!(text, "        - {{step: s{n}, when: \"{{{{ {guard} }}}}\"}}")
            .expect("a string takes it");
    }
    for n in 0..count {
        writeln!(text, "  - {{step: s{n}, tool: {{kind: noop}}}}").expect("a string takes it");
    }
    text
}

fn error_of(story: &Story) -> String {
    let last = story.log.iter().rev().find_map(|recorded| match &recorded.event {
        Event::ExecutionFailed { error, .. } => Some(error.message.clone()),
        _ => None,
    });
    last.expect("the execution has failed")
}

#[test]
fn a_decision_over_budget_fails_the_execution_and_names_the_step_and_the_arc() {
    let story = told_with(&arcs("", GUARDS, HEAVY), large());
    assert_eq!(story.state.status(), ExecutionStatus::Failed);
    let error = error_of(&story);
    assert!(
        error.starts_with("step `start`: the templates of one decision took more than"),
        "{error}"
    );
    assert!(error.contains(&DECISION_WORK_MAX.to_string()), "{error}");
    assert!(error.contains("DECISION_WORK_MAX) at `when` of the arc to `s"), "{error}");
    let done = story.log.iter().any(|it| matches!(it.event, Event::CommandCompleted { .. }));
    assert!(done, "what the worker has reported is kept");
}

#[test]
fn as_many_cheap_guards_are_no_burden() {
    let story = told_with(&arcs("", GUARDS, "workload.text == 'b'"), large());
    assert_eq!(story.state.status(), ExecutionStatus::Completed);
}

#[test]
fn a_large_value_is_not_copied_for_every_guard() {
    let rows: Vec<_> = (0..20_000).map(|n| json!({ "n": n, "name": "a row" })).collect();
    let options = payload(json!({ "rows": rows }));
    for rows in ["workload.rows", "ctx.rows", "rows"] {
        let story = told_with(&arcs("", GUARDS, &format!("{rows}[7].n == 1")), options.clone());
        assert_eq!(story.state.status(), ExecutionStatus::Completed, "{rows}");
    }
}

#[test]
fn a_start_over_budget_is_an_execution_that_has_failed() {
    let rule = format!("{{when: \"{{{{ {HEAVY} }}}}\", then: {{allow: false}}}}");
    let rules = vec![rule; GUARDS].join(", ");
    let text = format!(
        "  - step: start\n    spec: {{policy: {{admit: {{rules: [{rules}]}}}}}}\n    tool: {{kind: noop}}\n"
    );
    let story = told_with(&text, large());
    assert_eq!(story.state.status(), ExecutionStatus::Failed);
    assert!(error_of(&story).contains("at an admission rule"), "{}", error_of(&story));
}

#[test]
fn the_final_step_runs_after_a_decision_over_budget() {
    let head = "executor: {spec: {final_step: s149}}\n";
    let story = told_with(&arcs(head, GUARDS, HEAVY), large());
    assert_eq!(story.state.status(), ExecutionStatus::Failed);
    assert_eq!(story.state.step_runs("s149"), 1);
    assert!(error_of(&story).contains("DECISION_WORK_MAX"), "{}", error_of(&story));
}

#[test]
fn a_decision_that_takes_some_effort_says_so_first_and_comes_to_the_same() {
    let yaml = playbook(&arcs("", 2, HEAVY));
    let mut story = Story::begin(&yaml, large());
    story.claim(CommandId(0), 1, "w").expect("it is this one's turn");
    let report = Input::Report {
        command: CommandId(0),
        attempt: Attempt(1),
        worker: WorkerId::new("w"),
        ended: noetl_engine::CommandResult::Completed { output: Payload::null() },
        logs: Logs::default(),
    };
    let loaded = Loaded::default();
    let given = |effort| DecisionArgs {
        playbook: &story.playbook,
        now: story.now,
        loaded: &loaded,
        effort,
        runs_max: 1000,
        events_max: 1000,
        attempts_max: 3,
        fork_changes: None,
    };
    let brief = decide(&story.state, &report, given(Effort::Brief));
    assert_eq!(brief, Err(Needs::Effort));
    let whole = decide(&story.state, &report, given(Effort::Whole));
    assert!(whole.is_ok(), "{whole:?}");
    assert_eq!(whole, decide(&story.state, &report, given(Effort::Whole)));
}
