//! Diagnostics about declared inputs.

use super::super::document;

/// Returns all diagnostics about a playbook that begins with the given lines.
fn findings(head: &str) -> String {
    let workflow = document("  - {step: start, tool: {kind: noop}}\n");
    let text = workflow.replacen("workflow:", &format!("{head}workflow:"), 1);
    match crate::parse("t.yaml", text.as_bytes()) {
        Ok(checked) => checked.warnings.to_string(),
        Err(problems) => problems.to_string(),
    }
}

/// Checks that the diagnostics contain each of some texts.
#[track_caller]
fn check(head: &str, expected: &[&str]) {
    let found = findings(head);
    for text in expected {
        assert!(found.contains(text), "no {text:?} in\n{found}");
    }
}

#[test]
fn good_declarations_need_no_words() {
    let found = findings(
        "inputs:
  a: string
  b: {type: int, default: 5, min: 1, max: 9}
  c: {enum: [x, y], default: x}
  d: {type: list, items: {type: object, properties: {id: {type: integer, required: true}}}}
  e:
workload: {f: 1}
",
    );
    assert_eq!(found, "");
}

#[test]
fn a_declaration_that_contradicts_itself_is_reported_with_its_place() {
    check(
        "inputs:
  a: {type: integer, default: many}
  b: {type: strng}
  c: {type: integer, enum: [1, two]}
  d: {type: string, requird: true}
  e.f: string
  g: {type: string, pattern: '('}
  h: {type: boolean, required: true, default: true}
  i: {min: low}
",
        &[
            "the default of `a` does not fit",
            " --> t.yaml:5:31",
            "a declared type cannot be `strng`",
            "did you mean `string`?",
            "`enum` must be a whole number",
            "the declaration of `d` has no key `requird`",
            "did you mean `required`?",
            "the name of an input has a character that a template cannot read as a name: `e.f`",
            "this is not a regular expression",
            "`h` has a default and so is never missing",
            "`min` must be a number, this is text",
        ],
    );
}

#[test]
fn a_json_schema_is_read_and_unknown_keywords_are_refused() {
    check(
        "workload_schema:
  type: object
  required: [city, tow]
  additionalProperties: false
  properties:
    city: {type: string, minLength: 2, title: City}
    days: {type: integer, minimum: 1, multipleOf: 2}
",
        &["`required` names `tow`, which is not declared", "has no key `multipleOf`"],
    );
    check(
        "inputs: {a: string}\nworkload_schema: {properties: {}}\n",
        &["a playbook declares its inputs in `inputs` or in `workload_schema`"],
    );
}
