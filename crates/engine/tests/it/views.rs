//! Tests of results as templates see them: aliases, large values, null.

use serde_json::json;

use crate::told;

#[test]
fn a_result_answers_to_data_and_result_unless_it_has_such_keys() {
    let story = told(
        "
  - {step: plain, tool: {kind: noop, result: {n: 1}}, next: own}
  - {step: own, tool: {kind: noop, result: {data: {n: 2}, n: 3}}, next: end}
  - {step: end, tool: {kind: noop, result: '{{ [plain.data.n, plain.result.n, own.data.n, own.result.n] }}'}}
",
    );
    assert_eq!(story.output("end"), json!([1, 1, 2, 3]));
}

#[test]
fn whole_results_and_parts_of_them_can_be_asked_for_together() {
    let story = told(
        "
  - {step: start, tool: {kind: noop, result: {n: 1}}, next: end}
  - {step: end, tool: {kind: noop, result: {whole: '{{ start }}', part: '{{ start.n }}', alias: '{{ start.data.n }}'}}}
",
    );
    assert_eq!(story.output("end")["part"], 1);
    assert_eq!(story.output("end")["alias"], 1);
    assert_eq!(story.output("end")["whole"]["n"], 1);
}

#[test]
fn a_large_result_says_where_it_is_and_stays_readable() {
    let story = told(
        "
  - {step: start, tool: {kind: noop, result: {rows: \"{{ ('x' * 70000) }}\", n: 5}}, next: end}
  - {step: end, tool: {kind: noop, result: {store: '{{ start._store }}', n: '{{ start.n }}', ref: '{{ start._ref.kind }}', preview: '{{ start._preview | length }}', len: '{{ start.rows | length }}'}}}
",
    );
    assert_eq!(
        story.output("end"),
        json!({ "store": "kv", "n": 5, "ref": "result_ref", "preview": 1024, "len": 70000 })
    );
}

#[test]
fn a_large_result_of_a_pipeline_says_where_it_is_to_the_very_next_step() {
    let story = told(
        "
  - step: start
    tool:
      - {name: make, kind: noop, result: {rows: \"{{ ('x' * 70000) }}\", n: 5}}
    next: end
  - {step: end, tool: {kind: noop, result: {ref: '{{ start._ref is defined }}', store: '{{ start._store }}', n: '{{ start.n }}', small: '{{ start.n._ref is defined }}'}}}
",
    );
    assert_eq!(story.output("end"), json!({ "ref": true, "store": "kv", "n": 5, "small": false }));
}

#[test]
fn parts_of_an_output_can_be_given_names() {
    let story = told(
        "
  - step: start
    tool: {kind: noop, result: {user: {id: 7, tags: [a, b]}, total: 9}}
    output:
      as: account
      select:
        - {path: user.id, as: who}
        - {path: user.tags.1, as: tag}
        - {path: '$.user.tags[0]', as: first}
        - {path: data.total, as: sum}
        - {path: nothing.here, as: none}
      output_select: [user.tags, total]
    next: end
  - {step: end, tool: {kind: noop, result: '{{ [start.who, start.tag, start.tags, start.total, start.none is defined, steps.start.who, start.first, start.sum, account.total, account.who] }}'}}
",
    );
    assert_eq!(story.output("end"), json!([7, "b", ["a", "b"], 9, false, 7, "a", 9, 9, 7]));
}

#[test]
fn a_step_says_from_which_size_on_it_shows_where_its_output_is() {
    let story = told(
        "
  - step: start
    tool: {kind: noop, result: {text: abc}}
    output: {inline_max_bytes: 0, preview_max_bytes: 4, scope: workflow}
    next: end
  - {step: end, tool: {kind: noop, result: '{{ [start._ref.bytes, start._preview, start.text, start._ref.scope] }}'}}
",
    );
    assert_eq!(story.output("end"), json!([14, "{\"te", "abc", "workflow"]));
}

#[test]
fn null_is_none_and_a_missing_name_is_undefined() {
    let story = told(
        "
  - {step: start, tool: {kind: noop, result: {n: null}}, next: end}
  - {step: end, tool: {kind: noop, result: '{{ [start.n is none, start.n is defined, start.m is defined, nothing.at.all is defined] }}'}}
",
    );
    assert_eq!(story.output("end"), json!([true, true, false, false]));
}

#[test]
fn a_loops_output_is_a_map_and_usable_as_a_list() {
    let story = told(
        "
  - {step: start, loop: {in: [1, 2], iterator: n}, tool: {kind: noop, result: {n: '{{ n * 2 }}'}}, next: end}
  - step: end
    tool:
      kind: noop
      result:
        map: '{{ [start.results[0].n, start.data[1].n, start.stats.total] }}'
        index: '{{ start[1].n }}'
        length: '{{ start | length }}'
        walk: '{% for it in start %}{{ it.n }};{% endfor %}'
        pick: '{{ start | map(attribute=\"n\") | list }}'
        last: '{{ (start | last).n }}'
",
    );
    assert_eq!(
        story.output("end"),
        json!({
            "map": [2, 4, 2], "index": 4, "length": 2, "walk": "2;4;", "pick": [2, 4], "last": 4,
        })
    );
}

#[test]
fn a_loops_output_can_be_looped_over() {
    let story = told(
        "
  - {step: start, loop: {in: [1, 2], iterator: n}, tool: {kind: noop, result: '{{ n * 2 }}'}, next: again}
  - {step: again, loop: {in: '{{ start }}', iterator: n}, tool: {kind: noop, result: '{{ n + 1 }}'}}
",
    );
    assert_eq!(story.output("again")["data"], json!([3, 5]));
}

#[test]
fn an_arc_distinguishes_an_output_with_an_error_field_from_a_failure() {
    let story = told(
        "
  - {step: start, tool: {kind: noop, result: {sub: ada}}, next: {arcs: [{step: bad, when: '{{ result.error is defined }}'}, {step: good, when: '{{ result.sub is defined and not output.error.kind }}'}]}}
  - {step: bad, tool: {kind: noop}}
  - {step: good, tool: {kind: noop, result: 1}}
",
    );
    assert_eq!(story.output("good"), json!(1));
}
