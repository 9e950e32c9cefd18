//! Checks of a document beyond its validity: embedded code, plain-text secrets, unquoted values in
//! shell commands; suppression of findings by comments, and fixes that do not change the meaning.
//!
//! SQL is parsed here. Other code of tools is only collected; a caller that can start an interpreter
//! checks it and adds what it finds ([`LintedDocument::add_fault`]).

mod code;
mod explain;
mod fix;
mod levels;
mod secrets;
mod shell;
mod sql;

use std::collections::BTreeSet;
use std::rc::Rc;

use code::CollectedCode;
pub use code::{CodeFault, CodeLanguage, EmbeddedCode};
pub use explain::{RULES, RuleDoc};
pub use fix::{fixed, has_same_meaning};
pub use levels::{LintLevelError, LintLevels};
pub use secrets::secret_spans;

use crate::analysis::{AnalysisLevel, plain_inputs};
use crate::diagnostic::{Finding, Findings, Problems, Severity};
use crate::parse::{CheckedDocument, ParseOptions, TargetWorkers, parse_document_with};
use crate::source::SourceText;
use crate::suppress::Suppressions;
use crate::yaml::{Yaml, YamlNode, load};

/// A document with the findings of all rules and the code that is still to be checked.
#[derive(Debug)]
pub struct LintedDocument {
    problems: Problems,
    /// True if the document can be run; only then its findings can be suppressed.
    is_valid: bool,
    rules: LintRules,
    code: Vec<EmbeddedCode>,
    faults: Vec<Finding>,
}

impl LintedDocument {
    /// Checks a document by all rules; `name` is used in messages.
    pub fn new(name: &str, source: &[u8]) -> Self {
        Self::checked(name, source, LintRules::All)
    }

    /// Checks whether a document can be run: code is only collected, and no other rule is applied.
    pub fn to_validate(name: &str, source: &[u8]) -> Self {
        Self::checked(name, source, LintRules::Code)
    }

    fn checked(name: &str, source: &[u8], rules: LintRules) -> Self {
        let options = ParseOptions { workers: TargetWorkers::Ours, analysis: AnalysisLevel::Full };
        let (plain_inputs, problems) = match parse_document_with(options, name, source) {
            Ok(document) => (plain_inputs_of(&document), document.into_warnings()),
            Err(problems) => {
                let plain = ParseOptions::without_analysis(TargetWorkers::Ours);
                match parse_document_with(plain, name, source) {
                    Ok(document) => (plain_inputs_of(&document), problems),
                    Err(_) => return Self::invalid(rules, problems),
                }
            }
        };
        let text = String::from_utf8_lossy(source).into_owned();
        let mut findings = Findings::new(SourceText::new(name, text));
        let root = load(&mut findings);
        let mut code = CollectedCode::default();
        let tools = ["workflow", "workbook"];
        for part in root.iter().flat_map(|root| tools.into_iter().filter_map(|key| root.get(key))) {
            walk(part, &mut |node| code::collect(node, &findings.source, &mut code));
        }
        let mut faults = match (rules, &root) {
            (LintRules::All, Some(root)) => rule_faults(root, &plain_inputs, &findings.source),
            (LintRules::All, None) | (LintRules::Code, _) => Vec::new(),
        };
        faults.extend(code.omission());
        Self { problems, is_valid: true, rules, code: code.parts, faults }
    }

    fn invalid(rules: LintRules, problems: Problems) -> Self {
        Self { problems, is_valid: false, rules, code: Vec::new(), faults: Vec::new() }
    }

    /// The code of the document's tools.
    pub fn code(&self) -> &[EmbeddedCode] {
        &self.code
    }

    /// Adds a syntax error in one of the parts of [`Self::code`].
    pub fn add_fault(&mut self, index: usize, fault: &CodeFault) {
        if let Some(code) = self.code.get(index) {
            self.faults.push(code.finding(fault));
        }
    }

    /// Adds the syntax errors that a function returns for the parts of [`Self::code`].
    pub fn add_faults(&mut self, fault: impl Fn(&EmbeddedCode) -> Option<CodeFault>) {
        let found = self.code.iter().filter_map(|code| Some(code.finding(&fault(code)?)));
        self.faults.extend(found);
    }

    /// Returns all findings that no comment suppresses.
    pub fn finish(self) -> Problems {
        self.finish_at(&LintLevels::default())
    }

    /// Returns all findings that no comment suppresses, with the severities that a project chose. The
    /// errors of a document that cannot be run stay.
    pub fn finish_at(self, levels: &LintLevels) -> Problems {
        let suppressions = Suppressions::of(&self.problems.source().text);
        let unknown = match self.rules {
            LintRules::All => suppressions.unknown_rules(),
            LintRules::Code => Vec::new(),
        };
        let mut problems = self.problems.extended(self.faults.into_iter().chain(unknown));
        let is_valid = self.is_valid;
        problems.retain(|it| {
            (!is_valid && it.severity == Severity::Error)
                || (!suppressions.covers(it.code, it.line) && levels.apply(it))
        });
        problems
    }
}

/// The rules that are applied to a document that can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LintRules {
    All,
    /// Only the syntax of code.
    Code,
}

/// Returns the paths of the inputs of a document whose values a shell does not interpret.
fn plain_inputs_of(document: &CheckedDocument) -> BTreeSet<String> {
    match document {
        CheckedDocument::Playbook(checked) => plain_inputs(&checked.playbook),
        CheckedDocument::Subscription(_)
        | CheckedDocument::Schedule(_)
        | CheckedDocument::Notification(_) => BTreeSet::new(),
    }
}

/// Returns the findings of the rules that need neither an interpreter nor an execution.
fn rule_faults(
    root: &YamlNode,
    plain_inputs: &BTreeSet<String>,
    source: &SourceText,
) -> Vec<Finding> {
    let mut faults = Vec::new();
    let mut sql_budget = sql::SqlBudget::default();
    for part in ["workflow", "workbook"].into_iter().filter_map(|key| root.get(key)) {
        walk(part, &mut |node| {
            shell::check(node, plain_inputs, source, &mut faults);
            sql::check(node, source, &mut sql_budget, &mut faults);
        });
    }
    secrets::check(root, source, &mut faults);
    faults
}

/// Calls a function for a node and all nodes below it.
fn walk(node: &Rc<YamlNode>, visit: &mut dyn FnMut(&YamlNode)) {
    visit(node);
    match &node.yaml {
        Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text { .. } => {}
        Yaml::List(items) => items.iter().for_each(|item| walk(item, visit)),
        Yaml::Map(entries) => entries.iter().for_each(|entry| walk(&entry.value, visit)),
    }
}
