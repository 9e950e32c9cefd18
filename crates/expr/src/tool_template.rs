//! The templates of a command's configuration, rendered with the command's values.
//!
//! The arguments (`input`, `args`) are rendered first; each is then a variable for the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use noetl_model::{CommandId, ErrorKind, ExecutionId, Lease, StepName, ToolError, ToolKind};
use serde_json::{Map, Value};

use crate::syntax::is_template;
use crate::{MissingValues, RenderError, Template, VariableSource};

const ARGUMENT_KEYS: [&str; 2] = ["args", "input"];

/// The template variable that holds the credentials.
const KEYCHAIN: &str = "keychain";

/// A parsed configuration of a tool.
#[derive(Debug)]
pub struct ToolTemplate {
    /// The templates of `args`, then of `input`, which takes precedence if both name the same
    /// argument.
    arguments: Vec<(&'static str, Template)>,
    rest: Template,
    /// The credentials that templates refer to: `api` for `keychain.api.token`.
    aliases: BTreeSet<String>,
}

/// A rendered configuration: the arguments and the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedTool {
    pub config: Map<String, Value>,
    pub input: Map<String, Value>,
    /// True if a template still refers to credentials.
    pub has_secrets: bool,
}

/// The variables of a command, by precedence: its arguments, its values, the credentials, and facts
/// about the command itself.
#[derive(Debug, Clone, Copy)]
pub struct CommandVariables<'a> {
    /// The values of the command, with references resolved.
    pub bindings: &'a BTreeMap<String, Arc<Value>>,
    pub facts: &'a CommandFacts,
}

/// Variables about a command and the worker that runs it.
#[derive(Debug, Clone, Default)]
pub struct CommandFacts(BTreeMap<&'static str, String>);

impl CommandFacts {
    pub fn new(lease: &Lease, worker: Option<&str>, server_url: Option<&str>) -> Self {
        let mut facts = Self::of_command(lease.execution, lease.command, &lease.step, lease.tool);
        let more = [("worker_id", worker), ("server_url", server_url)];
        facts.0.extend(more.into_iter().filter_map(|(name, fact)| Some((name, fact?.to_owned()))));
        facts
    }

    /// Returns the facts that are known without a worker.
    pub fn of_command(
        execution: ExecutionId,
        command: CommandId,
        step: &StepName,
        tool: ToolKind,
    ) -> Self {
        Self(BTreeMap::from([
            ("command_id", format!("{execution}:{command}")),
            ("node_name", step.to_string()),
            ("action", tool.to_string()),
        ]))
    }
}

/// The variables of one rendering.
struct TemplateScope<'a> {
    arguments: &'a Map<String, Value>,
    variables: CommandVariables<'a>,
    keychain: Option<&'a Arc<Value>>,
}

impl VariableSource for TemplateScope<'_> {
    fn get(&self, name: &str) -> Option<Arc<Value>> {
        if let Some(argument) = self.arguments.get(name) {
            return Some(Arc::new(argument.clone()));
        }
        self.variables.bindings.get(name).cloned().or_else(|| match name {
            KEYCHAIN => self.keychain.cloned(),
            name if ARGUMENT_KEYS.contains(&name) => {
                Some(Arc::new(Value::Object(self.arguments.clone())))
            }
            name => {
                let fact = self.variables.facts.0.get(name)?;
                Some(Arc::new(Value::String(fact.clone())))
            }
        })
    }
}

impl ToolTemplate {
    /// Parses the configuration of a command.
    pub fn of_lease(lease: &Lease) -> Result<Self, ToolError> {
        let missing = if lease.is_strict { MissingValues::Fail } else { MissingValues::Empty };
        Self::parse_with(lease.tool, &lease.config, missing)
    }

    /// Parses settings of a tool.
    pub fn parse_with(
        tool: ToolKind,
        source: &Value,
        missing: MissingValues,
    ) -> Result<Self, ToolError> {
        let parse = |value: Value| {
            Template::parse_with(value, missing)
                .map_err(|error| ToolError::new(ErrorKind::Template, error.to_string()))
        };
        let mut rest = source.clone();
        let mut arguments = Vec::new();
        if let Value::Object(config) = &mut rest {
            for &key in argument_keys(tool) {
                // A list is the argument list of a program, which the tool reads itself.
                if let Some(value) = config.get(key).filter(|value| !value.is_array()) {
                    arguments.push((key, parse(value.clone())?));
                    config.shift_remove(key);
                }
            }
        }
        let rest = parse(rest)?;
        let templates = arguments.iter().map(|(_, template)| template).chain([&rest]);
        let mentioned = templates.flat_map(|template| template.variables());
        let aliases = mentioned.filter_map(|path| alias_in(path).map(str::to_owned)).collect();
        Ok(Self { arguments, rest, aliases })
    }

    /// The credentials that templates refer to. A variable named `keychain` takes precedence over
    /// the credentials.
    pub fn aliases(&self, bindings: &BTreeMap<String, Arc<Value>>) -> Vec<&str> {
        if bindings.contains_key(KEYCHAIN) {
            return Vec::new();
        }
        self.aliases.iter().map(String::as_str).collect()
    }

    /// Renders every template. `keychain` holds the fields of each credential by its alias.
    pub fn render(
        &self,
        variables: CommandVariables<'_>,
        keychain: &Arc<Value>,
    ) -> Result<RenderedTool, ToolError> {
        let nothing = Map::new();
        let scope = TemplateScope { arguments: &nothing, variables, keychain: Some(keychain) };
        let input = self.arguments(|template| template.render(&scope))?;
        let scope = TemplateScope { arguments: &input, ..scope };
        let config = configuration(self.rest.render(&scope))?;
        Ok(RenderedTool { config, input, has_secrets: false })
    }

    /// Renders every template except those that refer to credentials, directly or through an
    /// argument. A kept template refers to credentials as `keychain.alias.field`, and begins with
    /// the definitions of the arguments that it refers to.
    pub fn render_without_secrets(
        &self,
        variables: CommandVariables<'_>,
    ) -> Result<RenderedTool, ToolError> {
        let nothing = Map::new();
        let scope = TemplateScope { arguments: &nothing, variables, keychain: None };
        let mut withheld = BTreeMap::new();
        if !variables.bindings.contains_key(KEYCHAIN) {
            withheld.insert(KEYCHAIN.to_owned(), String::new());
        }
        let input = self.arguments(|template| template.render_except(&scope, &withheld))?;
        if !withheld.is_empty() {
            withheld.extend(self.secret_arguments(&input));
        }
        let scope = TemplateScope { arguments: &input, ..scope };
        let config = configuration(self.rest.render_except(&scope, &withheld))?;
        let has_secrets = !withheld.is_empty() && !self.aliases.is_empty();
        Ok(RenderedTool { config, input, has_secrets })
    }

    /// Returns the arguments whose templates refer to credentials, and the map of all arguments,
    /// each with the statements that define it.
    fn secret_arguments(&self, input: &Map<String, Value>) -> BTreeMap<String, String> {
        let is_secret = |value: &Value| {
            Template::parse(value.clone()).is_ok_and(|template| template.refers_to(KEYCHAIN))
        };
        let sources =
            self.arguments.iter().filter_map(|(_, template)| template.source().as_object());
        let members = sources.flatten().filter(|(_, value)| is_secret(value));
        let mut defined: BTreeMap<String, String> = members
            .filter_map(|(name, _)| Some((name.clone(), definition(name, input.get(name)?))))
            .collect();
        if !defined.is_empty() {
            let all = Value::Object(input.clone());
            defined.extend(ARGUMENT_KEYS.map(|key| (key.to_owned(), definition(key, &all))));
        }
        defined
    }

    fn arguments(
        &self,
        render: impl Fn(&Template) -> Result<Value, RenderError>,
    ) -> Result<Map<String, Value>, ToolError> {
        let mut input = Map::new();
        for (key, template) in &self.arguments {
            match render(template).map_err(|error| template_error(error.below(key)))? {
                Value::Object(rendered) => input.extend(rendered),
                Value::Null => {}
                other => {
                    let message = format!("`{key}` must be a map of arguments, but is {other}");
                    return Err(ToolError::new(ErrorKind::Config, message));
                }
            }
        }
        Ok(input)
    }
}

/// Returns statements that define a variable with a value whose strings may contain templates.
fn definition(name: &str, value: &Value) -> String {
    if let Value::String(text) = value {
        return format!("{{% set {name} %}}{text}{{% endset %}}");
    }
    let mut statements = String::new();
    let literal = literal(value, name, &mut statements);
    format!("{statements}{{% set {name} = {literal} %}}")
}

/// Returns a value as an expression. A string with a template becomes a variable of its own, which
/// is defined in `statements`.
fn literal(value: &Value, name: &str, statements: &mut String) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) if is_template(text) => {
            let name = format!("{name}_{}", statements.len());
            *statements += &definition(&name, value);
            name
        }
        Value::String(_) => value.to_string(),
        Value::Array(items) => {
            let items: Vec<String> =
                items.iter().map(|item| literal(item, name, statements)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(key, member)| {
                    format!("{}: {}", Value::String(key.clone()), literal(member, name, statements))
                })
                .collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

/// Returns the keys that hold template variables. For `script`, `args` is the program's argument
/// list instead.
fn argument_keys(tool: ToolKind) -> &'static [&'static str] {
    if tool == ToolKind::Script { &ARGUMENT_KEYS[1..] } else { &ARGUMENT_KEYS }
}

/// Returns the alias in `keychain.alias` or `keychain.alias.field`.
fn alias_in(path: &str) -> Option<&str> {
    path.strip_prefix(KEYCHAIN)?.strip_prefix('.')?.split('.').next()
}

fn configuration(rendered: Result<Value, RenderError>) -> Result<Map<String, Value>, ToolError> {
    match rendered.map_err(template_error)? {
        Value::Object(config) => Ok(config),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(ToolError::new(ErrorKind::Config, "a tool's configuration must be a map"))
        }
    }
}

fn template_error(error: RenderError) -> ToolError {
    ToolError::new(ErrorKind::Template, error.to_string())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(config: Value, expected: Expect) {
        let bindings: BTreeMap<String, Arc<Value>> = [
            ("workload".to_owned(), Arc::new(json!({ "db": "pg_main", "raw": "{{ x }} {%" }))),
            ("iter".to_owned(), Arc::new(json!({ "item": { "id": 7 } }))),
            ("_prev".to_owned(), Arc::new(json!([1, 2]))),
        ]
        .into();
        let template = ToolTemplate::parse_with(ToolKind::Http, &config, MissingValues::Empty)
            .expect("it parses");
        let facts = CommandFacts([("worker_id", "w".to_owned())].into());
        let variables = CommandVariables { bindings: &bindings, facts: &facts };
        let told = match template.render_without_secrets(variables) {
            Ok(RenderedTool { config, input, has_secrets }) => {
                let secrets = if has_secrets { " with secrets" } else { "" };
                format!("{} {}{secrets}", Value::Object(config), Value::Object(input))
            }
            Err(error) => format!("{}: {}", error.kind.as_str(), error.message),
        };
        expected.assert_eq(&told);
    }

    #[test]
    fn every_template_without_a_secret_is_rendered_with_its_type() {
        check(
            json!({
                "auth": "{{ workload.db }}", "url": "/items/{{ iter.item.id }}?by={{ worker_id }}",
                "params": { "all": "{{ _prev }}" }, "headers": { "x-{{ n }}": "{{ args.n }}" },
                "args": { "n": "{{ iter.item.id }}" },
            }),
            expect![[
                r#"{"auth":"pg_main","url":"/items/7?by=w","params":{"all":[1,2]},"headers":{"x-7":7}} {"n":7}"#
            ]],
        );
    }

    #[test]
    fn a_template_with_a_secret_is_kept_and_defines_its_arguments() {
        check(
            json!({
                "headers": { "authorization": "Bearer {{ keychain.api.token }}", "x": "{{ workload.db }}" },
                "json": { "token": "{{ token }}", "id": "{{ id }}" },
                "args": { "token": "{{ keychain.api.token }}", "id": "{{ iter.item.id }}" },
            }),
            expect![[
                r#"{"headers":{"authorization":"Bearer {{ keychain.api.token }}","x":"pg_main"},"json":{"token":"{% set token %}{{ keychain.api.token }}{% endset %}{{ token }}","id":7}} {"token":"{{ keychain.api.token }}","id":7} with secrets"#
            ]],
        );
    }

    /// A worker that knows the credentials and nothing else renders the same text as ours.
    #[test]
    fn an_argument_made_of_a_secret_needs_only_the_credentials() {
        let config = json!({
            "a": "{{ token }}", "b": "x-{{ args.token | upper }}", "c": "{{ input.all.deep[1] }}",
            "d": "{{ all.deep[0].k }}{{ args.raw }}", "e": "{{ 'none' if args.quiet is none }}",
            "args": {
                "token": "Bearer {{ keychain.api.token }}", "quiet": null,
                "all": { "deep": [{ "k": "\"q\" %}" }, "{{ keychain.api.token }}!"] },
                "raw": "{{ workload.raw }}",
            },
        });
        let template = ToolTemplate::parse_with(ToolKind::Http, &config, MissingValues::Empty)
            .expect("it parses");
        let raw = Arc::new(json!({ "raw": "{{ x }} {%" }));
        let bindings = [("workload".to_owned(), raw)].into();
        let facts = CommandFacts::default();
        let variables = CommandVariables { bindings: &bindings, facts: &facts };
        let kept = template.render_without_secrets(variables).expect("it renders");
        let keychain = Arc::new(json!({ "api": { "token": "s3cret" } }));
        let ours = template.render(variables, &keychain).expect("it renders");
        let worker = minijinja::Environment::new();
        let known =
            minijinja::Value::from_pairs([("keychain", crate::value::from_variable(&keychain))]);
        for (key, expected) in &ours.config {
            let source = kept.config[key].as_str().expect("a kept template");
            let text = worker.render_str(source, known.clone()).expect(source);
            let expected = expected.as_str().map_or_else(|| expected.to_string(), str::to_owned);
            assert_eq!(text, expected, "{key}: {source}");
        }
    }

    #[test]
    fn a_value_that_looks_like_a_template_is_quoted() {
        check(
            json!({ "body": "{{ workload.raw }}", "map": { "k": "{{ workload }}" } }),
            expect![[
                r#"{"body":"{{ \"{{\" }} x }} {{ \"{%\" }}","map":{"k":{"db":"pg_main","raw":"{{ \"{{\" }} x }} {{ \"{%\" }}"}}} {}"#
            ]],
        );
    }

    #[test]
    fn a_template_that_cannot_be_rendered_is_an_error_of_templates() {
        check(
            json!({ "url": "{{ 1 / 0 }}" }),
            expect!["template: unable to calculate 1 / 0 in `{{ 1 / 0 }}`, key `url`"],
        );
        check(
            json!({ "json": { "rows": [1, { "a-b": "{{ 1 / 0 }}" }] } }),
            expect!["template: unable to calculate 1 / 0 in `{{ 1 / 0 }}`, key `json.rows[1].a-b`"],
        );
        check(
            json!({ "input": { "n": "{{ 1 / 0 }}" } }),
            expect!["template: unable to calculate 1 / 0 in `{{ 1 / 0 }}`, key `input.n`"],
        );
        check(
            json!({ "args": "{{ _prev }}" }),
            expect!["config: `args` must be a map of arguments, but is [1,2]"],
        );
    }
}
