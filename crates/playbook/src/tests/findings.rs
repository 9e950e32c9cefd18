//! What is said about documents that are wrong, or could be better.

use expect_test::expect;

use super::{check, check_document, document};
use crate::{Code, Severity, Workers, parse_for};

#[test]
fn a_good_document_needs_no_words() {
    check("  - {step: start, tool: {kind: noop}}\n", expect![[""]]);
}

#[test]
fn a_tool_that_is_not_built_in_needs_a_worker_that_has_it() {
    check(
        "  - {step: start, tool: {kind: snowflake, command: SELECT 1}}\n",
        expect![[r#"
            warning[foreign-tool]: `snowflake` is a tool of the language that is not built in
             --> t.yaml:5:32
            5 |   - {step: start, tool: {kind: snowflake, command: SELECT 1}}
              |                                ^^^^^^^^^
              = help: if workers of your own bring it, write `executor: {requires: [snowflake]}`; built in are artifact, duckdb, http, nats, noop, playbook, postgres, python, result_fetch, rhai, script, secrets, shell, sqlite, subscription, transfer
        "#]],
    );
}

/// How bad it is, for workers of ours, that steps have these tools.
#[track_caller]
fn check_foreign(head: &str, workflow: &str, expected: &[Severity]) {
    let yaml = format!("{head}{}", document(workflow));
    let problems = match parse_for(Workers::Ours, "t.yaml", yaml.as_bytes()) {
        Ok(checked) => checked.warnings,
        Err(problems) => problems,
    };
    let foreign = problems.diagnostics().iter().filter(|it| it.code == Code::ForeignTool);
    let found: Vec<Severity> = foreign.map(|it| it.severity).collect();
    assert_eq!(found, expected, "{problems}");
}

#[test]
fn a_step_that_every_execution_comes_to_needs_a_tool_that_is_built_in() {
    let tool = "tool: {kind: snowflake, command: SELECT 1}";
    let start = "  - {step: start, tool: {kind: noop}, next: ";
    let second = format!("  - {{step: b, {tool}}}\n");
    let third = "  - {step: c, tool: {kind: noop}}\n";
    check_foreign("", &format!("  - {{step: start, {tool}}}\n"), &[Severity::Error]);
    check_foreign("", &format!("{start}b}}\n{second}"), &[Severity::Error]);
    let guarded = format!("{start}[{{step: b, when: '{{{{ x }}}}'}}]}}\n{second}");
    check_foreign("", &guarded, &[Severity::Warning]);
    let other = format!("{start}[{{step: c}}, {{step: b}}]}}\n{second}{third}");
    check_foreign("", &other, &[Severity::Warning]);
    let all = format!(
        "{start}{{spec: {{mode: inclusive}}, arcs: [{{step: c}}, {{step: b}}]}}}}\n{second}{third}"
    );
    check_foreign("", &all, &[Severity::Error]);
    let passed_over = format!("  - {{step: start, when: '{{{{ x }}}}', {tool}}}\n");
    check_foreign("", &passed_over, &[Severity::Warning]);
    let repeated = format!("  - {{step: start, loop: {{in: [], iterator: i}}, {tool}}}\n");
    check_foreign("", &repeated, &[Severity::Warning]);
    let required = "executor: {requires: [snowflake]}\n";
    check_foreign(required, &format!("  - {{step: start, {tool}}}\n"), &[]);
}

#[test]
fn a_selection_of_the_output_names_its_parts() {
    check(
        "  - step: start
    tool: {kind: noop}
    output: {select: [{as: id}, {path: a.b, name: c}], output_select: id, inline_max_bytes: -1, stor: kv}
",
        expect![[r#"
            error[missing-key]: a selection needs `path`
             --> t.yaml:7:23
            7 |     output: {select: [{as: id}, {path: a.b, name: c}], output_select: id, inline_max_bytes: -1, stor: kv}
              |                       ^^^^^^^^
            warning[unknown-key]: a selection has no key `name`
             --> t.yaml:7:45
            7 |     output: {select: [{as: id}, {path: a.b, name: c}], output_select: id, inline_max_bytes: -1, stor: kv}
              |                                             ^^^^
              = help: it is ignored; known keys are path, as
            error[wrong-type]: a selection must be a list of paths, this is text
             --> t.yaml:7:71
            7 |     output: {select: [{as: id}, {path: a.b, name: c}], output_select: id, inline_max_bytes: -1, stor: kv}
              |                                                                       ^^
            error[out-of-range]: `inline_max_bytes` must be between 0 and 67108864
             --> t.yaml:7:93
            7 |     output: {select: [{as: id}, {path: a.b, name: c}], output_select: id, inline_max_bytes: -1, stor: kv}
              |                                                                                             ^^
            warning[unknown-key]: a step's output has no key `stor`
             --> t.yaml:7:97
            7 |     output: {select: [{as: id}, {path: a.b, name: c}], output_select: id, inline_max_bytes: -1, stor: kv}
              |                                                                                                 ^^^^
              = help: did you mean `store`?
        "#]],
    );
}

#[test]
fn all_problems_are_found_at_once() {
    check(
        r#"  - step: start
    tool: {kind: htttp, url: "{{ a b }}"}
    next: {arcs: [{step: fetsh}, {step: fetch, when: "{{ 1 + }}"}]}
  - step: fetch
    tool:
      - {name: one, kind: noop, spec: {policy: {rules: [{when: true, then: {do: jmp}}]}}}
      - {name: one, kind: noop}
    loop: {in: true, mode: paralel}
  - step: fetch
"#,
        expect![[r#"
            error[unknown-tool]: there is no tool `htttp`
             --> t.yaml:6:18
            6 |     tool: {kind: htttp, url: "{{ a b }}"}
              |                  ^^^^^
              = help: did you mean `http`?
            error[bad-template]:
             --> t.yaml:6:36
            6 |     tool: {kind: htttp, url: "{{ a b }}"}
              |                                    ^
            error[unknown-step]: there is no step `fetsh`
             --> t.yaml:7:26
            7 |     next: {arcs: [{step: fetsh}, {step: fetch, when: "{{ 1 + }}"}]}
              |                          ^^^^^
              = help: did you mean `fetch`?
            error[bad-template]:
             --> t.yaml:7:62
            7 |     next: {arcs: [{step: fetsh}, {step: fetch, when: "{{ 1 + }}"}]}
              |                                                              ^^
            error[unknown-word]: `do` cannot be `jmp`
             --> t.yaml:10:81
            10 |       - {name: one, kind: noop, spec: {policy: {rules: [{when: true, then: {do: jmp}}]}}}
               |                                                                                 ^^^
               = help: did you mean `jump`?
            error[duplicate-label]: another task of this step is called `one` too
             --> t.yaml:11:16
            11 |       - {name: one, kind: noop}
               |                ^^^
            error[missing-key]: a loop needs `iterator`
             --> t.yaml:12:11
            12 |     loop: {in: true, mode: paralel}
               |           ^^^^^^^^^^^^^^^^^^^^^^^^^
               = help: it is the name an item has in templates, for example `item`
            error[wrong-type]: `in` must be a list, a map, a number or a template for one, this is a boolean
             --> t.yaml:12:16
            12 |     loop: {in: true, mode: paralel}
               |                ^^^^
            warning[old-spelling]: `mode` is an old spelling
             --> t.yaml:12:22
            12 |     loop: {in: true, mode: paralel}
               |                      ^^^^
               = help: write `spec.mode`
            error[unknown-word]: a loop's mode cannot be `paralel`
             --> t.yaml:12:28
            12 |     loop: {in: true, mode: paralel}
               |                            ^^^^^^^
               = help: did you mean `parallel`?
            error[missing-tool]: step `fetch` has neither `tool` nor `next`
             --> t.yaml:13:5
            13 |   - step: fetch
               |     ^^^^^^^^^^^
               = help: a step that only marks a place is `tool: {kind: noop}`
            error[duplicate-step]: step `fetch` is already there, on line 8
             --> t.yaml:13:11
            13 |   - step: fetch
               |           ^^^^^
        "#]],
    );
}

#[test]
fn a_document_of_another_kind() {
    check_document(
        "apiVersion: noetl.io/v1\nkind: Subscription\nmetadata: {name: s}\n",
        expect![[r#"
            error[not-a-playbook]: this is a document of kind `Subscription`, not a playbook
             --> t.yaml:2:7
            2 | kind: Subscription
              |       ^^^^^^^^^^^^
        "#]],
    );
    check_document(
        "apiVersion: noetl.io/v2\nkind: playbook\n",
        expect![[r#"
        error[not-a-playbook]: this is a document of kind `playbook`, not a playbook
         --> t.yaml:2:7
        2 | kind: playbook
          |       ^^^^^^^^
          = help: write `kind: Playbook`
    "#]],
    );
}

#[test]
fn the_head_is_missing() {
    check_document(
        "workflow: []\n",
        expect![[r#"
        error[missing-key]: a playbook needs `kind`
         --> t.yaml:1:1
        1 | workflow: []
          | ^^^^^^^^^^^^
          = help: write `kind: Playbook`
        error[missing-key]: a playbook needs `apiVersion`
         --> t.yaml:1:1
        1 | workflow: []
          | ^^^^^^^^^^^^
          = help: write `apiVersion: noetl.io/v2`
        error[missing-key]: a playbook needs `metadata`
         --> t.yaml:1:1
        1 | workflow: []
          | ^^^^^^^^^^^^
        error[missing-key]: `workflow` has no steps
         --> t.yaml:1:11
        1 | workflow: []
          |           ^^
    "#]],
    );
    check_document(
        "- a\n",
        expect![[r#"
        error[wrong-type]: a playbook must be a map, this is a list
         --> t.yaml:1:1
        1 | - a
          | ^^^
    "#]],
    );
    check_document(
        "",
        expect![[r#"
            error[missing-key]: the document is empty
             --> t.yaml:1:1
            1 |
              | ^
        "#]],
    );
    check_document(
        "# only a comment\n",
        expect![[r#"
        error[missing-key]: the document is empty
         --> t.yaml:1:1
        1 | # only a comment
          | ^
    "#]],
    );
}

#[test]
fn versions_of_the_language() {
    let with = |version: &str| {
        document("  - {step: a, tool: {kind: noop}}\n").replace("noetl.io/v2", version)
    };
    check_document(
        &with("noetl.io/v10"),
        expect![[r#"
        warning[api-version]: `noetl.io/v10` is read as `noetl.io/v2`
         --> t.yaml:1:13
        1 | apiVersion: noetl.io/v10
          |             ^^^^^^^^^^^^
          = help: write `apiVersion: noetl.io/v2`
    "#]],
    );
    check_document(
        &with("noetl.io/v1"),
        expect![[r#"
        error[api-version]: `noetl.io/v1` is not a version of the language
         --> t.yaml:1:13
        1 | apiVersion: noetl.io/v1
          |             ^^^^^^^^^^^
          = help: write `apiVersion: noetl.io/v2`
    "#]],
    );
}

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
              = help: it is ignored; known keys are step, desc, description, when, input, loop, tool, set, next, spec, timeout, output, output_select
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
fn a_step_that_does_nothing_and_leads_nowhere() {
    check(
        "  - step: start\n    desc: nothing\n",
        expect![[r#"
        error[missing-tool]: step `start` has neither `tool` nor `next`
         --> t.yaml:5:5
        5 |   - step: start
          |     ^^^^^^^^^^^
          = help: a step that only marks a place is `tool: {kind: noop}`
    "#]],
    );
}

#[test]
fn an_end_that_is_no_step() {
    check(
        "  - {step: start, next: end}\n",
        expect![[r#"
        error[unknown-step]: there is no step `end`
         --> t.yaml:5:25
        5 |   - {step: start, next: end}
          |                         ^^^
          = help: a branch ends where no arc leads on; an `end` must be a step of its own
    "#]],
    );
}

#[test]
fn kinds_that_are_no_tools() {
    check(
        r#"  - {step: a, tool: {kind: iterator}, next: b}
  - {step: b, tool: {kind: task_sequence}, next: c}
  - {step: c, tool: {kind: Python}, next: d}
  - {step: d, tool: {kind: fortran}, next: e}
  - {step: e, tool: {knd: http}, next: f}
  - {step: f, tool: {http: {url: u}}}
"#,
        expect![[r#"
            error[unknown-tool]: there is no tool `iterator`
             --> t.yaml:5:28
            5 |   - {step: a, tool: {kind: iterator}, next: b}
              |                            ^^^^^^^^
              = help: give the step a `loop` and its tool a kind of its own
            error[unknown-tool]: there is no tool `task_sequence`
             --> t.yaml:6:28
            6 |   - {step: b, tool: {kind: task_sequence}, next: c}
              |                            ^^^^^^^^^^^^^
              = help: give it `tasks`, or write `tool` as a list of tools
            error[unknown-tool]: there is no tool `Python`
             --> t.yaml:7:28
            7 |   - {step: c, tool: {kind: Python}, next: d}
              |                            ^^^^^^
              = help: did you mean `python`?
            error[unknown-tool]: there is no tool `fortran`
             --> t.yaml:8:28
            8 |   - {step: d, tool: {kind: fortran}, next: e}
              |                            ^^^^^^^
              = help: it can be agent, artifact, container, duckdb, ducklake, gateway, gcs, http, mcp, nats, noop, playbook, postgres, python, result_fetch, rhai, script, secrets, shell, snowflake, sqlite, subscription, transfer, wasm, workbook
            error[missing-key]: a tool needs `kind`
             --> t.yaml:9:21
            9 |   - {step: e, tool: {knd: http}, next: f}
              |                     ^^^^^^^^^^^
              = help: did you mean `kind` by `knd`?
            error[missing-key]: a tool needs `kind`
             --> t.yaml:10:21
            10 |   - {step: f, tool: {http: {url: u}}}
               |                     ^^^^^^^^^^^^^^^^
               = help: write `kind: http`
        "#]],
    );
}

#[test]
fn workbook_tasks_that_are_not_there() {
    check_document(
        &format!(
            "{}workbook: [{{name: flag, tool: {{kind: noop}}}}]\n",
            document(
                "  - {step: a, tool: {kind: workbook, name: flog}, next: b}\n  - {step: b, tool: {kind: workbook}}\n"
            )
        ),
        expect![[r#"
            error[unknown-task]: there is no workbook task `flog`
             --> t.yaml:5:44
            5 |   - {step: a, tool: {kind: workbook, name: flog}, next: b}
              |                                            ^^^^
              = help: did you mean `flag`?
            error[missing-key]: a tool of kind workbook needs `name`
             --> t.yaml:6:21
            6 |   - {step: b, tool: {kind: workbook}}
              |                     ^^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn jumps_that_lead_nowhere() {
    check(
        r#"  - step: a
    tool:
      - {name: one, kind: noop, spec: {policy: {rules: [{when: true, then: {do: jump, to: previous}}]}}}
      - {name: two, kind: noop, spec: {policy: {rules: [{when: true, then: {do: jump, to: tow}}]}}}
      - {name: three, kind: noop, spec: {policy: {rules: [{when: true, then: {do: jump}}]}}}
"#,
        expect![[r#"
            error[unknown-label]: there is no task before the first
             --> t.yaml:7:91
            7 |       - {name: one, kind: noop, spec: {policy: {rules: [{when: true, then: {do: jump, to: previous}}]}}}
              |                                                                                           ^^^^^^^^
            error[unknown-label]: this step has no task `tow`
             --> t.yaml:8:91
            8 |       - {name: two, kind: noop, spec: {policy: {rules: [{when: true, then: {do: jump, to: tow}}]}}}
              |                                                                                           ^^^
              = help: did you mean `two`?
            error[missing-key]: a jump needs `to`
             --> t.yaml:9:78
            9 |       - {name: three, kind: noop, spec: {policy: {rules: [{when: true, then: {do: jump}}]}}}
              |                                                                              ^^^^^^^^^^
        "#]],
    );
}

#[test]
fn rules_that_are_not_rules() {
    check(
        r#"  - step: a
    tool:
      kind: noop
      spec:
        policy:
          rules:
            - {then: {do: fail}}
            - {when: "{{ x }}"}
            - {when: "{{ x }}", then: {set: {a: 1}}}
            - {when: "{{ x }}", then: {do: retry, attempts: 101, delay: 2h, backoff: fibonacci}}
            - {when: "{{ x }}", then: {do: retry, attempts: 1.5, delay: soon}}
            - {when: [1], then: {do: fail}}
            - {else: {do: explode}}
            - stop
"#,
        expect![[r#"
            error[missing-key]: a rule needs `when`
             --> t.yaml:11:15
            11 |             - {then: {do: fail}}
               |               ^^^^^^^^^^^^^^^^^^
            error[missing-key]: a rule needs `then`
             --> t.yaml:12:15
            12 |             - {when: "{{ x }}"}
               |               ^^^^^^^^^^^^^^^^^
            error[missing-key]: `then` needs `do`
             --> t.yaml:13:39
            13 |             - {when: "{{ x }}", then: {set: {a: 1}}}
               |                                       ^^^^^^^^^^^^^
               = help: it can be continue, retry, jump, break, fail
            error[out-of-range]: the number of attempts must be between 1 and 100
             --> t.yaml:14:61
            14 |             - {when: "{{ x }}", then: {do: retry, attempts: 101, delay: 2h, backoff: fibonacci}}
               |                                                             ^^^
            error[out-of-range]: a delay must be between 0 and 3600 seconds
             --> t.yaml:14:73
            14 |             - {when: "{{ x }}", then: {do: retry, attempts: 101, delay: 2h, backoff: fibonacci}}
               |                                                                         ^^
            warning[unknown-word]: `fibonacci` is no way to back off; the delay stays constant
             --> t.yaml:14:86
            14 |             - {when: "{{ x }}", then: {do: retry, attempts: 101, delay: 2h, backoff: fibonacci}}
               |                                                                                      ^^^^^^^^^
            error[bad-value]: the number of attempts must be a whole number
             --> t.yaml:15:61
            15 |             - {when: "{{ x }}", then: {do: retry, attempts: 1.5, delay: soon}}
               |                                                             ^^^
            error[wrong-type]: a delay must be a duration such as 30, 500ms, 30s or 5m, this is text
             --> t.yaml:15:73
            15 |             - {when: "{{ x }}", then: {do: retry, attempts: 1.5, delay: soon}}
               |                                                                         ^^^^
            error[wrong-type]: a condition must be a boolean or a template, this is a list
             --> t.yaml:16:22
            16 |             - {when: [1], then: {do: fail}}
               |                      ^^^
            error[unknown-word]: `do` cannot be `explode`
             --> t.yaml:17:27
            17 |             - {else: {do: explode}}
               |                           ^^^^^^^
               = help: it can be continue, retry, jump, break, fail
            error[wrong-type]: a rule must be a map, this is text
             --> t.yaml:18:15
            18 |             - stop
               |               ^^^^
        "#]],
    );
}

#[test]
fn rules_after_an_else_are_dead() {
    check(
        r#"  - step: a
    tool:
      kind: noop
      spec: {policy: {rules: [{else: {do: fail}}, {when: true, then: {do: continue}}]}}
"#,
        expect![[r#"
            warning[unreachable-arc]: no rule after an `else` is looked at
             --> t.yaml:8:51
            8 |       spec: {policy: {rules: [{else: {do: fail}}, {when: true, then: {do: continue}}]}}
              |                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn arcs_after_one_that_always_holds_are_dead() {
    check(
        "  - {step: a, next: {arcs: [{step: b}, {step: b, when: x}]}}\n  - {step: b, tool: {kind: noop}}\n",
        expect![[r#"
            warning[unreachable-arc]: no arc after one without `when` is ever taken
             --> t.yaml:5:21
            5 |   - {step: a, next: {arcs: [{step: b}, {step: b, when: x}]}}
              |                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              = help: put the arc without `when` last, or use `spec: {mode: inclusive}`
        "#]],
    );
}

#[test]
fn steps_that_no_arc_leads_to() {
    check(
        "  - {step: start, tool: {kind: noop}}\n  - {step: lost, tool: {kind: noop}}\n",
        expect![[r#"
            warning[unreachable-step]: step `lost` cannot be reached from `start`
             --> t.yaml:6:12
            6 |   - {step: lost, tool: {kind: noop}}
              |            ^^^^
        "#]],
    );
}

#[test]
fn loops_that_are_not_loops() {
    check(
        r#"  - {step: a, tool: {kind: noop}, loop: {in: [1]}, next: b}
  - {step: b, tool: {kind: noop}, loop: {iterator: i}, next: c}
  - {step: c, tool: {kind: noop}, loop: {iterator: i, spec: {mode: cursor}}, next: d}
  - {step: d, tool: {kind: noop}, loop: {iterator: i, cursor: {auth: x}}, next: e}
  - {step: e, tool: {kind: noop}, loop: {iterator: i, in: [1], cursor: {claim: x}}, next: f}
  - {step: f, tool: {kind: noop}, loop: {iterator: "{{ x }}", in: [1], spec: {max_in_flight: 0}}}
"#,
        expect![[r#"
            error[missing-key]: a loop needs `iterator`
             --> t.yaml:5:41
            5 |   - {step: a, tool: {kind: noop}, loop: {in: [1]}, next: b}
              |                                         ^^^^^^^^^
              = help: it is the name an item has in templates, for example `item`
            error[missing-key]: a loop needs `in`
             --> t.yaml:6:41
            6 |   - {step: b, tool: {kind: noop}, loop: {iterator: i}, next: c}
              |                                         ^^^^^^^^^^^^^
            error[missing-key]: a loop needs `cursor`
             --> t.yaml:7:41
            7 |   - {step: c, tool: {kind: noop}, loop: {iterator: i, spec: {mode: cursor}}, next: d}
              |                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            error[missing-key]: a cursor needs `claim`
             --> t.yaml:8:63
            8 |   - {step: d, tool: {kind: noop}, loop: {iterator: i, cursor: {auth: x}}, next: e}
              |                                                               ^^^^^^^^^
            error[bad-value]: a loop has either `in` or `cursor`
             --> t.yaml:9:72
            9 |   - {step: e, tool: {kind: noop}, loop: {iterator: i, in: [1], cursor: {claim: x}}, next: f}
              |                                                                        ^^^^^^^^^^
            error[bad-value]: an iterator's name cannot be a template
             --> t.yaml:10:52
            10 |   - {step: f, tool: {kind: noop}, loop: {iterator: "{{ x }}", in: [1], spec: {max_in_flight: 0}}}
               |                                                    ^^^^^^^^^
            error[out-of-range]: `max_in_flight` must be between 1 and 4294967295
             --> t.yaml:10:94
            10 |   - {step: f, tool: {kind: noop}, loop: {iterator: "{{ x }}", in: [1], spec: {max_in_flight: 0}}}
               |                                                                                              ^
        "#]],
    );
}

#[test]
fn values_of_the_wrong_type() {
    check(
        r#"  - {step: a, tool: 5, set: [1], next: b}
  - {step: b, tool: [], input: [1], next: {arcs: b}}
  - {step: [c], tool: {kind: noop}}
  - just text
  - {name: d, tool: {kind: noop}}
  - {step: e, tool: {kind: noop}, timeout: -1, set: {ctx.: 1}, next: {spec: {mode: any}, arcs: [{to: b}]}}
"#,
        expect![[r#"
            error[wrong-type]: a tool must be a map with a `kind`, this is a number
             --> t.yaml:5:21
            5 |   - {step: a, tool: 5, set: [1], next: b}
              |                     ^
            error[wrong-type]: `set` must be a map, this is a list
             --> t.yaml:5:29
            5 |   - {step: a, tool: 5, set: [1], next: b}
              |                             ^^^
            error[missing-tool]: a list of tools is empty
             --> t.yaml:6:21
            6 |   - {step: b, tool: [], input: [1], next: {arcs: b}}
              |                     ^^
            error[wrong-type]: a step's input must be a map, this is a list
             --> t.yaml:6:32
            6 |   - {step: b, tool: [], input: [1], next: {arcs: b}}
              |                                ^^^
            error[wrong-type]: `arcs` must be a list, this is text
             --> t.yaml:6:50
            6 |   - {step: b, tool: [], input: [1], next: {arcs: b}}
              |                                                  ^
            error[wrong-type]: a step's name must be text, this is a list
             --> t.yaml:7:12
            7 |   - {step: [c], tool: {kind: noop}}
              |            ^^^
            error[wrong-type]: a step must be a map, this is text
             --> t.yaml:8:5
            8 |   - just text
              |     ^^^^^^^^^
            error[missing-key]: a step needs `step`, its name
             --> t.yaml:9:5
            9 |   - {name: d, tool: {kind: noop}}
              |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              = help: write `step` instead of `name`
            error[out-of-range]: a timeout must be between 0 and 2592000 seconds
             --> t.yaml:10:44
            10 |   - {step: e, tool: {kind: noop}, timeout: -1, set: {ctx.: 1}, next: {spec: {mode: any}, arcs: [{to: b}]}}
               |                                            ^^
            error[bad-key]: `ctx.` names no variable
             --> t.yaml:10:54
            10 |   - {step: e, tool: {kind: noop}, timeout: -1, set: {ctx.: 1}, next: {spec: {mode: any}, arcs: [{to: b}]}}
               |                                                      ^^^^
            error[unknown-word]: the mode of `next` cannot be `any`
             --> t.yaml:10:84
            10 |   - {step: e, tool: {kind: noop}, timeout: -1, set: {ctx.: 1}, next: {spec: {mode: any}, arcs: [{to: b}]}}
               |                                                                                    ^^^
               = help: it can be exclusive, inclusive
            error[missing-key]: an arc needs `step`
             --> t.yaml:10:97
            10 |   - {step: e, tool: {kind: noop}, timeout: -1, set: {ctx.: 1}, next: {spec: {mode: any}, arcs: [{to: b}]}}
               |                                                                                                 ^^^^^^^
            warning[unknown-key]: an arc has no key `to`
             --> t.yaml:10:98
            10 |   - {step: e, tool: {kind: noop}, timeout: -1, set: {ctx.: 1}, next: {spec: {mode: any}, arcs: [{to: b}]}}
               |                                                                                                  ^^
               = help: it is ignored; known keys are step, when, set, desc, description
        "#]],
    );
}

#[test]
fn a_broken_template_is_shown_where_it_breaks() {
    check(
        "  - {step: a, tool: {kind: http, url: \"http://x/{{ a | }}\"}}\n",
        expect![[r#"
            error[bad-template]:
             --> t.yaml:5:56
            5 |   - {step: a, tool: {kind: http, url: "http://x/{{ a | }}"}}
              |                                                        ^^
        "#]],
    );
    check(
        "  - step: a\n    tool:\n      kind: python\n      code: |\n        # first\n        x = {{ 1 + }}\n",
        expect![[r#"
            error[bad-template]:
             --> t.yaml:10:20
            10 |         x = {{ 1 + }}
               |                    ^^
        "#]],
    );
    check(
        "  - step: a\n    tool:\n      kind: python\n      code: >\n        folded\n        {{ 1 + }}\n",
        expect![[r#"
            error[bad-template]:
             --> t.yaml:10:16
            10 |         {{ 1 + }}
               |                ^^
        "#]],
    );
    check(
        "  - {step: a, tool: {kind: noop}, when: ''}\n",
        expect![[r#"
            error[bad-template]:
             --> t.yaml:5:41
            5 |   - {step: a, tool: {kind: noop}, when: ''}
              |                                         ^^
        "#]],
    );
}

#[test]
fn several_broken_templates_of_one_tool() {
    check(
        "  - {step: a, tool: {kind: http, url: '{{ a | }}', headers: {x: '{{ 1 + }}'}}}\n",
        expect![[r#"
            error[bad-template]:
             --> t.yaml:5:47
            5 |   - {step: a, tool: {kind: http, url: '{{ a | }}', headers: {x: '{{ 1 + }}'}}}
              |                                               ^^
            error[bad-template]:
             --> t.yaml:5:73
            5 |   - {step: a, tool: {kind: http, url: '{{ a | }}', headers: {x: '{{ 1 + }}'}}}
              |                                                                         ^^
        "#]],
    );
}

#[test]
fn json_has_every_part_of_a_finding() {
    let yaml = document("  - {step: a, next: ent}\n  - {step: end, tool: {kind: noop}}\n");
    let problems = crate::parse("t.yaml", yaml.as_bytes()).unwrap_err();
    expect![[r#"
        [
          {
            "file": "t.yaml",
            "line": 5,
            "column": 21,
            "code": "unknown-step",
            "severity": "error",
            "message": "there is no step `ent`",
            "help": "did you mean `end`?",
            "source": "  - {step: a, next: ent}"
          }
        ]"#]]
    .assert_eq(&serde_json::to_string_pretty(&problems).unwrap());
}

#[test]
fn a_report_has_a_headline_and_shows_the_source() {
    let yaml = document("  - {step: a, next: c}\n");
    let problems = crate::parse("t.yaml", yaml.as_bytes()).unwrap_err();
    let mut out = String::new();
    let theme = miette::GraphicalTheme::unicode_nocolor();
    miette::GraphicalReportHandler::new_themed(theme)
        .render_report(&mut out, &crate::Report::from(problems))
        .unwrap();
    expect![[r#"
          × t.yaml: 1 error

        Error: unknown-step

          × there is no step `c`
           ╭─[t.yaml:5:21]
         4 │ workflow:
         5 │   - {step: a, next: c}
           ·                     ─
           ╰────
    "#]]
    .assert_eq(&out);
}
