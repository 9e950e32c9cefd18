//! Tests of variable scopes: shadowing, lifetimes, the merge of the workload.

use serde_json::json;

use crate::{payload, told, told_with};

#[test]
fn the_payload_is_merged_deeply_over_the_workload_and_nothing_in_it_is_rendered() {
    let story = told_with(
        "
workload: {db: {host: a, port: 1}, list: [1, 2], text: '{{ db }}'}
workflow:
  - {step: start, tool: {kind: noop, result: '{{ workload }}'}}
",
        payload(json!({ "db": { "host": "b" }, "list": [3], "extra": true })),
    );
    assert_eq!(
        story.output("start"),
        json!({ "db": { "host": "b", "port": 1 }, "list": [3], "text": "{{ db }}", "extra": true })
    );
}

#[test]
fn ctx_hides_steps_which_hide_the_workload_and_ids_hide_all() {
    let story = told(
        "
workload: {start: from workload, execution_id: fake, n: 1}
workflow:
  - {step: start, tool: {kind: noop, result: {from: step}}, set: {ctx.n: 2}, next: end}
  - {step: end, tool: {kind: noop, result: '{{ [start.from, n, workload.n, workload.start, ctx.n, vars.n, execution_id, path] }}'}}
",
    );
    assert_eq!(story.output("end"), json!(["step", 2, 1, "from workload", 2, 2, "7", "test"]));
}

#[test]
fn names_of_the_playbook_hide_the_built_in_ones() {
    for name in ["job", "path", "catalog_id", "_now", "loop_index", "frame"] {
        let story = told(&format!(
            "
  - step: start
    loop: {{in: [a, b], iterator: {name}}}
    tool: {{kind: noop, result: '{{{{ {name} }}}}'}}
"
        ));
        assert_eq!(story.output("start")["results"], json!(["a", "b"]), "an iterator {name}");
    }
    for name in ["job", "path", "catalog_id", "_now", "loop_index", "vars"] {
        let story = told(&format!(
            "
workload: {{{name}: {{mine: 1}}}}
workflow:
  - {{step: start, tool: {{kind: noop, result: '{{{{ {name}.mine }}}}'}}}}
"
        ));
        assert_eq!(story.output("start"), json!(1), "a workload key {name}");
        let story = told(&format!(
            "
  - {{step: start, tool: {{kind: noop}}, set: {{ctx.{name}: {{mine: 2}}}}, next: end}}
  - {{step: end, tool: {{kind: noop, result: '{{{{ {name}.mine }}}}'}}}}
"
        ));
        assert_eq!(story.output("end"), json!(2), "a variable {name}");
    }
    let story = told(
        "
  - {step: start, tool: {kind: noop, result: '{{ [job.uuid, job.id, path, vars] }}'}}
",
    );
    assert_eq!(story.output("start"), json!(["7", "7", "test", {}]));
}

#[test]
fn keys_named_like_methods_are_keys() {
    let story = told(
        "
workload: {items: [1, 2], keys: 5}
workflow:
  - {step: start, tool: {kind: noop, result: {items: [3], get: 4}}, next: end}
  - {step: end, tool: {kind: noop, result: '{{ [items, workload.items, keys, start.items, start.get, workload.get(\"keys\")] }}'}}
",
    );
    assert_eq!(story.output("end"), json!([[1, 2], [1, 2], 5, [3], 4, 5]));
}

#[test]
fn an_arc_sets_context_for_its_target_and_all_after_it() {
    let story = told(
        "
  - step: start
    tool: {kind: noop, result: {n: 4}}
    next: {arcs: [{step: middle, set: {ctx.a: '{{ output.n }}', b: '{{ start.n + 1 }}'}}]}
  - {step: middle, tool: {kind: noop, result: '{{ a + b }}'}, next: end}
  - {step: end, tool: {kind: noop, result: '{{ [a, b, middle] }}'}}
",
    );
    assert_eq!(story.output("end"), json!([4, 5, 9]));
}

#[test]
fn a_steps_own_input_reaches_every_task() {
    let story = told(
        "
workload: {who: me}
workflow:
  - step: start
    input: {who: '{{ workload.who }}', shared: step}
    tool:
      - {name: a, kind: noop, result: '{{ who }}'}
      - {name: b, kind: noop, input: {shared: task}, result: '{{ who }} {{ shared }}'}
",
    );
    assert_eq!(story.output("start")["a"], "me");
    assert_eq!(story.output("start")["b"], "me task");
}

#[test]
fn a_command_carries_only_what_its_templates_mention() {
    let story = told(
        "
workload: {url: u, secret: s, nested: {a: 1, b: 2}}
workflow:
  - {step: start, tool: {kind: noop, result: {big: x, small: y}}, next: end}
  - {step: end, tool: {kind: noop, url: '{{ workload.url }}', n: '{{ workload.nested.a }}', s: '{{ start.small }}'}}
",
    );
    let bindings = story.log.iter().rev().find_map(|it| match &it.event {
        noetl_model::Event::CommandIssued { bindings, .. } => Some(bindings.clone()),
        _ => None,
    });
    let values: serde_json::Value = bindings
        .unwrap_or_default()
        .0
        .into_iter()
        .map(|(name, payload)| (name, (*story.resolve(&payload)).clone()))
        .collect();
    assert_eq!(
        values,
        json!({ "start": { "small": "y" }, "workload": { "nested": { "a": 1 }, "url": "u" } })
    );
}

#[test]
fn code_gets_what_it_may_read() {
    let names = |tool: &str, code: &str| {
        let story = told(&format!(
            "
workload: {{k: 1}}
workflow:
  - {{step: start, tool: {{kind: noop}}, next: end}}
  - {{step: end, tool: {{kind: {tool}, code: '{code}'}}}}
"
        ));
        let last = story.log.iter().rev().find_map(|it| match &it.event {
            noetl_model::Event::CommandIssued { bindings, .. } => Some(bindings.clone()),
            _ => None,
        });
        last.unwrap_or_default().0.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(names("python", "result = 1"), Vec::<String>::new());
    assert_eq!(names("python", "result = my_context"), Vec::<String>::new());
    assert_eq!(
        names("python", "result = context.get(\"k\")"),
        ["ctx", "end", "execution_id", "start", "workload"]
    );
    assert_eq!(names("rhai", "let n = k + start.n; n"), ["k", "start"]);
}

#[test]
fn a_missing_value_fails_a_strict_playbook_and_is_named() {
    let strict = |workflow: &str| {
        told(&format!(
            "executor: {{spec: {{undefined: strict}}}}\nworkload: {{a: null}}\nworkflow:\n{workflow}"
        ))
    };
    let story = strict("  - {step: start, when: '{{ workload.b }}', tool: {kind: noop}}\n");
    let history = story.history();
    assert!(history.contains("FAILED") && history.contains("`workload.b` is missing"), "{history}");
    let story = strict(
        "  - {step: start, tool: {kind: noop, result: {a: '{{ workload.a }}', b: '{{ workload.b | default(1) }}'}}}\n",
    );
    assert_eq!(story.output("start"), json!({ "a": null, "b": 1 }));
}
