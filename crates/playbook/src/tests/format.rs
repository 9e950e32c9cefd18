//! The formatter: indentation, blank lines and comments, with the same meaning.

use std::path::Path;

use expect_test::{Expect, expect};

use crate::{
    FormatError, document_value, fixed, format_document, has_same_meaning, parse_document,
};

#[track_caller]
fn check(text: &str, expected: Expect) {
    let formatted = format_document("t.yaml", text).unwrap();
    expected.assert_eq(&formatted);
    assert_eq!(format_document("t.yaml", &formatted).unwrap(), formatted);
    assert_eq!(document_value(formatted.as_bytes()), document_value(text.as_bytes()));
}

#[test]
fn entries_are_indented_by_two() {
    check(
        "a:\n    b:   1\n    c:\n    -   x\n    -   y: 1\n        z: 2\nd: {e:  1}\n",
        expect![[r#"
            a:
              b: 1
              c:
                - x
                - y: 1
                  z: 2
            d: {e:  1}
        "#]],
    );
}

#[test]
fn comments_stay_with_their_entries() {
    check(
        "# head\n\n\n\na:   # of a\n     # before b\n     b: 1   # of b\n     # after b\n# before c\nc: [1,\n  2] # of c\n# end",
        expect![[r#"
            # head

            a: # of a
              # before b
              b: 1   # of b
              # after b
            # before c
            c: [1,
              2] # of c
            # end
        "#]],
    );
}

#[test]
fn texts_of_several_lines_keep_their_lines() {
    check(
        "a:\n    code: |\n        if x:\n\n\n            # no comment\n            y   \n    fold: >-\n        one\n        two\n    plain: one\n      two\n- x\n".replace("- x\n", "").as_str(),
        expect![[r#"
            a:
              code: |
                  if x:


                      # no comment
                      y   
              fold: >-
                  one
                  two
              plain: one
                two
        "#]],
    );
    check(
        "- |\n   a\n   b\n-   c: |\n       d\n    e: 1\n",
        expect![[r#"
            - |
               a
               b
            - c: |
                 d
              e: 1
        "#]],
    );
}

#[test]
fn line_breaks_of_windows_and_spaces_at_the_end_are_removed() {
    check(
        "a: 1  \r\nb: 2\t\r\n\r\n\r\n\r\nc: 3",
        expect![[r#"
        a: 1
        b: 2

        c: 3
    "#]],
    );
}

#[test]
fn unusual_forms_are_only_tidied() {
    check(
        "a:   \n- - 1\n  - 2\n\n\n\nb: &x 1\nc: *x",
        expect![[r#"
        a:
        - - 1
          - 2



        b: &x 1
        c: *x
    "#]],
    );
}

#[test]
fn a_text_that_is_not_yaml_is_refused() {
    let error = format_document("t.yaml", "a: b: c").unwrap_err();
    assert!(matches!(error, FormatError::NotYaml(_)));
}

#[test]
fn formatting_and_fixing_change_no_meaning_and_are_idempotent() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for directory in ["examples", "../shared/fixtures", "crates/cli/demo"] {
        super::analysis::playbooks(&root.join(directory), &mut files);
    }
    let mut only_tidied = 0;
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        if document_value(text.as_bytes()).is_none() {
            continue;
        }
        let name = file.display().to_string();
        let formatted =
            format_document(&name, &text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(document_value(formatted.as_bytes()), document_value(text.as_bytes()), "{name}");
        assert_eq!(format_document(&name, &formatted).unwrap(), formatted, "{name}");
        only_tidied += usize::from(super::super::format::is_only_tidied(&formatted));
        let Ok(document) = parse_document(&name, text.as_bytes()) else { continue };
        if let Some((changed, _)) = fixed(&text, &document.into_warnings()) {
            assert!(has_same_meaning(&text, &changed), "{name}");
            let again = parse_document(&name, changed.as_bytes()).unwrap().into_warnings();
            assert!(fixed(&changed, &again).is_none(), "{name}");
        }
    }
    assert!(files.len() >= 30, "{} files", files.len());
    assert_eq!(only_tidied, 0);
}
