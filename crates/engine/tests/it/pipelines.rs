//! Tests of pipelines: order, labels, visibility of earlier outputs, the shape of the output.

use expect_test::expect;
use serde_json::json;

use crate::{check, told};

#[test]
fn tasks_run_in_order_and_see_each_other() {
    check(
        "
  - step: start
    tool:
      - {name: fetch, kind: noop, result: {body: {n: 3}}}
      - shape: {kind: noop, input: {p: '{{ fetch.body }}'}, result: {twice: '{{ p.n * 2 }}'}}
      - {kind: noop, result: '{{ output.twice + shape.data.twice + results.fetch.body.n }}'}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"body":{"n":3}}
            issue 1: start task 1 (noop)
            done 1: {"twice":6}
            issue 2: start task 2 (noop)
            done 2: 15
            leave start: {"body":{"n":3},"twice":6,"fetch":{"body":{"n":3}},"shape":{"twice":6},"task_2":15}
            COMPLETED {"body":{"n":3},"twice":6,"fetch":{"body":{"n":3}},"shape":{"twice":6},"task_2":15}
        "#]],
    );
}

#[test]
fn the_output_has_every_label_and_the_fields_of_maps() {
    let story = told(
        "
  - step: start
    tool:
      - {name: a, kind: noop, result: {x: 1, b: hidden}}
      - {name: b, kind: noop, result: {y: 2}}
      - {name: c, kind: noop, result: 3}
    next: {arcs: [{step: end}]}
  - {step: end, tool: {kind: noop, result: '{{ [start.x, start.a.x, start.results.b.y, start.data.y, start.c] }}'}}
",
    );
    assert_eq!(
        story.output("start"),
        json!({ "x": 1, "b": { "y": 2 }, "y": 2, "a": { "x": 1, "b": "hidden" }, "c": 3 })
    );
    assert_eq!(story.output("end"), json!([1, 1, 2, 2, 3]));
}

#[test]
fn a_task_that_fails_ends_the_pipeline() {
    check(
        "
  - step: start
    tool:
      - {name: a, kind: noop}
      - {name: b, kind: noop, fail: broken}
      - {name: never, kind: noop}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            done 0: {"status":"ok"}
            issue 1: start task 1 (noop)
            fail 1: broken (exception)
            step start failed: broken
            FAILED broken
        "#]],
    );
}

#[test]
fn variables_that_a_task_sets_are_visible_to_the_next_task_and_not_after_the_step() {
    let story = told(
        "
  - step: start
    tool:
      - {name: a, kind: noop, result: {page: 2}, set: {page: '{{ output }}', step.mark: 1, deep.er: '{{ output.page }}'}}
      - {name: b, kind: noop, result: '{{ [page.page, step.mark, deep.er] }}'}
    next: {arcs: [{step: end}]}
  - {step: end, tool: {kind: noop, result: '{{ [start.b, page is defined] }}'}}
",
    );
    assert_eq!(story.output("end"), json!([[2, 1, 2], false]));
}

#[test]
fn a_set_that_does_not_render_fails_its_task() {
    let story = told(
        "
  - step: start
    tool: [{name: a, kind: noop, set: {x: '{{ 1 + {} }}'}}]
",
    );
    let last = story.history().lines().last().unwrap_or_default().to_owned();
    assert!(last.starts_with("FAILED `set` `x`: "), "{last}");
}
