//! Tests of loops: items, order, concurrency, results.

use expect_test::expect;
use noetl_model::Payload;
use serde_json::json;

use crate::{check, payload, told, told_with};

#[test]
fn a_sequential_loop_runs_item_by_item_and_gathers_the_results() {
    check(
        "
  - step: start
    loop: {in: [a, b], iterator: item}
    tool: {kind: noop, result: {got: '{{ item }}', at: '{{ iter.index }}/{{ _total }}'}}
    next: {arcs: [{step: end, when: '{{ event.name == \"loop.done\" }}'}]}
  - {step: end, tool: {kind: noop, result: '{{ start.results[1].got }}'}}
",
        expect![[r#"
            enter start
            loop over 2 items, Sequential, 1 in flight
            issue 0: start item 0 (noop)
            done 0: {"got":"a","at":"0/2"}
            item 0 done
            issue 1: start item 1 (noop)
            done 1: {"got":"b","at":"1/2"}
            item 1 done
            leave start: {"results":[{"got":"a","at":"0/2"},{"got":"b","at":"1/2"}],"data":[{"got":"a","at":"0/2"},{"got":"b","at":"1/2"}],"stats":{"total":2,"completed":2,"failed":0}}
            enter end from start
            issue 2: end (noop)
            done 2: "b"
            leave end
            COMPLETED "b"
        "#]],
    );
}

#[test]
fn a_parallel_loop_keeps_as_many_items_in_flight_as_it_may() {
    check(
        "
  - step: start
    loop: {in: 3, iterator: n, spec: {mode: parallel, max_in_flight: '{{ 1 + 1 }}'}}
    tool: {kind: noop, result: '{{ n * 10 }}'}
",
        expect![[r#"
            enter start
            loop over 3 numbers, Parallel, 2 in flight
            issue 0: start item 0 (noop)
            issue 1: start item 1 (noop)
            done 0: 0
            item 0 done
            issue 2: start item 2 (noop)
            done 1: 10
            item 1 done
            done 2: 20
            item 2 done
            leave start: {"results":[0,10,20],"data":[0,10,20],"stats":{"total":3,"completed":3,"failed":0}}
            COMPLETED {"results":[0,10,20],"data":[0,10,20],"stats":{"total":3,"completed":3,"failed":0}}
        "#]],
    );
}

#[test]
fn a_loop_accepts_a_list_a_map_a_number_or_a_text() {
    let results = |source: &str| {
        let story = told_with(
            &format!(
                "
workload: {{list: [1, 2], map: {{k: v}}, text: 'x, y'}}
workflow:
  - step: start
    loop: {{in: {source}, iterator: it}}
    tool: {{kind: noop, result: '{{{{ it }}}}'}}
"
            ),
            payload(json!({ "count": 2 })),
        );
        story.output("start")["results"].clone()
    };
    assert_eq!(results("'{{ workload.list }}'"), json!([1, 2]));
    assert_eq!(results("'{{ list }}'"), json!([1, 2]));
    assert_eq!(results("'{{ map }}'"), json!([{ "key": "k", "value": "v" }]));
    assert_eq!(results("'{{ text }}'"), json!(["x", "y"]));
    assert_eq!(results("'{{ count }}'"), json!([0, 1]));
    assert_eq!(results("{a: 1}"), json!([{ "key": "a", "value": 1 }]));
    assert_eq!(results("[[1], '{{ count }}']"), json!([[1], 2]));
    assert_eq!(results("2"), json!([0, 1]));
}

#[test]
fn an_empty_loop_is_done_at_once() {
    check(
        "
  - step: start
    loop: {in: [], iterator: item}
    tool: {kind: noop}
    next: {arcs: [{step: end, when: \"event.name == 'loop.done'\"}]}
  - {step: end, tool: {kind: noop, result: '{{ start.stats.total }}'}}
",
        expect![[r#"
            enter start
            loop over 0 items, Sequential, 1 in flight
            leave start: {"results":[],"data":[],"stats":{"total":0,"completed":0,"failed":0}}
            enter end from start
            issue 0: end (noop)
            done 0: 0
            leave end
            COMPLETED 0
        "#]],
    );
}

#[test]
fn a_loop_over_nothing_fails_its_step() {
    check(
        "
  - step: start
    loop: {in: '{{ workload.missing }}', iterator: item}
    tool: {kind: noop}
",
        expect![[r#"
            enter start
            step start failed: `loop.in` is nothing: a loop needs a list, a map, a number or a text
            FAILED `loop.in` is nothing: a loop needs a list, a map, a number or a text
        "#]],
    );
}

#[test]
fn an_item_that_fails_fails_the_loop_and_no_further_item_is_begun() {
    check(
        "
  - step: start
    loop: {in: [1, 2, 3], iterator: n}
    tool: {kind: noop, fail: {message: 'not {{ n }}', times: 1}}
",
        expect![[r#"
            enter start
            loop over 3 items, Sequential, 1 in flight
            issue 0: start item 0 (noop)
            fail 0: not 1 (exception)
            item 0 failed: not 1
            step start failed: not 1
            FAILED not 1
        "#]],
    );
}

#[test]
fn an_arc_on_failure_handles_a_failed_loop() {
    let story = told(
        "
  - step: start
    loop: {in: [1, 2], iterator: n, spec: {mode: parallel}}
    tool: {kind: noop, fail: {message: bad, times: 1}}
    next:
      arcs:
        - {step: repair, when: '{{ event.name == \"step.failed\" }}'}
        - {step: end, when: '{{ event.name == \"loop.done\" }}'}
  - {step: repair, tool: {kind: noop, result: '{{ output }}'}, input: {failed: '{{ start.error.message }}'}}
  - {step: end, tool: {kind: noop}}
",
    );
    assert_eq!(story.state.step_runs("repair"), 1);
    assert_eq!(story.state.step_runs("end"), 0);
    assert_eq!(
        story.worker.ran.last().map(|ran| ran.config["input"].clone()),
        Some(json!({"failed": "bad"}))
    );
}

#[test]
fn in_lenient_mode_a_failing_item_is_a_result() {
    let options = noetl_testkit::StoryOptions {
        error_mode: Some(noetl_model::ErrorMode::Lenient),
        ..Default::default()
    };
    let story = told_with(
        "
  - step: start
    loop: {in: [1, 2], iterator: n}
    tool: {kind: noop, result: '{{ n }}', fail: {message: bad, times: 1}}
",
        options,
    );
    assert_eq!(story.output("start")["results"], json!([1, 2]));
    assert_eq!(story.status().as_str(), "COMPLETED");
}

#[test]
fn a_failure_that_a_rule_handles_is_in_the_results_and_counted() {
    for mode in ["sequential", "parallel"] {
        let story = told(&format!(
            "
  - step: start
    loop: {{in: [1, 2, 3], iterator: n, spec: {{mode: {mode}}}}}
    tool:
      kind: noop
      result: '{{{{ n }}}}'
      fail: {{message: no one, times: 1}}
      spec: {{policy: {{rules: [{{when: '{{{{ error is defined }}}}', then: {{do: continue}}}}]}}}}
    next: {{arcs: [{{step: end}}]}}
  - {{step: end, tool: {{kind: noop, result: '{{{{ start.results[0].error.message }}}}'}}}}
"
        ));
        assert_eq!(story.status().as_str(), "COMPLETED", "{}", story.history());
        let output = story.output("start");
        assert_eq!(output["stats"], json!({ "total": 3, "completed": 2, "failed": 1 }), "{mode}");
        assert_eq!((&output["results"][1], &output["results"][2]), (&json!(2), &json!(3)));
        assert_eq!(output["results"][0]["status"], "error");
        assert_eq!(story.output("end"), "no one");
    }
}

#[test]
fn ctx_written_inside_a_loop_is_kept_and_seen_by_the_next_item() {
    let story = told(
        "
  - step: start
    loop: {in: [1, 2, 3], iterator: n}
    tool:
      kind: noop
      result: '{{ (ctx.sum | default(0)) + n }}'
      spec: {policy: {rules: [{else: {then: {do: continue, set: {ctx.sum: '{{ output.data }}'}}}}]}}
    next: {arcs: [{step: end}]}
  - {step: end, tool: {kind: noop, result: '{{ sum }}'}}
",
    );
    assert_eq!(story.output("end"), 6);
}

#[test]
fn iter_values_belong_to_their_item() {
    let story = told(
        "
  - step: start
    loop: {in: [1, 2], iterator: n, spec: {mode: parallel}}
    tool:
      - {name: first, kind: noop, result: '{{ n }}', set: {iter.page: '{{ output * 10 }}', local: '{{ n }}'}}
      - {name: second, kind: noop, result: '{{ iter.page + local }}'}
    next: {arcs: [{step: end}]}
  - {step: end, tool: {kind: noop, result: '{{ iter.page is defined or local is defined }}'}}
",
    );
    assert_eq!(story.output("start")["results"][0]["second"], 11);
    assert_eq!(story.output("start")["results"][1]["second"], 22);
    assert_eq!(story.output("end"), false);
}

#[test]
fn a_loop_entered_again_starts_afresh() {
    let story = told(
        "
  - step: start
    tool: {kind: noop}
    set: {ctx.round: '{{ ctx.round | default(0) + 1 }}'}
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: '{{ ctx.round }}', iterator: n}
    tool: {kind: noop, result: '{{ ctx.round }}'}
    next: {arcs: [{step: start, when: '{{ ctx.round < 3 }}'}]}
",
    );
    assert_eq!(story.state.step_runs("each"), 3);
    assert_eq!(story.output("each")["results"], json!([3, 3, 3]));
    assert_eq!(story.output("each")["stats"], json!({"total": 3, "completed": 3, "failed": 0}));
}

#[test]
fn python_tasks_get_the_item_as_an_input() {
    let story = told(
        "
  - step: start
    loop: {in: [x], iterator: item}
    tool: {kind: python, code: 'result = item', input: {extra: 1, _total: mine}}
",
    );
    let input = &story.worker.ran[0].config["input"];
    assert_eq!(input, &json!({ "item": "x", "_index": 0, "_total": "mine", "extra": 1 }));
}

#[test]
fn a_cursor_loop_claims_frames_until_none_is_left() {
    check(
        "
  - step: start
    loop:
      cursor: {kind: noop, auth: pg, claim: x, result: {rows: '{{ [[1, 2], [3], []][ctx.n | default(0)] }}'}, limit: '{{ __frame_max_rows }}'}
      iterator: row
      spec: {mode: cursor, frame: {max_rows: 2, row_concurrency: 2}}
    tool:
      kind: noop
      result: '{{ row }}'
      spec: {policy: {rules: [{when: '{{ iter.index == 1 }}', then: {do: continue, set: {ctx.n: 1}}}, {when: '{{ iter.index == 2 }}', then: {do: continue, set: {ctx.n: 2}}}]}}
    next: {arcs: [{step: end, when: '{{ event.name == \"loop.done\" }}'}]}
  - {step: end, tool: {kind: noop, result: '{{ start.frames }}'}}
",
        expect![[r#"
            enter start
            loop over frames, Cursor, 2 in flight
            issue 0: start claim 0 (noop)
            done 0: {"rows":[1,2]}
            frame 0 of 2
            issue 1: start item 0 (noop)
            issue 2: start item 1 (noop)
            done 1: 1
            item 0 done
            done 2: 2
            set ctx: {"n":1}
            item 1 done
            issue 3: start claim 1 (noop)
            done 3: {"rows":[3]}
            frame 1 of 1
            issue 4: start item 2 (noop)
            done 4: 3
            set ctx: {"n":2}
            item 2 done
            issue 5: start claim 2 (noop)
            done 5: {"rows":[]}
            leave start: {"cursor":"drained","frames":2,"stats":{"total":3,"completed":3,"failed":0}}
            enter end from start
            issue 6: end (noop)
            done 6: 2
            leave end
            COMPLETED 2
        "#]],
    );
}

#[test]
fn a_cursor_loop_may_take_a_frame_at_a_time() {
    let story = told(
        "
  - step: start
    loop:
      cursor: {kind: noop, auth: pg, claim: x, result: {rows: '{{ [[1, 2], []][ctx.n | default(0)] }}'}}
      iterator: row
      spec: {mode: cursor, frame: {process: frame}}
    tool:
      kind: noop
      result: '{{ frame.rows | length }}'
      spec: {policy: {rules: [{else: {then: {do: continue, set: {ctx.n: 1, ctx.rows: '{{ output.data }}'}}}}]}}
",
    );
    assert_eq!(story.output("start")["stats"]["completed"], 1);
    let rows =
        story.state.context().find(|(key, _)| *key == "rows").map(|(_, value)| value.clone());
    assert_eq!(rows, Some(Payload::inline(json!(2))));
}

#[test]
fn two_thousand_items_leave_the_state_as_small_as_twenty() {
    let size_at_the_end = |count: u64| {
        let mut story = noetl_testkit::Story::begin(
            &crate::playbook(
                "
  - step: start
    loop: {in: '{{ workload.count }}', iterator: n, spec: {mode: parallel, max_in_flight: 10}}
    tool: {kind: noop, result: {n: '{{ n }}'}}
",
            ),
            payload(json!({ "count": count })),
        );
        for _ in 0..count - 10 {
            let command = story.next_ready().expect("items are left");
            story.claim(command, 1, "w").unwrap();
            let outcome = noetl_model::Outcome::completed(json!({ "n": 1 }));
            story.report(command, 1, "w", outcome).unwrap();
        }
        serde_json::to_string(&story.state).expect("a state is data").len()
    };
    let (small, large) = (size_at_the_end(20), size_at_the_end(2_000));
    assert!(large < small + 500, "{small} bytes after 10 items, {large} after 1,990");
}

#[test]
fn the_error_of_a_loop_has_the_number_of_failed_items() {
    check(
        "
  - step: start
    loop: {in: [1, 2], iterator: n, spec: {mode: parallel}}
    tool: {kind: noop, fail: {message: 'not {{ n }}', times: 9}}
    next: {arcs: [{step: sorry, when: \"event.name == 'step.failed' and output.stats.failed > 0\"}]}
  - {step: sorry, tool: {kind: noop, result: '{{ start.stats.failed }} of {{ start.stats.total }}'}}
",
        expect![[r#"
            enter start
            loop over 2 items, Parallel, 500 in flight
            issue 0: start item 0 (noop)
            issue 1: start item 1 (noop)
            fail 0: not 1 (exception)
            item 0 failed: not 1
            fail 1: not 2 (exception)
            item 1 failed: not 2
            step start failed, handled: not 1
            enter sorry from start
            issue 2: sorry (noop)
            done 2: "2 of 2"
            leave sorry
            COMPLETED "2 of 2"
        "#]],
    );
}

#[test]
fn a_task_knows_its_label_its_attempt_and_the_time_of_its_command() {
    check(
        "
  - step: start
    tool:
      - name: first
        kind: noop
        fail: {message: 'not yet', times: 1}
        result: '{{ _task }} {{ _attempt }} {{ now()[:4] | int > 2000 }}'
        spec: {policy: {rules: [{when: \"{{ output.status == 'error' }}\", then: {do: retry, attempts: 3, delay: 0}}]}}
",
        expect![[r#"
            enter start
            issue 0: start (noop)
            fail 0: not yet (exception)
            issue 1: start retry 1 (noop)
            done 1: "first 2 true"
            leave start: {"first":"first 2 true"}
            COMPLETED {"first":"first 2 true"}
        "#]],
    );
}
