//! Tests of tokens and completions, as tables of texts. `¦` is the cursor.

mod steps;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{completions, syntax_tokens};

/// Returns tokens as text, one line of tokens per line of the document.
fn tokens(text: &str) -> String {
    let mut shown = String::new();
    let mut line = 1;
    for token in syntax_tokens(text) {
        while line < token.line {
            shown.push('\n');
            line += 1;
        }
        let part = &text[token.span.clone()];
        shown.push_str(&format!("{}‹{part}› ", token.kind.as_str()));
    }
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

#[track_caller]
fn check_tokens(text: &str, expected: Expect) {
    expected.assert_eq(&tokens(text));
}

#[test]
fn keys_scalars_and_comments_are_distinguished() {
    check_tokens(
        "# head\nname: hello # why\ncount: 3\nshare: -0.5\non: true\nnone: ~\n\"a b\": 'c'\nurl: http://x/#y\n",
        expect![[r#"
            comment‹# head›
            key‹name› mark‹:› comment‹# why›
            key‹count› mark‹:› number‹3›
            key‹share› mark‹:› number‹-0.5›
            key‹on› mark‹:› word‹true›
            key‹none› mark‹:› word‹~›
            key‹"a b"› mark‹:› text‹'c'›
            key‹url› mark‹:›
        "#]],
    );
}

#[test]
fn templates_are_tokens_inside_of_texts() {
    check_tokens(
        "a: \"x {{ ctx.n }} y\"\nb: {{ z }}\nc: '{% if a %}1{% endif %}'\n",
        expect![[r#"
            key‹a› mark‹:› text‹"x › template‹{{ ctx.n }}› text‹ y"›
            key‹b› mark‹:› template‹{{ z }}›
            key‹c› mark‹:› text‹'› template‹{% if a %}› text‹1› template‹{% endif %}› text‹'›
        "#]],
    );
}

#[test]
fn a_block_of_text_ends_with_its_indentation() {
    check_tokens(
        "- code: |\n    if x: # no comment\n\n    y = {{ a\n      + b }} z\n  next: end\n- >-\n  text\nkey: 1\n",
        expect![[r#"
            mark‹-› key‹code› mark‹:› mark‹|›
            text‹if x: # no comment›

            text‹y = › template‹{{ a›
            template‹+ b }}› text‹ z›
            key‹next› mark‹:›
            mark‹-› mark‹>-›
            text‹text›
            key‹key› mark‹:› number‹1›
        "#]],
    );
}

#[test]
fn brackets_hold_keys_and_scalars() {
    check_tokens(
        "tool: {kind: http, list: [1, 'a, b'], on: true}\nnext: [a, b]\nref: *base\nbase: &base !x {}\n---\n",
        expect![[r#"
            key‹tool› mark‹:› mark‹{› key‹kind› mark‹:› mark‹,› key‹list› mark‹:› mark‹[› number‹1› mark‹,› text‹'a, b'› mark‹]› mark‹,› key‹on› mark‹:› word‹true› mark‹}›
            key‹next› mark‹:› mark‹[› mark‹,› mark‹]›
            key‹ref› mark‹:› anchor‹*base›
            key‹base› mark‹:› anchor‹&base› anchor‹!x› mark‹{› mark‹}›
            mark‹---›
        "#]],
    );
}

#[test]
fn quotes_may_go_on_over_lines() {
    check_tokens(
        "a: 'it''s\n  {{ x }}' # end\nb: \"\\\" # in\n",
        expect![[r#"
            key‹a› mark‹:› text‹'it''s›
            text‹  › template‹{{ x }}› text‹'› comment‹# end›
            key‹b› mark‹:› text‹"\" # in›
        "#]],
    );
}

const HEAD: &str = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: x}\nworkflow:\n  - step: start\n    tool:\n      kind: http\n      url: http://x\n    next:\n      arcs:\n        - step: check\n  - step: check\n    tool: {kind: noop}\n";

/// Returns the labels of the completions at `¦`, and the text that they replace.
fn labels(text: &str) -> (String, Vec<String>) {
    let offset = text.find('¦').expect("a cursor");
    let text = text.replacen('¦', "", 1);
    let found = completions(&text, offset);
    let labels = found.items.iter().map(|it| it.label.clone()).collect();
    (text[found.replaced].to_owned(), labels)
}

/// Checks the first completions at the end of a text.
#[track_caller]
fn check(text: &str, replaced: &str, first: &[&str]) {
    let (word, labels) = labels(text);
    let shown: Vec<&str> = labels.iter().take(first.len()).map(String::as_str).collect();
    assert_eq!((word.as_str(), shown.as_slice()), (replaced, first), "{text}\n{labels:?}");
}

#[track_caller]
fn check_none(text: &str) {
    assert_eq!(labels(text).1, Vec::<String>::new(), "{text}");
}

fn after(text: &str) -> String {
    format!("{HEAD}{text}")
}

#[test]
fn keys_fit_their_map_and_are_offered_once() {
    check("¦", "", &["apiVersion", "kind", "metadata", "workflow"]);
    check("apiVersion: noetl.io/v2\nk¦", "k", &["kind", "keychain"]);
    check("apiVersion: noetl.io/v2\n¦\nkind: Playbook\n", "", &["metadata", "workflow"]);
    check(&after("    ¦"), "", &["desc", "description", "when", "input", "loop"]);
    check(&after("  - ¦"), "", &["step"]);
    check(&after("executor:\n  ¦"), "", &["kind", "profile", "version", "requires", "spec"]);
    check(&after("executor:\n  spec:\n    ¦\n"), "", &["entry_step", "final_step"]);
    check(&after("    loop:\n      sp¦"), "sp", &["spec"]);
    let (_, keys) = labels(&after("    ¦"));
    assert!(!keys.contains(&"step".to_owned()) && !keys.contains(&"tool".to_owned()), "{keys:?}");
    assert!(!keys.contains(&"args".to_owned()), "an old spelling is not offered");
}

#[test]
fn a_tool_has_the_keys_of_its_kind() {
    check(&after("  - step: more\n    tool:\n      kind: http\n      ¦"), "", &["url", "endpoint"]);
    check(
        &after("  - step: more\n    tool:\n      ¦\n      kind: http\n"),
        "",
        &["url", "endpoint"],
    );
    check(&after("  - step: more\n    tool:\n      ¦"), "", &["kind", "name", "input"]);
    check(&after("  - step: more\n    tool: {kind: http, meth¦}"), "meth", &["method"]);
    check(
        &after("  - step: more\n    tool:\n      - name: a\n        kind: http\n        ¦"),
        "",
        &["url"],
    );
    check(
        &after("  - step: more\n    tool:\n      - fetch:\n          kind: http\n          ¦"),
        "",
        &["url"],
    );
}

#[test]
fn words_fit_their_key() {
    check("apiVersion: ¦", "", &["noetl.io/v2", "noetl.io/v10"]);
    check("kind: P¦", "P", &["Playbook"]);
    check(&after("  - step: more\n    tool:\n      kind: ht¦"), "ht", &["http"]);
    check(&after("  - step: more\n    tool: {kind: py¦}"), "py", &["python"]);
    check(&after("  - step: more\n    tool: {kind: ¦"), "", &["agent", "approval", "artifact"]);
    check(&after("  - step: more\n    tool: {kind: http, method: ¦}"), "", &["GET", "POST"]);
    check(
        &after("  - step: more\n    tool:\n      kind: http\n      verify_ssl: ¦"),
        "",
        &["true", "false"],
    );
    check(&after("    loop:\n      spec:\n        mode: p¦"), "p", &["parallel"]);
    check(
        &after(
            "  - step: more\n    tool:\n      kind: http\n      spec:\n        policy:\n          rules:\n            - then:\n                do: ¦",
        ),
        "",
        &["continue", "retry", "jump", "break", "fail"],
    );
}

#[test]
fn arcs_lead_to_steps_of_the_playbook() {
    check(&after("    next: ¦"), "", &["start", "check"]);
    check(&after("    next:\n      arcs:\n        - step: ¦"), "", &["start", "check"]);
    check(&after("    next:\n      arcs:\n        - {step: ch¦}"), "ch", &["check"]);
    check(&after("    next:\n      - ¦"), "", &["start", "check", "step"]);
    check(&after("    next:\n      ¦"), "", &["start", "check", "arcs", "spec"]);
    check(&after("executor:\n  spec:\n    final_step: ¦"), "", &["start", "check"]);
    // A step below the cursor is known too.
    check("workflow:\n  - step: a\n    next: ¦\n  - step: b\n", "", &["a", "b"]);
}

#[test]
fn a_misspelt_word_is_completed_to_the_one_that_was_meant() {
    check(
        &after("  - step: more\n    tool:\n      kind: htpp¦\n      url: x\n"),
        "htpp",
        &["http"],
    );
    check(&HEAD.replace("url:", "ulr¦:"), "ulr", &["url"]);
    check(&after("    nxet¦: start\n"), "nxet", &["next"]);
    check_none(&after("    zzzzzz¦"));
}

#[test]
fn free_text_has_no_completions() {
    check_none("# k¦");
    check_none(&after("    desc: ¦"));
    check_none(&after("  - step: more\n    tool:\n      kind: python\n      code: |\n        k¦"));
    check_none(&after("workload:\n  k¦"));
    check_none(&after("    desc: 'k¦'"));
}

#[test]
fn documents_of_other_kinds_have_their_own_keys() {
    check("kind: Schedule\nspec:\n  ¦", "", &["cron", "timezone", "every"]);
    check("kind: Schedule\nspec:\n  dispatch:\n    ¦", "", &["playbook", "execution_pool"]);
    check("kind: Subscription\nspec:\n  so¦", "so", &["source"]);
}

#[test]
fn a_key_is_inserted_with_its_colon_once() {
    let insert = |text: &str| {
        let offset = text.find('¦').expect("a cursor");
        completions(&text.replacen('¦', "", 1), offset).items[0].insert.clone()
    };
    assert_eq!(insert("apiV¦"), "apiVersion: ");
    assert_eq!(insert("workf¦"), "workflow:");
    assert_eq!(insert("apiV¦: x"), "apiVersion");
}

proptest! {
    #[test]
    fn any_text_has_tokens_in_order_and_completions(
        text in "([ \\-a-c:#|>{}\\[\\],'\"%ä\n\t]|\\{\\{|step: |tool:\n|  ){0,80}",
        at in 0_usize..200,
    ) {
        let mut end = 0;
        for token in syntax_tokens(&text) {
            prop_assert!(token.span.start >= end && token.span.end > token.span.start);
            prop_assert!(!text[token.span.clone()].contains('\n'));
            end = token.span.end;
        }
        let found = completions(&text, at);
        prop_assert!(text.get(found.replaced).is_some());
    }
}
