//! The coverage of steps, arcs and guards.

use expect_test::expect;
use noetl_playtest::{Coverage, PlaybookLibrary, coverage_report};

use crate::files::{run, workflow};

const STEPS: &str = "
  - step: start
    tool: {kind: noop, result: '{{ workload.n }}'}
    next:
      arcs:
        - {step: big, when: '{{ workload.n > 10 }}'}
        - {step: small, when: '{{ workload.n > 0 }}'}
        - {step: none}
  - step: big
    when: '{{ workload.n < 100 }}'
    tool: {kind: noop}
  - step: small
    tool: {kind: noop}
  - step: none
    tool: {kind: noop}
";

#[track_caller]
fn check(tests: &str, expected: expect_test::Expect) {
    let (playbook, library) = (workflow(STEPS), PlaybookLibrary::new());
    let mut all = Coverage::default();
    for outcome in run(&playbook, &library, &format!("tests:\n{tests}")) {
        outcome.coverage.iter().for_each(|(_, coverage)| all.merge(coverage));
    }
    let report = coverage_report(&playbook, &all);
    let mut text = format!(
        "steps {}/{}, arcs {}/{}, guards {}/{}\n",
        report.steps_covered,
        report.steps,
        report.arcs_covered,
        report.arcs,
        report.guards_covered,
        report.guards
    );
    for step in &report.steps_missed {
        text += &format!("step {step}\n");
    }
    for arc in &report.arcs_missed {
        text += &format!("arc {} -> {}\n", arc.from, arc.to);
    }
    for guard in &report.guards_missed {
        let (held, not_held) = (guard.has_held, guard.has_not_held);
        text += &format!("guard {} {} held {held} not held {not_held}\n", guard.step, guard.when);
    }
    expected.assert_eq(&text);
}

#[test]
fn a_part_that_no_test_uses_is_named() {
    check(
        "  - {name: a, workload: {n: 50}}\n",
        expect![[r#"
        steps 2/4, arcs 1/3, guards 2/6
        step small
        step none
        arc start -> small
        arc start -> none
        guard start {{ workload.n > 10 }} held true not held false
        guard start {{ workload.n > 0 }} held false not held false
        guard big {{ workload.n < 100 }} held true not held false
    "#]],
    );
}

#[test]
fn tests_of_every_branch_cover_everything() {
    check(
        "  - {name: a, workload: {n: 50}}
  - {name: b, workload: {n: 500}}
  - {name: c, workload: {n: 5}}
  - {name: d, workload: {n: 0}}
",
        expect![[r#"
            steps 4/4, arcs 3/3, guards 6/6
        "#]],
    );
}
