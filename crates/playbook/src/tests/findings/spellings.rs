//! Diagnostics about unknown keys and deprecated spellings.

use expect_test::expect;

use super::super::{check, check_document, document};

#[test]
fn unknown_keys_are_warnings_with_a_suggestion() {
    check(
        "  - {step: a, tool: {kind: noop}, descr: x, frobnicate: 1, next: {arc: []}, lop: {}}\n",
        expect![[r#"
            warning[unknown-key]: a step has no key `descr`
             --> t.yaml:5:35
            5 |   - {step: a, tool: {kind: noop}, descr: x, frobnicate: 1, next: {arc: []}, lop: {}}
              |                                   ^^^^^
              = help: did you mean `desc`?
            warning[unknown-key]: a step has no key `frobnicate`
             --> t.yaml:5:45
            5 |   - {step: a, tool: {kind: noop}, descr: x, frobnicate: 1, next: {arc: []}, lop: {}}
              |                                             ^^^^^^^^^^
              = help: it is ignored; known keys are step, desc, description, when, input, loop, tool, set, next, spec, run, timeout, limit, cache, output, output_select, output_schema
            error[missing-key]: `next` needs `arcs`
             --> t.yaml:5:66
            5 |   - {step: a, tool: {kind: noop}, descr: x, frobnicate: 1, next: {arc: []}, lop: {}}
              |                                                                  ^^^^^^^^^
            warning[unknown-key]: `next` has no key `arc`
             --> t.yaml:5:67
            5 |   - {step: a, tool: {kind: noop}, descr: x, frobnicate: 1, next: {arc: []}, lop: {}}
              |                                                                   ^^^
              = help: did you mean `arcs`?
            warning[unknown-key]: a step has no key `lop`
             --> t.yaml:5:77
            5 |   - {step: a, tool: {kind: noop}, descr: x, frobnicate: 1, next: {arc: []}, lop: {}}
              |                                                                             ^^^
              = help: did you mean `loop`?
        "#]],
    );
}

#[test]
fn unknown_root_keys_are_warnings() {
    check_document(
        &format!("{}wokload: {{}}\n", document("  - {step: a, tool: {kind: noop}}\n")),
        expect![[r#"
            warning[unknown-key]: a playbook has no key `wokload`
             --> t.yaml:6:1
            6 | wokload: {}
              | ^^^^^^^
              = help: did you mean `workload`?
        "#]],
    );
}

#[test]
fn old_spellings_of_a_step_name_the_new_one() {
    check(
        r#"  - step: a
    type: http
    url: u
    args: {x: 1}
    retry: 3
    sink: {}
    next: [{step: b, args: {y: 1}}]
  - {step: b, tool: {kind: noop}, next: {step: a}}
"#,
        expect![[r#"
            warning[old-spelling]: `type` is an old spelling
             --> t.yaml:6:5
            6 |     type: http
              |     ^^^^
              = help: write `tool: {kind: …}`
            warning[old-spelling]: `args` is an old spelling
             --> t.yaml:8:5
            8 |     args: {x: 1}
              |     ^^^^
              = help: write `input`
            warning[old-spelling]: `retry` is an old spelling
             --> t.yaml:9:5
            9 |     retry: 3
              |     ^^^^^
              = help: write `spec.policy.rules` of the tool
            warning[ignored-key]: `sink` has no effect
             --> t.yaml:10:5
            10 |     sink: {}
               |     ^^^^
               = help: store results with a tool of their own
            warning[old-spelling]: a list of conditions under `next` is an old spelling
             --> t.yaml:11:12
            11 |     next: [{step: b, args: {y: 1}}]
               |            ^^^^^^^^^^^^^^^^^^^^^^^
               = help: write `next: {arcs: [{step: …, when: …}]}`
            warning[old-spelling]: `args` is an old spelling
             --> t.yaml:11:22
            11 |     next: [{step: b, args: {y: 1}}]
               |                      ^^^^
               = help: write `set`
            warning[old-spelling]: `next` with a single `step` is an old spelling
             --> t.yaml:12:41
            12 |   - {step: b, tool: {kind: noop}, next: {step: a}}
               |                                         ^^^^^^^^^
               = help: write `next: {arcs: [{step: …}]}`
        "#]],
    );
}

#[test]
fn old_spellings_of_tools_and_loops_name_the_new_one() {
    check(
        r#"  - step: a
    tool: {kind: python, code: x, args: {y: 1}, eval: [], set_ctx: {z: 1}}
    loop: {collection: [1], element: i, mode: parallel}
"#,
        expect![[r#"
            warning[old-spelling]: `args` is an old spelling
             --> t.yaml:6:35
            6 |     tool: {kind: python, code: x, args: {y: 1}, eval: [], set_ctx: {z: 1}}
              |                                   ^^^^
              = help: write `input`
            warning[ignored-key]: `eval` has no effect
             --> t.yaml:6:49
            6 |     tool: {kind: python, code: x, args: {y: 1}, eval: [], set_ctx: {z: 1}}
              |                                                 ^^^^
              = help: use `spec.policy.rules`
            warning[old-spelling]: `set_ctx` is an old spelling
             --> t.yaml:6:59
            6 |     tool: {kind: python, code: x, args: {y: 1}, eval: [], set_ctx: {z: 1}}
              |                                                           ^^^^^^^
              = help: write `set` with keys `ctx.…`
            warning[old-spelling]: `collection` is an old spelling
             --> t.yaml:7:12
            7 |     loop: {collection: [1], element: i, mode: parallel}
              |            ^^^^^^^^^^
              = help: write `in`
            warning[old-spelling]: `element` is an old spelling
             --> t.yaml:7:29
            7 |     loop: {collection: [1], element: i, mode: parallel}
              |                             ^^^^^^^
              = help: write `iterator`
            warning[old-spelling]: `mode` is an old spelling
             --> t.yaml:7:41
            7 |     loop: {collection: [1], element: i, mode: parallel}
              |                                         ^^^^
              = help: write `spec.mode`
        "#]],
    );
}

#[test]
fn case_has_a_way_out() {
    check(
        "  - {step: a, tool: {kind: noop}, case: [{when: x, then: y}]}\n",
        expect![[r#"
        error[removed-key]: `case` is no longer part of the language
         --> t.yaml:5:35
        5 |   - {step: a, tool: {kind: noop}, case: [{when: x, then: y}]}
          |                                   ^^^^
          = help: write its conditions as `next: {arcs: [{step: …, when: …}]}`
    "#]],
    );
}

#[test]
fn an_old_word_for_side_by_side_is_understood() {
    check(
        "  - {step: a, tool: {kind: noop}, loop: {in: [1], iterator: i, spec: {mode: async}}}\n",
        expect![[r#"
            warning[old-spelling]: `async` is an old spelling of a loop's mode
             --> t.yaml:5:77
            5 |   - {step: a, tool: {kind: noop}, loop: {in: [1], iterator: i, spec: {mode: async}}}
              |                                                                             ^^^^^
              = help: write `parallel`
        "#]],
    );
}
