//! The JSON Schema of test files.

use noetl_model::ErrorKind;
use serde_json::{Map, Value, json};

use super::{object, reference};
use crate::words::test_file::TABLES;

/// Returns the JSON Schema of a test file, draft 2020-12.
pub fn test_schema() -> Value {
    let tables = TABLES.iter().map(|table| (table.name.to_owned(), object(table)));
    let special = special().into_iter().map(|(name, schema)| (name.to_owned(), schema));
    let definitions: Map<String, Value> = tables.chain(special).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tests of a playbook",
        "description": "Tests with mocked tools, run in the engine alone by `noetl test`.",
        "$ref": "#/$defs/test_file",
        "$defs": definitions,
    })
}

/// Returns the definitions of values that have several forms.
fn special() -> Vec<(&'static str, Value)> {
    let text_or = |name: &str| json!({ "anyOf": [{ "type": "string" }, reference(name)] });
    let mocks = json!({ "anyOf": [
        reference("test_mock"),
        { "type": "array", "items": reference("test_mock") },
    ] });
    let kinds: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
    vec![
        ("test-mocks", json!({ "type": ["object", "null"], "additionalProperties": mocks })),
        (
            "test-children",
            json!({ "type": ["object", "null"], "additionalProperties": reference("test-mocks") }),
        ),
        ("test-outputs", json!({ "type": ["object", "null"] })),
        ("test-count", json!({ "type": "integer", "minimum": 0 })),
        ("test-error-kind", json!({ "enum": kinds })),
        ("test-error-or-text", text_or("test_error")),
        ("test-expected-error-or-text", text_or("test_expected_error")),
        ("test-steps", json!({ "type": ["array", "null"], "items": { "type": "string" } })),
    ]
}
