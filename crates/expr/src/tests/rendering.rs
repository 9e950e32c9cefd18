//! Tests of templates that render successfully.

use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{Given, render, render_with, sample, timed};
use crate::Template;

#[track_caller]
fn check(template: &str, then: Expect) {
    let actual = match render(json!(template), sample()) {
        Ok(value) => value.to_string(),
        Err(error) => format!("error: {error}"),
    };
    then.assert_eq(&actual);
}

#[test]
fn plain_strings_are_left_alone() {
    let plain = json!({"zip": "007", "flag": "true", "none": "", "brace": "{a}", "pct": "100%"});
    assert_eq!(render(plain.clone(), json!({})), Ok(plain));
}

#[test]
fn a_brace_and_a_hash_are_no_comment_unless_it_ends() {
    check("echo ${#list[@]}", expect![[r#""echo ${#list[@]}""#]]);
    check("a{# b #}", expect![[r#""a""#]]);
}

#[test]
fn a_lone_expression_keeps_its_type() {
    check("{{ workload.items }}", expect!["[1,2,3]"]);
    check("{{ start }}", expect![[r#"{"items":["a","b"],"get":7,"keys":"k"}"#]]);
    check("{{ one }}", expect!["1"]);
    check("{{ two }}", expect!["2.0"]);
    check("{{ half }}", expect!["0.5"]);
    check("{{ t }}", expect!["true"]);
    check("{{ n }}", expect!["null"]);
    check("{{ big }}", expect!["9007199254740993"]);
    check("{{ big + 0 }}", expect!["9007199254740993"]);
    check("{{ huge }}", expect!["18446744073709551615"]);
    check("{{ digits }}", expect![[r#""007""#]]);
    check("{{ yes }}", expect![[r#""true""#]]);
    check("  {{ one }}\n", expect!["1"]);
    check("{{- one -}}", expect!["1"]);
    check("{# note #}{{ one }}", expect!["1"]);
    check("{{ missing }}", expect!["null"]);
    check("{{ missing.a.b[0].c }}", expect!["null"]);
    check("{{ {'a': [one, n], 'b': {'c': t}} }}", expect![[r#"{"a":[1,null],"b":{"c":true}}"#]]);
    check("{{ (1, 2) }}", expect!["[1,2]"]);
    check("{{ users[0] }}", expect![[r#"{"name":"bo","age":3,"tags":["x"]}"#]]);
    check("{{ users.1.name }}", expect![[r#""al""#]]);
    check("{{ digits[2] }}", expect![[r#""7""#]]);
    check("{{ digits[2][0] }}", expect![[r#""7""#]]);
    check("{{ workload['url'] }}", expect![[r#""http://a/b?x=1&y='2'""#]]);
}

#[test]
fn mixed_text_is_a_string() {
    check("{{ one }}{{ one }}", expect![[r#""11""#]]);
    check("a {{ workload.items }} b", expect![[r#""a [1,2,3] b""#]]);
    check(
        "-- {{ start }}",
        expect![[r#""-- {\"items\":[\"a\",\"b\"],\"get\":7,\"keys\":\"k\"}""#]],
    );
    check("<{{ n }}{{ missing.x }}>", expect![[r#""<>""#]]);
    check("{{ t }} {{ f }} {{ two }} {{ half }} {{ one }}", expect![[r#""true false 2.0 0.5 1""#]]);
    check("{{ quote }}!", expect![[r#""it's <b>&!""#]]);
    check("a {{ one }}\n", expect![[r#""a 1\n""#]]);
    check("{# nothing #}", expect![[r#""""#]]);
    check("{% raw %}{{ one }}{% endraw %}", expect![[r#""{{ one }}""#]]);
}

#[test]
fn null_is_none_and_missing_is_undefined() {
    check("{{ n is none }}", expect!["true"]);
    check("{{ n is defined }}", expect!["true"]);
    check("{{ missing is none }}", expect!["false"]);
    check("{{ missing is undefined }}", expect!["true"]);
    check("{{ missing is not defined }}", expect!["true"]);
    check("{{ output.error.kind == 'auth' }}", expect!["false"]);
    check("{{ output.error.kind is defined }}", expect!["false"]);
}

#[test]
fn a_key_beats_a_method() {
    check("{{ start.items }}", expect![[r#"["a","b"]"#]]);
    check("{{ start.get }}", expect!["7"]);
    check("{{ start.keys ~ '' }}", expect![[r#""k""#]]);
    check("{{ start.get('keys') }}", expect![[r#""k""#]]);
    check("{{ start.items() }}", expect![[r#"[["items",["a","b"]],["get",7],["keys","k"]]"#]]);
    check("{{ workload.keys }}", expect!["null"]);
}

#[test]
fn operators_work_as_in_python() {
    check("{{ (_index | int) + 1 }}", expect!["5"]);
    check("{{ 1 + 2 * 3 - 4 }}", expect!["3"]);
    check("{{ 7 // 2 }} {{ 7 % 4 }} {{ 2 ** 10 }} {{ 1 / 2 }}", expect![[r#""3 3 1024 0.5""#]]);
    check("{{ -one + 3 }}", expect!["2"]);
    check("{{ 10 - 3 - 2 }}", expect!["5"]);
    check("{{ 2 * (3 + 4) }}", expect!["14"]);
    check("{{ 1 - (2 - 3) }}", expect!["2"]);
    check("{{ one + half }}", expect!["1.5"]);
    check("{{ 'a' + 'b' ~ 1 ~ t ~ n }}", expect![[r#""ab1true""#]]);
    check("{{ 'ab' * 3 }}", expect![[r#""ababab""#]]);
    check("{{ 3 * [0] }}", expect!["[0,0,0]"]);
    check("{{ workload.items + [4] }}", expect!["[1,2,3,4]"]);
    check("{{ workload.items[1:] }}", expect!["[2,3]"]);
    check("{{ workload.items[::-1] }}", expect!["[3,2,1]"]);
    check("{{ workload.items[-1] }}", expect!["3"]);
    check("{{ text[2:7] }}", expect![[r#""Hello""#]]);
    check("{{ 2 in workload.items }}", expect!["true"]);
    check("{{ 'url' in workload and 'x' not in workload }}", expect!["true"]);
    check("{{ 'ell' in text }}", expect!["true"]);
    check("{{ 2 is in workload.items and 2 is in([2]) and 5 is not in [1] }}", expect!["true"]);
    check("{{ workload.items == [1, 2, 3] }}", expect!["true"]);
    check("{{ 0 < one < 2 }}", expect!["true"]);
    check("{{ 'yes' if t else 'no' }}", expect![[r#""yes""#]]);
    check("{{ 'yes' if f }}", expect!["null"]);
    check("{{ a if f else 1 if f else 2 }}", expect!["2"]);
    check("{{ n or 'x' }}", expect![[r#""x""#]]);
    check("{{ not f and not (t and f) }}", expect!["true"]);
    check("{{ 'a' 'b' }}", expect![[r#""ab""#]]);
    check("{{ one == 1.0 }}", expect!["true"]);
}

#[test]
fn filters_forgive() {
    check("{{ missing | default('x') }}", expect![[r#""x""#]]);
    check("{{ n | default('x') }}", expect!["null"]);
    check("{{ n | default('x', true) }}", expect![[r#""x""#]]);
    check("{{ n | d('x', boolean=true) }}", expect![[r#""x""#]]);
    check("{{ missing.a | default([]) | length }}", expect!["0"]);
    check("{{ missing | int }}", expect!["0"]);
    check("{{ 'x' | int }}", expect!["0"]);
    check("{{ 'x' | int(5) }}", expect!["5"]);
    check("{{ 'x' | int(default=5) }}", expect!["5"]);
    check("{{ '12' | int }}", expect!["12"]);
    check("{{ '3.9' | int }}", expect!["3"]);
    check("{{ n | float }}", expect!["0.0"]);
    check("{{ '2.5' | float }}", expect!["2.5"]);
    check("{{ missing | length }}", expect!["0"]);
    check("{{ workload.items | len }}", expect!["3"]);
    check("{{ workload.empty | first }}", expect!["null"]);
    check("{{ workload.empty | last | default('none') }}", expect![[r#""none""#]]);
    check("{{ workload.items | first }}", expect!["1"]);
    check("{{ workload.items | last }}", expect!["3"]);
    check("{{ missing | join(',') }}", expect![[r#""""#]]);
}

#[test]
fn json_is_one_line_and_verbatim() {
    check("{{ quote | tojson }}", expect![[r#""\"it's <b>&\"""#]]);
    check("{{ output | tojson }}", expect![[r#""{\"error\":null}""#]]);
    check("{{ {'a': t, 'b': missing} | tojson }}", expect![[r#""{\"a\":true,\"b\":null}""#]]);
    check("'{{ quote | tojson | replace(\"'\", \"''\") }}'", expect![[r#""'\"it''s <b>&\"'""#]]);
    check("{{ [1] | tojson(indent=2) }}", expect![[r#""[\n  1\n]""#]]);
    check("{{ json | fromjson }}", expect![[r#"{"a":[1,null]}"#]]);
    check("{{ (json | fromjson).a[0] }}", expect!["1"]);
}

#[test]
fn the_other_filters() {
    check("{{ 'hé' | b64encode }}", expect![[r#""aMOp""#]]);
    check("{{ 'aMOp' | b64decode }}", expect![[r#""hé""#]]);
    check("{{ one | string }}", expect![[r#""1""#]]);
    check("{{ text | trim | upper | lower | title }}", expect![[r#""Hello World""#]]);
    check("{{ csv | split(',') }}", expect![[r#"["a","b","c"]"#]]);
    check("{{ csv | split(',') | join('-') }}", expect![[r#""a-b-c""#]]);
    check("{{ start | keys | list }}", expect![[r#"["items","get","keys"]"#]]);
    check("{{ start | values | first }}", expect![[r#"["a","b"]"#]]);
    check("{{ start | get('get') }}", expect!["7"]);
    check("{{ start | get('x', 1) }}", expect!["1"]);
    check("{{ users | map(attribute='name') | list }}", expect![[r#"["bo","al","cy"]"#]]);
    check("{{ ['a'] | map('upper') }}", expect![[r#"["A"]"#]]);
    check(
        "{{ users | selectattr('age', 'gt', 1) | map(attribute='name') | join }}",
        expect![[r#""bocy""#]],
    );
    check("{{ users | rejectattr('tags') | map(attribute='name') }}", expect![[r#"["al"]"#]]);
    check("{{ [1, 2, 3] | select('odd') }}", expect!["[1,3]"]);
    check("{{ [1, 0] | reject }}", expect!["[0]"]);
    check("{{ users | sort(attribute='age') | map(attribute='age') }}", expect!["[1,2,3]"]);
    check("{{ [3, 1, 3] | unique | sort(reverse=true) }}", expect!["[3,1]"]);
    check("{{ users | sum(attribute='age') }}", expect!["6"]);
    check("{{ [1.5, 2] | sum }}", expect!["3.5"]);
    check("{{ [3, 1] | min }} {{ [3, 1] | max }}", expect![[r#""1 3""#]]);
    check("{{ 2.567 | round(1) }} {{ -3 | abs }}", expect![[r#""2.6 3""#]]);
    check("{{ '%s is %d' | format('x', 3) }}", expect![[r#""x is 3""#]]);
    check("{{ '%05.1f' | format(2.25) }}", expect![[r#""002.2""#]]);
    check("{{ [1, 2, 3] | batch(2, 0) }}", expect!["[[1,2],[3,0]]"]);
    check("{{ [1, 2, 3] | slice(2) }}", expect!["[[1,2],[3]]"]);
    check("{{ {'b': 1, 'a': 2} | dictsort }}", expect![[r#"[["a",2],["b",1]]"#]]);
    check("{{ users | groupby('age') | map(attribute=0) }}", expect!["[1,2,3]"]);
    check("{{ 'a b&c/d' | urlencode }}", expect![[r#""a%20b%26c/d""#]]);
    check("{{ {'q': 'a b', 'n': none} | urlencode }}", expect![[r#""q=a%20b""#]]);
    check("{{ lines | indent(2) }}", expect![[r#""a\n  b\n  c""#]]);
    check("{{ [1, 2] | reverse }} {{ 'ab' | reverse }}", expect![[r#""[2,1] ba""#]]);
    check("{{ [1] | zip(['a']) }} {{ [1] | chain([2]) }}", expect![[r#""[[1,\"a\"]] [1,2]""#]]);
    check("{{ quote | safe }}", expect![[r#""it's <b>&""#]]);
    check("{{ 'x' | center(5) }}|", expect![[r#""  x  |""#]]);
    check("{{ range(3) }} {{ range(5, 1, -2) }}", expect![[r#""[0,1,2] [5,3]""#]]);
    check("{{ dict(a=1) }}", expect![[r#"{"a":1}"#]]);
}

#[test]
fn methods_as_in_python() {
    check("{{ text.strip().upper() }}", expect![[r#""HELLO WORLD""#]]);
    check(
        "{{ text.lstrip() ~ '|' ~ text.rstrip() }}",
        expect![[r#""Hello World  |  Hello World""#]],
    );
    check(
        "{{ csv.split(',') }} {{ csv.rsplit(',', 1) }}",
        expect![[r#""[\"a\",\"b\",\"c\"] [\"a,b\",\"c\"]""#]],
    );
    check(
        "{{ 'a b  c'.split() }} {{ 'a b c'.split(None, 1) }}",
        expect![[r#""[\"a\",\"b\",\"c\"] [\"a\",\"b c\"]""#]],
    );
    check("{{ csv.startswith('a') and csv.endswith(('b', 'c')) }}", expect!["true"]);
    check("{{ csv.replace(',', ';', 1) }}", expect![[r#""a;b,c""#]]);
    check(
        "{{ 'hello world'.title() }} {{ 'hELLO'.capitalize() }}",
        expect![[r#""Hello World Hello""#]],
    );
    check("{{ ', '.join(start.items) }}", expect![[r#""a, b""#]]);
    check("{{ '{} {1} {x} {{}}'.format('a', 'b', x=1) }}", expect![[r#""a b 1 {}""#]]);
    check("{{ csv.find('b') }} {{ csv.find('z') }} {{ csv.count(',') }}", expect![[r#""2 -1 2""#]]);
    check("{{ '12'.isdigit() and not '1a'.isdigit() and 'ab'.isalpha() }}", expect!["true"]);
    check(
        "{{ lines.splitlines() }} {{ '7'.zfill(3) }} {{ '-7'.zfill(3) }}",
        expect![[r#""[\"a\",\"b\",\"c\"] 007 -07""#]],
    );
    check("{{ start.get('x') is none }} {{ start.get('x', 3) }}", expect![[r#""true 3""#]]);
    check("{{ workload.items.index(2) }} {{ [1, 1].count(1) }}", expect![[r#""1 2""#]]);
    check("{{ missing.get('a', 1) }} {{ output.error.get('kind') }}|", expect![[r#""1 |""#]]);
}

#[test]
fn statements() {
    check("{% if one == 1 %}a{% elif t %}b{% else %}c{% endif %}", expect![[r#""a""#]]);
    check(
        "{% for u in users if u.age > 1 %}{{ loop.index }}{{ u.name }};{% else %}-{% endfor %}",
        expect![[r#""1bo;2cy;""#]],
    );
    check(
        "{% for k, v in start.items() %}{{ k }}={{ v }} {% endfor %}",
        expect![[r#""items=[\"a\",\"b\"] get=7 keys=k ""#]],
    );
    check("{% set x = one + 1 %}{{ x }}!", expect![[r#""2!""#]]);
    check("{% set x, y = 1, 2 %}{{ x }}{{ y }}", expect![[r#""12""#]]);
    check("{% set x %}<{{ one }}>{% endset %}{{ x }}{{ x }}", expect![[r#""<1><1>""#]]);
    check(
        "{% set ns = namespace(n=0) %}{% for i in range(4) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
        expect![[r#""6""#]],
    );
    check("{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}", expect![[r#""3""#]]);
    check("{% filter upper %}ab{{ one }}{% endfilter %}", expect![[r#""AB1""#]]);
    check(
        "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i > 3 %}{% break %}{% endif %}{{ i }}{% endfor %}",
        expect![[r#""013""#]],
    );
    check("a\n{%- if t %} b{% endif -%}\n c", expect![[r#""a bc""#]]);
}

#[test]
fn keys_are_templates_too() {
    let template = json!({"{{ csv }}": [{"a": "{{ one }}"}], "k{{ one }}": "x"});
    assert_eq!(render(template, sample()), Ok(json!({"a,b,c": [{"a": 1}], "k1": "x"})));
}

#[test]
fn much_data_passes_through() {
    let items: Vec<Value> = (0..50_000).map(|n| json!({"n": n, "ok": n % 2})).collect();
    let given = Given::from(json!({"workload": {"items": items}}));
    let count = |template: &str| {
        let value = render_with(json!(template), &given).unwrap();
        value.as_array().map_or(0, Vec::len)
    };
    assert_eq!(count("{{ workload.items }}"), 50_000);
    assert_eq!(count("{{ [workload.items, workload.items][1] }}"), 50_000);
    assert_eq!(count("{{ workload.items | selectattr('ok') | list }}"), 25_000);
    let some = "{{ workload.items | selectattr('n', 'in', range(10)) | map(attribute='n') }}";
    assert_eq!(count(some), 10);
    assert_eq!(count("{{ workload.items | sort(attribute='n', reverse=true) }}"), 50_000);
    let text = "{% for it in workload.items[:10000] %}{{ it.n }}:{{ it.ok }},{% endfor %}";
    let text = render_with(json!(text), &given).unwrap();
    assert!(text.as_str().unwrap().ends_with("9999:1,"));
}

#[test]
fn a_long_text_may_be_given_a_name() {
    let given = Given::from(json!({"w": {"text": "x".repeat(20_000_000)}}));
    let template = "{% set a = w.text %}{% set b = [a, a] %}{{ b[1][2] }}{{ a is string }}";
    assert_eq!(render_with(json!(template), &given), Ok(json!("xtrue")));
}

#[test]
fn a_small_part_of_a_large_value_is_cheap() {
    let text = "x".repeat(10 * 1024 * 1024);
    let given = Given::from(json!({"w": {"text": text, "url": "u"}}));
    let template = Template::parse(json!({"a": "{{ w.url }}", "b": "{{ w.url ~ '!' }}"})).unwrap();
    let ((), elapsed) = timed(|| {
        for _ in 0..100 {
            assert_eq!(template.render(&given).unwrap(), json!({"a": "u", "b": "u!"}));
        }
    });
    assert!(elapsed < Duration::from_millis(500), "{elapsed:?}");
}

#[test]
fn templates_are_shared_between_threads() {
    fn check<T: Clone + Send + Sync + std::fmt::Debug>() {}
    check::<Template>();
    check::<crate::Condition>();
}

#[test]
fn now_is_the_time_given_by_the_caller() {
    let check = |template: &str, then: Expect| {
        let variables = json!({"_now": "2026-01-31T09:30:00.25Z"});
        then.assert_eq(&render(json!(template), variables).unwrap().to_string());
    };
    check("{{ now() }}", expect![[r#""2026-01-31T09:30:00.25Z""#]]);
    check(
        "on {{ now().strftime('%d.%m.%Y %H:%M:%S.%f') }}",
        expect![[r#""on 31.01.2026 09:30:00.250000""#]],
    );
    check("{{ now('utc').isoformat() }}", expect![[r#""2026-01-31T09:30:00.25Z""#]]);
    check("{{ now()[:10] }}", expect![[r#""2026-01-31""#]]);
    assert_eq!(render(json!("{{ now() }}"), json!({})), Ok(Value::Null), "nobody says");
}

#[test]
fn texts_are_shortened_counted_and_escaped() {
    check("{{ 'one two three four' | truncate(11) }}", expect![[r#""one two...""#]]);
    check("{{ 'one two three four' | truncate(9, true) }}", expect![[r#""one tw...""#]]);
    check("{{ 'one two three four' | truncate(9, true, end='') }}", expect![[r#""one two t""#]]);
    check("{{ 'one two' | truncate(5) }}", expect![[r#""one two""#]]);
    check("{{ 'one two  three' | wordcount }}", expect!["3"]);
    check("{{ '<a b=\"1\">&' | escape }}", expect![[r#""&lt;a b=&#34;1&#34;&gt;&amp;""#]]);
}
