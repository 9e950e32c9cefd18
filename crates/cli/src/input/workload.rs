//! The values that the command line merges into a playbook's workload: `--payload`, then each
//! `--set`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::str::FromStr;

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Map, Value};

use crate::args::WorkloadArgs;
use crate::input::nearest::nearest;
use crate::show::failure::Failure;

/// The most bytes of payload read from a file or from standard input.
const PAYLOAD_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The most parts of a dotted key.
const KEY_PARTS_MAX: usize = 32;

/// One value and its key: `a.b=v`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValueAssignment {
    /// The parts of the key; at least one, none empty.
    keys: Vec<String>,
    value: Value,
    /// The value as it was written.
    text: String,
}

impl ValueAssignment {
    /// Returns the name and the text of an assignment to a whole value.
    pub(super) fn whole(&self) -> Option<(&str, &str)> {
        match self.keys.as_slice() {
            [name] => Some((name, &self.text)),
            _ => None,
        }
    }
}

impl FromStr for ValueAssignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((key, value)) = text.split_once('=') else {
            return Err(format!("`{text}` has no `=`; write it like name=Ada"));
        };
        let keys: Vec<String> = key.split('.').map(|part| part.trim().to_owned()).collect();
        if keys.iter().any(String::is_empty) {
            return Err(format!("`{key}` has an empty part"));
        }
        if keys.len() > KEY_PARTS_MAX {
            return Err(format!("`{key}` has more than {KEY_PARTS_MAX} parts"));
        }
        // A number in quotes is text.
        let text = value.to_owned();
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(text.clone()));
        Ok(Self { keys, value, text })
    }
}

/// Returns the values of the arguments.
pub(crate) fn payload_of(args: &WorkloadArgs) -> Result<Map<String, Value>> {
    let mut payload = match &args.payload {
        Some(said) => read_payload(said)?,
        None => Map::new(),
    };
    for ValueAssignment { keys, value, text: _ } in &args.set {
        assign(&mut payload, keys, value.clone());
    }
    Ok(payload)
}

/// Refuses a `--set` of a name that the workload does not have, unless that is allowed. A playbook
/// without a workload accepts any name.
pub(crate) fn check_declared(
    args: &WorkloadArgs,
    declared: &Map<String, Value>,
    owner: &str,
) -> Result<(), Failure> {
    if !args.must_be_declared() || declared.is_empty() {
        return Ok(());
    }
    let names = args.set.iter().map(|assignment| assignment.keys[0].as_str());
    let Some(name) = names.into_iter().find(|name| !declared.contains_key(*name)) else {
        return Ok(());
    };
    let known = declared.keys().map(String::as_str);
    let hint = match nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has {}.", known.collect::<Vec<_>>().join(", ")),
    };
    Err(Failure::bad_input(anyhow!("the workload of {owner} has no `{name}`"))
        .help(format!("{hint} To set it all the same, add --allow-extra")))
}

/// Returns the values of some assignments by their dotted keys.
pub(crate) fn by_key(assignments: &[ValueAssignment]) -> BTreeMap<String, Value> {
    assignments.iter().map(|it| (it.keys.join("."), it.value.clone())).collect()
}

/// Merges `over` into `base`: maps are merged, any other value replaces the existing one.
pub(crate) fn merge(base: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

fn assign(map: &mut Map<String, Value>, keys: &[String], value: Value) {
    let (first, rest) = keys.split_first().expect("an assignment has a key");
    if rest.is_empty() {
        map.insert(first.clone(), value);
        return;
    }
    let below = map.entry(first.as_str()).or_insert(Value::Null);
    if !below.is_object() {
        *below = Value::Object(Map::new());
    }
    let below = below.as_object_mut().expect("it has just been made one");
    assign(below, rest, value);
}

/// Reads a value of an option: JSON, `@FILE` (JSON or YAML), or `-` for standard input.
pub(crate) fn read_value(option: &str, said: &str) -> Result<Value> {
    if said == "-" {
        let mut text = String::new();
        let mut input = std::io::stdin().lock().take(PAYLOAD_BYTES_MAX);
        input.read_to_string(&mut text).context("cannot read standard input")?;
        document(&text).context("standard input is neither JSON nor YAML")
    } else if let Some(file) = said.strip_prefix('@') {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
        document(&text).with_context(|| format!("{file} is neither JSON nor YAML"))
    } else {
        serde_json::from_str(said)
            .with_context(|| format!("{option} is not JSON; for a file, write {option} @FILE"))
    }
}

fn read_payload(said: &str) -> Result<Map<String, Value>> {
    match read_value("--payload", said)? {
        Value::Object(map) => Ok(map),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            bail!("--payload has to be a map of names to values")
        }
    }
}

/// Parses JSON or YAML. JSON is tried first: it is also YAML, but its errors are clearer.
fn document(text: &str) -> Result<Value> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(error) if text.trim_start().starts_with(['{', '[']) => {
            serde_saphyr::from_str(text).map_err(|_| error.into())
        }
        Err(_) => Ok(serde_saphyr::from_str(text)?),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(set: &[&str], payload: Option<&str>, expected: &Value) {
        let set = set.iter().map(|text| text.parse().unwrap()).collect();
        let payload = payload.map(str::to_owned);
        let args = WorkloadArgs { set, payload, allow_extra: false };
        assert_eq!(Value::Object(payload_of(&args).unwrap()), *expected);
    }

    #[track_caller]
    fn check_refused(text: &str, expected: &str) {
        assert_eq!(text.parse::<ValueAssignment>().unwrap_err(), expected);
    }

    #[test]
    fn json_is_understood_and_anything_else_is_text() {
        check(
            &["n=1", "f=1.5", "b=true", "z=null", "l=[1,2]", "m={\"a\":1}", "t=1x", "e="],
            None,
            &json!({"n": 1, "f": 1.5, "b": true, "z": null, "l": [1, 2], "m": {"a": 1},
                    "t": "1x", "e": ""}),
        );
    }

    #[test]
    fn a_quoted_number_is_text() {
        check(&["zip=\"01234\""], None, &json!({"zip": "01234"}));
    }

    #[test]
    fn only_the_first_equals_sign_divides() {
        check(&["url=http://x/?a=b"], None, &json!({"url": "http://x/?a=b"}));
    }

    #[test]
    fn dots_nest_and_later_values_win() {
        check(
            &["a.b=1", "a.c=2", "a.b=3", "d=1", "d.e=2"],
            None,
            &json!({"a": {"b": 3, "c": 2}, "d": {"e": 2}}),
        );
    }

    #[test]
    fn set_is_laid_over_the_payload() {
        check(&["a.b=1"], Some(r#"{"a": {"b": 0, "c": 0}}"#), &json!({"a": {"b": 1, "c": 0}}));
    }

    #[test]
    fn a_key_must_be_there_and_whole() {
        check_refused("name", "`name` has no `=`; write it like name=Ada");
        check_refused("a..b=1", "`a..b` has an empty part");
        check_refused("=1", "`` has an empty part");
    }

    #[test]
    fn a_payload_file_may_be_yaml_or_json() {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in [("a.json", r#"{"a": [1]}"#), ("a.yaml", "a:\n  - 1\n")] {
            let file = directory.path().join(name);
            std::fs::write(&file, text).unwrap();
            check(&[], Some(&format!("@{}", file.display())), &json!({"a": [1]}));
        }
    }

    #[test]
    fn a_payload_that_is_no_map_is_refused() {
        let payload = Some("[1]".to_owned());
        let args = WorkloadArgs { set: Vec::new(), payload, allow_extra: false };
        let error = payload_of(&args).unwrap_err().to_string();
        assert_eq!(error, "--payload has to be a map of names to values");
    }

    #[test]
    fn a_name_that_the_workload_does_not_have_is_refused_with_the_nearest() {
        let declared = json!({"total": 1, "name": "x"});
        let check = |set: &str, allow_extra| {
            let args = WorkloadArgs { set: vec![set.parse().unwrap()], payload: None, allow_extra };
            check_declared(&args, declared.as_object().unwrap(), "tests/x")
        };
        assert!(check("total=5", false).is_ok() && check("name.a=5", false).is_ok());
        let Err(Failure::BadInput(refused)) = check("totl=5", false) else { panic!("accepted") };
        assert_eq!(refused.to_string(), "the workload of tests/x has no `totl`");
        assert!(check("totl=5", true).is_ok());
    }

    #[test]
    fn merging_keeps_keys_that_are_not_named() {
        let mut base = json!({"a": {"b": 1, "c": 1}, "d": 1});
        let over = json!({"a": {"b": 2}, "d": {"e": 2}});
        merge(base.as_object_mut().unwrap(), over.as_object().unwrap().clone());
        assert_eq!(base, json!({"a": {"b": 2, "c": 1}, "d": {"e": 2}}));
    }
}
