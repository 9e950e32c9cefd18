//! Tests of the facts collected for static checks, and of templates that refuse missing values.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::{
    Absence, Condition, MissingValues, Template, TemplateFacts, TemplateForm, TemplateParts,
};

#[track_caller]
fn check(text: &str, form: TemplateForm, then: Expect) {
    let facts = TemplateFacts::of(text, form).unwrap();
    let mut said = String::new();
    for name in &facts.names {
        let optional = match name.absence {
            Absence::Unhandled => "",
            Absence::Replaced => "~",
            Absence::Accepted => "?",
        };
        let filters: String = name.filters.iter().map(|it| format!("|{}", it.name)).collect();
        let tested = if name.is_tested { " tested" } else { "" };
        said += &format!(
            "{}{optional}{filters}{tested} `{}`\n",
            name.path.join("."),
            &text[name.range.clone()]
        );
    }
    for filter in &facts.filters {
        said += &format!(
            "{}({:?}) {}\n",
            filter.name,
            filter.arguments.as_ref().map(Vec::len),
            filter.fault().unwrap_or_default()
        );
    }
    for method in &facts.methods {
        said += &format!("method `{}`\n", &text[method.range.clone()]);
    }
    for comparison in &facts.comparisons {
        let range = comparison.range.clone();
        said += &format!(
            "{:?} {:?} {:?} `{}`\n",
            comparison.left, comparison.sign, comparison.right, &text[range]
        );
    }
    then.assert_eq(&said);
}

#[test]
fn names_have_their_places() {
    check(
        "x {{ a.b['c'].d[0].e }} {{ f.g(h) }}",
        TemplateForm::Braces,
        expect![[r#"
            a.b.c.d `a.b['c'].d`
            h `h`
            f `f`
            method `g`
        "#]],
    );
    check(
        "a.b == 'x' and not c",
        TemplateForm::Bare,
        expect![[r#"
            a.b tested `a.b`
            c tested `c`
            Path(["a", "b"]) Equal Literal(String("x")) `a.b == 'x'`
        "#]],
    );
    check(
        "{% for x in xs %}{{ x.y }}{{ z }}{% endfor %}",
        TemplateForm::Braces,
        expect![[r#"
        xs `xs`
        z `z`
    "#]],
    );
    check("no template", TemplateForm::Braces, expect![[""]]);
}

#[test]
fn a_name_is_optional_where_its_absence_is_handled() {
    check(
        "{{ a | default(b) }} {{ c.d is defined }} {{ e is not none }}",
        TemplateForm::Braces,
        expect![[r#"
            a?|default `a`
            b `b`
            c.d? tested `c.d`
            e? tested `e`
            default(Some(1)) 
        "#]],
    );
    check(
        "{{ a or b }} {{ (c ~ d) | d('x') }} {{ e if f }}",
        TemplateForm::Braces,
        expect![[r#"
            a~ `a`
            b `b`
            c~|d `c`
            d~|d `d`
            e `e`
            f tested `f`
            d(Some(1)) 
        "#]],
    );
}

#[test]
fn filters_have_their_arguments() {
    check(
        "{{ a | upper | join(', ', 'x', [1, 2]) | replace(f(*b), **c) | round() }}"
            .replace("f(*b)", "b")
            .as_str(),
        TemplateForm::Braces,
        expect![[r#"
            a|upper|join|replace|round `a`
            b|round `b`
            c|round `c`
            upper(Some(0)) 
            join(Some(3)) the filter `join` takes at most 1 argument by place, and attribute=; this call has 3
            replace(None) 
            round(Some(0)) 
        "#]],
    );
}

#[test]
fn comparisons_have_their_operands() {
    check(
        "{{ a.b == 'x' and 1 < -2 and c.f | length > 0 and d + 1 in e and a in ['x', 2,] }}",
        TemplateForm::Braces,
        expect![[r#"
            a.b tested `a.b`
            c.f|length tested `c.f`
            d tested `d`
            e tested `e`
            a tested `a`
            length(Some(0)) 
            Path(["a", "b"]) Equal Literal(String("x")) `a.b == 'x'`
            Literal(Number(1)) Less Literal(Number(-2.0)) `1 < -2`
            Length(Some(["c", "f"])) Greater Literal(Number(0)) `c.f | length > 0`
            Other In Path(["e"]) `d + 1 in e`
            Path(["a"]) In Literal(Array [String("x"), Number(2)]) `a in ['x', 2,]`
        "#]],
    );
}

#[track_caller]
fn check_strict(text: &str, then: Expect) {
    let given = super::Given::from(json!({ "a": { "b": 1, "n": null }, "list": [{ "x": 1 }] }));
    let template = Template::parse_with(json!(text), MissingValues::Fail).unwrap();
    let said = match template.render(&given) {
        Ok(value) => value.to_string(),
        Err(error) => error.message,
    };
    then.assert_eq(&said);
}

#[test]
fn a_strict_template_names_the_missing_value() {
    check_strict("{{ a.b }}", expect!["1"]);
    check_strict("{{ a.n }}", expect!["null"]);
    check_strict(
        "{{ a.c }}",
        expect![
            "`a.c` is missing (`undefined: strict`; `default(…)` gives a default) in `{{ a.c }}`"
        ],
    );
    check_strict(
        "x {{ a.c.d }}",
        expect![
            "`a.c.d` is missing (`undefined: strict`; `default(…)` gives a default) in `x {{ a.c.d }}`"
        ],
    );
    check_strict("{{ a.c | default(5) }}", expect!["5"]);
    check_strict("{{ a.c is defined }}", expect!["false"]);
    check_strict("{{ a.c if a.c is defined else 'no' }}", expect![[r#""no""#]]);
    check_strict(
        "{{ a['c'] ~ 'x' }}",
        expect![
            "`a.c` is missing (`undefined: strict`; `default(…)` gives a default) in `{{ a['c'] ~ 'x' }}`"
        ],
    );
    check_strict("{{ -(a.b) + list[0].x }}", expect!["0"]);
    check_strict(
        "{{ a.c or 5 }}",
        expect![
            "`a.c` is missing (`undefined: strict`; `default(…)` gives a default) in `{{ a.c or 5 }}`"
        ],
    );
    check_strict(
        "{{ (a.c ~ 'x') | default(5) }}",
        expect![
            "`a.c` is missing (`undefined: strict`; `default(…)` gives a default) in `{{ (a.c ~ 'x') | default(5) }}`"
        ],
    );
    check_strict(
        "{% for it in list %}{{ it.y }}{% endfor %}",
        expect![
            "`it.y` is missing (`undefined: strict`; `default(…)` gives a default) in `{% for it in list %}{{ it.y }}{% endfor %}`"
        ],
    );
    check_strict(
        "{{ list[3] }}",
        expect![
            "`list[3]` is missing (`undefined: strict`; `default(…)` gives a default) in `{{ list[3] }}`"
        ],
    );
    check_strict(
        "{{ b | upper }}",
        expect![
            "`b` is missing (`undefined: strict`; `default(…)` gives a default) in `{{ b | upper }}`"
        ],
    );
}

#[test]
fn a_strict_condition_names_the_missing_value() {
    let condition = Condition::parse_with(json!("a.c == 1"), MissingValues::Fail).unwrap();
    let error = condition.holds(&super::Given::from(json!({ "a": {} }))).unwrap_err();
    expect!["`a.c` is missing (`undefined: strict`; `default(…)` gives a default) in `a.c == 1`"]
        .assert_eq(&error.message);
}

#[test]
fn a_quoted_word_is_one_word_of_a_shell() {
    let quoted = |value| {
        let template = Template::parse(json!("{{ v | shell_quote }}")).unwrap();
        template.render(&super::Given::from(json!({ "v": value }))).unwrap()
    };
    assert_eq!(quoted(json!("a-b_c.d/e")), "a-b_c.d/e");
    assert_eq!(quoted(json!("")), "''");
    assert_eq!(quoted(json!("a b; rm -rf $HOME")), "'a b; rm -rf $HOME'");
    assert_eq!(quoted(json!("it's")), "'it'\\''s'");
    assert_eq!(quoted(json!(5)), "5");
}

#[test]
fn a_name_is_tested_where_it_only_decides() {
    check(
        "{{ 'x' if a else b }} {{ not c }} {{ d is e }} {{ f[g] }} {% if h %}{% elif i and j %}{% endif %}"
            .replace("d is e", "d is odd")
            .as_str(),
        TemplateForm::Braces,
        expect![[r#"
            a tested `a`
            b `b`
            c tested `c`
            d tested `d`
            g tested `g`
            f `f`
            h tested `h`
            i tested `i`
            j tested `j`
        "#]],
    );
}

#[test]
fn a_name_that_an_if_assigns_is_not_read_from_outside() {
    check(
        "{% if a %}{% set x = 1 %}{% else %}{% set x = 2 %}{% set y = 1 %}{% endif %}{{ x }}{{ y }}{{ z }}",
        TemplateForm::Braces,
        expect![[r#"
            a tested `a`
            z `z`
        "#]],
    );
}

#[test]
fn the_parts_of_a_text_are_found() {
    let parts = |text: &str| {
        let parts = TemplateParts::of(text)?;
        let outputs: Vec<&str> = parts.outputs.iter().map(|at| &text[at.clone()]).collect();
        Some(format!("{outputs:?} {:?} {}", parts.without_comments(text), parts.has_statements))
    };
    let check = |text: &str, then: Option<&str>| assert_eq!(parts(text).as_deref(), then, "{text}");
    check("a", Some(r#"[] "a" false"#));
    check("${#list}", Some(r#"[] "${#list}" false"#));
    check(
        "{{ {'a': {'b': 1}} }} {{ '}}' }}",
        Some(r#"["{{ {'a': {'b': 1}} }}", "{{ '}}' }}"] "{{ {'a': {'b': 1}} }} {{ '}}' }}" false"#),
    );
    check("{# }} #}x{{ y }}", Some(r#"["{{ y }}"] "        x{{ y }}" false"#));
    check("{% if a %}b{% endif %}", Some(r#"[] "{% if a %}b{% endif %}" true"#));
    check("{% raw %}{{ a }}{% endraw %}", Some(r#"[] "{% raw %}{{ a }}{% endraw %}" true"#));
    check("{{ a", None);
}
