//! Tests of failures, with and without rules and arcs that handle them.

use expect_test::expect;
use noetl_model::ErrorMode;
use noetl_testkit::StoryOptions;
use serde_json::json;

use crate::{check, check_with, told};

#[test]
fn a_failed_step_fails_the_execution_even_if_it_has_an_unconditional_arc() {
    check(
        "
  - {step: start, tool: {kind: noop, fail: broken}, next: end}
  - {step: end, tool: {kind: noop}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            fail 0: broken (exception)
            step start failed: broken
            FAILED broken
        "#]],
    );
}

#[test]
fn an_arc_that_handles_a_failure_sees_the_results_of_the_tasks_before_it() {
    let story = told(
        "
  - step: start
    tool:
      - {name: a, kind: noop, result: {v: 1}}
      - {name: b, kind: noop, fail: {kind: timeout, message: too slow}}
    next: {arcs: [{step: repair, when: '{{ output.status == \"error\" }}', set: {ctx.v: '{{ output.a.v }}'}}]}
  - step: repair
    tool:
      kind: noop
      result: ['{{ v }}', '{{ start.a.v }}', '{{ start.v }}', '{{ start.error.message }}', '{{ start.status }}']
",
    );
    assert_eq!(story.output("repair"), json!([1, 1, 1, "too slow", "error"]));
}

#[test]
fn a_failed_step_that_left_nothing_is_seen_by_how_it_ended() {
    let story = told(
        "
  - step: start
    tool: {kind: noop, fail: {kind: timeout, message: too slow}}
    next: {arcs: [{step: repair, when: '{{ output.status == \"error\" }}'}]}
  - step: repair
    tool:
      kind: noop
      result: ['{{ start.body.text }}', '{{ start.error.message }}', '{{ start.status }}', '{{ start }}']
",
    );
    let output = story.output("repair").as_array().cloned().unwrap();
    assert_eq!(output[1..3], [json!("too slow"), json!("error")]);
    assert_eq!(output[3]["error"]["kind"], "timeout");
}

#[test]
fn an_arc_that_tests_for_failure_handles_it() {
    check(
        "
  - step: start
    tool: {kind: noop, fail: {kind: timeout, message: too slow}}
    next:
      arcs:
        - {step: done, when: '{{ event.name == \"step.done\" }}'}
        - {step: repair, when: '{{ event.name == \"step.failed\" }}', set: {ctx.why: '{{ output.error.kind }}'}}
  - {step: done, tool: {kind: noop}}
  - {step: repair, tool: {kind: noop, result: '{{ why }}: {{ start.error.message }}'}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            fail 0: too slow (timeout)
            step start failed, handled: too slow
            set ctx: {"why":"timeout"}
            enter repair from start
            issue 1: repair (noop)
            done 1: "timeout: too slow"
            leave repair
            COMPLETED "timeout: too slow"
        "#]],
    );
}

#[test]
fn failure_can_be_tested_in_several_words() {
    let handled = |when: &str| {
        let story = told(&format!(
            "
  - step: start
    tool: {{kind: noop, fail: broken}}
    next: {{arcs: [{{step: repair, when: \"{{{{ {when} }}}}\"}}]}}
  - {{step: repair, tool: {{kind: noop}}}}
"
        ));
        story.state.step_runs("repair") == 1
    };
    assert!(handled("event.name == 'step.failed'"));
    assert!(handled("event.name == 'call.error'"));
    assert!(handled("output.status == 'error'"));
    assert!(handled("output.error.kind == 'exception'"));
    assert!(handled("error.message == 'broken'"));
    assert!(handled("start.status == 'error'"));
    assert!(!handled("event.name == 'step.done'"));
    assert!(!handled("output.data is undefined or true"));
}

#[test]
fn success_can_be_tested_in_several_words() {
    let taken = |when: &str| {
        let story = told(&format!(
            "
  - step: start
    tool: {{kind: noop, result: {{n: 1}}}}
    next: {{arcs: [{{step: next, when: \"{{{{ {when} }}}}\"}}]}}
  - {{step: next, tool: {{kind: noop}}}}
"
        ));
        story.state.step_runs("next") == 1
    };
    assert!(taken("event.name == 'step.done'"));
    assert!(taken("event.name == 'call.done'"));
    assert!(taken("event.name in ['step.done', 'loop.done']"));
    assert!(taken("output.n == 1 and output.data.n == 1 and result.n == 1"));
    assert!(taken("output.status == 'ok'"));
    assert!(!taken("event.name == 'step.failed'"));
    assert!(!taken("event.name != 'call.done'"));
}

#[test]
fn other_branches_go_on_before_the_execution_fails() {
    let story = told(
        "
  - {step: start, tool: {kind: noop}, next: [bad, good]}
  - {step: bad, tool: {kind: noop, fail: broken}}
  - {step: good, tool: {kind: noop}, next: after}
  - {step: after, tool: {kind: noop}}
",
    );
    assert_eq!(story.state.step_runs("after"), 1);
    assert_eq!(story.status().as_str(), "FAILED");
}

#[test]
fn in_lenient_mode_an_error_is_a_result() {
    check_with(
        "
  - {step: start, tool: {kind: noop, fail: broken, result: {exit_code: 1}}, next: end}
  - {step: end, tool: {kind: noop, result: '{{ start.exit_code }}'}}
",
        StoryOptions { error_mode: Some(ErrorMode::Lenient), ..StoryOptions::default() },
        expect![[r#"
            enter start
            issue 0: start (noop)
            fail 0: broken (exception)
            leave start
            enter end from start
            issue 1: end (noop)
            done 1: 1
            leave end
            COMPLETED 1
        "#]],
    );
}

#[test]
fn a_playbook_may_ask_for_lenience_and_the_caller_may_refuse_it() {
    let text = "
executor: {spec: {error_mode: lenient}}
workflow:
  - {step: start, tool: {kind: noop, fail: broken}}
";
    assert_eq!(told(text).status().as_str(), "COMPLETED");
    let strict = StoryOptions { error_mode: Some(ErrorMode::Strict), ..StoryOptions::default() };
    assert_eq!(crate::told_with(text, strict).status().as_str(), "FAILED");
}

#[test]
fn data_that_says_error_is_data() {
    let story = told("\n  - {step: start, tool: {kind: noop, result: {status: error}}}\n");
    assert_eq!(story.status().as_str(), "COMPLETED");
    assert_eq!(story.output("start"), json!({ "status": "error" }));
}

#[test]
fn a_guard_that_does_not_render_fails_its_step() {
    let story = told(
        "
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: end, when: '{{ 1 + {} }}'}]}}
  - {step: end, tool: {kind: noop}}
",
    );
    assert_eq!(story.status().as_str(), "FAILED");
    assert_eq!(story.state.step_status("start").map(|it| it.as_str()), Some("FAILED"));
}

#[test]
fn a_value_that_nests_without_end_is_stopped() {
    let story = told(
        "
  - step: start
    tool: {kind: noop}
    set: {ctx.x: {deeper: '{{ ctx.x }}'}}
    next: {arcs: [{step: start}]}
",
    );
    let last = story.history().lines().last().unwrap_or_default().to_owned();
    assert_eq!(last, "FAILED `set` `x` is nested deeper than 100 levels");
}
