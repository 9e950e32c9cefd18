//! Tests from documents to diagnostics or playbooks.

mod analysis;
mod attacks;
mod credentials;
mod cron;
mod difference;
mod findings;
mod format;
mod lint;
mod notifications;
mod schedules;
mod settings;
mod shapes;
mod subscriptions;

use std::fmt::Write;

use expect_test::Expect;
use serde_json::Value;

use crate::playbook::{
    AssignmentScope, BodyForm, Loop, LoopSource, Playbook, Rule, RuleAction, SetAssignment, Step,
    Task,
};

/// Returns a document with the given workflow.
pub(crate) fn document(workflow: &str) -> String {
    format!("apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: t}}\nworkflow:\n{workflow}")
}

/// Checks all diagnostics about a whole document.
#[track_caller]
fn check_document(yaml: &str, expected: Expect) {
    let said = match crate::parse("t.yaml", yaml.as_bytes()) {
        Ok(checked) => checked.warnings.to_string(),
        Err(problems) => problems.to_string(),
    };
    expected.assert_eq(
        &said.lines().map(|line| format!("{}\n", without_words(line))).collect::<String>(),
    );
}

/// Removes the template parser's wording from a line, which may change with its version.
fn without_words(line: &str) -> &str {
    let head = "error[bad-template]:";
    if line.starts_with(head) { head } else { line }
}

/// Checks all diagnostics about a workflow.
#[track_caller]
fn check(workflow: &str, expected: Expect) {
    check_document(&document(workflow), expected);
}

fn playbook(yaml: &str) -> Playbook {
    match crate::parse("t.yaml", yaml.as_bytes()) {
        Ok(checked) => checked.playbook,
        Err(problems) => panic!("{problems}"),
    }
}

/// Formats a step the same way for all spellings.
fn show_step(playbook: &Playbook, step: &Step) -> String {
    let mut out = String::new();
    for task in &step.tasks {
        let form = match step.form {
            BodyForm::Single => "single",
            BodyForm::Pipeline => "task",
        };
        writeln!(out, "{form} {}", show_task(task)).unwrap();
    }
    if let Some(repeat) = &step.repeat {
        writeln!(out, "loop {}", show_loop(repeat)).unwrap();
    }
    if let Some(input) = &step.input {
        writeln!(out, "input {}", input.source()).unwrap();
    }
    if let Some(when) = &step.when {
        writeln!(out, "when {}", when.source()).unwrap();
    }
    for rule in &step.admit {
        let when = rule.when.as_ref().map_or(Value::from("else"), |when| when.source().clone());
        writeln!(out, "admit {} {when}", rule.allow).unwrap();
    }
    if let Some(timeout) = step.timeout {
        writeln!(out, "timeout {timeout:?}").unwrap();
    }
    out.push_str(&show_set(&step.set));
    if !step.next.arcs.is_empty() {
        writeln!(out, "next {:?}", step.next.mode).unwrap();
    }
    for arc in &step.next.arcs {
        let when =
            arc.when.as_ref().map_or(String::new(), |when| format!(" when {}", when.source()));
        let failure = if arc.tests_failure { " (failure)" } else { "" };
        writeln!(out, "  {}{when}{failure}", playbook.step(arc.to).name).unwrap();
        out.extend(show_set(&arc.set).lines().map(|line| format!("    {line}\n")));
    }
    out
}

fn show_task(task: &Task) -> String {
    let mut out = format!("{}: {} {}", task.label, task.tool, task.config.source());
    if let Some(timeout) = task.timeout {
        write!(out, " timeout {timeout:?}").unwrap();
    }
    for line in show_set(&task.set)
        .lines()
        .chain(task.rules.iter().map(show_rule).collect::<String>().lines())
    {
        write!(out, "\n  {line}").unwrap();
    }
    out
}

fn show_rule(rule: &Rule) -> String {
    let when = rule.when.as_ref().map_or(Value::from("else"), |when| when.source().clone());
    let action = match &rule.action {
        RuleAction::Retry(retry) => format!(
            "Retry {} {:?} {} <= {:?}",
            amount(&retry.attempts),
            retry.backoff,
            amount(&retry.delay),
            retry.delay_max
        ),
        RuleAction::Continue | RuleAction::Jump(_) | RuleAction::Break | RuleAction::Fail => {
            format!("{:?}", rule.action)
        }
    };
    let set: String = show_set(&rule.set).lines().map(|line| format!("; {line}")).collect();
    format!("rule {when} -> {action}{set}\n")
}

fn show_set(set: &[SetAssignment]) -> String {
    set.iter()
        .map(|assignment| {
            let scope = match assignment.scope {
                AssignmentScope::Ctx => "ctx.",
                AssignmentScope::Iter => "iter.",
                AssignmentScope::Step => "step.",
                AssignmentScope::Bare => "",
            };
            format!("set {scope}{} = {}\n", assignment.key, assignment.value.source())
        })
        .collect()
}

fn show_loop(repeat: &Loop) -> String {
    let source = match &repeat.source {
        LoopSource::In(items) => items.source().to_string(),
        LoopSource::Cursor(task) => show_task(task),
    };
    let max = repeat.in_flight_max.as_ref().map_or(Value::Null, |max| max.source().clone());
    let rows = repeat.frame.max_rows.as_ref().map_or(Value::Null, |rows| rows.source().clone());
    let process = repeat.frame.process;
    format!("{} in {source} {:?} max {max} rows {rows} {process:?}", repeat.iterator, repeat.mode)
}

fn amount<T: std::fmt::Debug>(amount: &crate::Amount<T>) -> String {
    match amount {
        crate::Amount::Literal(value) => format!("{value:?}"),
        crate::Amount::Rendered(template) => template.source().to_string(),
    }
}
