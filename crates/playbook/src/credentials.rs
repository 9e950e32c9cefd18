//! The credentials that a document names: in settings of tools, in templates, and in its keychain.

use std::collections::BTreeSet;

use noetl_expr::Template;
use noetl_model::ToolKind;
use serde_json::{Map, Value};

use crate::playbook::{LoopSource, Playbook, Task};
use crate::subscription::Subscription;

/// The settings of a tool that name a credential.
const NAME_KEYS: &[&str] = &["auth", "credential", "credentials", "connection", "secret_name"];
/// The keys that name a credential in a map below one of these settings.
const NESTED_KEYS: &[&str] = &["credential", "key", "secret_name"];
/// More settings of the tool `secrets` that name a credential.
const SECRETS_KEYS: &[&str] = &["name", "key"];
/// The settings that hold the settings of a connection of their own.
const CONNECTIONS: &[&str] = &["source", "target"];
/// The setting of a subscription that says where messages wait.
const SPOOL: &str = "spool";
/// The template variable that holds the credentials.
const KEYCHAIN: &str = "keychain";

/// The names of credentials in a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CredentialNames {
    /// The names as written.
    pub exact: BTreeSet<String>,
    /// The templates that become names when a command is rendered.
    pub templates: BTreeSet<String>,
}

impl CredentialNames {
    /// Returns the names in the settings of a tool.
    pub fn of_settings(tool: ToolKind, settings: &Value) -> Self {
        let mut names = Self::default();
        names.add_settings(tool, settings);
        names
    }

    /// Returns the names that a worker needs for a subscription.
    pub fn of_subscription(subscription: &Subscription) -> Self {
        let mut names = Self::default();
        names.add_map(NAME_KEYS, &subscription.spec);
        if let Some(Value::Object(spool)) = subscription.spec.get(SPOOL) {
            names.add_map(NAME_KEYS, spool);
        }
        names
    }

    fn add_settings(&mut self, tool: ToolKind, settings: &Value) {
        let Value::Object(settings) = settings else { return };
        self.add_map(NAME_KEYS, settings);
        if tool == ToolKind::Secrets {
            self.add_map(SECRETS_KEYS, settings);
        }
        for key in CONNECTIONS {
            match settings.get(*key) {
                Some(Value::Object(connection)) => self.add_map(NAME_KEYS, connection),
                Some(Value::String(text)) if is_template(text) => self.add_text(text),
                Some(_) | None => {}
            }
        }
    }

    fn add_map(&mut self, keys: &[&str], settings: &Map<String, Value>) {
        for key in keys {
            match settings.get(*key) {
                Some(Value::String(text)) => self.add_text(text),
                Some(Value::Object(below)) => self.add_nested(below),
                Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => {}
            }
        }
    }

    /// Adds the names in a map such as `{pg: {source: credential, key: pg_main}}`.
    fn add_nested(&mut self, map: &Map<String, Value>) {
        for (key, value) in map {
            match value {
                Value::String(text) if NESTED_KEYS.contains(&key.as_str()) => self.add_text(text),
                Value::Object(below) => self.add_nested(below),
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_) => {}
            }
        }
    }

    fn add_text(&mut self, text: &str) {
        let names = if is_template(text) { &mut self.templates } else { &mut self.exact };
        names.insert(text.to_owned());
    }

    /// Adds the credentials that templates read: `api` for `keychain.api.token`.
    fn add_variables(&mut self, template: &Template) {
        let paths = template.variables().iter();
        let read = paths.filter_map(|path| {
            path.strip_prefix(KEYCHAIN)?.strip_prefix('.')?.split('.').next().map(str::to_owned)
        });
        self.exact.extend(read);
    }

    fn add_task(&mut self, task: &Task) {
        self.add_settings(task.tool, task.config.source());
        self.add_variables(&task.config);
    }
}

/// Returns the names of the credentials that steps of a playbook use.
pub fn credential_names(playbook: &Playbook) -> CredentialNames {
    let mut names = CredentialNames::default();
    for step in &playbook.steps {
        step.input.iter().for_each(|input| names.add_variables(input));
        step.tasks.iter().for_each(|task| names.add_task(task));
        match step.repeat.as_ref().map(|repeat| &repeat.source) {
            Some(LoopSource::Cursor(task)) => names.add_task(task),
            Some(LoopSource::In(_)) | None => {}
        }
    }
    names.exact.extend(keychain_names(playbook));
    names
}

/// Returns the names of the entries of a playbook's keychain.
fn keychain_names(playbook: &Playbook) -> impl Iterator<Item = String> {
    playbook.keychain.iter().filter_map(|entry| entry["name"].as_str().map(str::to_owned))
}

fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}
