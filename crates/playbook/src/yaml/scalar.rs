//! Parses plain scalars by the core schema of YAML 1.2: `yes`, `on` and dates stay text.

use granit_parser::ScalarStyle;
use serde_json::Number;

use super::Yaml;

/// A plain scalar that is a number in YAML but cannot be represented in JSON.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotJson;

pub(super) fn plain(text: &str) -> Result<Yaml, NotJson> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Yaml::Null,
        "true" | "True" | "TRUE" => Yaml::Bool(true),
        "false" | "False" | "FALSE" => Yaml::Bool(false),
        _ => match number(text)? {
            Some(number) => Yaml::Number(number),
            None => Yaml::Text { text: text.to_owned(), style: ScalarStyle::Plain },
        },
    })
}

fn number(text: &str) -> Result<Option<Number>, NotJson> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(NotJson);
    }
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Ok(None);
    }
    let radix = |prefix, radix| {
        text.strip_prefix(prefix).and_then(|digits| u64::from_str_radix(digits, radix).ok())
    };
    if let Some(value) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Ok(Some(value.into()));
    }
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        let text = text.strip_prefix('+').unwrap_or(text);
        if let Ok(value) = text.parse::<i64>() {
            return Ok(Some(value.into()));
        }
        if let Ok(value) = text.parse::<u64>() {
            return Ok(Some(value.into()));
        }
    }
    if !is_float(unsigned) {
        return Ok(None);
    }
    let value: f64 = text.parse().map_err(|_| NotJson)?;
    Number::from_f64(value).map(Some).ok_or(NotJson)
}

/// True for digits with at most one dot, then an optional exponent.
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_digits = !(whole.is_empty() && fraction.is_empty());
    let good_exponent = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    has_digits && digits(whole) && digits(fraction) && good_exponent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let actual = match plain(text) {
            Ok(Yaml::Null) => "null".to_owned(),
            Ok(Yaml::Bool(truth)) => format!("bool {truth}"),
            Ok(Yaml::Number(number)) => format!("number {number}"),
            Ok(Yaml::Text { text, .. }) => format!("text {text}"),
            Ok(Yaml::List(_) | Yaml::Map(_)) => unreachable!("a scalar is neither"),
            Err(NotJson) => "not json".to_owned(),
        };
        assert_eq!(actual, expected, "{text}");
    }

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        for (text, expected) in [
            ("", "null"),
            ("~", "null"),
            ("Null", "null"),
            ("TRUE", "bool true"),
            ("false", "bool false"),
            ("yes", "text yes"),
            ("off", "text off"),
            ("2026-01-31", "text 2026-01-31"),
            ("12:30", "text 12:30"),
            ("1_000", "text 1_000"),
            ("0", "number 0"),
            ("-7", "number -7"),
            ("+7", "number 7"),
            ("007", "number 7"),
            ("0x1F", "number 31"),
            ("0o17", "number 15"),
            ("18446744073709551615", "number 18446744073709551615"),
            ("1.50", "number 1.5"),
            (".5", "number 0.5"),
            ("1.", "number 1.0"),
            ("1e3", "number 1000.0"),
            ("1e", "text 1e"),
            (".", "text ."),
            ("1.2.3", "text 1.2.3"),
            ("-", "text -"),
            ("infinity", "text infinity"),
            (".inf", "not json"),
            ("-.inf", "not json"),
            (".nan", "not json"),
            ("1e999", "not json"),
        ] {
            check(text, expected);
        }
    }
}
