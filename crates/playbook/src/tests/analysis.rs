//! The static analysis: names, comparisons, filters, loops and steps.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use expect_test::expect_file;

use crate::{
    AnalysisLevel, CodeFault, CodeLanguage, Diagnostic, DiagnosticCode, EmbeddedCode,
    LintedDocument, ParseOptions, Problems, Severity, TargetWorkers, fixed, has_same_meaning,
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

/// Returns the findings of `noetl lint`, with the syntax errors of shell commands. Shells differ in their
/// messages, so only the line is theirs.
fn linted(document: &str) -> Problems {
    let mut linted = LintedDocument::new("t.yaml", document.as_bytes());
    let of_shell = |code: &&EmbeddedCode| code.language == CodeLanguage::Shell;
    let lines: Vec<(usize, usize)> = linted
        .code()
        .iter()
        .enumerate()
        .filter(|(_, code)| of_shell(code))
        .filter_map(|(index, code)| Some((index, line_of_error(code.readings().next()?)?)))
        .collect();
    for (index, line) in lines {
        let message = "it is no command of a shell".to_owned();
        linted.add_fault(index, &CodeFault { line, message });
    }
    linted.finish()
}

/// Returns the line of the first syntax error of shell commands.
fn line_of_error(commands: &str) -> Option<usize> {
    let mut shell = Command::new("sh");
    let shell = shell.arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    child.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
    let printed = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&printed.stderr);
    let number = told.split(": ").find_map(|part| part.trim_start_matches("line ").parse().ok());
    (!printed.status.success()).then_some(number.unwrap_or(1))
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

/// Returns the text of a table of cases.
fn table(name: &str) -> String {
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/analysis");
    std::fs::read_to_string(tables.join(name)).unwrap()
}

#[test]
fn every_mistake_has_its_exact_diagnostic() {
    let file = table("mistakes.txt");
    let mut silent = Vec::new();
    let mut written = String::new();
    let mut count = 0;
    // A document that is too large, or cut off by a limit, is no case of a table.
    let mut missing: BTreeSet<&str> =
        DiagnosticCode::ALL.iter().map(|code| code.as_str()).collect();
    for code in ["too-deep", "too-large", "unchecked", "not-utf-8"] {
        assert!(missing.remove(code), "{code}");
    }
    for case in file.split(CASE).skip(1) {
        let (title, rest) = case.split_once('\n').unwrap();
        let yaml = rest.split_once(&format!("\n{EXPECTED}\n")).map_or(rest, |(yaml, _)| yaml);
        let document = whole(yaml);
        let problems = linted(&document);
        if problems.is_empty() {
            silent.push(title);
        }
        for diagnostic in problems.diagnostics() {
            missing.remove(diagnostic.code.as_str());
        }
        let said: String =
            problems.diagnostics().iter().map(|diagnostic| line(&document, diagnostic)).collect();
        write!(written, "{CASE}{title}\n{}\n{EXPECTED}\n{said}\n", yaml.trim_end()).unwrap();
        count += 1;
    }
    assert!(count >= 120, "{count} mistakes");
    expect_file!["analysis/mistakes.txt"].assert_eq(&written);
    assert!(silent.is_empty(), "no diagnostic for {silent:#?}");
    assert!(missing.is_empty(), "codes without a case: {missing:?}");
}

#[test]
fn correct_playbooks_have_no_findings() {
    let mut said = String::new();
    for case in table("correct.txt").split(CASE).skip(1) {
        let (title, yaml) = case.split_once('\n').unwrap();
        let document = whole(yaml);
        for diagnostic in linted(&document).diagnostics() {
            writeln!(said, "{title}\n{}", line(&document, diagnostic)).unwrap();
        }
    }
    assert_eq!(said, "");
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

/// Returns the documents of the examples, of the demonstration and of others, by their names.
fn documents_that_run() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for directory in ["examples", "../shared/fixtures", "crates/cli/demo"] {
        playbooks(&root.join(directory), &mut files);
    }
    let names = files.iter().filter(|file| !file.to_string_lossy().ends_with(".test.yaml"));
    let documents = names.filter_map(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        parse_document("x", text.as_bytes()).is_ok().then_some((name, text))
    });
    let documents: Vec<_> = documents.collect();
    assert!(documents.len() >= 30, "{} documents", documents.len());
    documents
}

/// The warnings of `noetl lint` about documents that run, each with the reason why it is right.
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
    (
        "user_management.yaml",
        "step `insert_user_roles` cannot be reached from `start`",
        "no arc leads to the step",
    ),
    (
        "test_implicit_end_routing.yaml",
        "step `end` cannot be reached from `start`",
        "the test is about an `end` that no arc leads to",
    ),
    (
        "test_fetch_load.yaml",
        "step `generate_patients` cannot be reached from `start`",
        "no arc leads to the step",
    ),
    (
        "test_loop_with_pagination.yaml",
        "step `cleanup` cannot be reached from `start`",
        "no arc leads to the step",
    ),
    (
        "user_profile_scorer.yaml",
        "python has no setting `assert`",
        "no version of the language has `assert` in a tool",
    ),
    (
        "server_oom_stress_chunk_worker_v2.yaml",
        "`pool` has no setting `max_waiting`",
        "the setting has no effect here",
    ),
    (
        "state_report_synthetic_load_worker.yaml",
        "`pool` has no setting `max_waiting`",
        "the setting has no effect here",
    ),
    (
        "test_nats_kv.yaml",
        "`session_token` holds a secret in plain text",
        "the token of the test is written in its document",
    ),
];

#[test]
fn documents_that_run_have_no_errors_and_only_justified_warnings() {
    let mut found = String::new();
    for (name, text) in documents_that_run() {
        let problems = LintedDocument::new(&name, text.as_bytes()).finish();
        for problem in problems.diagnostics() {
            let is_known = JUSTIFIED
                .iter()
                .any(|(file, message, _)| name == *file && problem.message == *message);
            if problem.severity == Severity::Error || !is_known {
                let Diagnostic { line, code, message, .. } = problem;
                writeln!(found, "{name}:{line}: {code}: {message}").unwrap();
            }
        }
    }
    assert_eq!(found, "");
}

/// Writes the parts of a document in older spellings, as far as it stays the same document.
fn aged(text: &str) -> String {
    let spellings = [
        ("noetl.io/v2", "noetl.io/v10"),
        ("      input:", "      args:"),
        ("        input:", "        args:"),
        ("mode: parallel", "mode: async"),
    ];
    let mut aged = text.to_owned();
    for (new, old) in spellings {
        let older = aged.replace(new, old);
        if has_same_meaning(text, &older) {
            aged = older;
        }
    }
    aged
}

#[test]
fn fixes_of_every_document_are_complete_and_change_no_meaning() {
    let mut fixes = 0;
    for (name, text) in documents_that_run() {
        for text in [aged(&text), text] {
            let problems = LintedDocument::new(&name, text.as_bytes()).finish();
            let fixable = problems.diagnostics().iter().filter(|it| it.fix.is_some()).count();
            let Some((changed, count)) = fixed(&text, &problems) else {
                assert_eq!(fixable, 0, "{name}: nothing is fixed");
                continue;
            };
            assert!(has_same_meaning(&text, &changed), "{name}");
            let left = LintedDocument::new(&name, changed.as_bytes()).finish();
            assert_eq!(fixed(&changed, &left), None, "{name} is fixed twice");
            let unfixed = problems.diagnostics().iter().filter(|it| it.fix.is_none()).count();
            assert_eq!(left.diagnostics().len(), unfixed, "{name}: {left}");
            fixes += count;
        }
    }
    assert!(fixes >= 30, "{fixes} fixes");
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
