//! Checks the settings of a tool before any template is rendered: unknown keys, values of the wrong
//! type, missing keys and contradictions.

use std::rc::Rc;

use noetl_model::{Timestamp, ToolKind};

use serde_json::Value;

use super::DocumentReader;
use crate::DecisionForm;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::parse::TargetWorkers;
use crate::suggest::nearest;
use crate::words::tools::{Case, FOREIGN, Form, ToolKey, ToolKeys, settings_of};
use crate::yaml::{Yaml, YamlEntry, YamlKey, YamlNode};

/// True if the value is known only after rendering.
fn is_template(node: &YamlNode) -> bool {
    node.text().is_some_and(|text| text.contains("{{") || text.contains("{%"))
}

/// True if a template is in a value.
fn has_template(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{") || text.contains("{%"),
        Value::Array(items) => items.iter().any(has_template),
        Value::Object(map) => map.values().any(has_template),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// True if a key is present, or may be because a template is above it. Null counts as absent.
fn is_given(config: &YamlNode, path: &str) -> bool {
    let found = match path.split_once('.') {
        None => config.get(path),
        Some((head, rest)) => {
            let Some(below) = config.get(head) else { return false };
            return is_template(below) || is_given(below, rest);
        }
    };
    found.is_some_and(|node| !node.is_null())
}

impl DocumentReader<'_> {
    /// Checks the settings of a tool, after all spellings are merged. Workers of other vendors may
    /// have tools of the same name that read other keys, so for them every finding is a warning.
    pub(super) fn tool_settings(&mut self, tool: ToolKind, config: &YamlNode) {
        if let Some(settings) = settings_of(tool) {
            self.findings.is_mild = self.foreign.workers == TargetWorkers::Any;
            self.settings(config, settings);
            self.findings.is_mild = false;
        }
    }

    fn settings(&mut self, config: &YamlNode, settings: &'static ToolKeys) {
        let entries = config.entries().unwrap_or_default();
        for entry in entries {
            match settings.setting(&entry.key.text) {
                Some(_) if entry.value.is_null() || is_template(&entry.value) => {}
                Some(setting) => self.setting(&entry.value, setting, settings),
                // A templated key may turn out to be any key.
                None if entry.key.text.contains("{{") => {}
                None => self.unknown_setting(entry, settings),
            }
        }
        self.one_of_each(config, settings.needs, settings.title);
        for case in settings.cases {
            if applies(config, case) {
                let title = match (case.is_default, case.key.first()) {
                    (true, _) | (_, None) => settings.title.to_owned(),
                    (false, Some(key)) => {
                        format!("{} with `{key}: {}`", settings.title, case.value)
                    }
                };
                self.one_of_each(config, case.needs, &title);
            }
        }
        for group in settings.rivals {
            self.rivals(entries, group);
        }
        for group in settings.exclusive {
            self.exclusive(entries, group);
        }
    }

    fn unknown_setting(&mut self, entry: &YamlEntry, settings: &'static ToolKeys) {
        if self.misplaced_in_tool(&entry.key, settings.title) {
            return;
        }
        if self.findings.is_full() {
            self.findings.omit();
            return;
        }
        let key = &entry.key;
        let mut names: Vec<&str> = settings.all().map(|setting| setting.name).collect();
        let help = match nearest(&key.text, names.iter().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => {
                names.truncate(settings.list.first().map_or(0, |first| first.len()));
                format!("it is ignored; {} has {}, …", settings.title, names.join(", "))
            }
        };
        let message = format!("{} has no setting `{}`", settings.title, key.text);
        self.add(Finding::warning(DiagnosticCode::UnknownKey, &key.span, message).help(help));
    }

    /// Calls [`DocumentReader::misplaced`] and reports an error whichever workers run the tool.
    fn misplaced_in_tool(&mut self, key: &YamlKey, title: &str) -> bool {
        let is_mild = std::mem::replace(&mut self.findings.is_mild, false);
        let misplaced = self.misplaced(key, title);
        self.findings.is_mild = is_mild;
        misplaced
    }

    /// Reads a time: RFC 3339 text, or seconds since 1970.
    fn time(&mut self, node: &YamlNode, title: &str) {
        let is_time = match &node.yaml {
            Yaml::Number(_) => true,
            Yaml::Text { text, .. } => text.trim().parse::<Timestamp>().is_ok(),
            Yaml::Null | Yaml::Bool(_) | Yaml::List(_) | Yaml::Map(_) => false,
        };
        if !is_time {
            self.wrong_type(node, title, "a time such as 2026-01-31T09:30:00Z");
        }
    }

    /// Checks the schema of a form, unless a template in it is known only later.
    fn decision_form(&mut self, node: &YamlNode, title: &str) {
        let schema = node.to_json();
        if self.any_map(node, title).is_none() || has_template(&schema) {
            return;
        }
        for problem in DecisionForm::parse(&schema).err().unwrap_or_default() {
            let message = format!("{title}: {problem}");
            self.add(Finding::error(DiagnosticCode::BadValue, &node.span, message));
        }
    }

    fn setting(&mut self, node: &Rc<YamlNode>, setting: &ToolKey, settings: &ToolKeys) {
        let title = format!("`{}` of {}", setting.name, settings.title);
        match setting.form {
            Form::Any => {}
            Form::Text => drop(self.text(node, &title)),
            Form::Truth => drop(self.truth(node, &title)),
            Form::Whole(max) => drop(self.whole(node, &title, 0..=max)),
            Form::Duration(max) => drop(self.duration(node, &title, 1.0, max)),
            Form::Time => self.time(node, &title),
            Form::Map => drop(self.any_map(node, &title)),
            Form::DecisionSchema => self.decision_form(node, &title),
            Form::Texts => self.texts(node, &title),
            Form::TextOrMap => self.one_of(node, &title, &[is_scalar, is_map], "text or a map"),
            Form::TextOrList => self.one_of(node, &title, &[is_scalar, is_list], "text or a list"),
            Form::TextListOrMap => {
                self.one_of(node, &title, &[is_scalar, is_list, is_map], "text, a list or a map");
            }
            Form::ListOrMap => self.one_of(node, &title, &[is_list, is_map], "a list or a map"),
            Form::Word(words) => self.any_case_word(node, &title, words),
            Form::WordOrTruth(words) => {
                if !matches!(node.yaml, Yaml::Bool(_)) {
                    self.any_case_word(node, &title, words);
                }
            }
            Form::Nested(below) => {
                if self.any_map(node, &title).is_some() {
                    self.settings(node, below);
                }
            }
        }
    }

    fn one_of(
        &mut self,
        node: &YamlNode,
        title: &str,
        accepted: &[fn(&YamlNode) -> bool],
        wanted: &str,
    ) {
        if !accepted.iter().any(|is_it| is_it(node)) {
            self.wrong_type(node, title, wanted);
        }
    }

    fn texts(&mut self, node: &YamlNode, title: &str) {
        for entry in self.any_map(node, title).unwrap_or_default() {
            if !(is_scalar(&entry.value) || entry.value.is_null()) {
                let title = format!("`{}` in {title}", entry.key.text);
                self.wrong_type(&entry.value, &title, "text");
            }
        }
    }

    fn any_case_word(&mut self, node: &YamlNode, title: &str, words: &'static [&'static str]) {
        let Some(text) = self.text(node, title) else { return };
        if !words.iter().any(|word| word.eq_ignore_ascii_case(text.trim())) {
            self.unknown_word(node, title, &text, words);
        } else if FOREIGN.contains(&text.as_str()) {
            let message = format!("{title} is `{text}`, which is not built in");
            self.add(Finding::warning(DiagnosticCode::ForeignTool, &node.span, message));
        }
    }

    fn one_of_each(&mut self, config: &YamlNode, groups: &[&[&str]], title: &str) {
        for group in groups {
            if group.iter().any(|path| is_given(config, path)) {
                continue;
            }
            let Some(first) = group.first() else { continue };
            let message = format!("{title} needs `{first}`");
            let more: Vec<String> = group[1..].iter().map(|name| format!("`{name}`")).collect();
            let help = (!more.is_empty()).then(|| format!("or {}", more.join(", ")));
            let finding = Finding::error(DiagnosticCode::MissingKey, &config.span, message);
            self.add(finding.help_if(help));
        }
    }

    /// Warns about keys of a group that have no effect because an earlier one of the group is
    /// present.
    fn rivals(&mut self, entries: &[YamlEntry], group: &[&str]) {
        let given = given(entries, group);
        let [first, others @ ..] = &given[..] else { return };
        for other in others {
            let message =
                format!("`{}` has no effect next to `{}`", other.key.text, first.key.text);
            self.add(Finding::warning(DiagnosticCode::Contradiction, &other.key.span, message));
        }
    }

    fn exclusive(&mut self, entries: &[YamlEntry], group: &[&str]) {
        let given = given(entries, group);
        let [first, second, ..] = &given[..] else { return };
        let message = format!("give `{}` or `{}`, not both", first.key.text, second.key.text);
        self.add(Finding::error(DiagnosticCode::Contradiction, &second.key.span, message));
    }
}

/// Returns the entries of a group that are present, in the order of the group.
fn given<'n>(entries: &'n [YamlEntry], group: &[&str]) -> Vec<&'n YamlEntry> {
    let find = |name: &&str| entries.iter().find(|entry| entry.key.text == *name);
    group.iter().filter_map(find).filter(|entry| !entry.value.is_null()).collect()
}

fn applies(config: &YamlNode, case: &Case) -> bool {
    let said = case.key.iter().find_map(|key| config.get(key).filter(|node| !node.is_null()));
    match said {
        None => case.is_default,
        Some(node) => node.text().is_some_and(|text| text.eq_ignore_ascii_case(case.value)),
    }
}

fn is_scalar(node: &YamlNode) -> bool {
    matches!(node.yaml, Yaml::Text { .. } | Yaml::Number(_) | Yaml::Bool(_))
}

fn is_list(node: &YamlNode) -> bool {
    node.list().is_some()
}

fn is_map(node: &YamlNode) -> bool {
    node.entries().is_some()
}
