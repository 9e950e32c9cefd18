//! The rules of `lint` that `validate` does not have: code, secrets, shell commands, suppression.

use expect_test::{Expect, expect};

use super::document;
use crate::{
    AnalysisLevel, CodeFault, CodeLanguage, LintedDocument, ParseOptions, Severity, TargetWorkers,
    fixed, parse_document, parse_document_with,
};

#[track_caller]
fn check(workflow: &str, expected: Expect) {
    let linted = LintedDocument::new("t.yaml", document(workflow).as_bytes());
    expected.assert_eq(&linted.finish().to_string());
}

#[test]
fn values_in_shell_commands_need_quotes() {
    check(
        "  - step: start
    tool:
      kind: shell
      command: |
        echo {{ execution_id }} {{ path }}
        echo {{ path | shell_quote }} {{ path | length }} {% if path %}x{% endif %}
",
        expect![[r#"
            warning[shell-template]: the shell interprets the value of `path`
             --> t.yaml:9:36
            9 |         echo {{ execution_id }} {{ path }}
              |                                    ^^^^
              = help: write `{{ path | shell_quote }}` without quotes around it, or pass the value in `env`
        "#]],
    );
    check(
        "  - {step: start, tool: {kind: shell, cmds: ['ls {{ path }}', '{{ path }}'], env: {A: '{{ path }}'}}}
",
        expect![[r#"
            warning[shell-template]: the shell interprets the value of `path`
             --> t.yaml:5:53
            5 |   - {step: start, tool: {kind: shell, cmds: ['ls {{ path }}', '{{ path }}'], env: {A: '{{ path }}'}}}
              |                                                     ^^^^
              = help: write `{{ path | shell_quote }}` without quotes around it, or pass the value in `env`
        "#]],
    );
}

#[test]
fn secrets_are_found_by_key_and_by_form_and_never_quoted() {
    let yaml = "apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
workload:
  db_password: hunter22
  password: '{{ x }}'
  api_key: changeme-please
  secret: short
  url: postgres://app:s3cr3t@db/x
  note: AKIAIOSFODNN7ABCDEFG
keychain: [{name: reader, map: {password: warehouse.db_password}}]
workflow: [{step: start, tool: {kind: noop}}]
";
    let said = LintedDocument::new("t.yaml", yaml.as_bytes()).finish();
    let printed = format!("{said} {}", serde_json::to_string(&said).unwrap());
    assert!(!printed.contains("hunter22") && !printed.contains("s3cr3t"), "{printed}");
    let said: Vec<_> = said.diagnostics().iter().map(|it| (it.line, it.message.as_str())).collect();
    assert_eq!(
        said,
        [
            (5, "`db_password` holds a secret in plain text"),
            (9, "the document contains a password in a URL"),
            (10, "the document contains an access key of AWS"),
        ]
    );
}

#[test]
fn comments_suppress_rules() {
    check(
        "  - step: start
    tool: {kind: noop, args: {a: 1}} # noetl: ignore[old-spelling]
    next: [end]
  # noetl: ignore[unknown-name, unkown-name]
  - {step: end, tool: {kind: noop, result: '{{ steps.x }}', args: {a: 1}}}
# noetl: ignore-file[unreachable-step]
  - {step: lost, tool: {kind: noop}}
",
        expect![[r#"
            warning[unknown-rule]: there is no rule `unkown-name`
             --> t.yaml:8:33
            8 |   # noetl: ignore[unknown-name, unkown-name]
              |                                 ^^^^^^^^^^^
              = help: did you mean `unknown-name`?
            warning[old-spelling]: `args` is an old spelling
             --> t.yaml:9:61
            9 |   - {step: end, tool: {kind: noop, result: '{{ steps.x }}', args: {a: 1}}}
              |                                                             ^^^^
              = help: write `input`
        "#]],
    );
    check(
        "  - {step: start, tool: {kind: nop}} # noetl: ignore\n",
        expect![[r#"
        error[unknown-tool]: there is no tool `nop`
         --> t.yaml:5:32
        5 |   - {step: start, tool: {kind: nop}} # noetl: ignore
          |                                ^^^
          = help: did you mean `noop`?
    "#]],
    );
}

#[test]
fn comments_suppress_rules_wherever_a_document_is_parsed() {
    let yaml = document(
        "  - step: start
    tool: {kind: noop, result: '{{ steps.x }}'} # noetl: ignore[unknown-name]
  # noetl: ignore
  - {step: lost, tool: {kind: noop, args: {a: 1}}}
",
    );
    for analysis in [AnalysisLevel::Off, AnalysisLevel::Warn, AnalysisLevel::Full] {
        let options = ParseOptions { workers: TargetWorkers::Ours, analysis };
        let document = parse_document_with(options, "t.yaml", yaml.as_bytes());
        let warnings = document.unwrap().into_warnings();
        assert!(warnings.is_empty(), "{warnings}");
    }
    let code = "  - {step: start, tool: {kind: python, code: 'x ='}} # noetl: ignore[bad-code, nonsense]\n";
    let fault = CodeFault { line: 1, message: "no".to_owned() };
    let mut linted = LintedDocument::to_validate("t.yaml", document(code).as_bytes());
    linted.add_fault(0, &fault);
    assert!(linted.finish().is_empty());
    let bare = code.split(" #").next().unwrap();
    let mut linted = LintedDocument::to_validate("t.yaml", document(bare).as_bytes());
    linted.add_fault(0, &fault);
    assert_eq!(linted.finish().count(Severity::Error), 1);
}

#[test]
fn code_is_collected_with_the_places_of_its_lines() {
    let yaml = document(
        "  - step: start
    tool:
      - {name: a, kind: rhai, code: 'let x = {{ path }};'}
      - name: b
        kind: python
        code: |
          x = 1
          y = '{{ path | default('x') }}'
          z = (
      - {name: c, kind: python, code: '{% if path %}x{% endif %}'}
      - {name: d, kind: shell, shell: bash, command: 'a'}
      - {name: f, kind: shell, shell: fish, command: 'a'}
      - {name: g, kind: script, code: \"#!/usr/bin/env python3\\nx = 1\"}
      - {name: h, kind: script, interpreter: [bash, -e], script: {type: inline, content: b}}
      - {name: i, kind: script, code: c}
      - {name: e, kind: shell, command: [ls, '(']}
",
    );
    let mut linted = LintedDocument::new("t.yaml", yaml.as_bytes());
    let code: Vec<_> =
        linted.code().iter().map(|code| (code.language, code.readings().next().unwrap())).collect();
    assert_eq!(
        code,
        [
            (CodeLanguage::Rhai, "let x = 0         ;"),
            (CodeLanguage::Python, "x = 1\ny = '0                        '\nz = (\n"),
            (CodeLanguage::Bash, "a"),
            (CodeLanguage::Python, "#!/usr/bin/env python3\nx = 1"),
            (CodeLanguage::Bash, "b"),
        ]
    );
    linted.add_fault(1, &CodeFault { line: 3, message: "'(' was never closed".to_owned() });
    let problems = linted.finish();
    let found = problems.diagnostics().iter().find(|it| it.line == 13).unwrap();
    assert_eq!(found.message, "Python cannot read this: '(' was never closed");
    assert_eq!(&yaml[found.span.clone()], "z = (");
}

#[test]
fn a_template_in_code_may_stand_for_a_number_or_a_name() {
    let yaml = document(
        "  - step: start
    tool: {kind: python, code: \"{{ path }} = {{ {'a': {'b': 1}} | tojson }}{# }} #}\"}
",
    );
    let mut linted = LintedDocument::new("t.yaml", yaml.as_bytes());
    let readings: Vec<String> = linted.code()[0].readings().map(str::to_owned).collect();
    assert_eq!(
        readings,
        [
            "0          = 0                                     ",
            "v_________ = v_____________________________        "
        ]
    );
    let fault = CodeFault { line: 1, message: "cannot assign to literal".to_owned() };
    let number_fails = |text: &str| Some((*text == readings[0]).then_some(&fault));
    linted.add_faults(|code| code.fault(number_fails));
    assert!(linted.finish().is_empty());
    let mut linted = LintedDocument::new("t.yaml", yaml.as_bytes());
    linted.add_faults(|code| code.fault(|_| Some(Some(&fault))));
    assert_eq!(linted.finish().diagnostics().len(), 1);
}

#[test]
fn fixes_change_no_meaning() {
    let yaml = document(
        "  - step: start
    tool: {kind: python, 'args': {a: 1}, code: 'result = a'}
    loop: {in: [1], iterator: i, spec: {mode: async}}
",
    )
    .replace("noetl.io/v2", "noetl.io/v10");
    let warnings = parse_document("t.yaml", yaml.as_bytes()).unwrap().into_warnings();
    let (changed, count) = fixed(&yaml, &warnings).unwrap();
    assert_eq!(count, 3);
    expect![[r#"
        apiVersion: noetl.io/v2
        kind: Playbook
        metadata: {name: t}
        workflow:
          - step: start
            tool: {kind: python, 'input': {a: 1}, code: 'result = a'}
            loop: {in: [1], iterator: i, spec: {mode: parallel}}
    "#]]
    .assert_eq(&changed);
    let left = parse_document("t.yaml", changed.as_bytes()).unwrap().into_warnings();
    assert!(left.is_empty(), "{left}");
}

#[test]
fn parts_beyond_a_limit_are_told() {
    let unchecked = |workflow: &str| {
        let problems = LintedDocument::new("t.yaml", document(workflow).as_bytes()).finish();
        let told = problems.diagnostics().iter().map(|it| format!("{}: {}", it.code, it.message));
        told.collect::<Vec<_>>().join("\n")
    };
    let commands = "          - echo a\n".repeat(1_002);
    let shell = format!("  - step: start\n    tool:\n      kind: shell\n      cmds:\n{commands}");
    assert_eq!(
        unchecked(&shell),
        "unchecked: 2 parts of code are not checked: a document is checked up to 1000 of them"
    );
    let rows = "        SELECT 1;\n".repeat(7_000);
    let sql = format!("  - step: start\n    tool:\n      kind: sqlite\n      query: |\n{rows}");
    assert_eq!(unchecked(&sql), "unchecked: SQL of more than 65536 bytes is not checked");
    let items = "          - \"{{ path }}\"\n".repeat(20_001);
    let noop = format!("  - step: start\n    tool:\n      kind: noop\n      result:\n{items}");
    assert_eq!(
        unchecked(&noop),
        "unchecked: the templates from here on are not checked: a document is checked up to 20000 of them"
    );
}

/// The lines of a block are located in one pass over it.
#[test]
fn every_line_of_a_long_block_has_its_place() {
    let code: String = (0..30_000).map(|line| format!("        x{line} = {line}\n")).collect();
    let yaml =
        document(&format!("  - step: start\n    tool:\n      kind: python\n      code: |\n{code}"));
    let mut linted = LintedDocument::new("t.yaml", yaml.as_bytes());
    linted.add_fault(0, &CodeFault { line: 29_990, message: "no".to_owned() });
    let problems = linted.finish();
    assert_eq!(&yaml[problems.diagnostics()[0].span.clone()], "x29989 = 29989");
}

#[test]
fn code_for_another_interpreter_gets_a_warning() {
    let yaml =
        document("  - {step: start, tool: {kind: python, venv: /opt/venv, code: 'print 1'}}\n");
    let mut linted = LintedDocument::new("t.yaml", yaml.as_bytes());
    linted.add_fault(0, &CodeFault { line: 1, message: "invalid syntax".to_owned() });
    expect![[r#"
        warning[bad-code]: Python cannot read this: invalid syntax
         --> t.yaml:5:64
        5 |   - {step: start, tool: {kind: python, venv: /opt/venv, code: 'print 1'}}
          |                                                                ^^^^^^^
          = help: the step runs it with an interpreter of its own, which may know more
    "#]]
    .assert_eq(&linted.finish().to_string());
}
