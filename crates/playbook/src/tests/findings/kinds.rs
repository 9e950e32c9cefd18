//! Diagnostics about tool kinds that are not built in or do not exist.

use expect_test::expect;

use super::super::{check, check_document, document};
use crate::{DiagnosticCode, Severity, TargetWorkers, parse_for};

#[test]
fn a_tool_that_is_not_built_in_needs_a_worker_that_has_it() {
    check(
        "  - {step: start, tool: {kind: snowflake, command: SELECT 1}}\n",
        expect![[r#"
            warning[foreign-tool]: `snowflake` is a tool of the language that is not built in
             --> t.yaml:5:32
            5 |   - {step: start, tool: {kind: snowflake, command: SELECT 1}}
              |                                ^^^^^^^^^
              = help: if workers of your own bring it, write `executor: {requires: [snowflake]}`; built in are approval, artifact, duckdb, http, nats, noop, playbook, postgres, python, result_fetch, rhai, script, secrets, shell, sqlite, subscription, transfer, wait
        "#]],
    );
}

/// Checks the severities of findings about tools that are not built in, for this program's workers.
#[track_caller]
fn check_foreign(head: &str, workflow: &str, expected: &[Severity]) {
    let yaml = format!("{head}{}", document(workflow));
    let problems = match parse_for(TargetWorkers::Ours, "t.yaml", yaml.as_bytes()) {
        Ok(checked) => checked.warnings,
        Err(problems) => problems,
    };
    let foreign = problems.diagnostics().iter().filter(|it| it.code == DiagnosticCode::ForeignTool);
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
              = help: it can be agent, approval, artifact, container, duckdb, ducklake, gateway, gcs, http, mcp, nats, noop, playbook, postgres, python, result_fetch, rhai, script, secrets, shell, snowflake, sqlite, subscription, transfer, wait, wasm, workbook
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
