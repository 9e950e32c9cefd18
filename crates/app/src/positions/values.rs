//! Values at a position: small ones are shown, large ones are loaded by their name.

use std::str::FromStr;

use noetl_api::wire::{LoadedPositionValue, PositionValue};
use noetl_control::{Damage, LoadError};
use noetl_engine::Execution;
use noetl_model::{ExecutionId, Payload};
use noetl_store::json_len;
use serde_json::Value;

use super::PositionError;
use crate::app::App;

/// Maximum length of the JSON of a shown value.
const VALUE_SHOWN_MAX: usize = 2 * 1024;
/// Maximum length of the JSON of all shown values together.
const VALUES_SHOWN_MAX: usize = 256 * 1024;

/// The name of a value at a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PositionValueName {
    Workload,
    /// A variable of `ctx`.
    Context(String),
    /// The output of a step.
    Step(String),
}

/// The text is not the name of a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a value: use `workload`, `ctx.NAME` or `steps.NAME`")]
pub struct UnknownValueName(String);

impl FromStr for PositionValueName {
    type Err = UnknownValueName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('.') {
            None if text == "workload" => Ok(Self::Workload),
            Some(("ctx", name)) if !name.is_empty() => Ok(Self::Context(name.to_owned())),
            Some(("steps", name)) if !name.is_empty() => Ok(Self::Step(name.to_owned())),
            Some(_) | None => Err(UnknownValueName(text.to_owned())),
        }
    }
}

impl std::fmt::Display for PositionValueName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Workload => f.write_str("workload"),
            Self::Context(name) => write!(f, "ctx.{name}"),
            Self::Step(name) => write!(f, "steps.{name}"),
        }
    }
}

impl PositionValueName {
    fn find<'a>(&self, state: &'a Execution) -> Option<&'a Payload> {
        match self {
            Self::Workload => Some(state.workload()),
            Self::Context(name) => state.context_value(name),
            Self::Step(name) => state.step_output(name),
        }
    }
}

/// The length of values shown so far.
#[derive(Debug, Default)]
pub(super) struct ShownValues {
    len: usize,
}

impl ShownValues {
    /// Returns a list of values without room: every value is left out.
    pub(super) fn none() -> Self {
        Self { len: VALUES_SHOWN_MAX }
    }

    /// Returns the value of a step that has no output.
    pub(super) fn nothing() -> PositionValue {
        PositionValue::Inline { value: Value::Null }
    }

    /// Returns a value, or its length if it is large or there is no room left.
    pub(super) fn take(&mut self, payload: &Payload) -> PositionValue {
        match payload {
            Payload::Ref(reference) => PositionValue::LeftOut { bytes: reference.size },
            Payload::Inline(value) => {
                let len = json_len(value);
                if len > VALUE_SHOWN_MAX || self.len + len > VALUES_SHOWN_MAX {
                    return PositionValue::LeftOut {
                        bytes: u64::try_from(len).unwrap_or(u64::MAX),
                    };
                }
                self.len += len;
                PositionValue::Inline { value: (**value).clone() }
            }
        }
    }
}

impl App {
    /// Loads one value at a position, whatever its size.
    pub async fn position_value(
        &self,
        execution: ExecutionId,
        position: Option<u64>,
        name: &PositionValueName,
    ) -> Result<LoadedPositionValue, PositionError> {
        let at = self.at_position(execution, position).await?;
        let position = at.state.seq().0;
        let found = name.find(&at.state);
        let name = name.to_string();
        let Some(payload) = found else {
            return Err(PositionError::NoSuchValue { name, position });
        };
        let value = match payload {
            Payload::Inline(value) => (**value).clone(),
            Payload::Ref(reference) => {
                let loaded = self.control().payload(reference.digest).await;
                let loaded = loaded
                    .map_err(|error| LoadError::damaged(execution, Damage::Payload(error)))?;
                (*loaded).clone()
            }
        };
        Ok(LoadedPositionValue { execution_id: execution.into(), position, name, value })
    }
}

#[cfg(test)]
mod tests {
    use noetl_model::{Digest, PayloadRef};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_has_one_name() {
        for name in ["workload", "ctx.total", "ctx.a.b", "steps.load"] {
            assert_eq!(name.parse::<PositionValueName>().unwrap().to_string(), name);
        }
        for name in ["", "ctx", "ctx.", "steps.", "iter.n", "workload.name"] {
            let error = name.parse::<PositionValueName>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{name}` is not the name of a value")), "{error}");
        }
    }

    #[test]
    fn large_values_are_left_out_with_their_length() {
        let mut shown = ShownValues::default();
        let small = json!({ "a": 1 });
        let inline = PositionValue::Inline { value: small.clone() };
        assert_eq!(shown.take(&Payload::inline(small)), inline);
        let long = json!("x".repeat(VALUE_SHOWN_MAX));
        let left_out = PositionValue::LeftOut { bytes: VALUE_SHOWN_MAX as u64 + 2 };
        assert_eq!(shown.take(&Payload::inline(long)), left_out);
        let stored = PayloadRef { digest: Digest::of(b"x"), size: 70_000 };
        assert_eq!(shown.take(&Payload::Ref(stored)), PositionValue::LeftOut { bytes: 70_000 });
    }

    #[test]
    fn the_values_of_a_large_playbook_stay_within_the_limit() {
        let mut shown = ShownValues::default();
        let value = Payload::inline(json!("x".repeat(1000)));
        let inline = (0..1000)
            .filter(|_| matches!(shown.take(&value), PositionValue::Inline { .. }))
            .count();
        assert_eq!(inline, VALUES_SHOWN_MAX / 1002);
    }
}
