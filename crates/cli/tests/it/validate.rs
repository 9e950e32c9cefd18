//! Tests of `validate` and `graph`.

use expect_test::expect;

use crate::playbooks::HELLO;
use crate::sandbox::Sandbox;

#[test]
fn every_file_is_checked_and_one_that_is_missing_does_not_hide_the_others() {
    let bad = HELLO.replace("kind: noop, result: {", "kind: nop, result: {");
    let sandbox = Sandbox::new().with("good.yaml", HELLO).with("bad.yaml", &bad);
    let ended = sandbox.noetl(&["validate", "good.yaml", "god.yaml", "bad.yaml"]);
    assert_eq!(ended.code, Some(2));
    expect![[r#"
        ok good.yaml
        error[unknown-tool]: there is no tool `nop`
         --> bad.yaml:7:18
        7 |     tool: {kind: nop, result: {greeting: "Hello, {{ workload.name }} from {{ workload.from.city }}!"}}
          |                  ^^^
          = help: did you mean `noop`?
        bad.yaml: 1 error
    "#]]
    .assert_eq(&ended.stdout);
    expect![[r#"
        error: there is no file god.yaml
         help: did you mean good.yaml?
    "#]]
    .assert_eq(&ended.stderr);
}

#[test]
fn findings_are_for_programs_too() {
    let sandbox = Sandbox::new().with("bad.yaml", "kind: Playbook\nworkflow: [\n");
    let found = sandbox.json(&["validate", "bad.yaml", "--output", "json"]);
    assert_eq!(found[0]["valid"], false);
    assert_eq!(found[0]["problems"][0]["code"], "syntax");
    assert_eq!(found[0]["problems"][0]["severity"], "error");
    assert!(found[0]["problems"][0]["line"].is_u64());
}

#[test]
fn a_good_file_is_drawn_in_four_ways() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    let draw = |format: &str| {
        let ended = sandbox.noetl(&["graph", "hello.yaml", "--format", format]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.stdout
    };
    expect![[r#"
        tests/hello
        start [noop] (entry)
          → end
        end [noop]
    "#]]
    .assert_eq(&draw("text"));
    assert!(draw("mermaid").starts_with("flowchart TD\n"));
    assert!(draw("dot").starts_with("digraph \"tests/hello\" {\n"));
    assert!(draw("svg").starts_with("<svg xmlns="));
}

#[test]
fn a_registered_playbook_is_drawn_by_its_path() {
    let sandbox = Sandbox::new().with("hello.yaml", HELLO);
    assert_eq!(sandbox.noetl(&["register", "hello.yaml"]).code, Some(0));
    let by_file = sandbox.noetl(&["graph", "hello.yaml"]).stdout;
    assert_eq!(sandbox.noetl(&["graph", "tests/hello"]).stdout, by_file);
    assert_eq!(sandbox.noetl(&["graph", "tests/hello@1"]).stdout, by_file);
    let missing = sandbox.noetl(&["graph", "tests/helo"]);
    assert_ne!(missing.code, Some(0));
    assert!(missing.stderr.contains("there is no playbook tests/helo"), "{}", missing.stderr);
}

#[test]
fn colours_are_only_where_they_are_wanted() {
    let sandbox = Sandbox::new().with("bad.yaml", "kind: Playbook\nworkflow: [\n");
    assert!(!sandbox.noetl(&["validate", "bad.yaml"]).stdout.contains('\u{1b}'));
    let always = sandbox.noetl(&["validate", "bad.yaml", "--color", "always"]);
    assert!(always.stdout.contains('\u{1b}'));
}

const CODE: &str = "apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
workflow:
  - step: start
    tool:
      kind: python
      code: |
        x = 1
        await x
";

#[test]
fn the_code_of_tools_is_compiled() {
    let sandbox = Sandbox::new().with("bad.yaml", CODE);
    let ended = sandbox.noetl(&["validate", "bad.yaml"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    expect![[r#"
        error[bad-code]: Python cannot read this: 'await' outside function
         --> bad.yaml:10:9
        10 |         await x
           |         ^^^^^^^
        bad.yaml: 1 error
    "#]]
    .assert_eq(&ended.stdout);
    assert_eq!(sandbox.noetl(&["validate", "--no-code", "bad.yaml"]).code, Some(0));
}

#[test]
fn comments_suppress_findings_of_every_command() {
    let text = HELLO.replace(
        "  - step: end",
        "  # noetl: ignore[unknown-name]\n  - {step: never, tool: {kind: noop, result: '{{ nobody }}'}} # noetl: ignore\n  - step: end",
    );
    let sandbox =
        Sandbox::new().with("hello.yaml", &text).with("bare.yaml", &text.replace("# noetl", "#"));
    for command in [&["validate"][..], &["run", "--ephemeral"], &["register"]] {
        let said = |file: &str| {
            let ended = sandbox.noetl(&[command, &[file]].concat());
            assert_eq!(ended.code, Some(0), "{command:?}: {}", ended.stderr);
            [ended.stdout, ended.stderr].concat().contains("nobody")
        };
        assert!(!said("hello.yaml"), "{command:?}");
        assert!(said("bare.yaml"), "{command:?}");
    }
}
