use serde_json::{Value, json};

use super::*;

const PLAYBOOK: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
inputs:
  city: {type: string, required: true, min_length: 2, pattern: '^[A-Z]'}
  count: {type: integer, default: 3, min: 1, max: 10}
  share: number
  verbose: bool
  env: {enum: [dev, staging, prod], default: dev}
  tags: {type: list, max_length: 2, items: string}
  options:
    type: object
    properties:
      depth: {type: integer, required: true}
      name: {type: string, default: x}
workload:
  url: http://localhost
workflow:
- step: start
  tool: {kind: noop}
";

fn checked(given: Value) -> Result<Value, Vec<String>> {
    let playbook = crate::parse("t.yaml", PLAYBOOK.as_bytes()).expect("a valid playbook").playbook;
    let given = given.as_object().expect("a map").clone();
    let mut workload = playbook.workload.clone();
    workload.extend(given.clone());
    let inputs = playbook.inputs.expect("declared inputs");
    match inputs.check(&given, &playbook.workload, &mut workload) {
        Ok(()) => Ok(Value::Object(workload)),
        Err(problems) => Err(problems.iter().map(|it| format!("{}: {it}", it.path)).collect()),
    }
}

#[track_caller]
fn check(given: Value, expected: Value) {
    let workload = checked(given).expect("the values fit");
    for (name, value) in expected.as_object().expect("a map") {
        assert_eq!(workload.get(name), Some(value), "{name}");
    }
}

#[track_caller]
fn check_refused(given: Value, expected: &[&str]) {
    assert_eq!(checked(given).expect_err("the values do not fit"), expected);
}

#[test]
fn defaults_are_applied_and_texts_become_the_declared_type() {
    check(json!({"city": "Bern"}), json!({"city": "Bern", "count": 3, "env": "dev"}));
    check(
        json!({"city": "Bern", "count": "5", "share": "0.5", "verbose": "true", "tags": "[\"a\"]"}),
        json!({"count": 5, "share": 0.5, "verbose": true, "tags": ["a"]}),
    );
    check(json!({"city": "Bern", "count": 5.0}), json!({"count": 5}));
    check(
        json!({"city": "Bern", "options": {"depth": 1}}),
        json!({"options": {"depth": 1, "name": "x"}}),
    );
    check(json!({"city": "Bern", "url": "http://x"}), json!({"url": "http://x"}));
    check(json!({"city": "Bern", "share": null}), json!({"share": null}));
}

#[test]
fn all_problems_are_reported_at_once_with_the_name_that_was_meant() {
    check_refused(
        json!({"cuont": 1, "env": "prd", "share": "much", "verbose": 1, "colour": "red"}),
        &[
            "city: `city` is required: text",
            "share: `share` must be a number, this is text: `much`",
            "verbose: `verbose` must be true or false, this is 1",
            "env: `env` cannot be text: `prd`; it is one of dev, staging, prod (did you mean `prod`?)",
            "cuont: there is no input `cuont` (did you mean `count`?)",
            "colour: there is no input `colour`; the playbook has city, count, share, verbose, env, \
             tags, options",
        ],
    );
}

#[test]
fn limits_are_checked_also_within_lists_and_maps() {
    check_refused(
        json!({"city": "b", "count": 11, "tags": ["a", "b", "c"]}),
        &[
            "city: `city` must have at least 2 characters, this has 1",
            "count: `count` must be at most 10, this is 11",
            "tags: `tags` must have at most 2 items, this has 3",
        ],
    );
    check_refused(
        json!({"city": "bern", "count": 0, "tags": ["a", 2], "options": {"dept": 1}}),
        &[
            "city: `city` must match `^[A-Z]`, this is text: `bern`",
            "count: `count` must be at least 1, this is 0",
            "tags[1]: `tags[1]` must be text, this is 2",
            "options.depth: `options.depth` is required: a whole number",
            "options.dept: `options` has no field `dept` (did you mean `depth`?)",
        ],
    );
    check_refused(json!({"city": ["Bern"]}), &["city: `city` must be text, this is a list"]);
    check_refused(json!({"city": null}), &["city: `city` is required: text"]);
}

#[test]
fn a_start_with_a_thousand_unknown_names_is_answered_with_the_first_hundred() {
    let given: Map<String, Value> = (0..1000).map(|n| (format!("x{n}"), json!(n))).collect();
    assert_eq!(checked(Value::Object(given)).unwrap_err().len(), INPUT_PROBLEMS_MAX);
}
