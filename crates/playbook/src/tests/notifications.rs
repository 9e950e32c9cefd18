//! Notifications: `on` of a playbook, and documents of `kind: Notification`.

use noetl_model::NoticeReason;

use crate::{CheckedDocument, parse_document};

const HEAD: &str =
    "apiVersion: noetl.io/v2\nkind: Notification\nmetadata: {name: n, path: n/ops}\n";

/// Checks that every phrase is said about a document whose `spec` is on line 4.
#[track_caller]
fn check(text: &str, phrases: &[&str]) {
    let said = match parse_document("n.yaml", format!("{HEAD}{text}").as_bytes()) {
        Ok(document) => document.into_warnings().to_string(),
        Err(problems) => problems.to_string(),
    };
    assert!(said.contains("n.yaml:4:"), "{said}");
    for phrase in phrases {
        assert!(said.contains(phrase), "{phrase}: {said}");
    }
}

#[test]
fn a_document_has_targets_for_reasons() {
    let text = "spec:
  match: {path: 'sales/*', labels: {team: ops, region: 'eu-*', tier: 1}}
  on:
    failed:
      - slack: {credential: chat, text: '{{ execution.path }}'}
      - mail: {to: [a@example.com], credential: smtp}
      - http: {url: https://example.com, method: PUT, headers: {A: b}, credential: api}
    late: {playbook: handlers/late, workload: {id: '{{ execution.id }}'}}
";
    let Ok(CheckedDocument::Notification(checked)) =
        parse_document("n.yaml", format!("{HEAD}{text}").as_bytes())
    else {
        panic!("it is a notification");
    };
    let document = checked.notification;
    let matches = |path: &str, labels: &[&str]| {
        let labels = labels.iter().map(|label| label.parse().expect("a label"));
        let labels = noetl_model::Labels::default().with(labels).expect("a few labels");
        document.matches.includes(path, &labels)
    };
    let all = ["team:ops", "region:eu-west", "tier:1", "more:x"];
    assert!(matches("sales/report", &all));
    assert!(!matches("hr", &all));
    assert!(!matches("sales/report", &all[..2]));
    assert!(!matches("sales/report", &["team:opsi", "region:eu-west", "tier:1"]));
    assert!(!matches("sales/report", &["team:ops", "region:us", "tier:1"]));
    assert!(!matches("sales/report", &[]));
    let receivers: Vec<String> =
        document.on[&NoticeReason::Failed].iter().map(|it| it.receiver()).collect();
    assert_eq!(
        receivers,
        [
            "slack webhook of credential chat",
            "mail to [\"a@example.com\"]",
            "PUT https://example.com"
        ]
    );
    assert_eq!(document.on[&NoticeReason::Late][0].receiver(), "playbook handlers/late");
}

#[test]
fn wrong_targets_are_named_with_their_place() {
    let one_of = "a target has one of `playbook`, `http`, `mail` and `slack`";
    check("spec: {on: {failed: {}, broken: {slack: {}}}}\n", &[one_of, "broken"]);
    check("spec: {on: {failed: {slack: {text: x}, mail: {}}}}\n", &[one_of]);
    check(
        "spec: {on: {failed: [{mail: {}}, {http: {url: 'ftp://x', method: DELETE}}]}}\n",
        &["`mail` needs `to`", "`mail` needs `credential`", "`url` begins with", "DELETE"],
    );
    check("spec: {on: {failed: {slack: {text: x}}}}\n", &["`slack` needs one of"]);
    check("spec: {on: {late: {slack: {credential: c, text: '{{ a b }}'}}}}\n", &["bad-template"]);
    check("spec: {match: {path: {}}, on: {failed: {playbook: p}}}\n", &["`path` must be text"]);
    check("spec: {on: {}}\n", &["`on` has no targets"]);
    let on = "on: {failed: {playbook: p}}";
    check(&format!("spec: {{match: {{labels: [a]}}, {on}}}\n"), &["`labels` must be a map"]);
    check(
        &format!("spec: {{match: {{labels: {{a: [b]}}}}, {on}}}\n"),
        &["a list; a text, a number"],
    );
    check(
        &format!("spec: {{match: {{labels: {{a: null}}}}, {on}}}\n"),
        &["label `a` has no value"],
    );
    check(
        &format!("spec: {{match: {{labels: {{-a: b}}}}, {on}}}\n"),
        &["is not the key of a label"],
    );
    check(&format!("spec: {{match: {{label: {{a: b}}}}, {on}}}\n"), &["labels"]);
}

#[test]
fn the_key_on_of_a_playbook_is_a_word() {
    let head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\n";
    let text = format!(
        "{head}on:\n  failed: {{playbook: handlers/failed}}\nexpect: {{within: 10m}}\n\
         workflow:\n  - {{step: start, tool: {{kind: noop}}}}\n"
    );
    let Ok(checked) = crate::parse("t.yaml", text.as_bytes()) else { panic!("it is valid") };
    assert_eq!(checked.warnings.to_string(), "");
    assert_eq!(checked.playbook.on[&NoticeReason::Failed].len(), 1);
    assert_eq!(checked.playbook.expected_within, Some(std::time::Duration::from_secs(600)));
}
