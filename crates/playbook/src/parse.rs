//! The entry points of the parser: bytes to a document, or to all of its problems.

use serde_json::Value;

use crate::analysis::{AnalysisLevel, TemplateUses};
use crate::diagnostic::{DiagnosticCode, Finding, Findings, Problems, Quotes};
use crate::notification::NotificationDocument;
use crate::playbook::Playbook;
use crate::read::{
    KINDS, read, read_notification, read_schedule, read_subscription, read_templates,
    read_test_file,
};
use crate::schedule::Schedule;
use crate::source::SourceText;
use crate::subscription::Subscription;
use crate::suggest::nearest;
use crate::test_file::TestFile;
use crate::yaml::{PLAYBOOK_BYTES_MAX, YamlNode, load};

/// A valid playbook.
#[derive(Debug, Clone)]
pub struct CheckedPlaybook {
    pub playbook: Playbook,
    /// The warnings about the playbook.
    pub warnings: Problems,
}

/// A valid subscription.
#[derive(Debug, Clone)]
pub struct CheckedSubscription {
    pub subscription: Subscription,
    /// The warnings about the subscription.
    pub warnings: Problems,
}

/// A valid schedule.
#[derive(Debug, Clone)]
pub struct CheckedSchedule {
    pub schedule: Schedule,
    /// The warnings about the schedule.
    pub warnings: Problems,
}

/// A valid notification document.
#[derive(Debug, Clone)]
pub struct CheckedNotification {
    pub notification: NotificationDocument,
    /// The warnings about the notification.
    pub warnings: Problems,
}

/// A valid document of any kind.
#[derive(Debug, Clone)]
pub enum CheckedDocument {
    Playbook(CheckedPlaybook),
    Subscription(CheckedSubscription),
    Schedule(CheckedSchedule),
    Notification(CheckedNotification),
}

impl CheckedDocument {
    /// Returns the warnings about the document.
    pub fn into_warnings(self) -> Problems {
        match self {
            CheckedDocument::Playbook(checked) => checked.warnings,
            CheckedDocument::Subscription(checked) => checked.warnings,
            CheckedDocument::Schedule(checked) => checked.warnings,
            CheckedDocument::Notification(checked) => checked.warnings,
        }
    }
}

/// The content of a document other than a playbook.
enum OtherDocument {
    Subscription(Subscription),
    Schedule(Schedule),
    Notification(NotificationDocument),
}

/// The workers that will run a playbook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetWorkers {
    /// Workers of this program: a tool that is not built in cannot be run.
    Ours,
    /// Any workers, also ones with tools of their own.
    Any,
}

/// The options of a parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseOptions {
    pub workers: TargetWorkers,
    pub analysis: AnalysisLevel,
}

impl ParseOptions {
    /// Options without the static analysis.
    pub const fn without_analysis(workers: TargetWorkers) -> Self {
        Self { workers, analysis: AnalysisLevel::Off }
    }
}

/// Parses a document of any kind; without a `kind` it is a playbook. `name` is used in messages: a
/// file name or a catalog path.
pub fn parse_document(name: &str, source: &[u8]) -> Result<CheckedDocument, Problems> {
    parse_document_for(TargetWorkers::Any, name, source)
}

/// Parses a document of any kind for the given workers.
pub fn parse_document_for(
    workers: TargetWorkers,
    name: &str,
    source: &[u8],
) -> Result<CheckedDocument, Problems> {
    parse_document_with(ParseOptions::without_analysis(workers), name, source)
}

/// Parses a document of any kind with the given options.
pub fn parse_document_with(
    options: ParseOptions,
    name: &str,
    source: &[u8],
) -> Result<CheckedDocument, Problems> {
    if let Ok(text) = decode(source) {
        let mut findings = Findings::new(SourceText::new(name, text.to_owned()));
        let root = load(&mut findings);
        let kind = root.as_ref().and_then(|root| root.get("kind")?.text().map(str::to_owned));
        let read = match (&root, kind.as_deref()) {
            (Some(root), Some("Subscription")) => {
                read_subscription(root, options.analysis, &mut findings)
                    .map(OtherDocument::Subscription)
            }
            (Some(root), Some("Schedule")) => {
                read_schedule(root, &mut findings).map(OtherDocument::Schedule)
            }
            (Some(root), Some("Notification")) => {
                read_notification(root, options.analysis, &mut findings)
                    .map(OtherDocument::Notification)
            }
            (_, _) => return parse_with(options, name, source).map(CheckedDocument::Playbook),
        };
        let said = findings.finish();
        return match read {
            Some(OtherDocument::Subscription(subscription)) => {
                let checked = CheckedSubscription { subscription, warnings: said };
                Ok(CheckedDocument::Subscription(checked))
            }
            Some(OtherDocument::Schedule(schedule)) => {
                Ok(CheckedDocument::Schedule(CheckedSchedule { schedule, warnings: said }))
            }
            Some(OtherDocument::Notification(notification)) => {
                let checked = CheckedNotification { notification, warnings: said };
                Ok(CheckedDocument::Notification(checked))
            }
            None => Err(said),
        };
    }
    parse_with(options, name, source).map(CheckedDocument::Playbook)
}

/// Parses the tests of a playbook. `name` is used in messages; `children` returns the playbooks that
/// steps may call, by catalog path.
pub fn parse_test_file<'p>(
    name: &str,
    source: &[u8],
    playbook: &'p Playbook,
    children: &dyn Fn(&str) -> Option<&'p Playbook>,
) -> Result<TestFile, Problems> {
    let text = match decode(source) {
        Ok(text) => text.to_owned(),
        Err(unreadable) => {
            let (text, finding) = *unreadable;
            let mut findings = Findings::new(SourceText::new(name, text));
            findings.add(finding);
            return Err(findings.finish());
        }
    };
    let mut findings = Findings::new(SourceText::new(name, text));
    let root = load(&mut findings);
    let file = root.and_then(|root| read_test_file(&root, playbook, children, &mut findings));
    if file.is_none() && !findings.has_errors() {
        let message = "the document is empty";
        findings.add(Finding::error(DiagnosticCode::MissingKey, &(0..0), message));
    }
    file.ok_or_else(|| findings.finish())
}

/// Returns the tree of a document as it is written, without checking it; `None` if it is not YAML.
pub fn document_value(source: &[u8]) -> Option<Value> {
    let text = decode(source).ok()?;
    let mut findings = Findings::new(SourceText::new("document", text.to_owned()));
    load(&mut findings).map(|root| root.to_json())
}

/// Parses a playbook for any workers. `name` is used in messages: a file name or a catalog path.
pub fn parse(name: &str, source: &[u8]) -> Result<CheckedPlaybook, Problems> {
    parse_for(TargetWorkers::Any, name, source)
}

/// Parses a playbook for the given workers.
pub fn parse_for(
    workers: TargetWorkers,
    name: &str,
    source: &[u8],
) -> Result<CheckedPlaybook, Problems> {
    parse_with(ParseOptions::without_analysis(workers), name, source)
}

/// Parses a playbook with the given options.
pub fn parse_with(
    options: ParseOptions,
    name: &str,
    source: &[u8],
) -> Result<CheckedPlaybook, Problems> {
    let mut findings = match decode(source) {
        Ok(text) => Findings::new(SourceText::new(name, text.to_owned())),
        Err(unreadable) => {
            let (text, finding) = *unreadable;
            let mut findings = Findings::new(SourceText::new(name, text));
            findings.quotes = quotes(None, &findings.source.text);
            findings.add(finding);
            return Err(findings.finish());
        }
    };
    let root = load(&mut findings);
    findings.quotes = quotes(root.as_deref(), &findings.source.text);
    let playbook = match root {
        Some(root) if findings.quotes == Quotes::Hidden && root.get("kind").is_none() => {
            let message = "this is not a playbook: it has no `kind`, `apiVersion` or `workflow`";
            let finding = Finding::error(DiagnosticCode::NotAPlaybook, &(0..0), message);
            findings.add(
                finding.help("a playbook begins with `apiVersion: noetl.io/v2`, `kind: Playbook`"),
            );
            None
        }
        Some(root) => read(&root, options, &mut findings),
        None => {
            if !findings.has_errors() {
                findings.add(Finding::error(
                    DiagnosticCode::MissingKey,
                    &(0..0),
                    "the document is empty",
                ));
            }
            None
        }
    };
    match playbook {
        Some(playbook) => Ok(CheckedPlaybook { playbook, warnings: findings.finish() }),
        None => Err(findings.finish()),
    }
}

/// A playbook with its templates, as editors need it.
pub(crate) struct PlaybookTemplates {
    pub(crate) playbook: Playbook,
    pub(crate) uses: TemplateUses,
    pub(crate) source: SourceText,
}

/// Returns the playbook of a text with its templates; `None` if the text is not a valid playbook.
pub(crate) fn playbook_templates(text: &str) -> Option<PlaybookTemplates> {
    templates_of(text).filter(|(_, is_valid)| *is_valid).map(|(found, _)| found)
}

/// Returns the playbook of a text that may have errors, without the parts that cannot be read; `None` if
/// the text is not YAML, or a step cannot be read.
pub(crate) fn unfinished_templates(text: &str) -> Option<PlaybookTemplates> {
    templates_of(text).map(|(found, _)| found)
}

/// Returns the playbook of a text with its templates, and true if the text is valid.
fn templates_of(text: &str) -> Option<(PlaybookTemplates, bool)> {
    let mut findings = Findings::new(SourceText::new("document", text.to_owned()));
    let root = load(&mut findings)?;
    let options = ParseOptions { workers: TargetWorkers::Any, analysis: AnalysisLevel::Warn };
    let (playbook, uses) = read_templates(&root, options, &mut findings)?;
    let is_valid = !findings.has_errors();
    Some((PlaybookTemplates { playbook, uses, source: findings.source }, is_valid))
}

/// Allows quoting if a document declares itself a NoETL document, in its tree or, if that could not
/// be parsed, on a line of its own.
fn quotes(root: Option<&YamlNode>, text: &str) -> Quotes {
    let is_kind = |kind: &str| nearest(kind, KINDS.iter().copied()).is_some();
    let is_version = |version: &str| version.starts_with("noetl.io/");
    let is_ours = match root {
        Some(root) => {
            let says = |key: &str, is_ours: &dyn Fn(&str) -> bool| {
                root.get(key).and_then(|value| value.text()).is_some_and(is_ours)
            };
            let is_workflow = root.get("workflow").is_some() && root.get("kind").is_none();
            match root.get("kind") {
                // A document of another kind may hold passwords, such as a credential.
                Some(_) => says("kind", &is_kind),
                None => says("apiVersion", &is_version) || is_workflow,
            }
        }
        None => {
            let values = |key: &'static str| {
                text.lines()
                    .filter_map(move |line| line.strip_prefix(key)?.strip_prefix(':').map(bare))
            };
            match values("kind").next() {
                Some(kind) => is_kind(kind),
                None => values("apiVersion").any(is_version),
            }
        }
    };
    if is_ours { Quotes::Shown } else { Quotes::Hidden }
}

/// Removes the quotation marks and the comment around a word.
fn bare(value: &str) -> &str {
    let value = value.split(" #").next().unwrap_or_default();
    value.trim().trim_matches(['"', '\''])
}

/// Returns the text of a document; fails with the readable part and a finding if it is not UTF-8 or
/// too long.
fn decode(source: &[u8]) -> Result<&str, Box<(String, Finding)>> {
    if source.len() > PLAYBOOK_BYTES_MAX {
        let message = format!("the document is longer than {PLAYBOOK_BYTES_MAX} bytes");
        return Err(Box::new((
            String::new(),
            Finding::error(DiagnosticCode::TooLarge, &(0..0), message),
        )));
    }
    if source.starts_with(&[0xFF, 0xFE]) || source.starts_with(&[0xFE, 0xFF]) {
        let finding = Finding::error(DiagnosticCode::NotUtf8, &(0..0), "the document is UTF-16");
        return Err(Box::new((String::new(), finding.help("save it as UTF-8"))));
    }
    let text = match std::str::from_utf8(source) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            let message = format!("byte 0x{:02X} is not UTF-8", source[at]);
            let shown = String::from_utf8_lossy(source).into_owned();
            return Err(Box::new((
                shown,
                Finding::error(DiagnosticCode::NotUtf8, &(at..at + 1), message),
            )));
        }
    };
    if text.starts_with('\u{FEFF}') {
        let message = "the document begins with a byte order mark";
        let finding = Finding::error(DiagnosticCode::ByteOrderMark, &(0..0), message);
        return Err(Box::new((text.to_owned(), finding.help("save it as UTF-8 without one"))));
    }
    let bad = |c: &char| {
        (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}')) || *c == '\u{FEFF}'
    };
    match text.char_indices().find(|(_, c)| bad(c)) {
        Some((at, c)) => {
            let message = format!("the character U+{:04X} is not text", u32::from(c));
            let span = at..at + c.len_utf8();
            let finding = Finding::error(DiagnosticCode::BadCharacter, &span, message);
            Err(Box::new((text.to_owned(), finding)))
        }
        None => Ok(text),
    }
}
