//! Builds a JSON Schema of the language, for completion, descriptions and error marks in editors.
//!
//! Made from the same tables that the reader uses. Old spellings are included and marked as
//! deprecated; rules that a schema cannot express are left to the reader.

mod tests_of_playbooks;

pub use tests_of_playbooks::test_schema;

use serde_json::{Map, Value, json};

use crate::words::{KeyStatus, KeyTable, KeyType, LanguageKey, TABLES, tool_kinds};

/// Returns the JSON Schema, draft 2020-12.
pub fn schema() -> Value {
    let mut definitions: Map<String, Value> =
        TABLES.iter().map(|table| (table.name.to_owned(), object(table))).collect();
    let further = special().into_iter().chain(declared_inputs());
    definitions.extend(further.map(|(name, schema)| (name.to_owned(), schema)));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Playbook",
        "description": "A playbook: steps that call tools, and the arcs between them.",
        "$ref": "#/$defs/playbook",
        "$defs": definitions,
        "examples": [example()],
    })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn object(table: &KeyTable) -> Value {
    let properties: Map<String, Value> =
        table.words.iter().map(|word| (word.name.to_owned(), property(word))).collect();
    let mut object = json!({ "type": "object", "properties": properties });
    if !table.required.is_empty() {
        object["required"] = json!(table.required);
    }
    // Unknown keys are warnings when a playbook is read; a schema can only forbid them.
    if !table.open {
        object["additionalProperties"] = json!(false);
    }
    object
}

fn property(word: &LanguageKey) -> Value {
    let mut schema = of_shape(word.shape);
    let mut about = word.about.to_owned();
    match word.status {
        KeyStatus::Current => {}
        KeyStatus::Old(instead) => {
            schema["deprecated"] = json!(true);
            about.push_str(&format!(" Write {instead} instead."));
        }
        KeyStatus::Ignored(why) => {
            schema["deprecated"] = json!(true);
            about.push_str(&format!(" It has no effect: {why}."));
        }
    }
    schema["description"] = json!(about);
    if let Some(examples) = examples(word.name) {
        schema["examples"] = examples;
    }
    schema
}

fn of_shape(shape: KeyType) -> Value {
    match shape {
        KeyType::Any => json!({}),
        KeyType::Text => json!({ "type": ["string", "number", "boolean"] }),
        KeyType::Truth => json!({ "type": "boolean" }),
        KeyType::Condition => json!({ "type": ["string", "boolean", "number"] }),
        KeyType::Integer => json!({ "type": ["integer", "string"], "minimum": 1 }),
        KeyType::Number | KeyType::Duration => json!({ "type": ["number", "string"] }),
        KeyType::FreeMap | KeyType::Assignments => json!({ "type": ["object", "null"] }),
        KeyType::OneOf(words) => json!({ "enum": words }),
        KeyType::Tool => json!({ "enum": tool_kinds() }),
        KeyType::Table(name) | KeyType::Special(name) => reference(name),
        KeyType::ListOf(name) => json!({ "type": "array", "items": reference(name) }),
    }
}

fn examples(name: &str) -> Option<Value> {
    Some(match name {
        "when" => json!(["{{ output.status == 'error' }}", "{{ ctx.page < 10 }}"]),
        "set" => json!([{ "ctx.page": "{{ output.data.page + 1 }}" }]),
        "in" => json!(["{{ workload.cities }}", ["a", "b"], 10]),
        "iterator" => json!(["city"]),
        "timeout" | "delay" | "max_delay" => json!([30, "500ms", "5m"]),
        "next" => json!([{ "arcs": [{ "step": "end" }] }]),
        "tool" => json!([{ "kind": "http", "method": "GET", "url": "{{ workload.url }}" }]),
        "path" => json!(["weather/forecast"]),
        "to" => json!(["fetch", "previous"]),
        _ => return None,
    })
}

/// Returns the definitions of declared inputs.
fn declared_inputs() -> [(&'static str, Value); 2] {
    [
        ("input-or-type", json!({ "anyOf": [reference("input"), { "type": ["string", "null"] }] })),
        (
            "inputs",
            json!({ "type": ["object", "null"], "additionalProperties": reference("input-or-type") }),
        ),
    ]
}

fn notification_targets() -> Value {
    json!({ "anyOf": [
        reference("notification-target"),
        { "type": "array", "minItems": 1, "items": reference("notification-target") },
        { "type": "null" },
    ] })
}

/// Returns the definitions of values that have several forms.
fn special() -> Vec<(&'static str, Value)> {
    let name = json!({ "type": ["string", "number", "boolean"] });
    let rules = json!({ "type": ["array", "null"], "items": reference("rule") });
    let admit_rules = json!({ "type": "array", "items": reference("admit-rule") });
    let item = json!({ "anyOf": [
        reference("tool"),
        { "type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": reference("tool") },
    ] });
    let case = json!({ "type": "object", "properties": {
        "when": { "type": ["string", "boolean"] },
        "then": {},
        "else": {},
    }, "deprecated": true });
    vec![
        (
            "tool-or-list",
            json!({ "anyOf": [
            reference("tool"),
            { "type": "array", "minItems": 1, "items": item },
            { "enum": tool_kinds(), "deprecated": true },
        ] }),
        ),
        (
            "next",
            json!({ "anyOf": [
            reference("router"),
            reference("arc"),
            name,
            { "type": "array", "items": { "anyOf": [name, reference("arc"), case] } },
            { "type": "null" },
        ] }),
        ),
        ("notification-targets", notification_targets()),
        ("policy-or-rules", json!({ "anyOf": [reference("policy"), rules] })),
        ("rules", rules),
        (
            "else",
            json!({ "anyOf": [
            { "type": "object", "properties": { "then": reference("then") }, "required": ["then"] },
            reference("then"),
        ] }),
        ),
        (
            "admit",
            json!({ "anyOf": [
            { "type": "object", "properties": { "rules": admit_rules }, "required": ["rules"] },
            admit_rules,
        ] }),
        ),
        (
            "admit-else",
            json!({ "anyOf": [
            { "type": "object", "properties": { "then": reference("allow") }, "required": ["then"] },
            reference("allow"),
        ] }),
        ),
        (
            "retry-or-count",
            json!({ "anyOf": [
            reference("retry"),
            { "type": ["integer", "boolean", "null"] },
        ] }),
        ),
        ("workbook", workbook()),
    ]
}

fn workbook() -> Value {
    json!({ "anyOf": [
        { "type": "array", "items": { "type": "object", "required": ["name"] } },
        { "type": "object" },
        { "type": "null" },
    ] })
}

fn example() -> Value {
    json!({
        "apiVersion": "noetl.io/v2",
        "kind": "Playbook",
        "metadata": { "name": "hello", "path": "examples/hello" },
        "inputs": { "name": { "type": "string", "default": "world" } },
        "workflow": [
            {
                "step": "start",
                "tool": { "kind": "python", "input": { "name": "{{ workload.name }}" },
                          "code": "result = {'greeting': f'hello {name}'}" },
                "next": { "arcs": [{ "step": "end", "when": "{{ output.greeting }}" }] },
            },
            { "step": "end", "tool": { "kind": "noop" } },
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words;

    /// Collects every `$ref` below a schema.
    fn references(schema: &Value, found: &mut Vec<String>) {
        match schema {
            Value::Object(map) => {
                found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_definition_is_used() {
        for schema in [schema(), test_schema()] {
            let mut found = Vec::new();
            references(&schema, &mut found);
            let definitions = schema["$defs"].as_object().unwrap();
            for reference in &found {
                let name = reference.strip_prefix("#/$defs/").unwrap();
                assert!(definitions.contains_key(name), "{reference}");
            }
            for name in definitions.keys() {
                assert!(found.contains(&format!("#/$defs/{name}")), "{name} is never used");
            }
        }
    }

    #[test]
    fn every_key_has_a_description() {
        let tables = TABLES.iter().map(|table| (table, schema()));
        let of_tests = words::test_file::TABLES.iter().map(|table| (table, test_schema()));
        for (table, schema) in tables.chain(of_tests) {
            let properties = &schema["$defs"][table.name]["properties"];
            for word in table.words {
                let about = properties[word.name]["description"].as_str().unwrap();
                assert!(about.ends_with('.'), "{}.{}: {about}", table.name, word.name);
            }
            for required in table.required {
                assert!(table.word(required).is_some(), "{}.{required}", table.name);
            }
        }
    }

    #[test]
    fn the_example_is_a_playbook_without_a_warning() {
        let checked = crate::parse("example", example().to_string().as_bytes()).unwrap();
        assert_eq!(checked.warnings.to_string(), "");
    }
}
