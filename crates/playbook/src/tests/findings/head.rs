//! Diagnostics about the head of a document: its kind, version and name.

use expect_test::expect;

use super::super::{check_document, document};

#[test]
fn a_document_of_another_kind() {
    check_document(
        "apiVersion: noetl.io/v1\nkind: Subscription\nmetadata: {name: s}\n",
        expect![[r#"
            error[not-a-playbook]: this is a document of kind `Subscription`, not a playbook
             --> t.yaml:2:7
            2 | kind: Subscription
              |       ^^^^^^^^^^^^
        "#]],
    );
    check_document(
        "apiVersion: noetl.io/v2\nkind: playbook\n",
        expect![[r#"
            error[not-a-playbook]: this is a document of kind `playbook`, not a playbook
             --> t.yaml:2:7
            2 | kind: playbook
              |       ^^^^^^^^
              = help: did you mean `Playbook`?
        "#]],
    );
    check_document(
        "apiVersion: noetl.io/v2\nkind: Playbok\n",
        expect![[r#"
            error[not-a-playbook]: this is a document of kind `Playbok`, not a playbook
             --> t.yaml:2:7
            2 | kind: Playbok
              |       ^^^^^^^
              = help: did you mean `Playbook`?
        "#]],
    );
}

/// Diagnostics about a file that is not a NoETL document quote none of its content.
#[test]
fn a_document_that_is_not_ours_is_not_quoted() {
    let documents = [
        "user: me\npassword: hunter2\n",
        "password: hunter2\npassword: hunter2\n",
        "- hunter2\n",
        "hunter2",
        "password: 'hunter2\n",
        "password: !hunter2 1\n? [hunter2]\n: 1\n",
        "password: .inf # hunter2\n",
        "apiVersion: v1\nkind: Secret\nstringData: {password: hunter2}\n",
        "password: hunter2 \u{0}\n",
        "\u{FEFF}password: hunter2\n",
        "password: hunter2\n---\npassword: hunter2\n",
    ];
    for document in documents {
        let problems = crate::parse("t.yaml", document.as_bytes()).unwrap_err();
        let said = format!("{problems}{}", serde_json::to_string(&problems).unwrap());
        assert!(!said.contains("hunter2"), "{document}: {said}");
        assert!(!said.contains(" | "), "{document}: {said}");
        let report = crate::ProblemReport::from(problems);
        assert!(miette::Diagnostic::source_code(&report).is_none(), "{document}");
        let problems = crate::parse_document("t.yaml", document.as_bytes()).unwrap_err();
        assert!(!problems.to_string().contains("hunter2"), "{document}: {problems}");
    }
    let bytes = b"password: hunter2 \xFF\n";
    let said = crate::parse("t.yaml", bytes).unwrap_err().to_string();
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn a_playbook_that_cannot_be_read_is_quoted_all_the_same() {
    for head in ["kind: Playbook", "kind: \"Playbook\" # mine", "apiVersion: noetl.io/v2"] {
        let said = crate::parse("t.yaml", format!("{head}\nworkflow: 'a\n").as_bytes());
        let said = said.unwrap_err().to_string();
        assert!(said.contains(" | "), "{said}");
    }
}

#[test]
fn the_head_is_missing() {
    check_document(
        "workflow: []\n",
        expect![[r#"
        error[missing-key]: a playbook needs `kind`
         --> t.yaml:1:1
        1 | workflow: []
          | ^^^^^^^^^^^^
          = help: write `kind: Playbook`
        error[missing-key]: a playbook needs `apiVersion`
         --> t.yaml:1:1
        1 | workflow: []
          | ^^^^^^^^^^^^
          = help: write `apiVersion: noetl.io/v2`
        error[missing-key]: a playbook needs `metadata`
         --> t.yaml:1:1
        1 | workflow: []
          | ^^^^^^^^^^^^
        error[missing-key]: `workflow` has no steps
         --> t.yaml:1:11
        1 | workflow: []
          |           ^^
    "#]],
    );
    check_document(
        "- a\n",
        expect![[r#"
        error[not-a-playbook]: this is not a playbook: it has no `kind`, `apiVersion` or `workflow`
         --> t.yaml:1:1
          = help: a playbook begins with `apiVersion: noetl.io/v2`, `kind: Playbook`
    "#]],
    );
    check_document(
        "",
        expect![[r#"
            error[missing-key]: the document is empty
             --> t.yaml:1:1
        "#]],
    );
    check_document(
        "# only a comment\n",
        expect![[r#"
        error[missing-key]: the document is empty
         --> t.yaml:1:1
    "#]],
    );
}

#[test]
fn versions_of_the_language() {
    let with = |version: &str| {
        document("  - {step: a, tool: {kind: noop}}\n").replace("noetl.io/v2", version)
    };
    check_document(
        &with("noetl.io/v10"),
        expect![[r#"
        warning[api-version]: `noetl.io/v10` is read as `noetl.io/v2`
         --> t.yaml:1:13
        1 | apiVersion: noetl.io/v10
          |             ^^^^^^^^^^^^
          = help: write `apiVersion: noetl.io/v2`
    "#]],
    );
    check_document(
        &with("noetl.io/v1"),
        expect![[r#"
        error[api-version]: `noetl.io/v1` is not a version of the language
         --> t.yaml:1:13
        1 | apiVersion: noetl.io/v1
          |             ^^^^^^^^^^^
          = help: write `apiVersion: noetl.io/v2`
    "#]],
    );
}
