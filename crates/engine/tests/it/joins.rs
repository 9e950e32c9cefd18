//! Tests of fan-out and joins: a join waits only for branches that can still arrive.

use expect_test::expect;

use noetl_testkit::{Story, StoryOptions};

use crate::{check, playbook, told};

#[test]
fn a_fan_out_joins_once_and_sees_every_branch() {
    check(
        "
  - {step: start, tool: {kind: noop}, next: [a, b]}
  - {step: a, tool: {kind: noop, result: {v: 1}}, next: join}
  - {step: b, tool: {kind: noop, result: {v: 2}}, next: join}
  - {step: join, tool: {kind: noop, result: '{{ a.v + b.v }}'}}
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
            done 1: {"v":1}
            leave a
            await join, reached from a
            done 2: {"v":2}
            leave b
            enter join from a, b
            issue 3: join (noop)
            done 3: 3
            leave join
            COMPLETED 3
        "#]],
    );
}

#[test]
fn a_join_reached_by_a_short_branch_waits_for_the_long_one() {
    let story = told(
        "
  - {step: start, tool: {kind: noop}, next: [join, a]}
  - {step: a, tool: {kind: noop}, next: b}
  - {step: b, tool: {kind: noop, result: {v: 2}}, next: join}
  - {step: join, tool: {kind: noop, result: '{{ b.v }}'}}
",
    );
    assert_eq!(story.state.step_runs("join"), 1);
    assert_eq!(story.output("join"), 2);
}

#[test]
fn a_join_does_not_wait_for_a_branch_that_was_not_taken() {
    check(
        "
  - step: start
    tool: {kind: noop, result: {go: left}}
    next:
      arcs:
        - {step: left, when: '{{ output.go == \"left\" }}'}
        - {step: right}
  - {step: left, tool: {kind: noop}, next: join}
  - {step: right, tool: {kind: noop}, next: far}
  - {step: far, tool: {kind: noop}, next: join}
  - {step: join, tool: {kind: noop}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"go":"left"}
            leave start
            enter left from start
            issue 1: left (noop)
            done 1: {"status":"ok"}
            leave left
            enter join from left
            issue 2: join (noop)
            done 2: {"status":"ok"}
            leave join
            COMPLETED {"status":"ok"}
        "#]],
    );
}

#[test]
fn a_join_stops_waiting_when_the_other_branch_turns_away() {
    let story = told(
        "
  - {step: start, tool: {kind: noop}, next: [a, b]}
  - {step: a, tool: {kind: noop}, next: join}
  - step: b
    tool: {kind: noop, result: {n: 1}}
    next: {arcs: [{step: join, when: '{{ output.n > 1 }}'}, {step: elsewhere}]}
  - {step: elsewhere, tool: {kind: noop}}
  - {step: join, tool: {kind: noop}}
",
    );
    assert_eq!(story.state.step_runs("join"), 1);
    assert_eq!(story.state.step_runs("elsewhere"), 1);
}

#[test]
fn a_join_ignores_steps_that_nothing_leads_to() {
    let story = told(
        "
  - {step: start, tool: {kind: noop}, next: join}
  - {step: orphan, tool: {kind: noop}, next: join}
  - {step: join, tool: {kind: noop}}
",
    );
    assert_eq!(story.state.step_runs("join"), 1);
}

#[test]
fn a_join_inside_a_cycle_waits_in_every_round() {
    let story = told(
        "
  - step: start
    tool: {kind: noop}
    set: {ctx.n: '{{ ctx.n | default(0) + 1 }}'}
    next: [a, b]
  - {step: a, tool: {kind: noop}, next: join}
  - {step: b, tool: {kind: noop}, next: slow}
  - {step: slow, tool: {kind: noop}, next: join}
  - step: join
    tool: {kind: noop}
    next: {arcs: [{step: start, when: '{{ ctx.n < 3 }}'}]}
",
    );
    assert_eq!(story.state.step_runs("start"), 3);
    assert_eq!(story.state.step_runs("join"), 3);
}

#[test]
fn joins_that_could_wait_for_each_other_do_not() {
    let story = told(
        "
  - {step: start, tool: {kind: noop}, next: [x, y]}
  - step: x
    tool: {kind: noop}
    next: {arcs: [{step: y, when: '{{ ctx.done is defined }}'}]}
  - step: y
    tool: {kind: noop}
    next: {arcs: [{step: x, when: '{{ ctx.done is defined }}'}]}
",
    );
    assert_eq!((story.state.step_runs("x"), story.state.step_runs("y")), (1, 1));
}

#[test]
fn a_failed_branch_does_not_hold_a_join_back() {
    let story = told(
        "
  - {step: start, tool: {kind: noop}, next: [a, b]}
  - {step: a, tool: {kind: noop}, next: join}
  - {step: b, tool: {kind: noop, fail: broken}, next: join}
  - {step: join, tool: {kind: noop}}
",
    );
    assert_eq!(story.state.step_runs("join"), 1);
    let last = story.history().lines().last().unwrap_or_default().to_owned();
    assert_eq!(last, "FAILED broken");
}

/// Checks that the work grows linearly with the number of steps, in a row and in parallel branches.
#[test]
fn thousands_of_steps_in_a_row_and_side_by_side_come_to_their_end() {
    const STEPS: usize = 1_000;
    let row: String = (0..STEPS)
        .map(|n| {
            format!(
                "  - {{step: s{n}, tool: {{kind: noop}}, next: {{arcs: [{{step: s{}}}]}}}}\n",
                n + 1
            )
        })
        .collect();
    let mut story = Story::begin(
        &playbook(&format!("{row}  - {{step: s{STEPS}, tool: {{kind: noop}}}}\n")),
        StoryOptions::default(),
    );
    assert_eq!(story.run().status().as_str(), "COMPLETED");
    let names: Vec<String> = (0..STEPS).map(|n| format!("s{n}")).collect();
    let mut wide =
        format!("  - {{step: start, tool: {{kind: noop}}, next: [{}]}}\n", names.join(", "));
    for name in &names {
        wide.push_str(&format!("  - {{step: {name}, tool: {{kind: noop}}, next: [end]}}\n"));
    }
    wide.push_str("  - {step: end, tool: {kind: noop}}\n");
    let mut story = Story::begin(&playbook(&wide), StoryOptions::default());
    assert_eq!(story.run().status().as_str(), "COMPLETED");
    assert_eq!(story.state.step_runs("end"), 1);
}
