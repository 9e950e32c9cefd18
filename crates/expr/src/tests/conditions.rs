//! Tests of the values that count as true.

use serde_json::{Value, json};

use super::{Given, sample};
use crate::Condition;

#[track_caller]
fn check(cases: &[(Value, bool)]) {
    for (source, expected) in cases {
        let condition = Condition::parse(source.clone()).unwrap();
        assert_eq!(condition.holds(&Given::from(sample())), Ok(*expected), "{source}");
    }
}

#[test]
fn values_that_are_not_text() {
    check(&[
        (json!(true), true),
        (json!(false), false),
        (json!(null), false),
        (json!(0), false),
        (json!(0.0), false),
        (json!(2), true),
    ]);
}

#[test]
fn expressions_with_and_without_braces() {
    check(&[
        (json!("one == 1"), true),
        (json!("{{ one == 1 }}"), true),
        (json!("{{ one == 2 }}"), false),
        (json!("workload.items | length > 2"), true),
        (json!("{'a': 1} == {'a': 1}"), true),
        (json!("event.name == 'loop.done'"), false),
        (json!("{{ t }} "), true),
        (json!("{% if f %}x{% endif %}"), false),
        (json!("{{ one }}{{ one }}"), true),
        (json!("true"), true),
        (json!("False"), false),
        (json!("missing.a.b"), false),
        (json!("'no'"), false),
        (json!(""), false),
        (json!("  "), false),
    ]);
}

#[test]
fn text_that_says_no_is_false() {
    for text in ["", " ", "false", "False", " FALSE ", "0", "no", "None", "null", "OFF", "{}", "[]"]
    {
        let condition = Condition::parse(json!("{{ v }}")).unwrap();
        assert_eq!(condition.holds(&Given::from(json!({"v": text}))), Ok(false), "{text:?}");
        let condition = Condition::parse(json!("{{ v }}{{ '' }}")).unwrap();
        assert_eq!(condition.holds(&Given::from(json!({"v": text}))), Ok(false), "mixed {text:?}");
    }
    for text in ["true", "yes", "1", "0.0", "x", "[0]", "undefined"] {
        let condition = Condition::parse(json!("{{ v }}")).unwrap();
        assert_eq!(condition.holds(&Given::from(json!({"v": text}))), Ok(true), "{text:?}");
    }
}

#[test]
fn empty_and_zero_are_false() {
    for value in [json!(null), json!(0), json!(0.0), json!(false), json!([]), json!({}), json!("")]
    {
        for source in ["{{ v }}", "v", "{{ v or v }}"] {
            let condition = Condition::parse(json!(source)).unwrap();
            assert_eq!(
                condition.holds(&Given::from(json!({"v": value}))),
                Ok(false),
                "{source} {value}"
            );
        }
    }
}

#[test]
fn quoted_texts_of_a_condition_are_found() {
    let mentions =
        |source: &str, word| Condition::parse(json!(source)).unwrap().mentions_text(word);
    assert!(mentions("{{ event.name == 'loop.done' }}", "loop.done"));
    assert!(mentions("event.name == \"loop.done\"", "loop.done"));
    assert!(!mentions("event.name == 'loop.done.x'", "loop.done"));
    assert!(!mentions("loop.done", "loop.done"));
    assert!(!mentions("'step' in 'a loop.done'", "loop.done"));
}

#[test]
fn a_condition_that_fails_says_so() {
    let condition = Condition::parse(json!("one + 'x' > 2")).unwrap();
    let error = condition.holds(&Given::from(sample())).unwrap_err();
    assert_eq!(error.message, "`+` does not work on number and string in `one + 'x' > 2`");
}
