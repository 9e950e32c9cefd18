//! Tests of `lint`, `explain` and `fmt`.

use std::path::Path;

use expect_test::expect;
use serde_json::Value;

use crate::playbooks::HELLO;
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
fn a_project_chooses_the_severities_of_rules() {
    let settings = "[lint]\nlevels = [\"old-spelling=off\", \"shell-template=error\"]\n";
    let sandbox = Sandbox::new().with("bad.yaml", BAD).with("noetl.toml", settings);
    let found = |args: &[&str]| {
        let all = [&["lint", "--no-code", "--format", "json"], args].concat();
        let found = sandbox.json(&all);
        let shown = |it: &Value| format!("{} {}", it["severity"], it["code"]).replace('"', "");
        found.as_array().unwrap().iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(found(&[]), ["error shell-template"]);
    assert_eq!(sandbox.noetl(&["lint", "--no-code"]).code, Some(1));
    // An option takes precedence.
    let both = ["--level", "shell-template=off", "--level", "old-spelling=warning"];
    assert_eq!(found(&both), ["warning old-spelling"]);
    let refused = sandbox.noetl(&["lint", "--level", "old-speling=off"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("did you mean `old-spelling`?"), "{}", refused.stderr);
}

#[test]
fn the_errors_of_a_document_that_cannot_be_run_stay() {
    let broken = BAD.replace("kind: rhai", "kind: rhia");
    let sandbox = Sandbox::new().with("bad.yaml", &broken);
    let ended = sandbox.noetl(&["lint", "--no-code", "--level", "unknown-tool=off"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("unknown-tool"), "{}", ended.stdout);
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

#[test]
fn test_files_are_read_with_their_playbooks_and_hidden_directories_are_left_alone() {
    let tests = "tests:\n  - {name: a, expect: {executed: [start, ende]}}\n";
    let sandbox = Sandbox::new()
        .with("hello.yaml", HELLO)
        .with("hello.test.yaml", tests)
        .with(".cache/bad.yaml", BAD);
    let ended = sandbox.noetl(&["lint", "hello.yaml", "hello.test.yaml"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let said = "error[unknown-step]: playbook `tests/hello` has no step `ende`\n --> hello.test.yaml:2:42\n";
    assert!(ended.stdout.contains(said), "{}", ended.stdout);
    let ended = sandbox.noetl(&["lint"]);
    assert!(ended.stderr.contains("1 document: 0 errors, 0 warnings"), "{}", ended.stderr);
    let fixed = sandbox.with("hello.test.yaml", &tests.replace("ende]", "end]"));
    let ended = fixed.noetl(&["lint", "hello.yaml", "hello.test.yaml"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
}

/// Documents that run, with code in all languages: none of it may be called wrong.
#[test]
fn the_code_of_all_documents_compiles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sandbox = Sandbox::new();
    for directory in ["examples", "crates/cli/demo", "../shared/fixtures"] {
        let directory = root.join(directory);
        if !directory.is_dir() {
            continue;
        }
        let ended = sandbox.noetl(&["lint", "--format", "json", &directory.to_string_lossy()]);
        assert!(!ended.stderr.contains("cannot check"), "{}", ended.stderr);
        let found: Vec<Value> = serde_json::from_str(&ended.stdout).unwrap();
        let wrong: Vec<&Value> = found.iter().filter(|it| it["code"] == "bad-code").collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
