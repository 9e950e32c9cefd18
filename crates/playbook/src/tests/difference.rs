//! Tests of differences by meaning.

use expect_test::{Expect, expect};

use crate::{ChangedPart, parse, playbook_changes};

const OLD: &str = r#"apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: a, path: a}
workload: {n: 1}
workflow:
  - step: start
    tool: {kind: http, url: "http://a/{{ workload.n }}", timeout: 5}
    next:
      - {step: good, when: "{{ start.status_code == 200 }}"}
      - step: end
  - step: good
    tool: {kind: noop}
    next: end
  - step: end
    tool: {kind: noop}
"#;

fn shown(old: &str, new: &str) -> String {
    let read = |text: &str| match parse("a", text.as_bytes()) {
        Ok(checked) => checked.playbook,
        Err(problems) => panic!("{problems}"),
    };
    let lines = playbook_changes(&read(old), &read(new)).into_iter().map(|it| {
        let path = it.path.join(" › ");
        match it.change {
            ChangedPart::Added { to } => format!("+ {path}: {to}\n"),
            ChangedPart::Removed { from } => format!("- {path}: {from}\n"),
            ChangedPart::Changed { from, to } => format!("~ {path}: {from} → {to}\n"),
        }
    });
    lines.collect()
}

/// Compares the playbook with itself after some replacements.
#[track_caller]
fn check(replaced: &[(&str, &str)], expected: Expect) {
    let mut new = OLD.to_owned();
    for (from, to) in replaced {
        assert!(new.contains(from), "{from}");
        new = new.replacen(from, to, 1);
    }
    expected.assert_eq(&shown(OLD, &new));
}

#[test]
fn spelling_order_and_comments_are_no_difference() {
    check(&[], expect![""]);
    check(
        &[
            ("workload:", "# Comment\nworkload:"),
            (
                "{kind: http, url: \"http://a/{{ workload.n }}\", timeout: 5}",
                "\n      timeout: 5s\n      url: 'http://a/{{ workload.n }}'\n      kind: http",
            ),
            ("    next: end\n  - step: end", "    next: {arcs: [{step: end}]}\n  - step: end"),
        ],
        expect![""],
    );
    let moved = OLD.replace("  - step: good\n    tool: {kind: noop}\n    next: end\n", "");
    let moved = format!("{moved}  - step: good\n    tool: {{kind: noop}}\n    next: end\n");
    assert_eq!(shown(OLD, &moved), "");
}

#[test]
fn changed_parts_are_named_by_their_way() {
    check(
        &[("http://a", "http://b"), ("timeout: 5", "timeout: 6"), ("{n: 1}", "{n: 2, m: 3}")],
        expect![[r#"
            ~ workload › n: 1 → 2
            + workload › m: 3
            ~ steps › start › tool › url: "http://a/{{ workload.n }}" → "http://b/{{ workload.n }}"
            ~ steps › start › tool › timeout: "5s" → "6s"
        "#]],
    );
    check(
        &[("    next: end\n  - step: end", "  - step: end")],
        expect![[r#"
        - steps › good › next: {"arcs":{"end":{"when":"always"}}}
    "#]],
    );
    check(
        &[("== 200", "< 300")],
        expect![[r#"
        ~ steps › start › next › arcs › good › when: "{{ start.status_code == 200 }}" → "{{ start.status_code < 300 }}"
    "#]],
    );
    check(
        &[(
            "      - {step: good, when: \"{{ start.status_code == 200 }}\"}\n      - step: end\n",
            "      - step: end\n      - {step: good, when: \"{{ start.status_code == 200 }}\"}\n",
        )],
        expect![[r#"
            ~ steps › start › next › order of arcs: ["good","end"] → ["end","good"]
        "#]],
    );
    check(
        &[
            ("tool: {kind: noop}\n    next: end", "tool: {kind: noop}\n    next: last"),
            ("    tool: {kind: noop}\n", "    run: at_most_once\n    tool: {kind: noop}\n"),
            (
                "\n  - step: end",
                "\n  - step: last\n    tool: [{one: {kind: noop}}, {two: {kind: noop}}]\n  - step: end",
            ),
        ],
        expect![[r#"
            - steps › good › next › arcs › end: {"when":"always"}
            + steps › good › next › arcs › last: {"when":"always"}
            + steps › good › run: "at_most_once"
            + steps › last: {"tools":{"one":{"kind":"noop"},"two":{"kind":"noop"}},"order of tools":["one","two"]}
        "#]],
    );
}

#[test]
fn declared_shapes_and_the_form_of_tools_are_compared() {
    let schema =
        "    output_schema: {type: object, required: [n], properties: {n: {type: integer}}}\n";
    let good = "  - step: good\n    tool: {kind: noop}\n";
    let with = format!("  - step: good\n{schema}    tool: {{kind: noop}}\n");
    check(
        &[(good, &with)],
        expect![[r#"
            + steps › good › output_schema: {"type":"object","properties":{"n":{"type":"integer","required":true}},"other properties":true}
        "#]],
    );
    let old = OLD.replacen(good, &with, 1);
    let new = old.replacen("{type: integer}", "{type: string, maxLength: 5}", 1);
    expect![[r#"
        ~ steps › good › output_schema › properties › n › type: "integer" → "string"
        + steps › good › output_schema › properties › n › max_length: 5
    "#]]
    .assert_eq(&shown(&old, &new));
    let in_tool = "  - step: good\n    tool: {kind: noop, output_schema: {type: list}}\n";
    check(
        &[(good, in_tool)],
        expect![[r#"
            + steps › good › tool › output_schema: {"type":"list"}
        "#]],
    );
    check(
        &[(good, "  - step: good\n    tool: [{good: {kind: noop}}]\n")],
        expect![[r#"
            + steps › good › form of tool: "list"
        "#]],
    );
}
