//! Tests of notifications about executions.

use expect_test::{Expect, expect};
use noetl_engine::{Effect, Input, NoticeSettings, Signal, effects_of, replay};
use noetl_model::{
    ChildExecutions, Event, ExecutionId, Message, NOTICE_BYTES_MAX, NoticeOrigin, Payload, Seq,
};
use noetl_playbook::{CheckedDocument, NotificationDocument, parse_document};
use noetl_testkit::{Story, StoryOptions};
use serde_json::json;

use crate::playbook;

const FAILS: &str = "
on:
  failed:
    - slack: {credential: chat, text: '{{ execution.path }} failed in {{ execution.step }}: {{ execution.error.message }}'}
    - playbook: handlers/failed
      workload: {about: '{{ execution.id }}', tries: 3}
  completed: {slack: {url: 'https://chat.example.com/x'}}
workflow:
  - {step: start, tool: {kind: python, code: fail}}
";
const WAITS: &str = "
expect: {within: 10m}
on:
  waiting: {http: {url: 'https://example.com/{{ execution.waits_for.signal }}', headers: {X-Step: '{{ execution.step }}'}, body: {id: '{{ execution.id }}'}}}
  cancelled: {mail: {to: [a@example.com, b@example.com], credential: smtp}}
  late: {mail: {to: 'a@example.com, b@example.com', subject: 'late: {{ execution.is_late }}', body: x, credential: smtp}}
workflow:
  - {step: start, tool: {kind: wait, signal: go}}
";

fn document(path: &str, spec: &str) -> NotificationDocument {
    let text = format!(
        "apiVersion: noetl.io/v2\nkind: Notification\nmetadata: {{name: n, path: {path}}}\nspec: {spec}\n"
    );
    match parse_document("n.yaml", text.as_bytes()) {
        Ok(CheckedDocument::Notification(checked)) => checked.notification,
        other => panic!("{other:?}"),
    }
}

fn options(documents: Vec<NotificationDocument>) -> StoryOptions {
    let public_url = Some("https://noetl.example.com".to_owned());
    StoryOptions { notices: NoticeSettings { documents, public_url }, ..Default::default() }
}

fn failed(text: &str, options: StoryOptions) -> Story {
    let mut story = Story::begin(&playbook(text), options);
    let command = story.next_ready().expect("a command is ready");
    story.claim(command, 1, "w").expect("it is ready");
    let error = noetl_model::ToolError::new(noetl_model::ErrorKind::Exception, "no luck");
    story.report(command, 1, "w", noetl_model::Outcome::failed(error)).expect("it is claimed");
    story
}

#[track_caller]
fn check(story: &Story, expected: &Expect) {
    let replayed = replay(Story::EXECUTION, story.log.clone()).expect("a legal log");
    assert_eq!(replayed.as_ref(), Some(&story.state));
    let notices: Vec<String> =
        story.history().lines().filter(|it| it.starts_with("notify")).map(str::to_owned).collect();
    expected.assert_eq(&format!("{}\n", notices.join("\n")));
}

#[test]
fn a_playbook_notifies_its_targets_with_rendered_messages() {
    let story = failed(FAILS, options(Vec::new()));
    check(
        &story,
        &expect![[r#"
        notify failed: {"kind":"slack","webhook":{"credential":"chat"},"text":"test failed in start: no luck"}
        notify failed: {"kind":"playbook","path":"handlers/failed","workload":{"about":"7","tries":3}}
    "#]],
    );
    let last = story.log.last().expect("events");
    assert!(matches!(last.event, Event::NotificationRequested { .. }), "{last:?}");
    let effects = effects_of(&story.state, last);
    let [Effect::Send(Message::Notification { event, depth: 1, .. })] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(*event, last.seq, "the message is identified by its event");
}

#[test]
fn waits_lateness_and_cancellations_are_shown() {
    let mut story = Story::begin(&playbook(WAITS), options(Vec::new()));
    let (timer, due_at) = story.next_timer().expect("a timer is set");
    story.now = due_at;
    story.tell(&Input::TimerFired { timer }).expect("it is due");
    let (reason, below) = ("enough\nof it".to_owned(), ChildExecutions::Cancelled);
    story.tell(&Input::Cancel { reason, below, actor: None }).expect("it runs");
    check(
        &story,
        &expect![[r#"
        notify waiting: {"kind":"http","url":"https://example.com/go","method":"POST","headers":{"X-Step":"start"},"body":{"id":"7"}}
        notify late: {"kind":"mail","to":["a@example.com","b@example.com"],"subject":"late: true","body":"x","credential":"smtp"}
        notify cancelled: {"kind":"mail","to":["a@example.com","b@example.com"],"subject":"test was cancelled","body":"test was cancelled: enough\nof it\nhttps://noetl.example.com/ui/executions/7","credential":"smtp"}
    "#]],
    );
}

/// The people who have to decide learn what about, who may, until when, and where.
#[test]
fn a_notice_of_an_approval_says_all_that_a_decision_needs() {
    let text = "
on: {waiting: [{slack: {credential: chat}}, {mail: {to: ops@example.com, credential: smtp}}]}
workflow:
  - step: start
    tool:
      kind: approval
      title: Release 7
      description: All tests pass.
      approvers: [ada, eve]
      timeout: 2h
      on_timeout: reject
";
    let story = Story::begin(&playbook(text), options(Vec::new()));
    check(
        &story,
        &expect![[r#"
            notify waiting: {"kind":"slack","webhook":{"credential":"chat"},"text":"test waits for an approval in step start: Release 7\nAll tests pass.\nDecided by: ada, eve\nDeadline: 2027-01-15T10:00:00.000000Z, then it counts as rejected\nhttps://noetl.example.com/ui/executions/7"}
            notify waiting: {"kind":"mail","to":["ops@example.com"],"subject":"test waits for an approval: Release 7","body":"test waits for an approval in step start: Release 7\nAll tests pass.\nDecided by: ada, eve\nDeadline: 2027-01-15T10:00:00.000000Z, then it counts as rejected\nhttps://noetl.example.com/ui/executions/7","credential":"smtp"}
        "#]],
    );
    let text = "
on: {waiting: {slack: {credential: chat}}}
workflow:
  - {step: start, tool: {kind: approval, title: Release}}
";
    let story = Story::begin(&playbook(text), options(Vec::new()));
    check(
        &story,
        &expect![[r#"
            notify waiting: {"kind":"slack","webhook":{"credential":"chat"},"text":"test waits for an approval in step start: Release\nDecided by: everyone with access\nhttps://noetl.example.com/ui/executions/7"}
        "#]],
    );
    let text =
        text.replace("{kind: approval, title: Release}", "{kind: wait, signal: go, key: '4711'}");
    let story = Story::begin(&playbook(&text), options(Vec::new()));
    check(
        &story,
        &expect![[r#"
            notify waiting: {"kind":"slack","webhook":{"credential":"chat"},"text":"test waits for signal go with key 4711 in step start\nhttps://noetl.example.com/ui/executions/7"}
        "#]],
    );
}

#[test]
fn a_wait_that_ends_at_once_is_not_announced() {
    let text = "
on: {waiting: {slack: {credential: chat, text: waits}}}
workflow:
  - {step: start, tool: {kind: noop}, next: wait}
  - {step: wait, tool: {kind: wait, signal: go}}
";
    let mut story = Story::begin(&playbook(text), options(Vec::new()));
    let (name, body) = ("go".parse().expect("a name"), Payload::inline(json!(1)));
    story
        .tell(&Input::Signal(Signal { name, body, sender: None, key: None, to: None, actor: None }))
        .expect("kept");
    story.run();
    assert!(!story.history().contains("notify"), "{}", story.history());
}

#[test]
fn documents_notify_about_the_executions_that_they_match() {
    let on = "{failed: {slack: {credential: chat, text: one}}}";
    let documents = vec![
        document("n/all", &format!("{{on: {on}}}")),
        document("n/these", &format!("{{match: {{path: ['x', 'te*']}}, on: {on}}}")),
        document("n/others", &format!("{{match: {{path: other/*}}, on: {on}}}")),
        document("n/ops", &format!("{{match: {{labels: {{team: ops}}}}, on: {on}}}")),
        document("n/hr", &format!("{{match: {{path: 'te*', labels: {{team: hr}}}}, on: {on}}}")),
    ];
    let text = "  - {step: start, tool: {kind: python, code: fail}}\n";
    let labels = noetl_model::Labels::default().with(["team:ops".parse().expect("a label")]);
    let labels = labels.expect("one label");
    check(
        &failed(text, StoryOptions { labels, ..options(documents) }),
        &expect![[r#"
            notify failed by n/all: {"kind":"slack","webhook":{"credential":"chat"},"text":"one"}
            notify failed by n/these: {"kind":"slack","webhook":{"credential":"chat"},"text":"one"}
            notify failed by n/ops: {"kind":"slack","webhook":{"credential":"chat"},"text":"one"}
        "#]],
    );
}

#[test]
fn a_notification_leads_to_no_notification_of_the_same_document_and_chains_end() {
    let on = "{on: {failed: {playbook: handlers/failed}}}";
    let documents = || vec![document("n/one", on), document("n/two", on)];
    let text = "  - {step: start, tool: {kind: python, code: fail}}\n";
    let by = |document: Option<&str>, depth| {
        let (execution, event, document) = (ExecutionId(1), Seq(9), document.map(str::to_owned));
        let notice = Some(NoticeOrigin { execution, event, document, depth });
        let story = failed(text, StoryOptions { notice, ..options(documents()) });
        let requested = story.log.iter().filter_map(|it| match &it.event {
            Event::NotificationRequested { document, .. } => document.clone(),
            _ => None,
        });
        requested.collect::<Vec<_>>()
    };
    assert_eq!(by(Some("n/one"), 1), ["n/two"]);
    assert_eq!(by(None, 2), ["n/one", "n/two"]);
    assert_eq!(by(Some("n/one"), 3), [""; 0]);
}

#[test]
fn hostile_templates_are_replaced_and_change_no_outcome() {
    let text = "
on:
  failed:
    - slack: {credential: chat, text: '{% for a in range(900) %}{% for b in range(900) %}x{% endfor %}{% endfor %}'}
    - slack: {credential: chat, text: '{{ execution.nothing.at.all }}'}
    - mail: {to: '{{ [1] * 5 }}', subject: \"a\\nBcc: b\", body: x, credential: smtp}
    - http: {url: '{{ 1 / 0 }}', body: '{{ \"y\" * 100000 }}'}
workflow:
  - {step: start, tool: {kind: python, code: fail}}
";
    let story = failed(text, options(Vec::new()));
    assert_eq!(story.status(), noetl_model::ExecutionStatus::Failed);
    let mut requested = 0;
    for recorded in &story.log {
        if let Event::NotificationRequested { target, .. } = &recorded.event {
            requested += 1;
            let json = serde_json::to_string(target).expect("a target is JSON");
            assert!(json.len() <= NOTICE_BYTES_MAX, "{}", json.len());
            assert!(!json.contains("\\n\\nBcc"), "{json}");
        }
    }
    assert_eq!(requested, 4);
}
