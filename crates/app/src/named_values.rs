//! Workers load only the stored values that their command names.
//!
//! Invariant: the decision depends on the command alone, and not on whether the value exists.

use noetl_control::{LoadError, PayloadError};
use noetl_expr::RenderedTool;
use noetl_model::{Digest, Held, Lease, Payload};
use serde_json::Value;

use crate::app::App;
use crate::results::BY_CONTENT;

/// The reason why a worker does not get a stored value.
#[derive(Debug, thiserror::Error)]
pub enum UnnamedValueError {
    #[error(
        "command {} of execution {} names no such value, neither in its settings nor in the values \
         that they refer to", .0.command, .0.execution
    )]
    NotNamed(Held),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Payload(#[from] PayloadError),
}

impl App {
    /// Checks that a command which a worker holds names a stored value by its reference.
    pub async fn check_value_named(
        &self,
        held: Held,
        reference: &str,
    ) -> Result<(), UnnamedValueError> {
        let digest = reference.strip_prefix(BY_CONTENT).unwrap_or(reference);
        let lease = self.control().held_lease(held.execution, held.command).await?;
        match lease {
            Some(lease) if self.names_value(&lease, digest).await? => Ok(()),
            Some(_) | None => Err(UnnamedValueError::NotNamed(held)),
        }
    }

    /// True if the settings of a command or its values contain the text of a reference.
    async fn names_value(&self, lease: &Lease, text: &str) -> Result<bool, UnnamedValueError> {
        let digest: Option<Digest> = text.parse().ok();
        let payloads = || lease.bindings.0.values();
        let is_said = payloads().any(|payload| match payload {
            Payload::Ref(reference) => digest == Some(reference.digest),
            Payload::Inline(value) => contains(value, text),
        });
        if is_said || contains(&lease.config, text) {
            return Ok(true);
        }
        for payload in payloads() {
            let Payload::Ref(reference) = payload else { continue };
            if contains(&*self.control().payload(reference.digest).await?, text) {
                return Ok(true);
            }
        }
        // A template may put the reference together.
        let rendered = self.secrets().rendered_settings(lease).await;
        Ok(rendered.is_some_and(|RenderedTool { config, input, has_secrets: _ }| {
            config.values().chain(input.values()).any(|value| contains(value, text))
        }))
    }
}

/// True if a text within a value contains another text.
fn contains(value: &Value, text: &str) -> bool {
    match value {
        Value::String(own) => own.contains(text),
        Value::Array(items) => items.iter().any(|item| contains(item, text)),
        Value::Object(fields) => {
            fields.iter().any(|(name, field)| name.contains(text) || contains(field, text))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
