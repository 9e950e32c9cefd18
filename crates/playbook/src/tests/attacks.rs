//! Malicious and accidental documents.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::document;
use crate::{DiagnosticCode, Severity};

/// Checks that bytes are refused, and the messages. Without limits, some of them would take
/// forever.
#[track_caller]
fn check(source: &[u8], expected: Expect) {
    let problems = match crate::parse("t.yaml", source) {
        Ok(_) => panic!("the document is not refused"),
        Err(problems) => problems,
    };
    let errors = problems.diagnostics().iter().filter(|found| found.severity == Severity::Error);
    let said: Vec<String> = errors
        .filter(|found| found.code != DiagnosticCode::MissingKey)
        .map(|found| format!("{}:{} {}: {}", found.line, found.column, found.code, found.message))
        .collect();
    expected.assert_eq(&said.join("\n"));
}

#[test]
fn a_document_that_multiplies_itself() {
    let mut yaml = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..10 {
        let alias = format!("*a{}", i - 1);
        yaml.push_str(&format!("a{i}: &a{i} [{}]\n", [alias.as_str(); 9].join(", ")));
    }
    check(
        yaml.as_bytes(),
        expect!["6:25 too-large: more than 300000 values, with aliases written out"],
    );
}

#[test]
fn one_long_text_many_times() {
    let yaml = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), ["*a"; 199].join(", "));
    check(
        yaml.as_bytes(),
        expect!["2:501 too-large: more than 12582912 bytes of text, with aliases written out"],
    );
}

#[test]
fn too_many_aliases() {
    check(
        format!("a: &a 1\nb: [{}]\n", ["*a"; 201].join(", ")).as_bytes(),
        expect!["2:805 too-large: more than 200 aliases"],
    );
}

#[test]
fn an_alias_of_itself() {
    check(b"a: &a [*a]\n", expect!["1:8 syntax: an alias cannot stand inside what it repeats"]);
    check(
        b"a: &a {<<: *a}\n",
        expect!["1:12 syntax: an alias cannot stand inside what it repeats"],
    );
    check(b"a: *nothing\n", expect!["1:4 syntax: while parsing node, found unknown anchor"]);
}

#[test]
fn deep_brackets() {
    check("[".repeat(20_000).as_bytes(), expect!["1:65 too-deep: nested more than 64 deep"]);
}

#[test]
fn deep_maps() {
    let yaml: String = (0..500).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    check(yaml.as_bytes(), expect!["65:65 too-deep: nested more than 64 deep"]);
}

#[test]
fn depth_by_aliases() {
    let mut yaml = String::from("a0: &a0 [x]\n");
    for i in 1..100 {
        yaml.push_str(&format!("a{i}: &a{i} [*a{}]\n", i - 1));
    }
    check(yaml.as_bytes(), expect!["64:12 too-deep: nested more than 64 deep"]);
}

#[test]
fn too_long() {
    check(
        &vec![b'a'; 10 << 20],
        expect!["1:1 too-large: the document is longer than 3145728 bytes"],
    );
}

#[test]
fn too_many_values() {
    check(
        format!("a: [{}]\n", "1,".repeat(400_000)).as_bytes(),
        expect!["1:600003 too-large: more than 300000 values, with aliases written out"],
    );
}

#[test]
fn too_many_keys_on_one_line() {
    let keys: String = (0..160_000).map(|i| format!("k{i}: 1,")).collect();
    check(
        format!("{{{keys}}}").as_bytes(),
        expect!["1:1538892 too-large: more than 300000 values, with aliases written out"],
    );
}

#[test]
fn a_large_map_merged_into_another() {
    let keys =
        |prefix: &str| -> String { (0..60_000).map(|i| format!("  {prefix}{i}: 1\n")).collect() };
    let yaml = format!("a: &a\n{}b:\n  <<: *a\n{}", keys("a"), keys("b"));
    check(
        yaml.as_bytes(),
        expect!["120001:11 too-large: more than 300000 values, with aliases written out"],
    );
}

#[test]
fn too_many_steps() {
    let steps: String =
        (0..10_001).map(|i| format!("  - {{step: s{i}, tool: {{kind: noop}}}}\n")).collect();
    check(
        document(&steps).as_bytes(),
        expect!["10005:5 too-large: a playbook has at most 10000 steps"],
    );
}

#[test]
fn too_many_arcs() {
    let arcs: String = (0..60).map(|i| format!("s{i},")).collect();
    let step = |i: usize| {
        format!("  - {{step: s{i}, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}}}\n")
    };
    let steps: String = (0..1000).map(step).collect();
    check(
        document(&steps).as_bytes(),
        expect!["1:1 too-large: a playbook has at most 50000 arcs, this one has 60000"],
    );
}

#[test]
fn not_utf_8() {
    check(b"a: b\nc: \xff\n", expect!["2:4 not-utf-8: byte 0xFF is not UTF-8"]);
    check(b"\xff\xfea\0:\0", expect!["1:1 not-utf-8: the document is UTF-16"]);
}

#[test]
fn characters_that_are_not_text() {
    check(b"a: b\nc: d\0e\n", expect!["2:5 bad-character: the character U+0000 is not text"]);
    check(
        "\u{feff}a: b\n".as_bytes(),
        expect!["1:1 byte-order-mark: the document begins with a byte order mark"],
    );
    check(
        "a: \u{feff}b\n".as_bytes(),
        expect!["1:4 bad-character: the character U+FEFF is not text"],
    );
    check(b"a: \x1b[31m\n", expect!["1:4 bad-character: the character U+001B is not text"]);
}

#[test]
fn tags_of_other_programs() {
    check(
        b"a: !!python/object:os.system x\nkind: Playbook\n",
        expect!["1:4 custom-tag: the tag `!!python/object:os.system` means nothing in a playbook"],
    );
    check(
        b"a: !secret x\nkind: Playbook\n",
        expect!["1:4 custom-tag: the tag `!secret` means nothing in a playbook"],
    );
}

#[test]
fn keys_that_are_not_words() {
    check(
        b"a: 1\nb: 2\na: 3\nkind: Playbook\n",
        expect!["3:1 duplicate-key: `a` is already there, on line 1"],
    );
    check(
        b"? [a, b]\n: 1\nkind: Playbook\n",
        expect!["1:3 bad-key: a key is a word, this is a list"],
    );
    check(
        b"url: {{ base }}/x\nkind: Playbook\n",
        expect![[r#"
        1:7 bad-key: a key is a word, this is a map
        1:16 syntax: while parsing a block mapping, did not find expected key"#]],
    );
    check(
        b"a:\n  <<: 5\nkind: Playbook\n",
        expect!["2:7 wrong-type: `<<` merges maps, this is a number"],
    );
}

#[test]
fn yaml_that_is_none() {
    check(b"a: [1, 2\n", expect!["1:4 syntax: unclosed bracket '['"]);
    check(b"a: b: c\n", expect!["1:5 syntax: mapping values are not allowed in this context"]);
    check(
        b"a:\n\tb: c\n",
        expect!["2:2 syntax: tabs disallowed within this context (block indentation)"],
    );
    check(b"a: 'b\n", expect!["2:1 syntax: invalid indentation in multiline quoted scalar"]);
    check(b"a: 1\n---\nb: 2\n", expect!["2:1 several-documents: a second document begins here"]);
    check(
        b"a: .inf\nkind: Playbook\n",
        expect!["1:4 bad-value: `.inf` is not a number that can be stored"],
    );
}

#[test]
fn findings_are_counted_when_there_are_too_many() {
    let keys: String = (0..1000).map(|i| format!("key{i}: 1\n")).collect();
    let yaml = format!("{keys}{}", document("  - {step: a}\n"));
    let problems = crate::parse("t.yaml", yaml.as_bytes()).unwrap_err();
    assert_eq!(problems.diagnostics().len(), 100);
    assert_eq!(problems.omitted(), 901);
    assert_eq!(problems.count(Severity::Error), 1);
}

#[test]
fn a_line_without_end_is_shown_in_part() {
    let yaml = format!("{}kind: {{{}: 1}}\n", "#".repeat(10_000), "x".repeat(1000));
    let shown = crate::parse("t.yaml", format!("a: [{}, *b]", "1,".repeat(30_000)).as_bytes());
    for problems in [crate::parse("t.yaml", yaml.as_bytes()), shown] {
        assert!(problems.unwrap_err().to_string().len() < 1000);
    }
}

#[test]
fn a_thousand_misspelt_arcs() {
    let arcs: String = (0..30).map(|i| format!("{{step: {}{i}}},", "x".repeat(38))).collect();
    let step =
        |i: usize| format!("  - {{step: {}{i:04}, next: {{arcs: [{arcs}]}}}}\n", "y".repeat(36));
    let steps: String = (0..500).map(step).collect();
    let problems = crate::parse("t.yaml", document(&steps).as_bytes()).map(drop).unwrap_err();
    assert_eq!(problems.omitted(), 14_900);
}

const REAL: &str = include_str!("real.yaml");

/// Pieces of the language and of YAML, combined at random.
fn yamlish() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "step", "tool", "next", "kind", "noop", "workflow", "loop", "in", "arcs", "when", "then",
        "do", "retry", "spec", "policy", "rules", "else", "set", "{{ x", " }}", "{%", ": ", ":\n",
        "- ", "\n", "\n  ", "\n    ", "[", "]", "{", "}", ", ", "&a ", "*a", "<<: ", "|\n", ">\n",
        "'", "\"", "# ", "---\n", "!!str ", "!x ", "~", "0x", "1e9", "é", "\u{2028}", "\r\n", "\t",
        "? ",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// A real document with random cuts and replacements.
fn mutated() -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), 0..40_usize, "[ -~\n]{0,6}");
    prop::collection::vec(edit, 1..4).prop_map(|edits| {
        let mut text = REAL.to_owned();
        for (at, len, with) in edits {
            let start = at.index(text.len() + 1);
            let end = (start + len).min(text.len());
            text.replace_range(start..end, &with);
        }
        text
    })
}

/// Checks that any bytes give a result, with positions inside the document.
fn check_any(source: &[u8]) {
    let problems = match crate::parse("t.yaml", source) {
        Ok(checked) => {
            crate::draw::svg(&checked.playbook);
            checked.warnings
        }
        Err(problems) => {
            assert!(problems.count(Severity::Error) > 0);
            problems
        }
    };
    assert!(problems.diagnostics().iter().all(|d| d.line > 0 && d.column > 0));
    serde_json::to_string(&problems).unwrap();
    problems.to_string();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn random_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check_any(&bytes);
    }

    #[test]
    fn random_text_is_answered(text in yamlish()) {
        check_any(text.as_bytes());
        check_any(document(&text).as_bytes());
    }

    #[test]
    fn a_mutated_document_is_answered(text in mutated()) {
        check_any(text.as_bytes());
    }
}

#[test]
fn names_with_characters_that_are_not_shown_are_refused() {
    for hidden in ['\0', '\u{7}', '\u{1b}', '\u{85}', '\u{202e}', '\u{2066}', '\u{feff}'] {
        let name = format!("\"a\\U{:08x}b\"", u32::from(hidden));
        let documents = [
            format!(
                "metadata: {{name: {name}}}\nworkflow: [{{step: start, tool: {{kind: noop}}}}]\n"
            ),
            format!(
                "metadata: {{name: a, path: {name}}}\nworkflow: [{{step: start, tool: {{kind: noop}}}}]\n"
            ),
            format!("metadata: {{name: a}}\nworkflow: [{{step: {name}, tool: {{kind: noop}}}}]\n"),
        ];
        for text in documents {
            let text = format!("apiVersion: noetl.io/v2\nkind: Playbook\n{text}");
            let refused = crate::parse("t.yaml", text.as_bytes()).expect_err("it is refused");
            assert!(refused.to_string().contains("has a character that is not shown"), "{refused}");
        }
    }
}
