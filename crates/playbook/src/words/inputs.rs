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
        now("type", KeyType::OneOf(TYPES), "The type of the value; any if left out."),
        now("required", KeyType::Truth, "Whether a start has to give a value."),
        now(
            "secret",
            KeyType::Truth,
            "Whether the value is stored encrypted and masked; tools alone read it.",
        ),
        now("default", KeyType::Any, "The value if a start gives none."),
        now("enum", KeyType::Any, "The values that are allowed, as a list."),
        now("description", KeyType::Text, "What the input is for."),
        now("min", KeyType::Number, "The least number that is allowed."),
        now("max", KeyType::Number, "The greatest number that is allowed."),
        now("min_length", KeyType::Any, "The fewest characters of a text or items of a list."),
        now("max_length", KeyType::Any, "The most characters of a text or items of a list."),
        now("pattern", KeyType::Text, "A regular expression that a text has to match."),
        now("items", KeyType::Special("input-or-type"), "The declaration of each item of a list."),
        now("properties", KeyType::Special("inputs"), "The declarations of the fields of a map."),
        now("writeOnly", KeyType::Truth, "The same as `secret`."),
        now("additionalProperties", KeyType::Truth, "Whether a map may have other fields."),
        now("minimum", KeyType::Number, "The same as `min`."),
        now("maximum", KeyType::Number, "The same as `max`."),
        now("minLength", KeyType::Any, "The same as `min_length`."),
        now("maxLength", KeyType::Any, "The same as `max_length`."),
        now("minItems", KeyType::Any, "The same as `min_length`, of a list."),
        now("maxItems", KeyType::Any, "The same as `max_length`, of a list."),
    ],
};
