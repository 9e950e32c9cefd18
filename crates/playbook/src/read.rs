//! Converts the tree of a document to a playbook.
//!
//! Reading continues after a finding, with a placeholder for the unreadable part, so that all
//! problems are found at once. The playbook is discarded at the end if there was an error.

mod arcs;
mod cache;
mod document;
mod foreign;
mod inputs;
mod intake;
mod limits;
mod notification;
mod output;
mod policy;
mod repeat;
mod schedule;
mod secrets;
mod set;
mod settings;
mod step;
mod subscription;
mod task;
mod test_file;
mod value;
mod workbook;

use std::collections::BTreeMap;

use noetl_expr::MissingValues;

use crate::analysis::{RenderMoment, TemplateUses};
use crate::diagnostic::{DiagnosticCode, Finding, Findings};
use crate::playbook::StepIndex;
use crate::suggest::nearest;
use crate::words::{KeyStatus, KeyTable, LanguageKey};
use crate::yaml::{YamlEntry, YamlKey, YamlNode};

pub(crate) use document::{KINDS, read, read_templates};
pub(crate) use notification::read_notification;
pub(crate) use schedule::read_schedule;
pub(crate) use secrets::SecretFields;
pub(crate) use subscription::read_subscription;
pub(crate) use test_file::read_test_file;
pub use value::duration_of;

/// The state shared by the readers of all parts of a document.
struct DocumentReader<'a> {
    findings: &'a mut Findings,
    /// The index of each step, by name.
    steps: BTreeMap<String, StepIndex>,
    workbook: workbook::Workbook,
    /// Tools in the document that are not built in.
    foreign: foreign::ForeignTools,
    /// The fields of the secrets that the playbook declares.
    secrets: secrets::SecretFields,
    /// The names of the secret inputs.
    secret_inputs: Vec<String>,
    /// Targets without a prefix that rules of the current step set.
    bare_rule_sets: Vec<YamlKey>,
    /// The treatment of missing values in all templates of the playbook.
    missing: MissingValues,
    /// The templates read so far, for the static analysis.
    uses: TemplateUses,
}

impl DocumentReader<'_> {
    /// Reads a part of the document whose templates are rendered at the given moment.
    fn at<T>(&mut self, moment: RenderMoment, read: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.uses.place.moment, moment);
        let found = read(self);
        self.uses.place.moment = outer;
        found
    }

    fn add(&mut self, finding: Finding) {
        self.findings.add(finding);
    }

    /// Returns the entries of a map; unknown keys get a warning.
    fn map<'n>(&mut self, node: &'n YamlNode, table: &KeyTable) -> Option<&'n [YamlEntry]> {
        let entries = self.any_map(node, table.title)?;
        for entry in entries {
            match table.word(&entry.key.text) {
                Some(word) => self.note_status(&entry.key, word),
                None if table.open => {}
                None => self.unknown_key(&entry.key, table),
            }
        }
        Some(entries)
    }

    /// Returns the entries of a map with any keys; null is an empty map.
    fn any_map<'n>(&mut self, node: &'n YamlNode, title: &str) -> Option<&'n [YamlEntry]> {
        if node.is_null() {
            return Some(&[]);
        }
        let entries = node.entries();
        if entries.is_none() {
            self.wrong_type(node, title, "a map");
        }
        entries
    }

    fn note_status(&mut self, key: &YamlKey, word: &LanguageKey) {
        match word.status {
            KeyStatus::Current => {}
            KeyStatus::Old(instead) => self.old_spelling(key, instead),
            KeyStatus::Ignored(why) => {
                let message = format!("`{}` has no effect", key.text);
                self.add(
                    Finding::warning(DiagnosticCode::IgnoredKey, &key.span, message).help(why),
                );
            }
        }
    }

    fn old_spelling(&mut self, key: &YamlKey, instead: &str) {
        let message = format!("`{}` is an old spelling", key.text);
        let finding = Finding::warning(DiagnosticCode::OldSpelling, &key.span, message);
        let finding = finding.help(format!("write {instead}"));
        let word = instead.strip_prefix('`').and_then(|word| word.strip_suffix('`'));
        let is_word = |word: &&str| word.chars().all(|it| it.is_alphanumeric() || it == '_');
        self.add(match word.filter(is_word) {
            Some(word) => finding.fix(word),
            None => finding,
        });
    }

    fn unknown_key(&mut self, key: &YamlKey, table: &KeyTable) {
        if self.misplaced(key, table.title) {
            return;
        }
        if self.findings.is_full() {
            self.findings.omit();
            return;
        }
        let current = table.words.iter().filter(|word| word.status == KeyStatus::Current);
        let names: Vec<&str> = current.map(|word| word.name).collect();
        let help = match nearest(&key.text, names.iter().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("it is ignored; known keys are {}", names.join(", ")),
        };
        let message = format!("{} has no key `{}`", table.title, key.text);
        self.add(Finding::warning(DiagnosticCode::UnknownKey, &key.span, message).help(help));
    }

    /// Reports `next` or `arcs` in a place where it is not read, as an error: without its arcs the
    /// playbook would end early.
    fn misplaced(&mut self, key: &YamlKey, title: &str) -> bool {
        let place = match key.text.as_str() {
            "arcs" => "belongs under `next` of its step: `next: {arcs: […]}`",
            "next" => "belongs directly under its step, beside `tool`",
            _ => return false,
        };
        let message = format!("{title} has no key `{}`", key.text);
        let finding = Finding::error(DiagnosticCode::UnknownKey, &key.span, message);
        self.add(finding.help(format!("`{}` {place}", key.text)));
        true
    }

    fn wrong_type(&mut self, node: &YamlNode, title: &str, wanted: &str) {
        let message = format!("{title} must be {wanted}, this is {}", node.kind());
        self.add(Finding::error(DiagnosticCode::WrongType, &node.span, message));
    }

    fn missing(&mut self, node: &YamlNode, title: &str, key: &str) {
        let message = format!("{title} needs `{key}`");
        self.add(Finding::error(DiagnosticCode::MissingKey, &node.span, message));
    }

    /// Reports a word that is not one of those allowed.
    fn unknown_word(&mut self, node: &YamlNode, title: &str, word: &str, allowed: &[&str]) {
        let help = match nearest(word, allowed.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it can be {}", allowed.join(", ")),
        };
        let message = format!("{title} cannot be `{word}`");
        self.add(Finding::error(DiagnosticCode::UnknownWord, &node.span, message).help(help));
    }

    /// Returns the step with the given name.
    fn step_named(&mut self, node: &YamlNode) -> Option<StepIndex> {
        let name = self.name(node, "a step's name")?;
        if let Some(index) = self.steps.get(&name) {
            return Some(*index);
        }
        let names = self.steps.keys().map(String::as_str);
        let near = if self.findings.is_full() { None } else { nearest(&name, names) };
        let help = match near {
            Some(near) => Some(format!("did you mean `{near}`?")),
            None if name == "end" => Some(
                "a branch ends where no arc leads on; an `end` must be a step of its own"
                    .to_owned(),
            ),
            None => None,
        };
        let message = format!("there is no step `{name}`");
        self.add(Finding::error(DiagnosticCode::UnknownStep, &node.span, message).help_if(help));
        None
    }
}
