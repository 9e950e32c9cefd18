//! Diagnostics about documents that are wrong or could be improved.

mod flow;
mod head;
mod inputs;
mod kinds;
mod spellings;

use expect_test::expect;

use super::{check, document};

#[test]
fn a_good_document_needs_no_words() {
    check("  - {step: start, tool: {kind: noop}}\n", expect![[""]]);
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
        .render_report(&mut out, &crate::ProblemReport::from(problems))
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
