//! Control characters of a step's output are printed as visible escapes.

use serde_json::Value;

use crate::sandbox::Sandbox;

/// A playbook that prints, fails with and returns escape sequences, C1 and bidirectional control
/// characters.
const HOSTILE: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: hostile, path: tests/hostile}
workload: {fail: true, text: "\e[2Jcleared \x9b31m \u202etxt.exe \x07"}
workflow:
  - step: start
    tool:
      kind: python
      input: {text: "{{ workload.text }}", fail: "{{ workload.fail }}"}
      code: |
        print(text)
        if fail:
            raise ValueError(text)
        result = text
"#;

/// Asserts that no control character but a line end or a tab is in a text.
#[track_caller]
fn check(args: &[&str], text: &str) {
    let is_hostile =
        |c: char| (c.is_control() && !"\n\t".contains(c)) || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!text.contains(is_hostile), "{args:?}: {text:?}");
}

#[test]
fn control_characters_of_a_step_do_not_reach_the_terminal() {
    let sandbox = Sandbox::new().with("hostile.yaml", HOSTILE);
    for run in [&["run", "hostile.yaml"][..], &["run", "hostile.yaml", "--set", "fail=false"]] {
        let commands: &[&[&str]] = &[
            run,
            &["status"],
            &["executions", "get", "last"],
            &["executions", "list"],
            &["executions", "events", "last"],
            &["executions", "timeline", "last"],
            &["replay", "last"],
            &["executions", "get", "last", "-o", "json"],
            &["executions", "get", "last", "-o", "yaml"],
            &["executions", "events", "last", "-o", "json"],
            &["executions", "events", "last", "-o", "jsonl"],
            &["status", "-o", "json"],
        ];
        for args in commands {
            let ended = sandbox.noetl(args);
            check(args, &ended.stdout);
            check(args, &ended.stderr);
        }
        let colored = sandbox.noetl(&["executions", "get", "last", "--color", "always"]);
        let said = colored.stdout.replace("\u{1b}[", "<");
        assert!(!said.contains("<2J") && said.contains("\\u{1b}"), "{said}");
    }
    let shown = sandbox.noetl(&["executions", "get", "last"]);
    let expected = r"\u{1b}[2Jcleared \u{9b}31m \u{202e}txt.exe \u{7}";
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
    let got: Value = sandbox.json(&["executions", "get", "last", "-o", "json"]);
    assert_eq!(got["output"], "\u{1b}[2Jcleared \u{9b}31m \u{202e}txt.exe \u{7}");
}
