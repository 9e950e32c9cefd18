//! Checks that the fields used as `keychain.<name>.<field>` in templates exist in the playbook's
//! keychain.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value;

use super::DocumentReader;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::suggest::nearest;
use crate::yaml::{Yaml, YamlNode};

/// The variable that holds secrets.
const KEYCHAIN: &str = "keychain";
/// The fields of a keychain entry that contains its token.
const BEARER_FIELDS: [&str; 2] = ["token", "type"];
/// The methods of a map, which may follow its name like keys.
const METHODS: [&str; 4] = ["get", "items", "keys", "values"];

/// The fields of the secrets that the playbook declares, by name. Fields of stored credentials are
/// not known before the run and not listed.
#[derive(Debug, Default)]
pub(crate) struct SecretFields(BTreeMap<String, BTreeSet<String>>);

impl SecretFields {
    pub(crate) fn of(keychain: &[Value]) -> Self {
        let known = |entry: &Value| {
            let name = entry.get("name")?.as_str()?.to_owned();
            Some((name, fields_of(entry)?))
        };
        Self(keychain.iter().filter_map(known).collect())
    }

    /// Returns the known fields of a secret.
    pub(crate) fn of_secret(&self, name: &str) -> Vec<String> {
        self.0.get(name).into_iter().flatten().cloned().collect()
    }

    /// Returns the known fields, the secret's name and the unknown field, if a variable asks for
    /// one.
    fn lacking<'v>(&self, variable: &'v str) -> Option<(&BTreeSet<String>, &'v str, &'v str)> {
        let mut segments = variable.split('.');
        let (root, name, field) = (segments.next()?, segments.next()?, segments.next()?);
        let fields = self.0.get(name).filter(|_| root == KEYCHAIN)?;
        let is_known = fields.contains(field) || METHODS.contains(&field);
        (!is_known).then_some((fields, name, field))
    }
}

fn fields_of(entry: &Value) -> Option<BTreeSet<String>> {
    let given = |key: &str| entry.get(key).is_some_and(|value| !value.is_null());
    if given("provider") {
        return None;
    }
    if let Some(map) = entry.get("map").and_then(Value::as_object) {
        let is_template = |key: &String| key.contains("{{");
        return (!map.keys().any(is_template)).then(|| map.keys().cloned().collect());
    }
    let is_plain = given("token") && !given("credential") && !given("auth");
    is_plain.then(|| BEARER_FIELDS.map(str::to_owned).into())
}

impl DocumentReader<'_> {
    /// Reports fields that no secret of the playbook has.
    pub(super) fn check_secrets(&mut self, node: &YamlNode, variables: &BTreeSet<String>) {
        let lacking = variables.iter().filter_map(|variable| {
            let (fields, name, field) = self.secrets.lacking(variable)?;
            let help = match nearest(field, fields.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
                    format!("it has {}", fields.join(", "))
                }
            };
            let message = format!("the secret `{name}` has no field `{field}`");
            let written = format!("{KEYCHAIN}.{name}.{field}");
            let span = place_of(node, &written, &self.findings.source);
            let span = span.unwrap_or_else(|| node.span.clone());
            Some(Finding::error(DiagnosticCode::UnknownField, &span, message).help(help))
        });
        for finding in lacking.collect::<Vec<_>>() {
            self.add(finding);
        }
    }
}

impl DocumentReader<'_> {
    /// Reports secret inputs in a condition: it is decided where only their sealed form is known.
    pub(super) fn check_secret_inputs(&mut self, node: &YamlNode, variables: &BTreeSet<String>) {
        let names = self.secret_inputs.iter();
        let read = names.filter(|name| {
            let below = |root: &str, path: &str| {
                path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let qualified = format!("workload.{name}");
            variables.iter().any(|path| below(name, path) || below(&qualified, path))
        });
        for name in read.cloned().collect::<Vec<String>>() {
            let message = format!("a condition cannot read the secret input `{name}`");
            let span = place_of(node, &name, &self.findings.source);
            let span = span.unwrap_or_else(|| node.span.clone());
            let finding = Finding::error(DiagnosticCode::BadTemplate, &span, message);
            self.add(finding.help("let a tool compare it and return the result"));
        }
    }
}

/// Returns the place of the first text below a node that contains `words`.
fn place_of(
    node: &YamlNode,
    words: &str,
    source: &crate::source::SourceText,
) -> Option<Range<usize>> {
    match &node.yaml {
        Yaml::Text { text, .. } => {
            let at = text.find(words)?;
            Some(node.locate(at..at + words.len(), source))
        }
        Yaml::List(items) => items.iter().find_map(|item| place_of(item, words, source)),
        Yaml::Map(entries) => {
            entries.iter().find_map(|entry| place_of(&entry.value, words, source))
        }
        Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) => None,
    }
}
