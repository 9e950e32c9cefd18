//! Checks of a document beyond its validity: embedded code, plain-text secrets, unquoted values in
//! shell commands; suppression of findings by comments, and fixes that do not change the meaning.
//!
//! SQL is parsed here. Other code of tools is only collected; a caller that can start an interpreter
//! checks it and adds what it finds ([`LintedDocument::add_fault`]).

mod code;
mod explain;
mod fix;
mod secrets;
mod shell;
mod sql;
mod suppress;

use std::rc::Rc;

use code::CollectedCode;
pub use code::{CodeFault, CodeLanguage, EmbeddedCode};
pub use explain::{RULES, RuleDoc};
pub use fix::{fixed, has_same_meaning};
pub use secrets::secret_spans;
use suppress::Suppressions;

use crate::analysis::AnalysisLevel;
use crate::diagnostic::{Finding, Findings, Problems, Severity};
use crate::parse::{ParseOptions, TargetWorkers, parse_document_with};
use crate::source::SourceText;
use crate::yaml::{Yaml, YamlNode, load};

/// A document with the findings of all rules and the code that is still to be checked.
#[derive(Debug)]
pub struct LintedDocument {
    problems: Problems,
    /// True if the document can be run; only then its findings can be suppressed.
    is_valid: bool,
    code: Vec<EmbeddedCode>,
    faults: Vec<Finding>,
}

impl LintedDocument {
    /// Checks a document; `name` is used in messages.
    pub fn new(name: &str, source: &[u8]) -> Self {
        let options = ParseOptions { workers: TargetWorkers::Ours, analysis: AnalysisLevel::Full };
        let parsed = parse_document_with(options, name, source);
        let (problems, has_errors) = match parsed {
            Ok(document) => (document.into_warnings(), false),
            Err(problems) => (problems, true),
        };
        let is_valid = !has_errors || {
            let plain = ParseOptions::without_analysis(TargetWorkers::Ours);
            parse_document_with(plain, name, source).is_ok()
        };
        if !is_valid {
            return Self { problems, is_valid, code: Vec::new(), faults: Vec::new() };
        }
        let text = String::from_utf8_lossy(source).into_owned();
        let mut findings = Findings::new(SourceText::new(name, text));
        let root = load(&mut findings);
        let (mut code, mut faults) = (CollectedCode::default(), Vec::new());
        let mut sql_budget = sql::SqlBudget::default();
        if let Some(root) = root {
            for part in ["workflow", "workbook"].into_iter().filter_map(|key| root.get(key)) {
                walk(part, &mut |node| {
                    code::collect(node, &findings.source, &mut code);
                    shell::check(node, &findings.source, &mut faults);
                    sql::check(node, &findings.source, &mut sql_budget, &mut faults);
                });
            }
            secrets::check(&root, &findings.source, &mut faults);
        }
        faults.extend(code.omission());
        Self { problems, is_valid, code: code.parts, faults }
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

    /// Returns all findings that no comment suppresses.
    pub fn finish(self) -> Problems {
        let suppressions = Suppressions::of(&self.problems.source().text);
        let unknown = suppressions.unknown_rules();
        let mut problems = self.problems.extended(self.faults.into_iter().chain(unknown));
        let is_valid = self.is_valid;
        problems.retain(|it| {
            (!is_valid && it.severity == Severity::Error) || !suppressions.covers(it.code, it.line)
        });
        problems
    }
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
