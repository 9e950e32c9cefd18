//! The workload in a form: a JSON object whose secret inputs are masked, and the workload that a sent
//! text describes.
//!
//! Invariant: a text that is sent as it was drawn gives the stored workload back, with its sealed
//! values.

use noetl_api::wire::{PositionState, PositionValue};
use noetl_app::{PositionValueName, without_secrets};
use noetl_model::{ExecutionId, SealedMark};
use serde_json::{Map, Value};

use crate::error::PageError;
use crate::request::PageRequest;

/// Loads the workload at a position.
pub(super) async fn stored_workload(
    page: &PageRequest,
    execution: ExecutionId,
    state: &PositionState,
) -> Result<Value, PageError> {
    Ok(match &state.workload {
        PositionValue::Inline { value } => value.clone(),
        PositionValue::LeftOut { .. } => {
            let name = PositionValueName::Workload;
            page.app().position_value(execution, Some(state.position), &name).await?.value
        }
    })
}

/// Returns the text of a workload, with a mask in place of every secret.
pub(super) fn masked_text(stored: &Value) -> String {
    serde_json::to_string_pretty(&without_secrets(stored.clone())).unwrap_or_default()
}

/// Reads a sent workload; a mask that was left alone stands for the stored secret.
pub(super) fn sent_workload(text: &str, stored: &Value) -> Result<Map<String, Value>, PageError> {
    let sent = object("workload", text)?;
    Ok(sent
        .into_iter()
        .map(|(name, value)| {
            let stored = stored.get(&name);
            let value = stored.map_or(value.clone(), |stored| with_secrets(value, stored));
            (name, value)
        })
        .collect())
}

fn with_secrets(sent: Value, stored: &Value) -> Value {
    if SealedMark::of(stored).is_some() {
        return if sent == without_secrets(stored.clone()) { stored.clone() } else { sent };
    }
    match (sent, stored) {
        (Value::Object(sent), Value::Object(stored)) => sent
            .into_iter()
            .map(|(name, value)| match stored.get(&name) {
                Some(stored) => (name, with_secrets(value, stored)),
                None => (name, value),
            })
            .collect(),
        (sent, _) => sent,
    }
}

/// Reads a field that holds a JSON object.
pub(super) fn object(name: &str, text: &str) -> Result<Map<String, Value>, PageError> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(PageError::refused("error.no_object", vec![("name", name.to_owned())])),
        Err(error) => {
            let values = vec![("name", name.to_owned()), ("error", error.to_string())];
            Err(PageError::refused("error.no_json", values))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored() -> Value {
        let mark = SealedMark { execution: ExecutionId(7), name: "token", envelope: "e" };
        json!({ "token": mark.to_value(), "nested": { "token": mark.to_value() }, "who": "***" })
    }

    #[test]
    fn a_workload_that_is_sent_as_drawn_keeps_its_secrets() {
        let text = masked_text(&stored());
        assert!(!text.contains("noetl:sealed") && text.contains("***"), "{text}");
        assert_eq!(sent_workload(&text, &stored()).map(Value::from), Ok(stored()));
    }

    #[test]
    fn a_secret_that_is_typed_replaces_the_stored_one() {
        let text = r#"{"token": "fresh-secret", "nested": {"token": "***"}, "new": "***"}"#;
        let read = sent_workload(text, &stored()).unwrap();
        let nested = stored()["nested"].clone();
        let expected = json!({ "token": "fresh-secret", "nested": nested, "new": "***" });
        assert_eq!(Value::from(read), expected);
    }

    #[test]
    fn a_text_that_is_no_object_is_refused_with_the_name_of_its_field() {
        for text in ["[1]", "{", ""] {
            let refused = sent_workload(text, &stored()).unwrap_err();
            assert!(format!("{refused:?}").contains("workload"), "{refused:?}");
        }
    }
}
