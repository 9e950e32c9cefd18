//! The static analysis: names, comparisons, filters, loops and steps.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use expect_test::expect_file;

use crate::{
    AnalysisLevel, Diagnostic, LintedDocument, ParseOptions, Problems, Severity, TargetWorkers,
    parse_document, parse_document_with,
};

/// The line before the document of a case, with the mistake in words.
const CASE: &str = "=== ";
/// The line between the document of a case and its diagnostics.
const EXPECTED: &str = "---";

fn analysed(level: AnalysisLevel, file: &str, yaml: &str) -> Result<Problems, Problems> {
    let options = ParseOptions { workers: TargetWorkers::Any, analysis: level };
    let document = parse_document_with(options, file, yaml.as_bytes());
    document.map(|document| document.into_warnings())
}

/// Returns the whole document of a case, which may leave out its head.
fn whole(case: &str) -> String {
    if case.contains("apiVersion:") {
        return case.to_owned();
    }
    let head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\n";
    let body = if case.contains("workflow:") { "" } else { "workflow:\n" };
    format!("{head}{body}{case}")
}

/// Writes a diagnostic on one line, with the text it points at.
fn line(document: &str, diagnostic: &Diagnostic) -> String {
    let Diagnostic { severity, code, message, help, line, column, span, .. } = diagnostic;
    let severity = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let shown: String = document[span.clone()].lines().next().unwrap_or_default().into();
    let mut text = format!("{severity}[{code}] {line}:{column} `{shown}`: {message}\n");
    if let Some(help) = help {
        writeln!(text, "    help: {help}").unwrap();
    }
    text
}

#[test]
fn every_mistake_has_its_exact_diagnostic() {
    let file = include_str!("analysis/mistakes.txt");
    let mut written = String::new();
    let mut count = 0;
    for case in file.split(CASE).skip(1) {
        let (title, rest) = case.split_once('\n').unwrap();
        let yaml = rest.split_once(&format!("\n{EXPECTED}\n")).map_or(rest, |(yaml, _)| yaml);
        let document = whole(yaml);
        let problems = match analysed(AnalysisLevel::Full, "t.yaml", &document) {
            Ok(problems) | Err(problems) => problems,
        };
        assert!(!problems.is_empty(), "{title}: no diagnostic");
        let said: String =
            problems.diagnostics().iter().map(|diagnostic| line(&document, diagnostic)).collect();
        write!(written, "{CASE}{title}\n{}\n{EXPECTED}\n{said}\n", yaml.trim_end()).unwrap();
        count += 1;
    }
    assert!(count >= 120, "{count} mistakes");
    expect_file!["analysis/mistakes.txt"].assert_eq(&written);
}

pub(super) fn playbooks(below: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(below) else { return };
    for entry in entries.map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            playbooks(&entry, found);
        } else if entry.extension().is_some_and(|it| it == "yaml" || it == "yml") {
            found.push(entry);
        }
    }
}

/// The warnings of the analysis about playbooks that run, each with the reason why it is right.
const JUSTIFIED: &[(&str, &str, &str)] = &[
    (
        "server_oom_stress_test_v2.yaml",
        "`job` never has `execution_id`",
        "the child gets null as `parent_execution_id`",
    ),
    (
        "state_report_synthetic_load.yaml",
        "`job` never has `execution_id`",
        "the child gets null as `parent_execution_id`",
    ),
];

#[test]
fn playbooks_that_run_have_no_errors_and_only_justified_warnings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for directory in ["examples", "../shared/fixtures", "crates/cli/demo"] {
        playbooks(&root.join(directory), &mut files);
    }
    assert!(files.len() >= 30, "{} playbooks", files.len());
    let mut found = String::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let Ok(plain) = parse_document("x", text.as_bytes()) else { continue };
        let plain = plain.into_warnings();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let problems = match analysed(AnalysisLevel::Full, &name, &text) {
            Ok(problems) => problems,
            Err(problems) => panic!("{problems}"),
        };
        let new = problems.diagnostics().iter().filter(|it| !plain.diagnostics().contains(it));
        for problem in new {
            let is_known = JUSTIFIED
                .iter()
                .any(|(file, message, _)| name == *file && problem.message == *message);
            if !is_known {
                writeln!(found, "{name}:{}: {}", problem.line, problem.message).unwrap();
            }
        }
    }
    assert_eq!(found, "");
}

#[test]
fn the_rules_of_lint_find_only_a_secret_in_playbooks_that_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for directory in ["examples", "../shared/fixtures", "crates/cli/demo"] {
        playbooks(&root.join(directory), &mut files);
    }
    let mut found = String::new();
    for file in files.iter().filter(|file| !file.to_string_lossy().ends_with(".test.yaml")) {
        let text = std::fs::read_to_string(file).unwrap();
        let options = ParseOptions { workers: TargetWorkers::Ours, analysis: AnalysisLevel::Full };
        let Ok(plain) = parse_document_with(options, "x", text.as_bytes()) else { continue };
        let plain = plain.into_warnings();
        let problems = LintedDocument::new("x", text.as_bytes()).finish();
        for it in problems.diagnostics().iter().filter(|it| !plain.diagnostics().contains(it)) {
            let name = file.file_name().unwrap().to_string_lossy();
            writeln!(found, "{name}:{}: {}", it.line, it.message).unwrap();
        }
    }
    let is_there = root.join("../shared/fixtures").exists();
    // The token of that test is written in its document.
    let expected = "test_nats_kv.yaml:15: `session_token` holds a secret in plain text\n";
    assert_eq!(found, if is_there { expected } else { "" });
}

#[test]
fn a_registration_accepts_every_finding_of_the_analysis() {
    let yaml = whole("  - {step: a, tool: {kind: noop, result: '{{ steps.b.x | lower(1) }}'}}\n");
    let full = analysed(AnalysisLevel::Full, "t.yaml", &yaml).unwrap_err();
    assert_eq!(full.count(Severity::Error), 2);
    let mild = analysed(AnalysisLevel::Warn, "t.yaml", &yaml).unwrap();
    assert_eq!(mild.count(Severity::Warning), 2);
    assert!(analysed(AnalysisLevel::Off, "t.yaml", &yaml).unwrap().is_empty());
}
