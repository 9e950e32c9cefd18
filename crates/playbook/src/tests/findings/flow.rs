//! Diagnostics about steps, arcs, rules and loops that lead nowhere or have no effect.

use expect_test::expect;

use super::super::{check, check_document, document};

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
fn arcs_that_stand_in_the_wrong_place() {
    check(
        r#"  - step: a
    tool: {kind: noop, arcs: [{step: b}]}
    next:
    arcs:
      - step: b
  - step: b
    tool:
      kind: noop
      next: {arcs: [{step: c}]}
  - {step: c, tool: noop, arcs: [{step: d}]}
  - {step: d, tool: {kind: noop}, next: {spec: {arcs: [{step: a}]}, arcs: []}}
"#,
        expect![[r#"
            error[unknown-key]: noop has no key `arcs`
             --> t.yaml:6:24
            6 |     tool: {kind: noop, arcs: [{step: b}]}
              |                        ^^^^
              = help: `arcs` belongs under `next` of its step: `next: {arcs: […]}`
            error[unknown-key]: a step has no key `arcs`
             --> t.yaml:8:5
            8 |     arcs:
              |     ^^^^
              = help: `arcs` belongs under `next` of its step: `next: {arcs: […]}`
            error[unknown-key]: noop has no key `next`
             --> t.yaml:13:7
            13 |       next: {arcs: [{step: c}]}
               |       ^^^^
               = help: `next` belongs directly under its step, beside `tool`
            warning[old-spelling]: a tool given by its kind alone is an old spelling
             --> t.yaml:14:21
            14 |   - {step: c, tool: noop, arcs: [{step: d}]}
               |                     ^^^^
               = help: write `tool: {kind: noop}`, its settings below
            error[unknown-key]: a step has no key `arcs`
             --> t.yaml:14:27
            14 |   - {step: c, tool: noop, arcs: [{step: d}]}
               |                           ^^^^
               = help: `arcs` belongs under `next` of its step: `next: {arcs: […]}`
            error[unknown-key]: the spec of `next` has no key `arcs`
             --> t.yaml:15:49
            15 |   - {step: d, tool: {kind: noop}, next: {spec: {arcs: [{step: a}]}, arcs: []}}
               |                                                 ^^^^
               = help: `arcs` belongs under `next` of its step: `next: {arcs: […]}`
        "#]],
    );
}

#[test]
fn a_rule_that_sets_one_variable_for_all_items_at_once() {
    let step = |mode: &str, target: &str| {
        format!(
            "  - step: a
    loop: {{in: [1, 2], iterator: n, spec: {{mode: {mode}}}}}
    tool:
      kind: noop
      spec: {{policy: {{rules: [{{else: {{then: {{do: continue, set: {{{target}: 1}}}}}}}}]}}}}
"
        )
    };
    check(
        &step("parallel", "seen"),
        expect![[r#"
            error[shared-variable]: a rule in a loop whose items run at the same time sets `seen` for all of them
             --> t.yaml:9:66
            9 |       spec: {policy: {rules: [{else: {then: {do: continue, set: {seen: 1}}}}]}}
              |                                                                  ^^^^
              = help: write `iter.seen` for the item alone, or `ctx.seen` for the whole execution
        "#]],
    );
    for (mode, target) in
        [("parallel", "iter.seen"), ("parallel", "ctx.seen"), ("sequential", "seen")]
    {
        check(&step(mode, target), expect![[""]]);
    }
}

#[test]
fn a_field_that_a_secret_does_not_have() {
    let head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\n";
    let keychain = r#"keychain:
  - {name: shop_api, kind: bearer, token: "{{ workload.token }}"}
  - {name: reader, map: {user: warehouse.db_user, pass: warehouse.db_password}}
  - {name: partner, credential: other}
workflow:
"#;
    let step = |field: &str| {
        let step = format!(
            r#"  - {{step: a, tool: {{kind: noop, result: "{{{{ keychain.{field} }}}}"}}}}"#
        );
        format!("{head}{keychain}{step}\n")
    };
    check_document(
        &step("shop_api.tokn"),
        expect![[r#"
            error[unknown-field]: the secret `shop_api` has no field `tokn`
             --> t.yaml:9:46
            9 |   - {step: a, tool: {kind: noop, result: "{{ keychain.shop_api.tokn }}"}}
              |                                              ^^^^^^^^^^^^^^^^^^^^^^
              = help: did you mean `token`?
        "#]],
    );
    check_document(
        &step("reader.name"),
        expect![[r#"
            error[unknown-field]: the secret `reader` has no field `name`
             --> t.yaml:9:46
            9 |   - {step: a, tool: {kind: noop, result: "{{ keychain.reader.name }}"}}
              |                                              ^^^^^^^^^^^^^^^^^^^^
              = help: it has pass, user
        "#]],
    );
    for known in ["shop_api.token", "reader.pass", "partner.anything", "stored.anything"] {
        check_document(&step(known), expect![[""]]);
    }
}

#[test]
fn ten_thousand_steps_are_read_in_their_order() {
    let step = |n: usize| {
        format!(
            "  - {{step: s{n}, tool: {{kind: noop}}, next: {{arcs: [{{step: s{}}}, {{step: failed, when: \"{{{{ error is defined }}}}\"}}]}}}}\n",
            n + 1
        )
    };
    let mut steps: String = (0..9_998).map(step).collect();
    steps.push_str(
        "  - {step: s9998, tool: {kind: noop}}\n  - {step: failed, tool: {kind: noop}}\n",
    );
    let playbook = crate::tests::playbook(&document(&steps));
    assert_eq!(playbook.steps.len(), 10_000);
    let join = playbook.index_of("failed").unwrap();
    assert_eq!(playbook.graph.predecessors(join).len(), 9_998);
    let first = playbook.index_of("s0").unwrap();
    assert!(playbook.graph.must_wait(join, &[first].into(), |step| step == first));
}
