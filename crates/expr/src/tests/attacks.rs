//! Malicious templates: each is rejected at once and the process survives.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Given, render, render_with, timed};

/// The time limit for a rejection. Without limits each of these templates takes minutes or all
/// memory, so an unoptimised build on a busy machine gets a generous limit.
const REFUSAL_MAX: Duration =
    if cfg!(debug_assertions) { Duration::from_secs(5) } else { Duration::from_millis(100) };

#[track_caller]
fn check(template: &str) {
    check_with(template, &Given::from(json!({"s": "x".repeat(100_000), "list": [1, 2, 3]})));
}

#[track_caller]
fn check_with(template: &str, given: &Given) {
    let (result, elapsed) = timed(|| render_with(json!(template), given));
    let shown = template.get(..80).unwrap_or(template);
    assert!(result.is_err(), "{shown} was let through");
    assert!(elapsed < REFUSAL_MAX, "{shown} took {elapsed:?}: {result:?}");
}

#[test]
fn loops_within_loops() {
    check("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}");
    check("{% for a in range(90000) %}{% for b in list %}{{ a }}{% endfor %}{% endfor %}");
    check("{% for a in range(9999999999) %}{% endfor %}");
    check("{% for a in s %}{% for b in s %}{% endfor %}{% endfor %}");
}

#[test]
fn repetition() {
    check("{{ 'x' * 1000000000 }}");
    check("{{ ('x' * 1000000) * 1000 }}");
    check("{{ [1] * 100000000 }}");
    check("{{ [[1] * 100000000] }}");
    check("a {{ [[1] * 100000000] }}");
    check("{{ [1] * 100000000 | list }}");
    check("{{ ([1] * 100000000) | join }}");
    check("{{ ([1] * 100000000) | tojson }}");
    check("{{ ([1] * 100000 + [1] * 100000) | tojson }}");
    check("{{ [[1] * 90000, [1] * 90000] }}");
    check("{{ [list] * 100000 * 100000 }}");
    check("{{ 9223372036854775807 * [1] }}");
}

#[test]
fn filters_that_multiply() {
    check("{{ s | replace('x', s) }}");
    check("{{ s.replace('x', s) }}");
    check("{{ s | replace('', s) }}");
    check("{{ s.join(range(1000)) }}");
    check("{{ range(1000) | join(s) }}");
    check("{{ '%1000000000d' | format(1) }}");
    check("{{ '%.999999999f' | format(1.5) }}");
    check("{{ ('%s' * 1000) | format(*([s] * 1000)) }}");
    check("{{ ('{0}' * 1000).format(s) }}");
    check("{{ 'x' | center(1000000000) }}");
    check("{{ '7'.zfill(1000000000) }}");
    check("{{ ('\\n' * 1000) | indent(1000000) }}");
    check("{{ [1] | batch(1000000000, 0) }}");
    check("{{ [1] | slice(1000000000) }}");
    check("{{ range(100000) | map('replace', 0, s) }}");
    check("{{ range(100000) | map('center', 1000) | list }}");
    check("{{ range(90000) | batch(1, 0) | map('batch', 90000, 1) }}");
    check("{{ s.split('x') | map('join', s) }}");
    check("{{ [s, s, s] | sum(start='') }}");
}

#[test]
fn doubling() {
    check(&format!("{{% set a = 'xxxxxxxxxx' %}}{}", "{% set a = a ~ a %}".repeat(60)));
    check(&format!("{{% set a = 'xxxxxxxxxx' %}}{}", "{% set a = a + a %}".repeat(60)));
    check(&format!("{{% set a = [1] %}}{}", "{% set a = a + a %}".repeat(60)));
    check(&format!("{{% set a = [1] %}}{}", "{% set a = [a, a] %}".repeat(60)));
    check(&format!("{{% set a = [1] %}}{}{{{{ a }}}}", "{% set a = [a] %}".repeat(100)));
    check(&format!(
        "{{% set a = 'x' * 1000 %}}{}",
        "{% set a %}{{ a }}{{ a }}{% endset %}".repeat(60)
    ));
    check(&format!("{}{}", "{% with a = [a, a] %}".repeat(60), "{% endwith %}".repeat(60)));
    check(
        "{% set n = namespace(a=[1]) %}{% for i in range(99) %}{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a == n.a }}",
    );
    check("{% set n = namespace() %}{% set n.a = [n] %}{{ n }}");
    check(
        "{% set n = namespace() %}{% set n.a = n %}{{ n == 3 or n == n.a or n in [n.a] }}{{ n | tojson }}",
    );
    check(&format!("{{{{ s{} }}}}", " ~ s".repeat(400)));
}

#[test]
fn nesting() {
    check(&format!("{{{{ {}1{} }}}}", "(".repeat(5_000), ")".repeat(5_000)));
    check(&format!("{{{{ {}1{} }}}}", "[".repeat(5_000), "]".repeat(5_000)));
    check(&format!("{{{{ {}x }}}}", "not ".repeat(15_000)));
    check(&format!("{{{{ {}1 }}}}", "-".repeat(60_000)));
    check(&format!("{{{{ 1{} }}}}", "+1".repeat(30_000)));
    check(&format!("{{{{ a{} }}}}", ".a".repeat(30_000)));
    check(&format!("{{{{ a{} }}}}", "|d".repeat(30_000)));
    check(&format!("{{{{ a{} }}}}", " if a else a".repeat(5_000)));
    check(&format!("{{% if a %}}{}{{% endif %}}", "{%elif a%}".repeat(6_000)));
    check(&format!("{}{}", "{% if a %}".repeat(3_000), "{% endif %}".repeat(3_000)));
    check(&format!("{{{{ list{} }}}}", "[1:]".repeat(10_000)));
    check(
        "{% set n = namespace(a=list) %}{% for i in range(90000) %}{% set n.a = n.a[0:] %}{% endfor %}{{ n.a }}{{ 1 // 0 }}",
    );
    check("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
    check("{% include 'text' %}");
    check("{% extends 'text' %}");
    check("{{ 2 ** 200 }}");
}

#[test]
fn searching() {
    let (long, list) = ("x".repeat(8_000_000), vec![1; 50_000]);
    let data = Given::from(json!({"a": long, "b": long.clone() + "y", "l": list, "k": list}));
    check_with("{% for i in range(50000) %}{% if a == b %}{% endif %}{% endfor %}", &data);
    check_with("{% for i in range(50000) %}{% if 'y' in a %}{% endif %}{% endfor %}", &data);
    check_with("{% for i in range(50000) %}{% if l == k %}{% endif %}{% endfor %}", &data);
    check_with("{% for i in range(50000) %}{% if 2 in l %}{% endif %}{% endfor %}", &data);
    check_with("{% for i in range(50000) %}{% if a[7000000 + i] %}{% endif %}{% endfor %}", &data);
    check_with("{% for i in range(50000) %}{% if l | sort %}{% endif %}{% endfor %}", &data);
    check_with("{% for i in range(50000) %}{% if a.count('y') %}{% endif %}{% endfor %}", &data);
    check_with("{% for i in range(50000) %}{% if l is eq(k) %}{% endif %}{% endfor %}", &data);
}

#[test]
fn looking_again_and_again() {
    let keys: Value =
        (0..50_000).map(|n| (n.to_string(), json!(n))).collect::<serde_json::Map<_, _>>().into();
    let w = json!({"text": "x".repeat(8_000_000), "keys": keys});
    let data = Given::from(json!({"w": w, "l": vec![1; 50_000]}));
    // Reading is allowed, so the template fails only by its division by zero; the test measures the
    // time.
    let again =
        |body: &str| format!("{{% for i in range(50000) %}}{body}{{% endfor %}}{{{{ 1 // 0 }}}}");
    check_with(&again("{% if w.text %}{% endif %}"), &data);
    check_with(&again("{% for k in w.keys %}{% break %}{% endfor %}"), &data);
    check_with(&again("{% if w.keys | first %}{% endif %}"), &data);
    check_with(&again("{% if w.text | length %}{% endif %}"), &data);
    check_with(&again("{% if dict(w.keys) %}{% endif %}"), &data);
    check_with(&again("{% if dict(**w.keys) %}{% endif %}"), &data);
    check_with(&again("{% if 2 is in l %}{% endif %}"), &data);
    check_with(&again("{% if w.text is upper %}{% endif %}"), &data);
    check_with("{{ l | select('in', l) | list }}", &data);
}

#[test]
fn long_output() {
    check(&format!("{{% for i in range(90000) %}}{}{{% endfor %}}", "x".repeat(60_000)));
    check("{% for i in range(90000) %}{{ s }}{% endfor %}");
    check(&format!(
        "{{% for i in range(90000) %}}{{% set a %}}{}{{% endset %}}{{% endfor %}}{{{{ 1 // 0 }}}}",
        "x".repeat(60_000)
    ));
    let large = Given::from(json!({"l": vec!["x".repeat(1_000); 10_000]}));
    check_with("{{ [l] * 100 }}", &large);
    check_with("a {{ l }}", &large);
}

#[test]
fn names_of_the_interpreter_are_undefined() {
    for name in ["self", "__class__", "config", "env", "environ", "super", "loop", "caller"] {
        assert_eq!(
            render(json!(format!("{{{{ {name} }}}}")), json!({})),
            Ok(Value::Null),
            "{name}"
        );
    }
    assert_eq!(render(json!("{{ ''.__class__.__mro__() }}"), json!({})), Ok(Value::Null));
    check("{{ debug() }}");
    check("{{ env('HOME') }}");
}

/// Patterns that take exponential time in a backtracking engine, for the text below.
const PATTERNS: [&str; 6] =
    ["(a+)+$", "([a-zA-Z]+)*$", "(a|aa)+$", "(.*a){20}", "^(a?){30}a{30}$", "(?=(a+))*b"];

#[test]
fn patterns_are_read_letter_by_letter_and_take_no_time() {
    let text = format!("{}!", "a".repeat(100_000));
    for pattern in PATTERNS {
        let given = Given::from(json!({"text": text, "pattern": pattern}));
        for (template, expected) in [
            ("{{ text | replace(pattern, 'b') == text }}", json!(true)),
            ("{{ text.replace(pattern, 'b') == text }}", json!(true)),
            ("{{ text | split(pattern) | list | length }}", json!(1)),
            ("{{ text.split(pattern) | length }}", json!(1)),
            ("{{ text.rsplit(pattern) | length }}", json!(1)),
            ("{{ text.find(pattern) }}", json!(-1)),
            ("{{ text.count(pattern) }}", json!(0)),
            ("{{ text.startswith(pattern) }}", json!(false)),
            ("{{ text.endswith(pattern) }}", json!(false)),
            ("{{ pattern in text }}", json!(false)),
            ("{{ (text ~ pattern).find(pattern) }}", json!(100_001)),
        ] {
            let (result, elapsed) = timed(|| render_with(json!(template), &given));
            assert_eq!(result.expect(template), expected, "{template} with {pattern}");
            assert!(elapsed < REFUSAL_MAX, "{template} with {pattern} took {elapsed:?}");
        }
    }
}
