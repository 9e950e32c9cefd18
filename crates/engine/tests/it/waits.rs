//! Tests of waits for a time or a signal.

use std::time::Duration;

use expect_test::{Expect, expect};
use noetl_engine::{Effect, Input, Refusal, SIGNALS_MAX, Signal, effects_of, replay};
use noetl_model::{CommandId, Event, ExecutionStatus, Payload, Pool};
use noetl_testkit::{Story, StoryOptions};
use serde_json::{Value, json};

use crate::playbook;

const TIMED: &str = "
  - {step: start, tool: {kind: wait, for: '{{ workload.pause | default(\"10m\") }}'}, next: end}
  - {step: end, tool: {kind: noop, result: '{{ start.timed_out }}'}}
";
const SIGNALLED: &str = "
  - {step: start, tool: {kind: wait, signal: payment}, next: end}
  - {step: end, tool: {kind: noop, result: '{{ start.body.amount }} from {{ start.sender }}'}}
";
const LIMITED: &str = "
  - step: start
    tool: {kind: wait, signal: payment, timeout: 60}
    next: {arcs: [{step: remind, when: '{{ event.name == \"step.failed\" }}'}, {step: end}]}
  - {step: end, tool: {kind: noop}}
  - {step: remind, tool: {kind: noop, result: reminded}}
";
const TOLERANT: &str = "
  - {step: start, tool: {kind: wait, signal: payment, timeout: 60, on_timeout: continue}, next: end}
  - {step: end, tool: {kind: noop, result: '{{ start.timed_out }}'}}
";
const LOOP: &str = "
  - step: start
    loop: {in: [a, b], iterator: it, spec: {mode: parallel}}
    tool: {kind: wait, signal: '{{ it }}'}
";
const CYCLE: &str = "
  - {step: start, tool: {kind: noop}, next: take}
  - step: take
    tool: {kind: wait, signal: item}
    next: {arcs: [{step: take, when: '{{ take.body > 0 }}'}, {step: end}]}
  - {step: end, tool: {kind: noop}}
";
const LATER: &str = "
  - {step: start, tool: {kind: noop}, next: first}
  - {step: first, tool: {kind: wait, signal: payment}, next: second}
  - {step: second, tool: {kind: wait, signal: payment}, next: end}
  - {step: end, tool: {kind: noop, result: ['{{ first.body }}', '{{ second.body }}']}}
";

fn begun(text: &str) -> Story {
    Story::begin(&playbook(text), StoryOptions::default())
}

fn signal(name: &str, body: Value, key: Option<&str>) -> Input {
    Input::Signal(Signal {
        name: name.parse().expect("a name"),
        body: Payload::inline(body),
        sender: Some("shop".to_owned()),
        key: key.map(str::to_owned),
        to: None,
        actor: None,
    })
}

fn send(story: &mut Story, name: &str, body: Value) -> Result<Vec<Event>, Refusal> {
    story.tell(&signal(name, body, None))
}

/// Lets time pass and fires the timers that are due.
fn pass(story: &mut Story, seconds: u64) {
    story.now = story.now.after(Duration::from_secs(seconds));
    while let Some((timer, due_at)) = story.next_timer().filter(|(_, due_at)| *due_at <= story.now)
    {
        assert!(due_at <= story.now);
        story.tell(&Input::TimerFired { timer }).expect("the timer is due");
    }
}

#[track_caller]
fn check(story: &Story, expected: &Expect) {
    let replayed = replay(Story::EXECUTION, story.log.clone()).expect("a legal log");
    assert_eq!(replayed.as_ref(), Some(&story.state));
    expected.assert_eq(&story.history());
}

#[test]
fn a_wait_for_a_time_ends_when_the_time_has_come_and_not_before() {
    let mut story = begun(TIMED);
    assert_eq!(story.next_ready(), None, "no worker gets a wait");
    let (timer, _) = story.next_timer().expect("a timer is set");
    story.now = story.now.after(Duration::from_secs(599));
    assert_eq!(story.tell(&Input::TimerFired { timer }), Err(Refusal::NotDue(timer)));
    pass(&mut story, 1);
    story.run();
    check(
        &story,
        &expect![[r#"
        enter start
        issue 0: start (wait)
        wait 0: until 2027-01-15T08:10:00.000000Z
        timer 0 set (end of a wait)
        timer 0 fired
        done 0: {"ended_at":"2027-01-15T08:10:00.000000Z","timed_out":false}
        leave start
        enter end from start
        issue 1: end (noop)
        done 1: false
        leave end
        COMPLETED false
    "#]],
    );
}

#[test]
fn a_signal_ends_the_wait_and_is_its_output() {
    let mut story = begun(SIGNALLED);
    send(&mut story, "other", json!(1)).expect("it is kept");
    send(&mut story, "payment", json!({ "amount": 12 })).expect("it is awaited");
    story.run();
    check(
        &story,
        &expect![[r#"
        enter start
        issue 0: start (wait)
        wait 0: for signal payment
        signal other: 1
        signal payment: {"amount":12}
        signal 6 ends 0
        done 0: {"signal":"payment","body":{"amount":12},"sender":"shop","received_at":"2027-01-15T08:00:00.000000Z","timed_out":false}
        leave start
        enter end from start
        issue 1: end (noop)
        done 1: "12 from shop"
        leave end
        COMPLETED "12 from shop"
    "#]],
    );
}

#[test]
fn signals_are_kept_for_waits_to_come_and_delivered_in_order() {
    let mut story = begun(LATER);
    send(&mut story, "payment", json!(1)).expect("it is kept");
    send(&mut story, "payment", json!({ "n": 2 })).expect("it is kept");
    story.run();
    assert_eq!(story.status(), ExecutionStatus::Completed);
    assert_eq!(story.output("end"), json!([1, { "n": 2 }]));
}

#[test]
fn a_signal_with_a_known_key_changes_nothing() {
    let mut story = begun(CYCLE);
    story.run();
    let first = signal("item", json!(1), Some("k"));
    assert!(!story.tell(&first).expect("it is awaited").is_empty());
    assert_eq!(story.tell(&first), Ok(Vec::new()));
}

#[test]
fn a_cycle_of_waits_takes_many_signals_in_one_decision() {
    let mut story = begun(CYCLE);
    for left in (0..SIGNALS_MAX).rev() {
        send(&mut story, "item", json!(left)).expect("it is kept");
    }
    let refused = send(&mut story, "item", json!(0));
    assert_eq!(refused, Err(Refusal::TooManySignals(SIGNALS_MAX)));
    story.run();
    assert_eq!(story.status(), ExecutionStatus::Completed);
    let taken = story.log.iter().filter(|it| matches!(it.event, Event::SignalDelivered { .. }));
    assert_eq!(taken.count(), SIGNALS_MAX);
}

#[test]
fn a_timeout_fails_a_wait_and_an_arc_can_handle_it() {
    let mut story = begun(LIMITED);
    pass(&mut story, 60);
    story.run();
    check(
        &story,
        &expect![[r#"
        enter start
        issue 0: start (wait)
        wait 0: for signal payment
        timer 0 set (task timeout)
        timer 0 fired
        fail 0: the wait of step `start` took longer than its timeout (timeout)
        step start failed, handled: the wait of step `start` took longer than its timeout
        enter remind from start
        issue 1: remind (noop)
        done 1: "reminded"
        leave remind
        COMPLETED "reminded"
    "#]],
    );
}

#[test]
fn a_timeout_can_complete_a_wait() {
    let mut story = begun(TOLERANT);
    pass(&mut story, 60);
    story.run();
    assert_eq!(story.output("end"), json!(true));
    let late = send(&mut story, "payment", json!(1));
    assert_eq!(late, Err(Refusal::Finished(ExecutionStatus::Completed)));
}

#[test]
fn a_signal_in_time_cancels_the_timeout() {
    let mut story = begun(LIMITED);
    send(&mut story, "payment", json!(1)).expect("it is awaited");
    assert_eq!(story.next_timer(), None);
    story.run();
    assert_eq!(story.status(), ExecutionStatus::Completed);
}

#[test]
fn items_of_a_loop_wait_for_their_own_signals() {
    let mut story = begun(LOOP);
    send(&mut story, "b", json!("B")).expect("it is awaited");
    send(&mut story, "a", json!("A")).expect("it is awaited");
    story.run();
    assert_eq!(story.status(), ExecutionStatus::Completed);
    let ended = story.history();
    for (item, body) in [("item 0 done", "\"body\":\"A\""), ("item 1 done", "\"body\":\"B\"")] {
        assert!(ended.contains(item) && ended.contains(body), "{ended}");
    }
}

#[test]
fn wrong_settings_fail_the_step_with_the_key_that_is_wrong() {
    let payload = json!({ "pause": "soon" }).as_object().expect("a map").clone();
    let options = StoryOptions { payload, ..StoryOptions::default() };
    let mut story = Story::begin(&playbook(TIMED), options);
    story.run();
    check(
        &story,
        &expect![[r#"
        enter start
        issue 0: start (wait)
        fail 0: `for` is a duration such as 30s, 10m or 2d, not `"soon"` (config)
        step start failed: `for` is a duration such as 30s, 10m or 2d, not `"soon"`
        FAILED `for` is a duration such as 30s, 10m or 2d, not `"soon"`
    "#]],
    );
}

#[test]
fn a_cancelled_execution_leaves_no_wait_and_no_timer() {
    let mut story = begun(LIMITED);
    let below = noetl_model::ChildExecutions::Cancelled;
    story
        .tell(&Input::Cancel { reason: "enough".to_owned(), below, actor: None })
        .expect("it runs");
    assert_eq!((story.next_timer(), story.next_ready()), (None, None));
    assert_eq!(story.status(), ExecutionStatus::Cancelled);
}

#[test]
fn an_open_wait_is_a_parked_row_of_the_control_pool() {
    let story = begun(SIGNALLED);
    let mut before = replay(Story::EXECUTION, story.log[..2].to_vec()).unwrap().unwrap();
    let issued = effects_of(&before, &story.log[2]);
    assert!(
        matches!(&issued[..], [Effect::Enqueue { pool, .. }] if *pool == Pool::control()),
        "{issued:?}"
    );
    noetl_engine::evolve(&mut before, &story.log[2]).expect("a legal log");
    let opened = effects_of(&before, &story.log[3]);
    assert!(matches!(opened[..], [Effect::Park { .. }, Effect::Index(_)]), "{opened:?}");
}

const KEYED: &str = "
  - step: start
    loop: {in: [a, b], iterator: it, spec: {mode: parallel}}
    tool: {kind: wait, signal: payment, key: '{{ it }}'}
";

/// A signal that is sent to a wait by its correlation key.
fn keyed(command: u64, key: &str, once: &str) -> Input {
    Input::Signal(Signal {
        name: "payment".parse().expect("a name"),
        body: Payload::inline(json!(once)),
        sender: None,
        key: Some(once.to_owned()),
        to: Some((CommandId(command), key.parse().expect("a key"))),
        actor: None,
    })
}

#[test]
fn a_signal_by_key_ends_the_wait_with_that_key_once() {
    let mut story = begun(KEYED);
    let refused = |story: &mut Story, command, key| story.tell(&keyed(command, key, "x"));
    let not_awaited = |command| Err(Refusal::SignalNotAwaited(CommandId(command)));
    assert_eq!(refused(&mut story, 0, "b"), not_awaited(0), "another key");
    assert_eq!(refused(&mut story, 9, "a"), not_awaited(9), "no such command");
    assert!(!story.tell(&keyed(1, "b", "first")).expect("it is awaited").is_empty());
    assert_eq!(story.tell(&keyed(1, "b", "first")), Ok(Vec::new()), "the same signal again");
    assert_eq!(refused(&mut story, 1, "b"), not_awaited(1), "the wait has ended");
    assert!(!story.tell(&keyed(0, "a", "second")).expect("it is awaited").is_empty());
    assert_eq!(story.status(), ExecutionStatus::Completed);
    assert_eq!(story.tell(&keyed(1, "b", "first")), Ok(Vec::new()), "again after the end");
    let late = refused(&mut story, 1, "b");
    assert_eq!(late, Err(Refusal::Finished(ExecutionStatus::Completed)));
    let ended = story.history();
    assert!(ended.contains(r#""body":"first""#) && ended.contains(r#""key":"b""#), "{ended}");
}

#[test]
fn an_idempotency_key_with_another_body_or_name_is_refused_also_after_the_end() {
    let mut story = begun("\n  - {step: start, tool: {kind: wait, signal: go}}\n");
    let signal = |name: &str, body: serde_json::Value| {
        Input::Signal(Signal {
            name: name.parse().expect("a name"),
            body: Payload::inline(body),
            sender: None,
            key: Some("k".to_owned()),
            to: None,
            actor: None,
        })
    };
    assert!(!story.tell(&signal("later", json!(1))).expect("it is kept").is_empty());
    let check = |story: &mut Story| {
        let reused = Err(Refusal::SignalKeyReused("k".to_owned()));
        assert_eq!(story.tell(&signal("later", json!(1))), Ok(Vec::new()));
        assert_eq!(story.tell(&signal("later", json!(2))), reused);
        assert_eq!(story.tell(&signal("go", json!(1))), reused);
    };
    check(&mut story);
    send(&mut story, "go", json!(3)).expect("it is awaited");
    assert_eq!(story.status(), ExecutionStatus::Completed);
    check(&mut story);
}

#[test]
fn a_signal_by_name_ends_a_wait_with_any_key() {
    let mut story = begun(KEYED);
    for body in [1, 2] {
        send(&mut story, "payment", json!(body)).expect("it is awaited");
    }
    assert_eq!(story.status(), ExecutionStatus::Completed);
}

#[test]
fn a_wait_with_a_key_says_that_it_is_open() {
    let story = begun(KEYED);
    let opened = story.log.iter().position(|it| matches!(it.event, Event::WaitOpened { .. }));
    let opened = opened.expect("a wait");
    let before = replay(Story::EXECUTION, story.log[..opened].to_vec()).unwrap().unwrap();
    let effects = effects_of(&before, &story.log[opened]);
    assert!(
        matches!(effects[..], [Effect::Park { .. }, Effect::Index(_), Effect::Send(_)]),
        "{effects:?}"
    );
}
