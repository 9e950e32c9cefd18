//! The keys of a declared input, in our words and in those of JSON Schema.

use super::{KeyTable, KeyType, now};

/// The current names of the types of inputs.
const TYPES: &[&str] = &["string", "integer", "number", "boolean", "list", "object", "any"];

/// Keys of JSON Schema that describe and do not limit.
pub(crate) const SCHEMA_NOTES: &[&str] =
    &["$schema", "$id", "$comment", "title", "examples", "format", "deprecated"];

pub(crate) const INPUT: &KeyTable = &KeyTable {
    name: "input",
    title: "the declaration of an input",
    required: &[],
    open: false,
    words: &[
        now("type", KeyType::OneOf(TYPES), "Type of the value; default: any."),
        now("required", KeyType::Truth, "If true, a start must pass a value."),
        now(
            "secret",
            KeyType::Truth,
            "If true, the value is stored encrypted and masked; only tools can read it.",
        ),
        now("default", KeyType::Any, "Value if a start passes none."),
        now("enum", KeyType::Any, "Allowed values, as a list."),
        now("description", KeyType::Text, "Purpose of the input."),
        now("min", KeyType::Number, "Minimum of a number."),
        now("max", KeyType::Number, "Maximum of a number."),
        now("min_length", KeyType::Any, "Minimum number of characters or items."),
        now("max_length", KeyType::Any, "Maximum number of characters or items."),
        now("pattern", KeyType::Text, "Regular expression that a text must match."),
        now("items", KeyType::Special("input-or-type"), "Declaration of each item of a list."),
        now("properties", KeyType::Special("inputs"), "Declarations of the fields of a map."),
        now("writeOnly", KeyType::Truth, "The same as `secret`."),
        now(
            "additionalProperties",
            KeyType::Truth,
            "If true, a map may have fields that are not declared.",
        ),
        now("minimum", KeyType::Number, "The same as `min`."),
        now("maximum", KeyType::Number, "The same as `max`."),
        now("minLength", KeyType::Any, "The same as `min_length`."),
        now("maxLength", KeyType::Any, "The same as `max_length`."),
        now("minItems", KeyType::Any, "The same as `min_length`, of a list."),
        now("maxItems", KeyType::Any, "The same as `max_length`, of a list."),
    ],
};
