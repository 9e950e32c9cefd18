//! Reads the declarations of inputs: `inputs`, or the JSON Schema in `workload_schema`; and of outputs:
//! `output_schema`.
//!
//! Both are read to the same rules. An unknown key is an error here, because a limit that is not
//! checked would be worse than none.

use std::collections::BTreeMap;

use regex::RegexBuilder;
use serde_json::{Map, Number, Value};

use super::DocumentReader;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::inputs::{
    DeclaredInput, DeclaredInputs, FieldRule, INPUTS_MAX, InputType, ObjectRule, ValueRule,
};
use crate::suggest::nearest;
use crate::words::KeyStatus;
use crate::words::inputs::{INPUT, SCHEMA_NOTES};
use crate::yaml::{Yaml, YamlEntry, YamlNode};

/// The most levels of lists and maps within one declaration.
const RULE_DEPTH_MAX: usize = 16;
/// The largest compiled size of a pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// The language of a declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeclarationDialect {
    /// `inputs`: a map has the declared fields only, unless it says otherwise.
    Inputs,
    /// `workload_schema`: a map may have other fields, unless it says otherwise.
    JsonSchema,
}

/// The place of a declaration within others.
#[derive(Debug, Clone, Copy)]
struct DeclarationNesting {
    dialect: DeclarationDialect,
    depth: usize,
}

impl DeclarationNesting {
    const fn top(dialect: DeclarationDialect) -> Self {
        Self { dialect, depth: 0 }
    }

    const fn below(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

/// A declaration: the rule of a value, and what holds if there is none.
struct Declaration {
    rule: ValueRule,
    is_required: bool,
    default: Option<Value>,
    description: Option<String>,
    is_secret: bool,
}

impl DocumentReader<'_> {
    /// Returns the declared inputs; their defaults are added to the workload.
    pub(super) fn inputs(
        &mut self,
        root: &YamlNode,
        workload: &mut Map<String, Value>,
    ) -> Option<DeclaredInputs> {
        let given = |key: &str| root.get(key).filter(|node| !node.is_null());
        let inputs = match (given("inputs"), given("workload_schema")) {
            (None, None) => return None,
            (Some(_), Some(schema)) => {
                let message = "a playbook declares its inputs in `inputs` or in `workload_schema`";
                self.add(Finding::error(DiagnosticCode::Contradiction, &schema.span, message));
                return None;
            }
            (Some(node), None) => {
                let entries = self.any_map(node, "`inputs`")?;
                let inputs = entries.iter().filter_map(|entry| self.declared(entry)).collect();
                DeclaredInputs { inputs, allows_others: false }
            }
            (None, Some(node)) => self.schema_inputs(node)?,
        };
        if let Some(extra) = inputs.inputs.get(INPUTS_MAX) {
            let message = format!("a playbook has at most {INPUTS_MAX} inputs: `{}`", extra.name);
            self.add(Finding::error(DiagnosticCode::TooLarge, &root.span, message));
        }
        self.apply_defaults(root, &inputs, workload);
        Some(inputs)
    }

    /// Adds the defaults of inputs to the workload, and checks the defaults in the workload.
    fn apply_defaults(
        &mut self,
        root: &YamlNode,
        inputs: &DeclaredInputs,
        workload: &mut Map<String, Value>,
    ) {
        for input in &inputs.inputs {
            let Some(value) = workload.get_mut(&input.name) else {
                if let Some(default) = &input.default {
                    workload.insert(input.name.clone(), default.clone());
                }
                continue;
            };
            let mut problems = Vec::new();
            if !value.is_null() {
                input.rule.check(&input.name, value, &mut problems);
            }
            let written =
                ["workload", "vars"].iter().find_map(|key| root.get(key)?.get(&input.name));
            let span = written.map_or(&root.span, |node| &node.span);
            for problem in problems {
                self.add(Finding::error(DiagnosticCode::BadValue, span, problem.to_string()));
            }
            if input.is_secret && !value.is_null() {
                let message = format!("the secret input `{}` has a default", input.name);
                let finding = Finding::error(DiagnosticCode::BadValue, span, message);
                self.add(finding.help("everyone who reads the playbook would know it"));
            }
            if input.default.is_some() {
                let message = format!("the input `{}` has two defaults", input.name);
                let finding = Finding::error(DiagnosticCode::Contradiction, span, message);
                self.add(finding.help("keep the one in `inputs`"));
            }
        }
    }

    fn declared(&mut self, entry: &YamlEntry) -> Option<DeclaredInput> {
        let name = self.input_name(entry)?;
        let Declaration { rule, is_required, default, description, is_secret } = self.declaration(
            &entry.value,
            &name,
            DeclarationNesting::top(DeclarationDialect::Inputs),
        )?;
        Some(DeclaredInput { name, description, is_required, default, rule, is_secret })
    }

    fn input_name(&mut self, entry: &YamlEntry) -> Option<String> {
        let name = entry.key.text.clone();
        let fault = if name.trim().is_empty() {
            "is empty"
        } else if name.contains(['.', '{', '[', '\n', ' ']) {
            "has a character that a template cannot read as a name"
        } else {
            return Some(name);
        };
        let message = format!("the name of an input {fault}: `{name}`");
        self.add(Finding::error(DiagnosticCode::BadKey, &entry.key.span, message));
        None
    }

    /// Reads a JSON Schema of the whole workload.
    fn schema_inputs(&mut self, node: &YamlNode) -> Option<DeclaredInputs> {
        let Declaration { rule, .. } = self.declaration(
            node,
            "workload_schema",
            DeclarationNesting::top(DeclarationDialect::JsonSchema),
        )?;
        let Some(ObjectRule { fields, allows_others }) = rule.object else {
            self.missing(node, "`workload_schema`", "properties");
            return None;
        };
        // The order of the document, which forms and prompts follow.
        let order: Vec<&str> = node
            .get("properties")
            .and_then(|properties| properties.entries())
            .map(|entries| entries.iter().map(|entry| entry.key.text.as_str()).collect())
            .unwrap_or_default();
        let mut fields: BTreeMap<String, FieldRule> = fields;
        let description = |name: &str| {
            let described = node.get("properties")?.get(name)?.get("description")?;
            described.text().map(str::to_owned)
        };
        let inputs = order.into_iter().filter_map(|name| {
            let FieldRule { rule, is_required, default } = fields.remove(name)?;
            let (name, description) = (name.to_owned(), description(name));
            let is_secret = rule.is_hidden;
            Some(DeclaredInput { name, description, is_required, default, rule, is_secret })
        });
        Some(DeclaredInputs { inputs: inputs.collect(), allows_others })
    }

    /// Returns the declared shape of the output of a step or a tool.
    pub(super) fn output_schema(&mut self, node: &YamlNode) -> Option<ValueRule> {
        let schema = node.get("output_schema").filter(|schema| !schema.is_null())?;
        let nesting = DeclarationNesting::top(DeclarationDialect::JsonSchema);
        self.declaration(schema, "output_schema", nesting).map(|declared| declared.rule)
    }

    /// Reads one declaration: the name of a type, or a map.
    fn declaration(
        &mut self,
        node: &YamlNode,
        name: &str,
        nesting: DeclarationNesting,
    ) -> Option<Declaration> {
        if nesting.depth > RULE_DEPTH_MAX {
            let message = format!("a declaration has at most {RULE_DEPTH_MAX} levels");
            self.add(Finding::error(DiagnosticCode::TooDeep, &node.span, message));
            return None;
        }
        if node.is_null() || node.text().is_some() {
            let kind = match node.is_null() {
                true => InputType::Any,
                false => self.word(node, "a declared type", InputType::WORDS)?,
            };
            let rule = ValueRule::of(kind);
            return Some(Declaration {
                rule,
                is_required: false,
                default: None,
                description: None,
                is_secret: false,
            });
        }
        let title = format!("the declaration of `{name}`");
        let entries = self.any_map(node, &title)?;
        self.declaration_keys(entries, &title);
        let mut rule = self.value_rule(node, nesting);
        let default = self.default_of(node, name, &mut rule);
        let required = node.get("required").filter(|required| required.list().is_none());
        let is_required = required.and_then(|node| self.truth(node, "`required`")).unwrap_or(false);
        if is_required && default.is_some() {
            let span = node.get("default").map_or(&node.span, |default| &default.span);
            let message = format!("`{name}` has a default and so is never missing");
            let finding = Finding::warning(DiagnosticCode::Contradiction, span, message);
            self.add(finding.help("leave out `required` or `default`"));
        }
        let description = node.get("description").and_then(|text| text.text()).map(str::to_owned);
        let is_required = is_required && default.is_none();
        let is_secret = self.secret_of(node, name, &mut rule, nesting);
        Some(Declaration { rule, is_required, default, description, is_secret })
    }

    /// True if the input is secret. A secret is a text of the top level without a default, which would
    /// be in the catalog for everyone to read.
    fn secret_of(
        &mut self,
        node: &YamlNode,
        name: &str,
        rule: &mut ValueRule,
        nesting: DeclarationNesting,
    ) -> bool {
        let written = node.get("secret").or_else(|| node.get("writeOnly"));
        let Some(written) = written else { return false };
        if self.truth(written, "`secret`") != Some(true) {
            return false;
        }
        let top = match nesting.dialect {
            DeclarationDialect::Inputs => 0,
            DeclarationDialect::JsonSchema => 1,
        };
        let fault = if nesting.depth != top {
            "only an input of the top level can be secret"
        } else if node.get("default").is_some_and(|default| !default.is_null()) {
            "a secret input has no default: everyone who reads the playbook would know it"
        } else if node.get("enum").is_some_and(|choices| !choices.is_null()) {
            "a secret input has no `enum`: everyone who reads the playbook would know its values"
        } else if !matches!(rule.kind, InputType::Text | InputType::Any) {
            "a secret input is a `string`"
        } else {
            (rule.kind, rule.is_hidden) = (InputType::Text, true);
            return true;
        };
        let message = format!("`{name}` cannot be secret: {fault}");
        self.add(Finding::error(DiagnosticCode::BadValue, &written.span, message));
        false
    }

    fn declaration_keys(&mut self, entries: &[YamlEntry], title: &str) {
        for entry in entries {
            let key = &entry.key;
            if INPUT.word(&key.text).is_some() || SCHEMA_NOTES.contains(&key.text.as_str()) {
                continue;
            }
            let current = INPUT.words.iter().filter(|word| word.status == KeyStatus::Current);
            let names: Vec<&str> = current.map(|word| word.name).collect();
            let help = match nearest(&key.text, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known keys are {}", names.join(", ")),
            };
            let message = format!("{title} has no key `{}`", key.text);
            self.add(Finding::error(DiagnosticCode::UnknownKey, &key.span, message).help(help));
        }
    }

    fn value_rule(&mut self, node: &YamlNode, nesting: DeclarationNesting) -> ValueRule {
        let get = |names: &[&str]| names.iter().find_map(|name| node.get(name));
        let kind = get(&["type"]);
        let kind = kind.and_then(|kind| self.word(kind, "a declared type", InputType::WORDS));
        let mut rule = ValueRule::of(kind.unwrap_or(InputType::Any));
        rule.min = get(&["min", "minimum"]).and_then(|node| self.number_limit(node, "`min`"));
        rule.max = get(&["max", "maximum"]).and_then(|node| self.number_limit(node, "`max`"));
        let length = |reader: &mut Self, names: &[&str]| {
            let node = get(names)?;
            reader.whole(node, &format!("`{}`", names[0]), 0..=u32::MAX).map(u64::from)
        };
        rule.min_length = length(self, &["min_length", "minLength", "minItems"]);
        rule.max_length = length(self, &["max_length", "maxLength", "maxItems"]);
        rule.pattern = get(&["pattern"]).and_then(|node| self.pattern(node));
        if let Some(items) = get(&["items"]) {
            let items = self.declaration(items, "items", nesting.below());
            rule.items = items.map(|declared| Box::new(declared.rule));
        }
        rule.object =
            get(&["properties"]).and_then(|fields| self.object_rule(node, fields, nesting));
        if kind.is_none() {
            rule.kind = match (&rule.object, &rule.items) {
                (Some(_), _) => InputType::Object,
                (None, Some(_)) => InputType::List,
                (None, None) => self.implied(node),
            };
        }
        self.choices(node, &mut rule);
        rule
    }

    /// Returns the type of the default, or of all values of `enum`.
    fn implied(&self, node: &YamlNode) -> InputType {
        let kind_of = |node: &YamlNode| match &node.yaml {
            Yaml::Text { .. } => InputType::Text,
            Yaml::Number(number) if number.is_f64() => InputType::Number,
            Yaml::Number(_) => InputType::Integer,
            Yaml::Bool(_) => InputType::Boolean,
            Yaml::List(_) => InputType::List,
            Yaml::Map(_) => InputType::Object,
            Yaml::Null => InputType::Any,
        };
        let choices = node.get("enum").and_then(|choices| choices.list()).unwrap_or_default();
        match choices.split_first() {
            Some((first, rest)) => {
                let kind = kind_of(first);
                if rest.iter().all(|it| kind_of(it) == kind) { kind } else { InputType::Any }
            }
            None => node.get("default").map_or(InputType::Any, |default| kind_of(default)),
        }
    }

    fn number_limit(&mut self, node: &YamlNode, title: &str) -> Option<Number> {
        match &node.yaml {
            Yaml::Number(number) => Some(number.clone()),
            Yaml::Null | Yaml::Bool(_) | Yaml::Text { .. } | Yaml::List(_) | Yaml::Map(_) => {
                self.wrong_type(node, title, "a number");
                None
            }
        }
    }

    fn pattern(&mut self, node: &YamlNode) -> Option<regex::Regex> {
        let text = self.text(node, "a pattern")?;
        let built = RegexBuilder::new(&text).size_limit(PATTERN_BYTES_MAX).build();
        match built {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim().to_owned();
                let message = format!("this is not a regular expression: {reason}");
                self.add(Finding::error(DiagnosticCode::BadValue, &node.span, message));
                None
            }
        }
    }

    fn object_rule(
        &mut self,
        node: &YamlNode,
        fields: &YamlNode,
        nesting: DeclarationNesting,
    ) -> Option<ObjectRule> {
        let entries = self.any_map(fields, "`properties`")?;
        let required = node.get("required").and_then(|names| names.list()).unwrap_or_default();
        let mut rules = BTreeMap::new();
        for entry in entries {
            let Some(name) = self.input_name(entry) else { continue };
            let declared = self.declaration(&entry.value, &name, nesting.below());
            let Some(Declaration { rule, is_required, default, .. }) = declared else { continue };
            let is_listed = required.iter().any(|listed| listed.text() == Some(&name));
            let is_required = (is_required || is_listed) && default.is_none();
            rules.insert(name, FieldRule { rule, is_required, default });
        }
        for listed in required {
            let name = self.text(listed, "a required name").unwrap_or_default();
            if !name.is_empty() && !entries.iter().any(|entry| entry.key.text == name) {
                let near = nearest(&name, entries.iter().map(|entry| entry.key.text.as_str()));
                let help = near.map(|near| format!("did you mean `{near}`?"));
                let message = format!("`required` names `{name}`, which is not declared");
                let finding = Finding::error(DiagnosticCode::UnknownField, &listed.span, message);
                self.add(finding.help_if(help));
            }
        }
        let others = node.get("additionalProperties");
        let others = others.and_then(|node| self.truth(node, "`additionalProperties`"));
        let allows_others = others.unwrap_or(nesting.dialect == DeclarationDialect::JsonSchema);
        Some(ObjectRule { fields: rules, allows_others })
    }

    fn choices(&mut self, node: &YamlNode, rule: &mut ValueRule) {
        let Some(choices) = node.get("enum").filter(|choices| !choices.is_null()) else { return };
        let Some(items) = choices.list().filter(|items| !items.is_empty()) else {
            self.wrong_type(choices, "`enum`", "a list with at least one value");
            return;
        };
        let mut values = Vec::new();
        for item in items {
            let mut value = item.to_json();
            let mut problems = Vec::new();
            rule.check("enum", &mut value, &mut problems);
            for problem in problems {
                let message = problem.to_string();
                self.add(Finding::error(DiagnosticCode::BadValue, &item.span, message));
            }
            values.push(value);
        }
        rule.choices = values;
    }

    fn default_of(&mut self, node: &YamlNode, name: &str, rule: &mut ValueRule) -> Option<Value> {
        let default = node.get("default").filter(|default| !default.is_null())?;
        let mut value = default.to_json();
        let mut problems = Vec::new();
        rule.check("default", &mut value, &mut problems);
        for problem in problems {
            let message = format!("the default of `{name}` does not fit: {problem}");
            self.add(Finding::error(DiagnosticCode::BadValue, &default.span, message));
        }
        Some(value)
    }
}
