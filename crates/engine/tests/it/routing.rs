//! Tests of arcs: which steps are entered, in which order.

use expect_test::expect;

use noetl_model::ExecutionStatus;
use noetl_testkit::StoryOptions;

use crate::{check, told, told_with};

#[test]
fn a_single_step_completes_the_execution_with_its_output() {
    check(
        "
  - step: start
    tool: {kind: noop, result: {greeting: hello}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"greeting":"hello"}
            leave start
            COMPLETED {"greeting":"hello"}
        "#]],
    );
}

#[test]
fn steps_follow_each_other_along_arcs() {
    check(
        "
  - step: start
    tool: {kind: noop, result: {n: 1}}
    next: {arcs: [{step: middle}]}
  - step: middle
    tool: {kind: noop, result: {n: '{{ start.n + 1 }}'}}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop, result: {n: '{{ middle.n + 1 }}'}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"n":1}
            leave start
            enter middle from start
            issue 1: middle (noop)
            done 1: {"n":2}
            leave middle
            enter end from middle
            issue 2: end (noop)
            done 2: {"n":3}
            leave end
            COMPLETED {"n":3}
        "#]],
    );
}

#[test]
fn an_exclusive_router_takes_the_first_arc_that_holds() {
    check(
        "
  - step: start
    tool: {kind: noop, result: {n: 5}}
    next:
      spec: {mode: exclusive}
      arcs:
        - {step: low, when: '{{ output.n < 3 }}'}
        - {step: middle, when: '{{ start.n < 10 }}'}
        - {step: high}
  - {step: low, tool: {kind: noop}}
  - {step: middle, tool: {kind: noop}}
  - {step: high, tool: {kind: noop}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"n":5}
            leave start
            enter middle from start
            issue 1: middle (noop)
            done 1: {"status":"ok"}
            leave middle
            COMPLETED {"status":"ok"}
        "#]],
    );
}

#[test]
fn an_inclusive_router_takes_every_arc_that_holds() {
    check(
        "
  - step: start
    tool: {kind: noop, result: {n: 5}}
    next:
      spec: {mode: inclusive}
      arcs:
        - {step: low, when: '{{ output.n < 3 }}'}
        - {step: middle, when: '{{ start.n < 10 }}'}
        - {step: high}
  - {step: low, tool: {kind: noop}}
  - {step: middle, tool: {kind: noop}}
  - {step: high, tool: {kind: noop}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"n":5}
            leave start
            enter middle from start
            issue 1: middle (noop)
            enter high from start
            issue 2: high (noop)
            done 1: {"status":"ok"}
            leave middle
            done 2: {"status":"ok"}
            leave high
            COMPLETED {"status":"ok"}
        "#]],
    );
}

#[test]
fn an_execution_ends_when_no_arc_holds() {
    check(
        "
  - step: start
    tool: {kind: noop, result: {n: 5}}
    next: {arcs: [{step: other, when: '{{ output.n > 5 }}'}]}
  - {step: other, tool: {kind: noop}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"n":5}
            leave start
            COMPLETED {"n":5}
        "#]],
    );
}

#[test]
fn no_matching_arc_is_an_error_where_the_playbook_says_so() {
    check(
        "
executor: {spec: {no_next_is_error: true}}
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: other, when: 'false'}]}
  - {step: other, tool: {kind: noop}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"status":"ok"}
            step start failed: no arc of step `start` matched
            FAILED no arc of step `start` matched
        "#]],
    );
}

#[test]
fn the_entry_step_is_the_one_named_else_start_else_the_first() {
    let entered = |text: &str| told(text).history().lines().next().unwrap_or_default().to_owned();
    assert_eq!(
        entered(
            "
executor: {spec: {entry_step: b}}
workflow:
  - {step: a, tool: {kind: noop}}
  - {step: b, tool: {kind: noop}}
"
        ),
        "enter b"
    );
    assert_eq!(
        entered("\n  - {step: a, tool: {kind: noop}}\n  - {step: start, tool: {kind: noop}}\n"),
        "enter start"
    );
    assert_eq!(
        entered("\n  - {step: a, tool: {kind: noop}}\n  - {step: b, tool: {kind: noop}}\n"),
        "enter a"
    );
}

#[test]
fn the_final_step_runs_when_everything_else_has_come_to_rest() {
    check(
        "
executor: {spec: {final_step: report}}
workflow:
  - step: start
    tool: {kind: noop}
    next: [a, b]
  - {step: a, tool: {kind: noop}}
  - {step: b, tool: {kind: noop, result: {x: 1}}}
  - {step: report, tool: {kind: noop, result: {seen: '{{ b.x }}'}}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"status":"ok"}
            leave start
            enter a from start
            issue 1: a (noop)
            enter b from start
            issue 2: b (noop)
            done 1: {"status":"ok"}
            leave a
            done 2: {"x":1}
            leave b
            enter report
            issue 3: report (noop)
            done 3: {"seen":1}
            leave report
            COMPLETED {"seen":1}
        "#]],
    );
}

#[test]
fn a_false_guard_skips_a_step_and_walks_on() {
    check(
        "
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: optional}]}
  - step: optional
    when: '{{ workload.wanted }}'
    tool: {kind: noop}
    next: {arcs: [{step: optional_too}]}
  - step: optional_too
    spec: {policy: {admit: {rules: [{when: '{{ start.status == \"ok\" }}', then: {allow: false}}]}}}
    tool: {kind: noop}
    next: {arcs: [{step: end}]}
  - {step: end, tool: {kind: noop}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"status":"ok"}
            leave start
            skip optional (Guard)
            skip optional_too (Admission)
            enter end from optional_too
            issue 1: end (noop)
            done 1: {"status":"ok"}
            leave end
            COMPLETED {"status":"ok"}
        "#]],
    );
}

#[test]
fn admission_takes_the_first_rule_that_holds_and_admits_without_one() {
    let story = told(
        "
  - step: start
    spec: {policy: {admit: {rules: [{when: 'false', then: {allow: false}}]}}}
    tool: {kind: noop}
    next: {arcs: [{step: last}]}
  - step: last
    spec: {policy: {admit: {rules: [{when: 'true', then: {allow: true}}, {else: {then: {allow: false}}}]}}}
    tool: {kind: noop}
",
    );
    assert_eq!((story.state.step_runs("start"), story.state.step_runs("last")), (1, 1));
}

#[test]
fn an_arc_of_a_skipped_step_sets_what_it_says() {
    let story = told(
        "
  - {step: start, tool: {kind: noop}, next: optional}
  - step: optional
    when: '{{ false }}'
    tool: {kind: noop}
    next: {arcs: [{step: end, set: {ctx.via: '{{ event.name }}'}}]}
  - {step: end, tool: {kind: noop, result: '{{ via }}'}}
",
    );
    assert_eq!(story.output("end"), "step.skipped");
}

#[test]
fn a_ring_of_skipped_steps_ends_with_a_reason() {
    let story = told(
        "
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: a}]}
  - {step: a, when: 'false', tool: {kind: noop}, next: {arcs: [{step: b}]}}
  - {step: b, when: 'false', tool: {kind: noop}, next: {arcs: [{step: a}]}}
",
    );
    let last = story.history().lines().last().unwrap_or_default().to_owned();
    assert!(last.starts_with("FAILED stopped after"), "{last}");
}

#[test]
fn a_back_arc_enters_a_step_again() {
    let story = check(
        "
  - step: start
    tool: {kind: noop}
    set: {ctx.n: 0}
    next: {arcs: [{step: count}]}
  - step: count
    tool: {kind: noop, result: {n: '{{ ctx.n + 1 }}'}}
    set: {ctx.n: '{{ output.n }}'}
    next: {arcs: [{step: check}]}
  - step: check
    tool: {kind: noop}
    next:
      arcs:
        - {step: count, when: '{{ ctx.n < 2 }}'}
        - {step: end}
  - {step: end, tool: {kind: noop, result: '{{ n }}'}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"status":"ok"}
            set ctx: {"n":0}
            leave start
            enter count from start
            issue 1: count (noop)
            done 1: {"n":1}
            set ctx: {"n":1}
            leave count
            enter check from count
            issue 2: check (noop)
            done 2: {"status":"ok"}
            leave check
            enter count from check
            issue 3: count (noop)
            done 3: {"n":2}
            set ctx: {"n":2}
            leave count
            enter check from count
            issue 4: check (noop)
            done 4: {"status":"ok"}
            leave check
            enter end from check
            issue 5: end (noop)
            done 5: 2
            leave end
            COMPLETED 2
        "#]],
    );
    assert_eq!(story.state.step_runs("count"), 2);
}

#[test]
fn a_self_arc_enters_its_own_step_again() {
    let story = told(
        "
  - step: start
    tool: {kind: noop, result: {page: '{{ ctx.page | default(0) + 1 }}'}}
    set: {ctx.page: '{{ output.page }}'}
    next:
      arcs:
        - {step: start, when: '{{ ctx.page < 4 }}'}
        - {step: end}
  - {step: end, tool: {kind: noop, result: '{{ start.page }}'}}
",
    );
    assert_eq!(story.state.step_runs("start"), 4);
    assert_eq!(story.output("end"), 4);
}

#[test]
fn a_cycle_that_makes_no_progress_is_stopped() {
    let cycle = "\n  - {step: start, tool: {kind: noop}, next: {arcs: [{step: start}]}}\n";
    let last =
        |options| told_with(cycle, options).history().lines().last().unwrap_or_default().to_owned();
    let by_events = StoryOptions { events_max: 500, ..StoryOptions::default() };
    assert_eq!(last(by_events), "FAILED stopped after 501 events: the playbook goes in circles");
    let by_runs = StoryOptions { runs_max: 50, ..StoryOptions::default() };
    assert_eq!(last(by_runs), "FAILED stopped after 253 events: the playbook goes in circles");
}

#[test]
fn a_loop_over_many_items_is_no_cycle() {
    let story = told_with(
        "
  - step: start
    loop: {in: 200, iterator: n, spec: {mode: parallel}}
    tool: {kind: noop}
    next: {arcs: [{step: end}]}
  - {step: end, tool: {kind: noop}}
",
        StoryOptions { runs_max: 2, ..StoryOptions::default() },
    );
    assert_eq!(story.status(), ExecutionStatus::Completed);
}
