//! The document of a playbook as catalogs of existing clients show it.

use serde_json::{Map, Value, json};

/// The type of a step without a tool.
const NO_TOOL: &str = "noop";

/// Returns `metadata` and `workflow` of a playbook's document; each step also has a `type`, the
/// kind of its first tool.
pub fn catalog_payload(document: &Value) -> Value {
    let workflow = match document.get("workflow").and_then(Value::as_array) {
        Some(steps) => steps.iter().map(with_type).collect(),
        None => Vec::new(),
    };
    let metadata = document.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({ "metadata": metadata, "workflow": workflow })
}

fn with_type(step: &Value) -> Value {
    let Some(fields) = step.as_object() else {
        return step.clone();
    };
    let mut fields: Map<String, Value> = fields.clone();
    if !fields.contains_key("type") {
        let kind = fields.get("tool").and_then(kind_of).unwrap_or(NO_TOOL).to_owned();
        fields.insert("type".to_owned(), Value::String(kind));
    }
    Value::Object(fields)
}

/// Returns the kind of a tool: written as a word, as a map with `kind`, as a map from a label to a
/// tool, or as a list of tools.
fn kind_of(tool: &Value) -> Option<&str> {
    match tool {
        Value::String(kind) => Some(kind),
        Value::Object(fields) => match fields.get("kind") {
            Some(kind) => kind.as_str(),
            None => fields.values().next().and_then(|labelled| labelled.get("kind")?.as_str()),
        },
        Value::Array(tools) => tools.first().and_then(kind_of),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_the_type_of_its_first_tool() {
        for (step, expected) in [
            (json!({ "step": "a", "tool": { "kind": "python" } }), json!("python")),
            (json!({ "step": "a", "tool": "http" }), json!("http")),
            (
                json!({ "step": "a", "tool": [{ "kind": "http" }, { "kind": "noop" }] }),
                json!("http"),
            ),
            (json!({ "step": "a", "tool": [{ "load": { "kind": "duckdb" } }] }), json!("duckdb")),
            (json!({ "step": "a" }), json!("noop")),
            (json!({ "step": "a", "tool": [] }), json!("noop")),
            (json!({ "step": "a", "type": "end", "tool": "http" }), json!("end")),
        ] {
            let shown = catalog_payload(&json!({ "workflow": [step.clone()] }));
            assert_eq!(shown["workflow"][0]["type"], expected, "{step}");
            assert_eq!(shown["workflow"][0]["tool"], step["tool"], "{step}");
        }
    }

    #[test]
    fn parts_that_are_missing_are_empty() {
        let empty = json!({ "metadata": {}, "workflow": [] });
        assert_eq!(catalog_payload(&json!({ "workload": { "a": 1 } })), empty);
        assert_eq!(catalog_payload(&Value::Null), empty);
    }
}
