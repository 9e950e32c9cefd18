use expect_test::{Expect, expect};

use crate::playbook::Playbook;

const CYCLE: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: pages, path: demo/pages}
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: fetch}]}
  - step: fetch
    tool:
      - {name: get, kind: http, url: "{{ url }}"}
      - {name: shape, kind: python, code: "result = 1"}
    next:
      arcs:
        - {step: fetch, when: "{{ output.more and '<b>' in x }}"}
        - {step: fan}
  - step: fan
    tool: {kind: shell, command: ls}
    loop: {in: "{{ rows }}", iterator: row, spec: {mode: parallel, max_in_flight: 4}}
    next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: right}]}
  - {step: left, tool: {kind: noop}, next: {arcs: [{step: end}]}}
  - {step: right, tool: {kind: noop}, next: {arcs: [{step: end}]}}
  - {step: end, tool: {kind: noop}}
"#;

fn playbook(yaml: &str) -> Playbook {
    crate::parse("test.yaml", yaml.as_bytes()).unwrap().playbook
}

#[track_caller]
fn check(actual: &str, expected: Expect) {
    expected.assert_eq(actual);
}

#[test]
fn text_lists_steps_with_their_arcs() {
    check(
        &super::text(&playbook(CYCLE)),
        expect![[r#"
        demo/pages
        start [noop] (entry)
          → fetch
        fetch [get: http, shape: python]
          ↑ fetch  when output.more and '<b>' in x
          → fan
        fan [shell] each row in rows, in parallel, at most 4 at once
          ⇒ left
          ⇒ right
        left [noop]
          → end
        right [noop]
          → end
        end [noop]
    "#]],
    );
}

#[test]
fn mermaid_text_is_never_syntax() {
    check(
        &super::mermaid(&playbook(CYCLE)),
        expect![[r#"
        flowchart TD
          s0(["start<br/>noop"])
          s1["fetch<br/>get: http, shape: python"]
          s2[["fan<br/>shell<br/>each row in rows, in parallel, at most 4 at once"]]
          s3["left<br/>noop"]
          s4["right<br/>noop"]
          s5["end<br/>noop"]
          s0 --> s1
          s1 -->|"output.more and #39;#60;b#62;#39; in x"| s1
          s1 --> s2
          s2 --> s3
          s2 --> s4
          s3 --> s5
          s4 --> s5
    "#]],
    );
}

#[test]
fn a_picture_has_every_step_and_arc_and_escapes_text() {
    let playbook = playbook(CYCLE);
    let svg = super::svg(&playbook);
    let count = |text: &str| svg.matches(text).count();
    let arcs: usize = playbook.steps.iter().map(|step| step.next.arcs.len()).sum();
    assert_eq!(count("<g id="), playbook.steps.len());
    assert_eq!(count("marker-end"), arcs);
    assert_eq!(count("arc back"), 1);
    assert!(svg.contains("&lt;b&gt;") && !svg.contains("<b>"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn graphviz_source_has_every_step_and_arc() {
    check(
        &super::dot(&playbook(CYCLE)),
        expect![[r#"
            digraph "demo/pages" {
              rankdir=LR;
              node [shape=box, style=rounded];
              s0 [label="start\nnoop", penwidth=2];
              s1 [label="fetch\nget: http, shape: python"];
              s2 [label="fan\nshell\neach row in rows, in parallel, at most 4 at once", peripheries=2];
              s3 [label="left\nnoop"];
              s4 [label="right\nnoop"];
              s5 [label="end\nnoop"];
              s0 -> s1;
              s1 -> s1 [label="output.more and '<b>' in x"];
              s1 -> s2;
              s2 -> s3;
              s2 -> s4;
              s3 -> s5;
              s4 -> s5;
            }
        "#]],
    );
}

/// A thousand steps, each with an arc to the next one, one further on, and one back.
#[test]
fn a_thousand_steps_are_drawn() {
    let mut yaml =
        String::from("apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: big}\nworkflow:\n");
    for i in 0..1000 {
        let (next, far, back) = ((i + 1).min(999), (i + 17).min(999), i / 2);
        yaml.push_str(&format!(
            "- {{step: s{i}, tool: {{kind: noop}}, next: {{spec: {{mode: inclusive}}, arcs: \
             [{{step: s{next}}}, {{step: s{far}}}, {{step: s{back}, when: no}}]}}}}\n"
        ));
    }
    let playbook = playbook(&yaml);
    assert_eq!(super::svg(&playbook).matches("<g id=").count(), 1000);
    assert_eq!(super::text(&playbook).lines().filter(|line| line.starts_with('s')).count(), 1000);
}
