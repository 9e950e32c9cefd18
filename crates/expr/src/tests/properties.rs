//! Properties that hold for every template.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Given, render, sample};
use crate::environment::ENVIRONMENT;
use crate::print::to_json;
use crate::value::from_json;
use crate::{Condition, Template};

/// Generates text that is often almost a template.
fn template_text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "{{-",
        "-}}",
        " ",
        " if ",
        " else ",
        "for x in ",
        "endfor",
        "endif",
        "set x = ",
        "workload",
        ".items",
        "users",
        "[0]",
        "[1:]",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "'a'",
        "\"",
        "'",
        "\\",
        "1",
        "2.5",
        "0x",
        "1e",
        "+",
        "-",
        "*",
        "~",
        "/",
        "//",
        "**",
        "%",
        "|",
        "default",
        "tojson",
        "length",
        "join",
        " is ",
        "defined",
        " not ",
        " and ",
        " in ",
        "==",
        "<",
        ",",
        ":",
        "=",
        ".",
        "raw",
        "endraw",
        "é",
        "\n",
        "none",
        "x",
        "range(3)",
        ".upper()",
        "n",
    ]);
    prop::collection::vec(words, 0..24).prop_map(|words| words.concat())
}

/// Generates well-formed expressions.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "1",
        "2.5",
        "'a'",
        "\"b\"",
        "none",
        "true",
        "missing",
        "one",
        "half",
        "n",
        "workload.items",
        "users[0].name",
        "workload['url']",
        "text",
        "csv",
        "-1",
        "start",
        "[]",
        "{}",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 32, 3, |inner| {
        let binary = prop::sample::select(vec![
            "+", "-", "*", "~", "/", "//", "%", "**", "==", "!=", "<", "in", "not in", "and", "or",
        ]);
        let filter = prop::sample::select(vec![
            "default(1)",
            "string",
            "length",
            "tojson",
            "list",
            "first",
            "int",
            "upper",
            "sort",
        ]);
        prop_oneof![
            (inner.clone(), binary, inner.clone()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
            (inner.clone(), filter).prop_map(|(a, filter)| format!("{a} | {filter}")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} if {b} else {c})")),
            inner.clone().prop_map(|a| format!("({a})")),
            inner.clone().prop_map(|a| format!("(not {a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a})[{b}]")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in template_text()) {
        let first = render(json!(text), sample());
        let second = render(json!(text), sample());
        prop_assert_eq!(first, second);
        if let Ok(condition) = Condition::parse(json!(text)) {
            prop_assert_eq!(condition.holds(&Given::from(sample())), condition.holds(&Given::from(sample())));
        }
    }

    #[test]
    fn plain_text_is_untouched(text in "[^{]*") {
        prop_assert_eq!(render(json!(text), json!({})), Ok(json!(text)));
    }

    #[test]
    fn a_range_lies_within_the_text(text in template_text()) {
        if let Err(error) = Template::parse(json!(text)) {
            let range = error.range.unwrap_or(0..0);
            prop_assert!(text.get(range.clone()).is_some(), "{:?} in {:?}", range, text);
        }
    }

    #[test]
    fn every_expression_parses_and_renders_the_same_twice(expression in expression()) {
        let template = Template::parse(json!(format!("{{{{ {expression} }}}}"))).unwrap();
        let first = template.render(&Given::from(sample()));
        prop_assert_eq!(&first, &template.render(&Given::from(sample())));
    }

    #[test]
    fn guarding_changes_no_result(expression in expression()) {
        // Joined text differs on purpose: minijinja writes `None` and `True`, this crate writes
        // JSON.
        prop_assume!(!expression.contains('~'));
        let plain = ENVIRONMENT.compile_expression_owned(expression.clone()).unwrap();
        let context = from_json(sample());
        if let Ok(expected) = plain.eval(context).and_then(|value| to_json(&value)) {
            prop_assert_eq!(render(json!(format!("{{{{ {expression} }}}}")), sample()), Ok(expected));
        }
    }

    #[test]
    fn a_template_needs_only_its_variables(expression in expression()) {
        let template = Template::parse(json!(format!("{{{{ {expression} }}}}"))).unwrap();
        let all = sample();
        let mut needed = json!({});
        for path in template.variables() {
            copy(&all, &mut needed, path);
        }
        prop_assert_eq!(template.render(&Given::from(all)), template.render(&Given::from(needed)));
    }
}

/// Copies the value at a dotted path.
fn copy(from: &Value, to: &mut Value, path: &str) {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let Some(value) = from.get(name) else { return };
    match rest {
        Some(rest) => {
            if to.get(name).is_none() {
                to[name] = json!({});
            }
            copy(value, &mut to[name], rest);
        }
        None => to[name] = value.clone(),
    }
}
