//! Converts PostgreSQL's text format to JSON without loss: a value that JSON cannot hold exactly
//! stays text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use noetl_model::{Footprint, Unmeasured, ValueLimits};
use serde_json::{Number, Value};
use tokio_postgres::types::{Kind, Type};

use super::array;

/// Converts a value of a type to JSON.
pub(crate) fn to_json(kind: &Type, text: &str) -> Value {
    let as_text = || Value::String(text.to_owned());
    match *kind {
        Type::BOOL => Value::Bool(text == "t"),
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => {
            text.parse::<i64>().map_or_else(|_| as_text(), Value::from)
        }
        Type::FLOAT4 | Type::FLOAT8 => float(text).unwrap_or_else(as_text),
        Type::JSON | Type::JSONB => json(text).unwrap_or_else(as_text),
        Type::BYTEA => {
            bytes(text).map_or_else(as_text, |bytes| Value::String(STANDARD.encode(bytes)))
        }
        Type::TIMESTAMP | Type::TIMESTAMPTZ => Value::String(timestamp(text)),
        Type::VOID => Value::Null,
        _ => match kind.kind() {
            Kind::Array(element) => {
                let delimiter = if *element == Type::BOX { ';' } else { ',' };
                array::parse(text, delimiter, &|text| to_json(element, text))
                    .unwrap_or_else(as_text)
            }
            Kind::Domain(base) => to_json(base, text),
            _ => as_text(),
        },
    }
}

/// Returns the size of the value that [`to_json`] makes from a text.
pub(crate) fn footprint(
    kind: &Type,
    text: &str,
    limits: ValueLimits,
) -> Result<Footprint, Unmeasured> {
    match (kind.kind(), kind) {
        (_, &Type::JSON | &Type::JSONB) => Footprint::of_json(text.as_bytes(), limits),
        (Kind::Array(element), _) => {
            let delimiter = if *element == Type::BOX { ';' } else { ',' };
            let elements = text.matches(delimiter).count() + 1;
            let memory = elements * size_of::<Value>() + text.len();
            Ok(Footprint { elements, memory })
        }
        (Kind::Domain(base), _) => footprint(base, text, limits),
        _ => Ok(Footprint { elements: 1, memory: size_of::<Value>() + text.len() }),
    }
}

/// Parses a float; `None` for `NaN` and `Infinity`, which JSON does not have.
fn float(text: &str) -> Option<Value> {
    text.parse().ok().and_then(Number::from_f64).map(Value::Number)
}

/// Parses JSON; `None` if a number in it would lose precision.
fn json(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    is_exact(text).then_some(value)
}

/// True if every number in a JSON text fits into 64 bits: integers exactly, other numbers with at
/// most seventeen digits.
fn is_exact(text: &str) -> bool {
    const DIGITS_MAX: usize = 17;
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c.is_ascii_digit()) {
        rest = &rest[at..];
        let length = if rest.starts_with('"') { quoted(rest) } else { number(rest) };
        let token = &rest[..length];
        let digits = token.bytes().filter(u8::is_ascii_digit).count();
        let is_number = !token.starts_with('"');
        if is_number && DIGITS_MAX < digits && token.parse::<u64>().is_err() {
            return false;
        }
        if is_number && token.parse::<f64>().is_ok_and(f64::is_infinite) {
            return false;
        }
        rest = &rest[length..];
    }
    true
}

fn quoted(text: &str) -> usize {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn number(text: &str) -> usize {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// Parses bytes in the format `\x0aff`.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

/// Converts `2024-05-06 07:08:09.5+02` to RFC 3339; `infinity` and years BC are returned unchanged.
fn timestamp(text: &str) -> String {
    let Some((date, time)) = text.split_once(' ').filter(|(_, time)| !time.ends_with("BC")) else {
        return text.to_owned();
    };
    let zone_at = time.find(['+', '-']).unwrap_or(time.len());
    let (time, zone) = time.split_at(zone_at);
    let minutes = if zone.len() == 3 { ":00" } else { "" };
    format!("{date}T{time}{zone}{minutes}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(kind: &Type, text: &str, expected: Value) {
        assert_eq!(to_json(kind, text), expected, "{kind} {text}");
    }

    #[test]
    fn values_that_json_holds_exactly_become_json() {
        check(&Type::BOOL, "t", json!(true));
        check(&Type::INT8, "9223372036854775807", json!(9_223_372_036_854_775_807_i64));
        check(&Type::FLOAT8, "0.1", json!(0.1));
        check(&Type::JSONB, r#"{"b": [1, null], "a": 1.50}"#, json!({"b": [1, null], "a": 1.5}));
        check(&Type::INT4_ARRAY, "{1,NULL,3}", json!([1, null, 3]));
        check(&Type::VOID, "", json!(null));
    }

    #[test]
    fn values_that_json_would_change_stay_texts() {
        check(&Type::NUMERIC, "1.10", json!("1.10"));
        check(&Type::FLOAT8, "NaN", json!("NaN"));
        check(&Type::FLOAT8, "-Infinity", json!("-Infinity"));
        check(&Type::INT4_ARRAY, "[0:1]={1,2}", json!("[0:1]={1,2}"));
        check(
            &Type::JSONB,
            "{\"a\": 123456789012345678901}",
            json!("{\"a\": 123456789012345678901}"),
        );
        check(&Type::JSONB, "[1e400]", json!("[1e400]"));
        check(&Type::JSONB, "[\"123456789012345678901\"]", json!(["123456789012345678901"]));
        check(&Type::JSONB, "[18446744073709551615]", json!([18_446_744_073_709_551_615_u64]));
    }

    #[test]
    fn times_are_written_as_the_standard_has_them() {
        check(&Type::TIMESTAMP, "2024-05-06 07:08:09.5", json!("2024-05-06T07:08:09.5"));
        check(&Type::TIMESTAMPTZ, "2024-05-06 07:08:09+02", json!("2024-05-06T07:08:09+02:00"));
        check(&Type::TIMESTAMPTZ, "2024-05-06 07:08:09-02:30", json!("2024-05-06T07:08:09-02:30"));
        check(&Type::TIMESTAMPTZ, "infinity", json!("infinity"));
        check(&Type::TIMESTAMP, "0044-03-15 12:00:00 BC", json!("0044-03-15 12:00:00 BC"));
    }

    #[test]
    fn bytes_are_base64() {
        check(&Type::BYTEA, "\\x00ff10", json!("AP8Q"));
        check(&Type::BYTEA_ARRAY, r#"{"\\x00"}"#, json!(["AA=="]));
    }
}
