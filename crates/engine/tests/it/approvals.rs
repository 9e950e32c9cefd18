//! Tests of approvals: steps that wait for the decision of a person.

use std::time::Duration;

use expect_test::{Expect, expect};
use noetl_engine::{ApprovalDecision, Effect, Input, Refusal, effects_of, replay};
use noetl_model::{CommandId, ErrorKind, Event, ExecutionStatus, Pool, Verdict};
use noetl_testkit::{Story, StoryOptions};
use serde_json::{Map, Value, json};

use crate::playbook;

const RELEASE: &str = "
  - step: start
    tool:
      kind: approval
      title: 'Release {{ workload.version | default(1) }}'
      approvers: [ada, grace]
      form:
        required: [share]
        properties: {share: {type: integer, maximum: 100}, note: {type: string}}
    next: end
  - {step: end, tool: {kind: noop, result: '{{ start.values.share }} by {{ start.actor }}'}}
";
const TOLERANT: &str = "
  - step: start
    tool: {kind: approval, title: Release, on_reject: continue}
    next: {arcs: [{step: end, when: '{{ start.approved }}'}, {step: stop}]}
  - {step: end, tool: {kind: noop, result: released}}
  - {step: stop, tool: {kind: noop, result: 'stopped: {{ start.comment }}'}}
";
const HANDLED: &str = "
  - step: start
    tool: {kind: approval, title: Release}
    next: {arcs: [{step: stop, when: '{{ event.name == \"step.failed\" }}'}, {step: end}]}
  - {step: end, tool: {kind: noop, result: released}}
  - {step: stop, tool: {kind: noop, result: '{{ start.approved }} {{ start.actor }}'}}
";
const LOOP: &str = "
  - step: start
    loop: {in: [a, b], iterator: it, spec: {mode: parallel}}
    tool: {kind: approval, title: 'Region {{ it }}'}
";

fn timed(on_timeout: &str) -> String {
    format!(
        "
  - step: start
    tool:
      kind: approval
      title: Release
      timeout: 60
      on_timeout: {on_timeout}
      form: {{properties: {{share: {{type: integer, default: 10}}}}}}
    next: end
  - {{step: end, tool: {{kind: noop, result: ['{{{{ start.approved }}}}', '{{{{ start.timed_out }}}}', '{{{{ start[\"values\"] }}}}']}}}}
"
    )
}

fn begun(text: &str) -> Story {
    Story::begin(&playbook(text), StoryOptions::default())
}

fn decision(verdict: Verdict, actor: Option<&str>, values: Value) -> ApprovalDecision {
    ApprovalDecision {
        command: CommandId(0),
        verdict,
        actor: actor.map(str::to_owned),
        actor_stated: false,
        link_by: None,
        comment: None,
        values: values.as_object().cloned().unwrap_or_default(),
    }
}

fn decide(story: &mut Story, decision: ApprovalDecision) -> Result<Vec<Event>, Refusal> {
    story.tell(&Input::Decide(decision))
}

fn pass(story: &mut Story, seconds: u64) {
    story.now = story.now.after(Duration::from_secs(seconds));
    let (timer, _) = story.next_timer().expect("a timer is set");
    story.tell(&Input::TimerFired { timer }).expect("the timer is due");
}

#[track_caller]
fn check(story: &Story, expected: &Expect) {
    let replayed = replay(Story::EXECUTION, story.log.clone()).expect("a legal log");
    assert_eq!(replayed.as_ref(), Some(&story.state));
    expected.assert_eq(&story.history());
}

#[test]
fn an_approval_ends_with_a_decision_and_its_values_are_the_output() {
    let mut story = begun(RELEASE);
    assert_eq!(story.next_ready(), None, "no worker gets an approval");
    let approved = decision(Verdict::Approved, Some("ada"), json!({ "share": 20 }));
    decide(&mut story, approved).expect("ada may decide");
    story.run();
    check(
        &story,
        &expect![[r#"
        enter start
        issue 0: start (approval)
        approval 0: Release 1
        approved 0 by ada: {"share":20}
        done 0: {"approved":true,"decision":"approved","actor":"ada","comment":null,"values":{"share":20},"decided_at":"2027-01-15T08:00:00.000000Z","timed_out":false}
        leave start
        enter end from start
        issue 1: end (noop)
        done 1: "20 by ada"
        leave end
        COMPLETED "20 by ada"
    "#]],
    );
}

#[test]
fn a_rejection_fails_the_step_unless_the_playbook_handles_it() {
    let rejected = || decision(Verdict::Rejected, Some("ada"), json!({}));
    let mut story = begun(RELEASE);
    decide(&mut story, rejected()).expect("a rejection needs no values");
    assert_eq!(story.status(), ExecutionStatus::Failed);
    let error = story.state.error().expect("an error");
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert_eq!(error.message, "`Release 1` was rejected by ada");

    let mut story = begun(TOLERANT);
    let comment = Some("too late".to_owned());
    decide(&mut story, ApprovalDecision { comment, ..rejected() }).expect("it waits");
    story.run();
    assert_eq!(story.output("stop"), json!("stopped: too late"));

    let mut story = begun(HANDLED);
    decide(&mut story, rejected()).expect("it waits");
    story.run();
    assert_eq!(story.status(), ExecutionStatus::Completed);
}

#[test]
fn only_approvers_decide_and_every_problem_is_reported() {
    let mut story = begun(RELEASE);
    for actor in [None, Some("eve")] {
        let refused = decide(&mut story, decision(Verdict::Approved, actor, json!({})));
        let Err(Refusal::NotAnApprover { approvers, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(approvers, ["ada", "grace"]);
    }
    let values = json!({ "share": 101, "note": 5, "colour": "red" });
    let refused = decide(&mut story, decision(Verdict::Approved, Some("ada"), values));
    let message = refused.expect_err("the values do not fit").to_string();
    let expected = "the decision does not fit: `colour` is not asked for; the form has share, \
                    note; `share` is at most 100, not 101; `note` is a text, not 5";
    assert_eq!(message, expected);
    assert_eq!(story.log.len(), 4, "a refusal writes nothing");
}

#[test]
fn a_second_decision_names_the_first() {
    let mut story = begun(TOLERANT);
    let approved = decision(Verdict::Approved, Some("ada"), json!({}));
    decide(&mut story, approved.clone()).expect("it waits");
    let requested = story.log.iter().find(|it| matches!(it.event, Event::ApprovalRequested { .. }));
    let decided = story.log.iter().find(|it| matches!(it.event, Event::ApprovalDecided { .. }));
    let (requested, decided) = (requested.expect("an event").seq, decided.expect("an event").seq);
    let check = |story: &mut Story| {
        let Err(Refusal::AlreadyDecided(first)) = decide(story, approved.clone()) else {
            panic!("it is decided")
        };
        assert_eq!((first.requested, first.decided), (requested, decided));
    };
    check(&mut story);
    story.run();
    assert_eq!(story.status(), ExecutionStatus::Completed);
    check(&mut story);
}

#[test]
fn the_deadline_fails_approves_or_rejects() {
    let outcome = |on_timeout: &str| {
        let mut story = begun(&timed(on_timeout));
        pass(&mut story, 60);
        story.run();
        match story.state.error() {
            Some(error) => json!(format!("{}: {}", error.kind, error.message)),
            None => story.output("end"),
        }
    };
    assert_eq!(outcome("fail"), json!("timeout: nobody decided about `Release` in time"));
    assert_eq!(outcome("reject"), json!("rejected: `Release` was rejected"));
    assert_eq!(outcome("approve"), json!([true, true, { "share": 10 }]));
}

#[test]
fn a_decision_in_time_cancels_the_deadline() {
    let mut story = begun(&timed("fail"));
    let approved = decision(Verdict::Approved, None, json!({ "share": 5 }));
    decide(&mut story, approved).expect("it waits");
    assert_eq!(story.next_timer(), None);
    story.run();
    assert_eq!(story.output("end"), json!([true, false, { "share": 5 }]));
}

#[test]
fn commands_that_are_no_approvals_cannot_be_decided() {
    let mut story = begun("  - {step: start, tool: {kind: noop}}\n");
    let approved = decision(Verdict::Approved, None, json!({}));
    let refused = decide(&mut story, approved.clone());
    assert_eq!(refused, Err(Refusal::NoApproval(CommandId(0))));
    let unknown = ApprovalDecision { command: CommandId(9), ..approved.clone() };
    assert_eq!(decide(&mut story, unknown), Err(Refusal::UnknownCommand(CommandId(9))));
    story.run();
    let refused = decide(&mut story, approved);
    assert_eq!(refused, Err(Refusal::Finished(ExecutionStatus::Completed)));
}

#[test]
fn items_of_a_loop_are_approved_one_by_one() {
    let mut story = begun(LOOP);
    for command in [CommandId(1), CommandId(0)] {
        let approved = decision(Verdict::Approved, Some("ada"), json!({}));
        decide(&mut story, ApprovalDecision { command, ..approved }).expect("it waits");
    }
    assert_eq!(story.status(), ExecutionStatus::Completed);
}

#[test]
fn a_cancelled_execution_leaves_no_approval_and_no_timer() {
    let mut story = begun(&timed("fail"));
    let below = noetl_model::ChildExecutions::Cancelled;
    story
        .tell(&Input::Cancel { reason: "enough".to_owned(), below, actor: None })
        .expect("it runs");
    assert_eq!((story.next_timer(), story.next_ready()), (None, None));
    let late = decide(&mut story, decision(Verdict::Approved, None, Value::Object(Map::new())));
    assert_eq!(late, Err(Refusal::Finished(ExecutionStatus::Cancelled)));
}

#[test]
fn an_open_approval_is_a_parked_row_of_the_control_pool() {
    let story = begun(TOLERANT);
    let mut before = replay(Story::EXECUTION, story.log[..2].to_vec()).unwrap().unwrap();
    let issued = effects_of(&before, &story.log[2]);
    assert!(
        matches!(&issued[..], [Effect::Enqueue { pool, .. }] if *pool == Pool::control()),
        "{issued:?}"
    );
    noetl_engine::evolve(&mut before, &story.log[2]).expect("a legal log");
    let requested = effects_of(&before, &story.log[3]);
    assert!(matches!(requested[..], [Effect::Park { .. }, Effect::Index(_)]), "{requested:?}");
}
