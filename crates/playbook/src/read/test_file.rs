//! Reads a test file. Unknown keys, steps and tasks are errors, so that no expectation is lost.

mod expect;
mod mock;

use std::collections::BTreeMap;
use std::time::Duration;

use noetl_model::{ErrorMode, StepName, Timestamp, ToolKind, Verdict};
use serde_json::{Map, Value};

use super::DocumentReader;
use super::foreign::ForeignTools;
use super::secrets::SecretFields;
use super::workbook::Workbook;
use crate::analysis::{AnalysisLevel, TemplateUses};
use crate::diagnostic::{DiagnosticCode, Finding, Findings};
use crate::parse::TargetWorkers;
use crate::playbook::{Playbook, Step};
use crate::suggest::nearest;
use crate::test_file::{
    PlaybookTest, StepMocks, TESTS_MAX, TestDecision, TestExpectations, TestFile, TestSignal,
};
use crate::words::KeyTable;
use crate::words::test_file::{DECISION, ROOT, SIGNAL, TEST};
use crate::words::tools::WAIT_MAX;
use crate::yaml::{YamlEntry, YamlKey, YamlNode, to_object};

const ERROR_MODES: &[(&str, ErrorMode)] =
    &[("strict", ErrorMode::Strict), ("lenient", ErrorMode::Lenient)];
const VERDICTS: &[(&str, Verdict)] =
    &[("approved", Verdict::Approved), ("rejected", Verdict::Rejected)];

/// Returns the tests of a file; `None` if there is an error among the findings. `children` are the
/// playbooks that steps may call, by path.
pub(crate) fn read_test_file<'p>(
    root: &YamlNode,
    playbook: &'p Playbook,
    children: &dyn Fn(&str) -> Option<&'p Playbook>,
    findings: &mut Findings,
) -> Option<TestFile> {
    let reader = DocumentReader {
        findings,
        steps: BTreeMap::new(),
        workbook: Workbook::default(),
        foreign: ForeignTools::of(TargetWorkers::Any),
        secrets: SecretFields::default(),
        secret_inputs: Vec::new(),
        bare_rule_sets: Vec::new(),
        missing: noetl_expr::MissingValues::Empty,
        uses: TemplateUses::new(AnalysisLevel::Off),
    };
    let file = TestReader { reader, playbook, children }.file(root);
    file.filter(|_| !findings.has_errors())
}

/// The reader of a test file, with the playbooks whose names the file may use.
struct TestReader<'a, 'p> {
    reader: DocumentReader<'a>,
    playbook: &'p Playbook,
    children: &'a dyn Fn(&str) -> Option<&'p Playbook>,
}

/// The values of a file that all its tests have.
struct SharedValues {
    workload: Map<String, Value>,
    mocks: StepMocks,
    allow_unmocked: bool,
}

impl TestReader<'_, '_> {
    fn file(&mut self, root: &YamlNode) -> Option<TestFile> {
        self.strict_map(root, ROOT)?;
        let shared = SharedValues {
            workload: self.free_map(root, "workload"),
            mocks: self.mocks_under(root, self.playbook),
            allow_unmocked: self.truth_or(root, "allow_unmocked", false),
        };
        let list = self.reader.needed(root, "a test file", "tests")?;
        let Some(tests) = list.list() else {
            self.reader.wrong_type(list, "`tests`", "a list of tests");
            return None;
        };
        if tests.len() > TESTS_MAX {
            let message = format!("a file has at most {TESTS_MAX} tests, this has {}", tests.len());
            self.error(DiagnosticCode::TooLarge, list, message);
            return None;
        }
        if tests.is_empty() {
            self.error(DiagnosticCode::MissingKey, list, "`tests` has no test");
        }
        let mut read: Vec<PlaybookTest> = Vec::new();
        for node in tests {
            let Some(test) = self.test(node, &shared) else { continue };
            if read.iter().any(|before| before.name == test.name) {
                let message = format!("two tests have the name `{}`", test.name);
                self.error(DiagnosticCode::DuplicateKey, node, message);
            }
            read.push(test);
        }
        Some(TestFile { tests: read })
    }

    fn test(&mut self, node: &YamlNode, shared: &SharedValues) -> Option<PlaybookTest> {
        self.strict_map(node, TEST)?;
        let name = self.reader.needed_name(node, "a test", "name");
        let mut workload = shared.workload.clone();
        workload.extend(self.free_map(node, "workload"));
        let mut mocks = shared.mocks.clone();
        mocks.extend(self.mocks_under(node, self.playbook));
        let now = match given(node, "now") {
            Some(node) => self.time(node),
            None => None,
        };
        let expect = match given(node, "expect") {
            Some(node) => self.expectations(node),
            None => TestExpectations::default(),
        };
        Some(PlaybookTest {
            name: name?,
            line: self.reader.findings.source.line(node.span.start),
            workload,
            now,
            mocks,
            children: self.children_under(node),
            error_mode: given(node, "error_mode")
                .and_then(|mode| self.reader.word(mode, "`error_mode`", ERROR_MODES)),
            allow_unmocked: self.truth_or(node, "allow_unmocked", shared.allow_unmocked),
            signals: self.list_under(node, "signals", Self::signal),
            decisions: self.list_under(node, "decisions", Self::decision),
            expect,
        })
    }

    fn time(&mut self, node: &YamlNode) -> Option<Timestamp> {
        let text = self.reader.text(node, "`now`")?;
        let time = text.parse().ok();
        if time.is_none() {
            let message = format!("`now` is a time such as 2026-01-31T09:30:00Z, not `{text}`");
            self.error(DiagnosticCode::BadValue, node, message);
        }
        time
    }

    fn signal(&mut self, node: &YamlNode) -> Option<TestSignal> {
        self.strict_map(node, SIGNAL)?;
        let name = self.reader.needed_name(node, "a signal", "name")?;
        let name = self.parsed(node, "name", &name)?;
        let key = match given(node, "key") {
            Some(key) => {
                let text = self.reader.text(key, "`key`")?;
                Some(self.parsed(node, "key", &text)?)
            }
            None => None,
        };
        let at = self.duration_under(node, "at");
        let body = node.get("body").map_or(Value::Null, |body| body.to_json());
        Some(TestSignal { name, key, at, body, sender: self.text_under(node, "sender") })
    }

    fn decision(&mut self, node: &YamlNode) -> Option<TestDecision> {
        self.strict_map(node, DECISION)?;
        let step = self.reader.needed(node, "a decision", "step")?;
        let verdict = self.reader.needed(node, "a decision", "verdict")?;
        let verdict = self.reader.word(verdict, "`verdict`", VERDICTS);
        let name = self.step_name(step, self.playbook)?;
        let asks = |step: &Step| step.tasks.iter().any(|task| task.tool == ToolKind::Approval);
        if self.playbook.index_of(name.as_str()).is_some_and(|at| !asks(self.playbook.step(at))) {
            let message = format!("step `{name}` is no approval, so nobody decides about it");
            self.error(DiagnosticCode::BadValue, step, message);
        }
        Some(TestDecision {
            step: name,
            verdict: verdict?,
            after: self.duration_under(node, "after"),
            actor: self.text_under(node, "actor"),
            comment: self.text_under(node, "comment"),
            values: self.free_map(node, "values"),
        })
    }

    /// Reads a step's name and checks that the playbook has it.
    fn step_name(&mut self, node: &YamlNode, playbook: &Playbook) -> Option<StepName> {
        let name = self.reader.name(node, "a step's name")?;
        self.known_step(&name, &node.span, playbook)
    }

    fn known_step(
        &mut self,
        name: &str,
        span: &std::ops::Range<usize>,
        playbook: &Playbook,
    ) -> Option<StepName> {
        if playbook.index_of(name).is_some() {
            return Some(StepName::new(name));
        }
        let names = playbook.steps.iter().map(|step| step.name.as_str());
        let near = nearest(name, names).map(|near| format!("did you mean `{near}`?"));
        let message = format!("playbook `{}` has no step `{name}`", playbook.metadata.path);
        let finding = Finding::error(DiagnosticCode::UnknownStep, span, message);
        self.reader.add(finding.help_if(near));
        None
    }

    /// Returns the entries of a map; an unknown key is an error.
    fn strict_map<'n>(&mut self, node: &'n YamlNode, table: &KeyTable) -> Option<&'n [YamlEntry]> {
        let entries = self.reader.any_map(node, table.title)?;
        for entry in entries.iter().filter(|entry| table.word(&entry.key.text).is_none()) {
            self.unknown_key(&entry.key, table);
        }
        Some(entries)
    }

    fn unknown_key(&mut self, key: &YamlKey, table: &KeyTable) {
        let names: Vec<&str> = table.words.iter().map(|word| word.name).collect();
        let help = match nearest(&key.text, names.iter().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("known keys are {}", names.join(", ")),
        };
        let message = format!("{} has no key `{}`", table.title, key.text);
        let finding = Finding::error(DiagnosticCode::UnknownKey, &key.span, message);
        self.reader.add(finding.help(help));
    }

    fn error(&mut self, code: DiagnosticCode, node: &YamlNode, message: impl Into<String>) {
        self.reader.add(Finding::error(code, &node.span, message));
    }

    /// Converts a text, whose type says what is wrong with it.
    fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
        &mut self,
        node: &YamlNode,
        key: &str,
        text: &str,
    ) -> Option<T> {
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                let at = node.get(key).map_or(node, |node| node);
                self.error(DiagnosticCode::BadValue, at, format!("`{key}`: {error}"));
                None
            }
        }
    }

    fn free_map(&mut self, node: &YamlNode, key: &str) -> Map<String, Value> {
        let Some(value) = given(node, key) else { return Map::new() };
        self.reader.any_map(value, &format!("`{key}`")).map(to_object).unwrap_or_default()
    }

    fn truth_or(&mut self, node: &YamlNode, key: &str, otherwise: bool) -> bool {
        let Some(value) = given(node, key) else { return otherwise };
        self.reader.truth(value, &format!("`{key}`")).unwrap_or(otherwise)
    }

    fn text_under(&mut self, node: &YamlNode, key: &str) -> Option<String> {
        given(node, key).and_then(|value| self.reader.text(value, &format!("`{key}`")))
    }

    /// Reads a duration; zero if there is none.
    fn duration_under(&mut self, node: &YamlNode, key: &str) -> Duration {
        let Some(value) = given(node, key) else { return Duration::ZERO };
        let duration = self.reader.duration(value, &format!("`{key}`"), 1.0, WAIT_MAX);
        duration.unwrap_or_default()
    }

    /// Reads a whole number of at least `min`.
    fn number_under(&mut self, node: &YamlNode, key: &str, min: u32) -> Option<u32> {
        let value = given(node, key)?;
        self.reader.whole(value, &format!("`{key}`"), min..=u32::MAX)
    }

    /// Reads every entry of a list; an entry that cannot be read is left out.
    fn list_under<T>(
        &mut self,
        node: &YamlNode,
        key: &str,
        read: impl Fn(&mut Self, &YamlNode) -> Option<T>,
    ) -> Vec<T> {
        let Some(value) = given(node, key) else { return Vec::new() };
        let Some(items) = value.list() else {
            self.reader.wrong_type(value, &format!("`{key}`"), "a list");
            return Vec::new();
        };
        items.iter().filter_map(|item| read(self, item)).collect()
    }
}

/// Returns the value of a key, unless it is null.
fn given<'n>(node: &'n YamlNode, key: &str) -> Option<&'n YamlNode> {
    node.get(key).map(|value| &**value).filter(|value| !value.is_null())
}
