//! Tests of `lint`, `explain` and `fmt`.

use expect_test::expect;

use crate::sandbox::Sandbox;

const BAD: &str = "apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
workload: {word: a b}
workflow:
  - step: start
    tool:
      - name: first
        kind: python
        args: {a: 1}
        code: |
          x = 1
          def f(:
      - {name: second, kind: rhai, code: 'let x = ;'}
      - {name: third, kind: shell, command: 'if {{ workload.word }}'}
";

#[test]
fn the_code_of_tools_is_checked_at_its_line() {
    let sandbox = Sandbox::new().with("bad.yaml", BAD);
    let ended = sandbox.noetl(&["lint", "bad.yaml"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let found = sandbox.json(&["lint", "--format", "json"]);
    let lines: Vec<String> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {}", it["line"], it["code"].as_str().unwrap()))
        .collect();
    assert_eq!(
        lines,
        ["10 old-spelling", "13 bad-code", "14 bad-code", "15 bad-code", "15 shell-template"]
    );
    let ended = sandbox.noetl(&["lint", "--no-code", "--deny-warnings", "bad.yaml"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("1 document: 0 errors, 2 warnings"), "{}", ended.stderr);
}

#[test]
fn fixes_are_written_and_other_files_of_a_directory_are_left_alone() {
    let sandbox = Sandbox::new().with("bad.yaml", BAD).with("compose.yaml", "services: {a: 1}\n");
    let ended = sandbox.noetl(&["lint", "--fix", "--no-code"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    assert!(ended.stderr.contains("1 fix applied"), "{}", ended.stderr);
    let changed = std::fs::read_to_string(sandbox.path("bad.yaml")).unwrap();
    assert_eq!(changed, BAD.replace("args:", "input:"));
}

#[test]
fn every_rule_can_be_explained() {
    let sandbox = Sandbox::new();
    let all = sandbox.noetl(&["explain"]);
    assert_eq!(all.stdout.lines().count(), noetl_playbook::RULES.len());
    let one = sandbox.noetl(&["explain", "shell-template"]);
    expect![[r#"
        shell-template (warning)
        A value goes into a shell command without quotes.

        A value with spaces, quotes or `;` changes the meaning of the command, and a value from outside can run any program. The filter `shell_quote` makes it one word.

        Instead of:

            command: "grep {{ workload.word }} file"

        write:

            command: "grep {{ workload.word | shell_quote }} file"

        Suppress it with `# noetl: ignore[shell-template]` on the line or above it.
    "#]]
    .assert_eq(&one.stdout);
    let unknown = sandbox.noetl(&["explain", "shell-templat"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("did you mean shell-template?"), "{}", unknown.stderr);
}

#[test]
fn files_are_formatted_once() {
    let text = "kind:   Playbook\napiVersion: noetl.io/v2\nworkflow:\n- step: a\n";
    let sandbox = Sandbox::new().with("a.yaml", text);
    let ended = sandbox.noetl(&["fmt", "--check"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), "./a.yaml\n"));
    assert_eq!(sandbox.noetl(&["fmt"]).code, Some(0));
    let formatted = std::fs::read_to_string(sandbox.path("a.yaml")).unwrap();
    assert_eq!(formatted, "kind: Playbook\napiVersion: noetl.io/v2\nworkflow:\n  - step: a\n");
    assert_eq!(sandbox.noetl(&["fmt", "--check"]).code, Some(0));
    let sandbox = sandbox.with("b.yaml", "kind: Playbook\na: b: c\n");
    assert_eq!(sandbox.noetl(&["fmt", "b.yaml"]).code, Some(2));
}
