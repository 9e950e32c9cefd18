//! Formats parameter values as SQL literals, for the arguments of a prepared statement. The
//! statement itself is already parsed, so a value cannot change it (no SQL injection).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio_postgres::types::{Kind, Type};

use super::array;

/// The reason why a value cannot be passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("a text with a NUL character, which PostgreSQL cannot hold")]
    Nul,
    #[error("bytes, so it must be base64 or hexadecimal after \\x")]
    NotBytes,
}

/// Returns the SQL literal of a value for a parameter type.
pub(crate) fn literal(kind: &Type, value: &Value) -> Result<String, Unfit> {
    match text(kind, value)? {
        None => Ok("NULL".into()),
        Some(text) if text.contains('\0') => Err(Unfit::Nul),
        Some(text) => Ok(quoted(&text)),
    }
}

/// Returns the text format of a value for a parameter type; `None` for NULL.
pub(crate) fn text(kind: &Type, value: &Value) -> Result<Option<String>, Unfit> {
    if matches!(*kind, Type::JSON | Type::JSONB) {
        // A string that is valid JSON was made with `tojson` and is passed unchanged.
        return Ok(match value {
            Value::Null => None,
            Value::String(text) if serde_json::from_str::<Value>(text).is_ok() => {
                Some(text.clone())
            }
            value => Some(value.to_string()),
        });
    }
    Ok(match value {
        Value::Null => None,
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) if *kind == Type::BYTEA => Some(bytea(text)?),
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => Some(match kind.kind() {
            Kind::Array(element) if is_json(element) => array_of_json(items),
            Kind::Array(_) => array::write(items),
            _ => value.to_string(),
        }),
        Value::Object(_) => Some(value.to_string()),
    })
}

fn is_json(kind: &Type) -> bool {
    matches!(*kind, Type::JSON | Type::JSONB)
}

fn array_of_json(items: &[Value]) -> String {
    let texts: Vec<Value> = items
        .iter()
        .map(|item| if item.is_null() { Value::Null } else { Value::String(item.to_string()) })
        .collect();
    array::write(&texts)
}

fn bytea(text: &str) -> Result<String, Unfit> {
    if text.starts_with("\\x") {
        return Ok(text.to_owned());
    }
    let bytes = STANDARD.decode(text).map_err(|_| Unfit::NotBytes)?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("\\x{digits}"))
}

fn quoted(text: &str) -> String {
    let text = text.replace('\'', "''");
    match text.contains('\\') {
        false => format!("'{text}'"),
        true => format!("E'{}'", text.replace('\\', "\\\\")),
    }
}

/// Quotes an identifier.
pub(crate) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(kind: &Type, value: Value, expected: &str) {
        let shown = literal(kind, &value).unwrap_or_else(|unfit| unfit.to_string());
        assert_eq!(shown, expected, "{kind} {value}");
    }

    #[test]
    fn a_value_stays_a_value_whatever_it_holds() {
        check(&Type::TEXT, json!("it's"), "'it''s'");
        check(&Type::TEXT, json!("\\'); DROP TABLE a; --"), "E'\\\\''); DROP TABLE a; --'");
        check(&Type::TEXT, json!("a\0b"), &Unfit::Nul.to_string());
        check(&Type::INT4, json!(5), "'5'");
        check(&Type::BOOL, json!(true), "'true'");
        check(&Type::TEXT, json!(null), "NULL");
    }

    #[test]
    fn a_structure_becomes_what_the_parameter_is() {
        check(&Type::JSONB, json!([1, "a"]), "'[1,\"a\"]'");
        check(&Type::JSONB, json!("{\"a\": 1}"), "'{\"a\": 1}'");
        check(&Type::JSONB, json!("plain"), "'\"plain\"'");
        check(&Type::TEXT_ARRAY, json!(["a", null]), "'{\"a\",NULL}'");
        check(&Type::JSONB_ARRAY, json!([{"a": 1}]), "E'{\"{\\\\\"a\\\\\":1}\"}'");
        check(&Type::TEXT, json!({"a": 1}), "'{\"a\":1}'");
        check(&Type::BYTEA, json!("AP8Q"), "E'\\\\x00ff10'");
        check(&Type::BYTEA, json!("not bytes"), &Unfit::NotBytes.to_string());
    }
}
