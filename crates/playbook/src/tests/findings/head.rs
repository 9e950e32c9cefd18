//! The head of a document: its kind, its version, its name.

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
          = help: write `kind: Playbook`
    "#]],
    );
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
        error[wrong-type]: a playbook must be a map, this is a list
         --> t.yaml:1:1
        1 | - a
          | ^^^
    "#]],
    );
    check_document(
        "",
        expect![[r#"
            error[missing-key]: the document is empty
             --> t.yaml:1:1
            1 |
              | ^
        "#]],
    );
    check_document(
        "# only a comment\n",
        expect![[r#"
        error[missing-key]: the document is empty
         --> t.yaml:1:1
        1 | # only a comment
          | ^
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
