//! Tests of places that name steps, of renaming, of explanations and of completions in templates.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use crate::editing::{RenameError, hover, rename_step, step_mentions, template_completions};

const PLAYBOOK: &str = r#"apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: greet, path: greet}
workload: {city: Paris, fetched: no}
workflow:
  - step: start
    desc: Asks the service.
    tool: {kind: http, url: "http://127.0.0.1/{{ workload.city }}"}
    next:
      - {step: each, when: "{{ start.status_code == 200 }}"}
      - step: 'end'
  - step: each
    loop: {in: "{{ start.body.items }}", iterator: item}
    tool:
      kind: shell
      cmd: |
        echo {{ item | shell_quote }}
        echo {{ steps.start.status_code }}
    next: end
  - step: end
    tool: {kind: noop, result: "{{ each.results | length }} of {{ start.body.count }}"}
"#;

/// Returns a text without its cursor mark `¦`, and the place of the mark.
fn at_cursor(text: &str) -> (String, usize) {
    let offset = text.find('¦').expect("a cursor");
    (text.replacen('¦', "", 1), offset)
}

/// Puts the cursor behind the first occurrence of a part of the playbook.
fn behind(part: &str) -> (String, usize) {
    let offset = PLAYBOOK.find(part).expect("a part of the playbook") + part.len();
    (PLAYBOOK.to_owned(), offset)
}

#[test]
fn a_step_is_named_by_its_definition_by_arcs_and_by_templates() {
    let shown: String = step_mentions(PLAYBOOK)
        .into_iter()
        .map(|it| {
            let line = 1 + PLAYBOOK[..it.span.start].matches('\n').count();
            assert_eq!(&PLAYBOOK[it.span.clone()], it.name);
            format!("{line} {:?} {}\n", it.role, it.name)
        })
        .collect();
    expect![[r#"
        6 Definition start
        10 Arc each
        10 Template start
        11 Arc end
        12 Definition each
        13 Template start
        18 Template start
        19 Arc end
        20 Definition end
        21 Template each
        21 Template start
    "#]]
    .assert_eq(&shown);
}

#[test]
fn definitions_and_arcs_are_found_in_a_document_with_mistakes() {
    let broken = "workflow:\n  - step: a\n    tol: 1\n    next: b\n  - step: b\n    x: {{ a }\n";
    let names: Vec<String> = step_mentions(broken).into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["a", "b", "b"]);
    assert_eq!(step_mentions(""), []);
}

#[track_caller]
fn check_rename(from: &str, to: &str, expected: Expect) {
    let shown = match rename_step(PLAYBOOK, from, to) {
        Ok(places) => format!("{} places", places.len()),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&shown);
}

#[test]
fn a_step_is_renamed_everywhere_or_not_at_all() {
    check_rename("start", "fetch", expect!["5 places"]);
    check_rename("end", "done", expect!["3 places"]);
    check_rename("each", "start", expect!["the playbook has a step `start` already"]);
    check_rename("nobody", "x", expect!["the playbook has no step `nobody`"]);
    check_rename(
        "each",
        "two words",
        expect!["`two words` is not a name that templates can read: use letters, digits and `_`"],
    );
    check_rename(
        "start",
        "city",
        expect![
            "after the change the playbook would not be valid: `city` is used for something else"
        ],
    );
    assert!(rename_step("workflow: 1", "a", "b").is_err());
}

#[track_caller]
fn check_hover((text, offset): (String, usize), expected: Expect) {
    let shown = match hover(&text, offset) {
        Some(found) => format!("{}: {}", &text[found.span], found.text),
        None => "nothing".to_owned(),
    };
    expected.assert_eq(&shown);
}

#[test]
fn keys_tools_and_steps_are_explained() {
    check_hover(
        behind("- step: sta"),
        expect![[r#"
            start: **step `start`**

            Asks the service.

            runs http

            leads to `each`, `end`"#]],
    );
    check_hover(
        behind("{{ start.status_code == 200 }}\"}\n      - step: 'en"),
        expect![[r#"
        end: **step `end`**

        runs noop"#]],
    );
    check_hover(
        behind("workflo"),
        expect![[r#"
            workflow: **`workflow`** (required)

            Steps of the playbook."#]],
    );
    check_hover(
        behind("kind: shel"),
        expect![[r#"
        shell: **tool `shell`**

        keys: `command`, `cmds`, `shell`, `stdin`, `cwd`, `env`, `capture`, `input`, `args`, `auth`, `credential`, `desc`, `description`, `name`, `output`, `output_select`, `timeout`, `timeout_seconds`"#]],
    );
    check_hover(behind("metadata: {name: gre"), expect!["nothing"]);
    check_hover(at_cursor("¦"), expect!["nothing"]);
}

#[track_caller]
fn check_template((text, offset): (String, usize), expected: Expect) {
    let shown = match template_completions(&text, offset) {
        Some(found) => {
            let names: Vec<&str> = found.items.iter().map(|it| it.label.as_str()).collect();
            format!("‹{}› {}", &text[found.replaced], names.join(" "))
        }
        None => "outside".to_owned(),
    };
    expected.assert_eq(&shown);
}

/// Replaces the result of the last step by a template that is being written.
fn written(template: &str) -> (String, usize) {
    let whole = "\"{{ each.results | length }} of {{ start.body.count }}\"";
    at_cursor(&PLAYBOOK.replace(whole, &format!("\"{template}\"")))
}

#[test]
fn templates_are_completed_with_the_names_of_their_place() {
    check_template(written("{{ st¦ }}"), expect!["‹st› start steps"]);
    check_template(
        written("{{ ¦ }}"),
        expect![
            "‹› _attempt _now catalog_id city ctx each execution_id fetched iter job path results start steps vars workload"
        ],
    );
    check_template(written("{{ ea¦"), expect!["‹ea› each"]);
    check_template(written("{{ workload.¦ }}"), expect!["‹› city fetched"]);
    check_template(written("{{ steps.e¦ }}"), expect!["‹e› each end"]);
    check_template(written("{{ start.st¦ }}"), expect!["‹st› status status_code _store"]);
    check_template(written("{{ each.re¦ }}"), expect!["‹re› result results _preview _ref _store"]);
    check_template(written("{{ start.body | shell¦ }}"), expect!["‹shell› shell_quote"]);
    check_template(written("{{ start }} ¦"), expect!["outside"]);
    check_template(behind("{{ item"), expect!["‹item› item"]);
    check_template(
        at_cursor("workflow:\n- step: a\n  x: {{ ¦"),
        expect!["‹› _now a catalog_id ctx execution_id iter job path steps vars workload"],
    );
}

const TYPED: &str = "apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: x}
inputs: {db: {type: object, properties: {host: string, port: integer}}}
workflow:
  - step: start
    tool: {kind: python, code: x}
    output_schema: {properties: {total: integer, rows: {items: {properties: {id: integer}}}}}
    next: each
  - step: each
    loop: {in: '{{ start.rows }}', iterator: row}
    tool:
      - {name: fetch, kind: http, url: 'http://x/'}
      - {name: use, kind: noop, result: '{{ ¦ }}'}
";

#[test]
fn declared_shapes_are_completed() {
    let at = |path: &str| at_cursor(&TYPED.replace("{{ ¦", &format!("{{{{ {path}¦")));
    check_template(at("workload.db."), expect!["‹› host port"]);
    check_template(at("start.t"), expect!["‹t› total _store data result results status"]);
    check_template(at("row."), expect!["‹› id"]);
    check_template(at("iter.row."), expect!["‹› id"]);
    check_template(at("fetch."), expect!["‹› body data headers status_code"]);
}

/// Names stay known while another part of the document is wrong, or is not YAML.
#[test]
fn variables_are_completed_in_a_document_with_errors() {
    let at = |path: &str, part: &str, wrong: &str| {
        at_cursor(&TYPED.replace("{{ ¦", &format!("{{{{ {path}¦")).replace(part, wrong))
    };
    check_template(at("start.to", "next: each", "next: eech"), expect!["‹to› total _store"]);
    check_template(at("workload.", "kind: python", "kind: pyhton"), expect!["‹› db"]);
    check_template(at("workload.", "metadata: {", "metadata: [{"), expect!["‹› db"]);
    check_template(at("ro", "metadata: {", "metadata: [{"), expect!["‹ro› row"]);
    check_template(at("steps.", "metadata: {", "metadata: [{"), expect!["‹› each start"]);
}

proptest! {
    #[test]
    fn help_is_given_for_any_text_and_place(
        text in "[ a-c:{}|%.\\n'\"-]{0,60}",
        offset in 0usize..64,
    ) {
        let text = format!("workflow:\n  - step: a\n    tool: {{kind: noop, x: {text}\n");
        template_completions(&text, offset);
        hover(&text, offset);
        for mention in step_mentions(&text) {
            prop_assert_eq!(&text[mention.span], mention.name);
        }
    }
}

#[test]
fn a_step_that_code_reads_by_its_name_is_not_renamed() {
    let check = |tool: &str, line: Option<usize>| {
        let text = format!(
            "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: t}}\nworkflow:\n  - step: load\n    \
             tool: {{kind: noop}}\n    next: end\n  - step: end\n    tool:\n{tool}"
        );
        let found = rename_step(&text, "load", "fetch");
        let expected = line.map(|line| RenameError::InCode { name: "load".to_owned(), line });
        assert_eq!(found.err(), expected, "{tool}");
    };
    let python =
        |code: &str| format!("      kind: python\n      code: |\n        x = 1\n        {code}\n");
    check(&python("result = context['load']['x']"), Some(13));
    check(&python("result = context.load.x"), Some(13));
    check(&python("result = json.load(f)"), None);
    check(&python("result = context['loads'] + {{ load.x }}"), None);
    check("      kind: rhai\n      code: load.x\n", Some(11));
    check("      kind: rhai\n      code: input.load\n", None);
    check("      kind: shell\n      command: load x\n", None);
}
