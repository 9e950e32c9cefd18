//! From a lease to a call: a command's templates are rendered with the values that came with it.
//!
//! The arguments (`input`, `args`) are rendered first; each then is a variable for the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use noetl_expr::{Template, Variables};
use noetl_model::{Digest, ErrorKind, Lease, ToolError, ToolKind};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::call::Call;
use crate::credentials::{Credentials, UsedCredentials};
use crate::keys::Keys;
use crate::memory::CallMemory;
use crate::settings::Whereabouts;

/// How many configurations are kept parsed.
const TEMPLATES_MAX: NonZeroUsize = NonZeroUsize::new(512).expect("not zero");

const ARGUMENT_KEYS: [&str; 2] = ["args", "input"];

/// The parsed configurations that were used last. The same step of the same playbook is leased over
/// and over.
pub(crate) struct Templates {
    parsed: Mutex<LruCache<Digest, Arc<Config>>>,
}

/// A tool's configuration, parsed.
struct Config {
    /// `args`, then `input`, which wins where both name the same argument.
    arguments: Vec<(&'static str, Template)>,
    rest: Template,
    /// The credentials that templates name: `api` for `keychain.api.token`.
    aliases: BTreeSet<String>,
}

/// The keys of a tool that hold values for its templates. The arguments of a program are its own.
fn argument_keys(tool: ToolKind) -> &'static [&'static str] {
    if tool == ToolKind::Script { &ARGUMENT_KEYS[1..] } else { &ARGUMENT_KEYS }
}

/// The values a template can name: the arguments, then what came with the command, then credentials,
/// then words about the command itself.
struct Scope<'a> {
    arguments: &'a Map<String, Value>,
    bindings: &'a BTreeMap<String, Arc<Value>>,
    keychain: &'a Arc<Value>,
    lease: &'a Lease,
    whereabouts: &'a Whereabouts,
}

/// What the credentials of a command are called in its templates.
const KEYCHAIN: &str = "keychain";

/// Whom a command is for, and what cuts it short.
pub(crate) struct Circumstances<'a> {
    pub(crate) timeout_default: Duration,
    pub(crate) cancel: CancellationToken,
    pub(crate) used: UsedCredentials,
    pub(crate) memory: CallMemory,
    pub(crate) whereabouts: &'a Whereabouts,
}

impl Templates {
    pub(crate) fn new() -> Self {
        Self { parsed: Mutex::new(LruCache::new(TEMPLATES_MAX)) }
    }

    /// The call a lease asks for. `bindings` are the lease's, with references resolved. Credentials
    /// that templates name are asked for here, and are no variable of the tool itself.
    pub(crate) async fn prepare(
        &self,
        lease: &Lease,
        bindings: BTreeMap<String, Arc<Value>>,
        credentials: &dyn Credentials,
        circumstances: Circumstances<'_>,
    ) -> Result<Call, ToolError> {
        let config = self.parse(lease.tool, &lease.config)?;
        let Circumstances { timeout_default, cancel, used, memory, whereabouts } = circumstances;
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
        let scope = Scope {
            arguments: &nothing,
            bindings: &call.variables,
            keychain: &keychain,
            lease,
            whereabouts,
        };
        let input = config.render_arguments(&scope)?;
        let scope = Scope { arguments: &input, ..scope };
        let Value::Object(rest) = config.rest.render(&scope).map_err(template_error)? else {
            return Err(ToolError::new(ErrorKind::Config, "a tool's configuration must be a map"));
        };
        call.timeout = timeout(lease, &rest)?.unwrap_or(timeout_default);
        (call.config, call.input) = (rest, input);
        call.memory.reserve_rendered(&call.config, &call.input).await?;
        Ok(call)
    }

    fn parse(&self, tool: ToolKind, source: &Value) -> Result<Arc<Config>, ToolError> {
        let digest = Digest::of(format!("{tool} {source}").as_bytes());
        if let Some(config) = self.lock().get(&digest) {
            return Ok(config.clone());
        }
        let config = Arc::new(Config::parse(argument_keys(tool), source)?);
        self.lock().put(digest, config.clone());
        Ok(config)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LruCache<Digest, Arc<Config>>> {
        self.parsed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Config {
    fn parse(argument_keys: &[&'static str], source: &Value) -> Result<Self, ToolError> {
        let parse = |value: Value| {
            Template::parse(value)
                .map_err(|error| ToolError::new(ErrorKind::Template, error.to_string()))
        };
        let mut rest = source.clone();
        let mut arguments = Vec::new();
        if let Value::Object(config) = &mut rest {
            for &key in argument_keys {
                // A list is a program's argument vector, which is the tool's own affair.
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

    /// The credentials that templates name, by alias. A variable of that name is the playbook's own.
    async fn keychain(
        &self,
        call: &Call,
        credentials: &dyn Credentials,
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

    fn render_arguments(&self, scope: &Scope<'_>) -> Result<Map<String, Value>, ToolError> {
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

impl Variables for Scope<'_> {
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

impl Scope<'_> {
    /// What a command is called, and who runs it.
    fn about_command(&self, name: &str) -> Option<String> {
        match name {
            "worker_id" => self.whereabouts.worker.clone(),
            "server_url" => self.whereabouts.server_url.clone(),
            "command_id" => Some(format!("{}:{}", self.lease.execution, self.lease.command)),
            "node_name" => Some(self.lease.step.to_string()),
            "action" => Some(self.lease.tool.to_string()),
            _ => None,
        }
    }
}

/// The alias in `keychain.alias` and in `keychain.alias.field`.
fn alias_in(path: &str) -> Option<&str> {
    path.strip_prefix(KEYCHAIN)?.strip_prefix('.')?.split('.').next()
}

/// The shorter of what the lease and the tool's own keys say.
fn timeout(lease: &Lease, config: &Map<String, Value>) -> Result<Option<Duration>, ToolError> {
    let leased = lease.timeout_ms.map(Duration::from_millis);
    let keys = Keys::new(lease.tool.as_str(), config);
    // A map tells apart connecting and reading; that is for the tool.
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
