//! Prepares the call of a lease by rendering the command's templates with its values.
//!
//! The arguments (`input`, `args`) are rendered first; each is then a variable for the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use noetl_expr::{Template, VariableSource};
use noetl_model::{Digest, ErrorKind, Lease, ToolError, ToolKind};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::protect::credentials::{CredentialResolver, UsedCredentials};
use crate::run::call::Call;
use crate::run::keys::ToolConfig;
use crate::run::memory::CallMemory;
use crate::run::settings::WorkerIdentity;

/// The maximum number of parsed configurations kept.
const TEMPLATES_MAX: NonZeroUsize = NonZeroUsize::new(512).expect("not zero");

const ARGUMENT_KEYS: [&str; 2] = ["args", "input"];

/// A cache of recently used parsed configurations, since the same step is leased many times.
pub(crate) struct Templates {
    parsed: Mutex<LruCache<Digest, Arc<ParsedConfig>>>,
}

/// A parsed configuration of a tool.
struct ParsedConfig {
    /// The templates of `args`, then of `input`, which takes precedence if both name the same
    /// argument.
    arguments: Vec<(&'static str, Template)>,
    rest: Template,
    /// The credentials that templates refer to: `api` for `keychain.api.token`.
    aliases: BTreeSet<String>,
}

/// Returns the keys that hold template variables. For `script`, `args` is the program's argument
/// list instead.
fn argument_keys(tool: ToolKind) -> &'static [&'static str] {
    if tool == ToolKind::Script { &ARGUMENT_KEYS[1..] } else { &ARGUMENT_KEYS }
}

/// The variables of a template, by precedence: the arguments, the values of the command, the
/// credentials, and facts about the command itself.
struct TemplateVariables<'a> {
    arguments: &'a Map<String, Value>,
    bindings: &'a BTreeMap<String, Arc<Value>>,
    keychain: &'a Arc<Value>,
    lease: &'a Lease,
    identity: &'a WorkerIdentity,
}

/// The template variable that holds the credentials.
const KEYCHAIN: &str = "keychain";

/// The inputs of [`Templates::prepare`] that do not come from the lease.
pub(crate) struct CallOptions<'a> {
    pub(crate) timeout_default: Duration,
    pub(crate) cancel: CancellationToken,
    pub(crate) used: UsedCredentials,
    pub(crate) memory: CallMemory,
    pub(crate) identity: &'a WorkerIdentity,
}

impl Templates {
    pub(crate) fn new() -> Self {
        Self { parsed: Mutex::new(LruCache::new(TEMPLATES_MAX)) }
    }

    /// Builds the call of a lease. `bindings` are the lease's values with references resolved. The
    /// credentials that templates refer to are resolved here, and are not passed to the tool as
    /// variables.
    pub(crate) async fn prepare(
        &self,
        lease: &Lease,
        bindings: BTreeMap<String, Arc<Value>>,
        credentials: &dyn CredentialResolver,
        options: CallOptions<'_>,
    ) -> Result<Call, ToolError> {
        let config = self.parse(lease.tool, &lease.config)?;
        let CallOptions { timeout_default, cancel, used, memory, identity } = options;
        let mut call = Call {
            config: Map::new(),
            input: Map::new(),
            variables: bindings,
            execution: lease.execution,
            step: lease.step.clone(),
            label: lease.label.clone(),
            attempt: lease.attempt,
            idempotency_key: lease.idempotency_key.clone(),
            key_attempt: lease.key_attempt,
            timeout: timeout_default,
            cancel,
            used,
            memory,
        };
        let keychain = Arc::new(config.keychain(&call, credentials).await?);
        let nothing = Map::new();
        let scope = TemplateVariables {
            arguments: &nothing,
            bindings: &call.variables,
            keychain: &keychain,
            lease,
            identity,
        };
        let input = config.render_arguments(&scope)?;
        let scope = TemplateVariables { arguments: &input, ..scope };
        let Value::Object(rest) = config.rest.render(&scope).map_err(template_error)? else {
            return Err(ToolError::new(ErrorKind::Config, "a tool's configuration must be a map"));
        };
        call.timeout = timeout(lease, &rest)?.unwrap_or(timeout_default);
        (call.config, call.input) = (rest, input);
        call.memory.reserve_rendered(&call.config, &call.input).await?;
        Ok(call)
    }

    fn parse(&self, tool: ToolKind, source: &Value) -> Result<Arc<ParsedConfig>, ToolError> {
        let digest = Digest::of(format!("{tool} {source}").as_bytes());
        if let Some(config) = self.lock().get(&digest) {
            return Ok(config.clone());
        }
        let config = Arc::new(ParsedConfig::parse(argument_keys(tool), source)?);
        self.lock().put(digest, config.clone());
        Ok(config)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LruCache<Digest, Arc<ParsedConfig>>> {
        self.parsed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ParsedConfig {
    fn parse(argument_keys: &[&'static str], source: &Value) -> Result<Self, ToolError> {
        let parse = |value: Value| {
            Template::parse(value)
                .map_err(|error| ToolError::new(ErrorKind::Template, error.to_string()))
        };
        let mut rest = source.clone();
        let mut arguments = Vec::new();
        if let Value::Object(config) = &mut rest {
            for &key in argument_keys {
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

    /// Resolves the credentials that templates refer to, by alias. A playbook variable named
    /// `keychain` takes precedence.
    async fn keychain(
        &self,
        call: &Call,
        credentials: &dyn CredentialResolver,
    ) -> Result<Value, ToolError> {
        let mut keychain = Map::new();
        if !call.variables.contains_key(KEYCHAIN) {
            for alias in &self.aliases {
                let fields = credentials.resolve(call, alias).await?;
                keychain.insert(alias.clone(), Value::Object(fields));
            }
        }
        Ok(Value::Object(keychain))
    }

    fn render_arguments(
        &self,
        scope: &TemplateVariables<'_>,
    ) -> Result<Map<String, Value>, ToolError> {
        let mut input = Map::new();
        for (key, template) in &self.arguments {
            match template.render(scope).map_err(template_error)? {
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

impl VariableSource for TemplateVariables<'_> {
    fn get(&self, name: &str) -> Option<Arc<Value>> {
        if let Some(argument) = self.arguments.get(name) {
            return Some(Arc::new(argument.clone()));
        }
        self.bindings.get(name).cloned().or_else(|| match name {
            KEYCHAIN => Some(self.keychain.clone()),
            name if ARGUMENT_KEYS.contains(&name) => {
                Some(Arc::new(Value::Object(self.arguments.clone())))
            }
            name => self.about_command(name).map(|word| Arc::new(Value::String(word))),
        })
    }
}

impl TemplateVariables<'_> {
    /// Returns a variable about the command or the worker that runs it.
    fn about_command(&self, name: &str) -> Option<String> {
        match name {
            "worker_id" => self.identity.worker.clone(),
            "server_url" => self.identity.server_url.clone(),
            "command_id" => Some(format!("{}:{}", self.lease.execution, self.lease.command)),
            "node_name" => Some(self.lease.step.to_string()),
            "action" => Some(self.lease.tool.to_string()),
            _ => None,
        }
    }
}

/// Returns the alias in `keychain.alias` or `keychain.alias.field`.
fn alias_in(path: &str) -> Option<&str> {
    path.strip_prefix(KEYCHAIN)?.strip_prefix('.')?.split('.').next()
}

/// Returns the shorter of the timeouts of the lease and of the tool's configuration.
fn timeout(lease: &Lease, config: &Map<String, Value>) -> Result<Option<Duration>, ToolError> {
    let leased = lease.timeout_ms.map(Duration::from_millis);
    let keys = ToolConfig::new(lease.tool.as_str(), config);
    // A map holds separate connect and read timeouts, which the tool applies itself.
    let own = match keys.value(&["timeout"]) {
        Some(Value::Object(_)) => keys.duration(&["timeout_seconds"])?,
        _ => keys.duration(&["timeout", "timeout_seconds"])?,
    };
    Ok(leased.into_iter().chain(own).min())
}

fn template_error(error: noetl_expr::RenderError) -> ToolError {
    ToolError::new(ErrorKind::Template, error.to_string())
}

#[cfg(test)]
mod tests;
