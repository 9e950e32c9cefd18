//! Tests of the variables collected from a template.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::{Condition, Template};

#[track_caller]
fn check(template: &str, then: Expect) {
    let template = Template::parse(json!(template)).unwrap();
    let names: Vec<&str> = template.variables().iter().map(String::as_str).collect();
    then.assert_eq(&names.join(" "));
}

#[test]
fn paths_are_as_long_as_they_are_fixed() {
    check("{{ workload.url }}", expect!["workload.url"]);
    check("{{ workload['url'].x }}", expect!["workload.url.x"]);
    check("{{ workload['a b'].x }}", expect!["workload"]);
    check("{{ workload.items[0].name }}", expect!["workload.items"]);
    check("{{ workload.items[1:] }}", expect!["workload.items"]);
    check("{{ workload[key].x }}", expect!["key workload"]);
    check("{{ workload }}", expect!["workload"]);
    check("{{ (workload).url }}", expect!["workload"]);
    check("{{ a.b ~ c.d.e }}", expect!["a.b c.d.e"]);
    check("{{ a.b | default(c.d, x) }}", expect!["a.b c.d x"]);
}

#[test]
fn a_method_is_no_attribute() {
    check("{{ workload.items() }}", expect!["workload"]);
    check("{{ workload.a.get('b').c }}", expect!["workload.a"]);
    check("{{ a.b.split(c.d) }}", expect!["a.b c.d"]);
    check("{{ range(n.x) | list }}", expect!["n.x"]);
}

#[test]
fn the_time_is_a_variable() {
    check("{{ now().x ~ a.b }}", expect!["_now a.b"]);
    check("{{ now }}", expect!["now"]);
}

#[test]
fn every_place_is_looked_at() {
    check("{{ a if b else c }}", expect!["a b c"]);
    check("{{ a is divisibleby b }} {{ c is eq(d) }}", expect!["a b c d"]);
    check("{{ [a, {b: c}, (d, e)] }}", expect!["a b c d e"]);
    check("{{ x | replace(a, b) | join(d=c) }}", expect!["a b c x"]);
    check("{{ x[a:b:c] }}", expect!["a b c x"]);
    check("{{ not a and -b ** c in d }}", expect!["a b c d"]);
    check(
        "{{ f(*a) if false else 'b' if b }}{# {{ no }} #}{% raw %}{{ no }}{% endraw %}"
            .replace("f(*a)", "dict(**a)")
            .as_str(),
        expect!["a b"],
    );
}

#[test]
fn names_of_the_template_itself_are_left_out() {
    check("{% for i in items if i.ok %}{{ i.x }}{{ loop.index }}{% endfor %}", expect!["items"]);
    check("{{ i }}{% for i in items %}{{ i }}{% endfor %}", expect!["i items"]);
    check("{% for i in items %}{{ i }}{% endfor %}{{ i.x }}", expect!["i.x items"]);
    check("{% for k, v in m.items() %}{{ k }}{{ v }}{% else %}{{ k }}{% endfor %}", expect!["k m"]);
    check("{% set x = x + 1 %}{{ x }}", expect!["x"]);
    check("{% set x = 1 %}{{ x }}{{ y }}", expect!["y"]);
    check("{% if a %}{% set x = 1 %}{% endif %}{{ x }}", expect!["a x"]);
    check("{% with x = y %}{{ x }}{% endwith %}{{ x }}", expect!["x y"]);
    check("{% if a %}{% set x = 1 %}{% else %}{% set x = 2 %}{% endif %}{{ x }}", expect!["a"]);
    check(
        "{% for i in a %}{% set x = 1 %}{% else %}{% set x = 2 %}{% endfor %}{{ x }}",
        expect!["a x"],
    );
    check("{% set x %}{{ y }}{% endset %}{{ x }}", expect!["y"]);
    check("{% set ns = namespace(a=b) %}{% set ns.a = c %}{{ ns.a }}", expect!["b c"]);
    check("{% filter replace(a, b) %}{{ c }}{% endfilter %}", expect!["a b c"]);
}

#[test]
fn all_templates_of_a_value_are_counted() {
    let template =
        Template::parse(json!({"{{ a.b }}": ["{{ c }}", {"x": "{{ d.e }} f"}]})).unwrap();
    assert_eq!(template.variables().iter().collect::<Vec<_>>(), ["a.b", "c", "d.e"]);
    let condition = Condition::parse(json!("event.name == 'x' and output.ok")).unwrap();
    assert_eq!(condition.variables().iter().collect::<Vec<_>>(), ["event.name", "output.ok"]);
}
