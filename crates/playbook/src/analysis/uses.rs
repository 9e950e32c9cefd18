//! The templates of a document, each with the point of an execution at which it is rendered.

use std::ops::Range;

use noetl_expr::{TemplateFacts, TemplateForm};

use super::AnalysisLevel;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::playbook::StepIndex;
use crate::source::SourceText;
use crate::yaml::{Yaml, YamlNode};

/// The most templates of one document that are analysed.
const TEMPLATES_MAX: usize = 20_000;

/// The point of an execution at which a template is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RenderMoment {
    /// The start of the execution: labels, the key of a limit.
    Start,
    /// The entry of a step: `when`, `admit`, the items of a loop.
    StepEntry,
    /// The start of a task: its settings.
    TaskStart,
    /// A claim of rows by a cursor.
    Claim,
    /// The success of a task: its `set`.
    TaskEnd,
    /// The end of a task: its rules.
    Rule,
    /// The end of a step: its `set` and its arcs.
    StepEnd,
    /// The lookup of an entry of the keychain.
    Keychain,
    /// A notification, which has names of its own.
    Notice,
}

/// The place of a template in the playbook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RenderPlace {
    pub(crate) step: Option<StepIndex>,
    /// The index of the task in its step.
    pub(crate) task: Option<usize>,
    pub(crate) moment: RenderMoment,
}

/// One template with its facts.
#[derive(Debug)]
pub(crate) struct TemplateUse {
    pub(crate) place: RenderPlace,
    /// The scalar that holds the template.
    leaf: YamlNode,
    pub(crate) facts: TemplateFacts,
}

impl TemplateUse {
    /// Returns the place of a part of the template in the document.
    pub(crate) fn span(&self, part: Range<usize>, source: &SourceText) -> Range<usize> {
        self.leaf.locate(part, source)
    }
}

/// The templates of a document.
#[derive(Debug)]
pub(crate) struct TemplateUses {
    pub(crate) level: AnalysisLevel,
    /// The place of the templates that are read next.
    pub(crate) place: RenderPlace,
    pub(crate) list: Vec<TemplateUse>,
    /// The items of loops as written, with the step.
    pub(crate) loops: Vec<(StepIndex, YamlNode)>,
    /// The place of each step's name.
    pub(crate) step_names: Vec<Range<usize>>,
    /// The place of the first template beyond the limit.
    omitted: Option<Range<usize>>,
}

impl TemplateUses {
    pub(crate) fn new(level: AnalysisLevel) -> Self {
        let place = RenderPlace { step: None, task: None, moment: RenderMoment::Start };
        Self {
            level,
            place,
            list: Vec::new(),
            loops: Vec::new(),
            step_names: Vec::new(),
            omitted: None,
        }
    }

    /// Returns a warning if the document has more templates than are analysed.
    pub(super) fn omission(&self) -> Option<Finding> {
        let span = self.omitted.as_ref()?;
        let message = format!(
            "the templates from here on are not checked: a document is checked up to {TEMPLATES_MAX} of them"
        );
        Some(Finding::warning(DiagnosticCode::Unchecked, span, message))
    }

    fn is_on(&self) -> bool {
        match self.level {
            AnalysisLevel::Off => false,
            AnalysisLevel::Warn | AnalysisLevel::Full => true,
        }
    }

    /// Adds the templates below a node.
    pub(crate) fn note(&mut self, node: &YamlNode, form: TemplateForm) {
        if !self.is_on() {
            return;
        }
        match &node.yaml {
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) => {}
            Yaml::Text { text, .. } => {
                if self.omitted.is_some() {
                    return;
                }
                let Ok(facts) = TemplateFacts::of(text, form) else { return };
                if facts == TemplateFacts::default() {
                    return;
                }
                if self.list.len() == TEMPLATES_MAX {
                    self.omitted.get_or_insert_with(|| node.span.clone());
                } else {
                    self.list.push(TemplateUse { place: self.place, leaf: node.clone(), facts });
                }
            }
            Yaml::List(items) => items.iter().for_each(|item| self.note(item, form)),
            Yaml::Map(entries) => entries.iter().for_each(|entry| self.note(&entry.value, form)),
        }
    }

    /// Adds the items of the current step's loop.
    pub(crate) fn note_loop(&mut self, items: &YamlNode) {
        if let Some(step) = self.place.step.filter(|_| self.is_on()) {
            self.loops.push((step, items.clone()));
        }
    }
}
