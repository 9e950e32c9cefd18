//! From a lease to a call: a command's templates are rendered with the values that came with it.
//!
//! The arguments (`input`, `args`) are rendered first; each then is a variable for the rest.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use noetl_expr::{Template, Variables};
use noetl_model::{Digest, ErrorKind, Lease, ToolError, ToolKind};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::call::Call;
use crate::credentials::UsedCredentials;
use crate::keys::Keys;

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
}

/// The keys of a tool that hold values for its templates. The arguments of a program are its own.
fn argument_keys(tool: ToolKind) -> &'static [&'static str] {
    if tool == ToolKind::Script { &ARGUMENT_KEYS[1..] } else { &ARGUMENT_KEYS }
}

/// The values a template can name: the arguments, then what came with the command.
struct Scope<'a> {
    arguments: &'a Map<String, Value>,
    bindings: &'a BTreeMap<String, Arc<Value>>,
}

impl Templates {
    pub(crate) fn new() -> Self {
        Self { parsed: Mutex::new(LruCache::new(TEMPLATES_MAX)) }
    }

    /// The call a lease asks for. `bindings` are the lease's, with references resolved.
    pub(crate) fn prepare(
        &self,
        lease: &Lease,
        bindings: BTreeMap<String, Arc<Value>>,
        timeout_default: Duration,
        cancel: CancellationToken,
        used: UsedCredentials,
    ) -> Result<Call, ToolError> {
        let config = self.parse(lease.tool, &lease.config)?;
        let input = config.render_arguments(&bindings)?;
        let rest = config.rest.render(&Scope { arguments: &input, bindings: &bindings });
        let Value::Object(config) = rest.map_err(template_error)? else {
            return Err(ToolError::new(ErrorKind::Config, "a tool's configuration must be a map"));
        };
        Ok(Call {
            timeout: timeout(lease, &config)?.unwrap_or(timeout_default),
            config,
            input,
            variables: bindings,
            execution: lease.execution,
            step: lease.step.clone(),
            label: lease.label.clone(),
            attempt: lease.attempt,
            idempotency_key: lease.idempotency_key.clone(),
            cancel,
            used,
        })
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
        Ok(Self { arguments, rest: parse(rest)? })
    }

    fn render_arguments(
        &self,
        bindings: &BTreeMap<String, Arc<Value>>,
    ) -> Result<Map<String, Value>, ToolError> {
        let mut input = Map::new();
        let scope = Scope { arguments: &Map::new(), bindings };
        for (key, template) in &self.arguments {
            match template.render(&scope).map_err(template_error)? {
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
        self.bindings.get(name).cloned().or_else(|| {
            ARGUMENT_KEYS.contains(&name).then(|| Arc::new(Value::Object(self.arguments.clone())))
        })
    }
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
