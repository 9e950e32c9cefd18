//! Tests of the error messages for templates that cannot be compiled or rendered.

use expect_test::{Expect, expect};
use serde_json::json;

use super::{render, sample};
use crate::bounds::SOURCE_MAX;
use crate::{Condition, Template};

#[track_caller]
fn check_parse(template: &str, then: Expect) {
    let error = Template::parse(json!(template)).unwrap_err();
    let at = error.range.clone().and_then(|range| template.get(range)).unwrap_or("?");
    then.assert_eq(&format!("{} | {at}", error.message));
}

#[track_caller]
fn check_render(template: &str, then: Expect) {
    then.assert_eq(&render(json!(template), sample()).unwrap_err());
}

#[test]
fn mistakes_of_grammar() {
    check_parse("{{ a b }}", expect!["unexpected identifier, expected `}}` | b"]);
    check_parse("x {{ a. }}", expect!["unexpected `}}`, expected identifier or integer | }}"]);
    check_parse("{{ 'a }}", expect!["unexpected end of string | "]);
    check_parse("{% if a %}", expect!["unexpected end of the text, expected `%}` | %}"]);
    check_parse("{{ a", expect!["unexpected end of the text, expected `}}` | a"]);
    check_parse("{{ }}", expect!["unexpected `}}` | }}"]);
    check_parse("{{ ü }}", expect!["unexpected character | "]);
    check_parse("{% nonsense %}", expect!["unknown statement nonsense | nonsense"]);
    check_parse("{{ a }}{# a", expect!["unexpected end of comment | "]);
}

#[test]
fn names_that_do_not_exist() {
    check_parse(
        "{{ a | tojsn }}",
        expect!["unknown filter `tojsn`, did you mean `tojson`? | tojsn"],
    );
    check_parse("{{ a | frobnicate }}", expect!["unknown filter `frobnicate` | frobnicate"]);
    check_parse(
        "{{ a is strng }}",
        expect!["unknown test `strng`, did you mean `string`? | strng"],
    );
    check_parse("x {{ today() }}", expect!["unknown function `today` | today"]);
    check_parse("{{ rang(3) }}", expect!["unknown function `rang`, did you mean `range`? | rang"]);
    check_parse(
        "{% for x in a | lst %}{% endfor %}",
        expect!["unknown filter `lst`, did you mean `last`? | lst"],
    );
    check_parse("{{ a | __plus(1) }}", expect!["unknown filter `__plus` | __plus"]);
}

#[test]
fn statements_that_are_not_offered() {
    check_parse("{% include 'x' %}", expect!["`include` is not available in templates | include"]);
    check_parse(
        "{% macro m() %}{% endmacro %}",
        expect!["`macro` is not available in templates | macro"],
    );
    check_parse(
        "{% set x %}{% for i in a %}{% endfor %}{% endset %}",
        expect!["a loop cannot stand inside a `set` or `filter` block | for"],
    );
    check_parse(
        "{% for i in a recursive %}{% endfor %}",
        expect!["`recursive` is not available in templates | recursive"],
    );
    check_parse(
        "{% autoescape true %}{% endautoescape %}",
        expect!["`autoescape` is not available in templates | autoescape"],
    );
}

#[test]
fn a_condition_reports_places_in_its_own_text() {
    let error = Condition::parse(json!("event.name = 'x'")).unwrap_err();
    expect![[r#"ParseError { message: "unexpected `=`, expected the end of the condition; `==` compares", range: Some(11..12), pointer: "" }"#]].assert_eq(&format!("{error:?}"));
}

#[test]
fn the_pointer_names_the_string() {
    let error = Template::parse(json!({"a": 1, "b/c": ["{{ ok }}", {"d": "{{ a | nope }}"}]}));
    assert_eq!(error.unwrap_err().pointer, "/b~1c/1/d");
}

#[test]
fn long_sources_are_refused() {
    let error = Template::parse(json!(format!("{{{{ a }}}}{}", "x".repeat(SOURCE_MAX))));
    expect!["a template may be 65536 bytes long, this one is 65543"]
        .assert_eq(&error.unwrap_err().message);
    let plain = json!("x".repeat(SOURCE_MAX + 1));
    assert_eq!(render(plain.clone(), json!({})), Ok(plain));
}

#[test]
fn failures_name_the_expression() {
    check_render(
        "{{ one + 'a' }}",
        expect!["`+` does not work on number and string in `{{ one + 'a' }}`"],
    );
    check_render(
        "x {{ missing + 1 }}",
        expect!["`+` does not work on undefined and number in `x {{ missing + 1 }}`"],
    );
    check_render("{{ one / 0 }}", expect!["unable to calculate 1 / 0 in `{{ one / 0 }}`"]);
    check_render(
        "{{ csv.frob() }}",
        expect!["string has no method named frob in `{{ csv.frob() }}`"],
    );
    check_render(
        "{{ one.upper() }}",
        expect!["number has no method named upper in `{{ one.upper() }}`"],
    );
    check_render(
        "{{ 'x' | fromjson }}",
        expect![
            "`fromjson` was given no JSON: expected value at line 1 column 1 in `{{ 'x' | fromjson }}`"
        ],
    );
    check_render("{{ one | length }}", expect!["a number has no length in `{{ one | length }}`"]);
    check_render(
        "{{ 'a,b' | split('') }}",
        expect!["the separator is empty in `{{ 'a,b' | split('') }}`"],
    );
    check_render(
        "{{ range }}{{ 1 // 0 }}\nand more lines",
        expect!["a plain object is not a value in `{{ range }}{{ 1 // 0 }}…`"],
    );
    check_render(
        "{{ [1, 2] | map('nope') }}",
        expect!["unknown filter in `{{ [1, 2] | map('nope') }}`"],
    );
    check_render(
        "{{ csv | replace(',') }}",
        expect!["missing argument in `{{ csv | replace(',') }}`"],
    );
    check_render(
        "{{ lines | indent('x') }}",
        expect!["cannot convert string to usize in `{{ lines | indent('x') }}`"],
    );
}
