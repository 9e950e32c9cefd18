//! Tests of the canonical form of typed values and of the same values read from JSON.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};

use super::canonical;

fn text(value: &impl Serialize) -> String {
    String::from_utf8(canonical(value)).expect("JSON is text")
}

#[track_caller]
fn check(json: &str, expected: &str) {
    let value: Value = serde_json::from_str(json).unwrap();
    assert_eq!(text(&value), expected);
}

/// Checks that a typed value and the value parsed from its JSON have the same canonical form.
#[track_caller]
fn check_typed(value: &impl Serialize, expected: &str) {
    assert_eq!(text(value), expected);
    check(&serde_json::to_string(value).unwrap(), expected);
}

#[test]
fn keys_are_in_order_at_every_level() {
    check(
        r#"{ "b": [ {"z": 1, "y": 2} ], "a": {"ä": 1, "z": 2} }"#,
        r#"{"a":{"z":2,"ä":1},"b":[{"y":2,"z":1}]}"#,
    );
}

#[test]
fn numbers_keep_their_kind() {
    check(
        "[1, 1.0, -0.0, 1e300, 0.1, 18446744073709551615]",
        "[1,1.0,-0.0,1e+300,0.1,18446744073709551615]",
    );
}

#[test]
fn keys_are_ordered_by_what_they_are_not_by_how_they_are_escaped() {
    check(r#"{"A":1,"\"":2,"\u0001":3,"":4}"#, r#"{"":4,"\u0001":3,"\"":2,"A":1}"#);
    check(r#"{"[":1,"\\":2,"]":3}"#, r#"{"[":1,"\\":2,"]":3}"#);
}

#[test]
fn a_key_comes_before_those_it_begins() {
    check(r#"{"ab":1,"a":2,"a!":3}"#, r#"{"a":2,"a!":3,"ab":1}"#);
}

#[test]
fn empty_lists_maps_texts_and_null_are_written() {
    check(
        r#"{"b":{},"a":[],"c":[{}],"d":null,"e":""}"#,
        r#"{"a":[],"b":{},"c":[{}],"d":null,"e":""}"#,
    );
}

#[derive(Serialize)]
struct Shape {
    zero: u8,
    unit: (),
    tuple: (i8, bool),
    kinds: Vec<Kind>,
    absent: Option<u8>,
    numbers: BTreeMap<u64, char>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Unit,
    One(u8),
    Two(u8, u8),
    Fields { z: u8, a: u8 },
}

#[test]
fn types_are_written_as_their_json_is() {
    let kinds = vec![Kind::Unit, Kind::One(1), Kind::Two(1, 2), Kind::Fields { z: 1, a: 2 }];
    let numbers = [(2, 'x'), (10, 'y')].into();
    check_typed(
        &Shape { zero: 0, unit: (), tuple: (-1, true), kinds, absent: None, numbers },
        r#"{"absent":null,"kinds":["unit",{"one":1},{"two":[1,2]},{"fields":{"a":2,"z":1}}],"numbers":{"10":"y","2":"x"},"tuple":[-1,true],"unit":null,"zero":0}"#,
    );
}

/// Reference implementation of the key order: members are inserted in sorted order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(members) => {
            let members: BTreeMap<&String, Value> =
                members.iter().map(|(key, member)| (key, sorted(member))).collect();
            Value::Object(members.into_iter().map(|(key, it)| (key.clone(), it)).collect())
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    plain.prop_recursive(4, 40, 8, |inner| {
        let members = prop::collection::vec((any::<String>(), inner.clone()), 0..8);
        prop_oneof![
            prop::collection::vec(inner, 0..8).prop_map(Value::from),
            members.prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_is_written_as_json_with_its_keys_in_order(value in any_json()) {
        prop_assert_eq!(text(&value), sorted(&value).to_string());
    }
}
