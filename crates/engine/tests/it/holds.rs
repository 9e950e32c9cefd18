//! Pauses, priorities, and slots of limits.

use noetl_engine::{Effect, Input, PauseRequest, Refusal, effects_of};
use noetl_model::{
    Attempt, ChildExecutions, CommandId, ErrorKind, Event, ExecutionId, ExecutionStatus, LimitName,
    Message, Outcome, PauseScope, Pool, Priority, StartPause, WorkerId,
};
use noetl_testkit::{Story, StoryOptions};
use serde_json::json;

const TWO_STEPS: &str = "
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: two}
workflow:
- step: start
  tool: {kind: noop}
  next: [{step: last}]
- step: last
  tool: {kind: noop}
";

const LIMITED: &str = "
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: limited}
workflow:
- step: start
  loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel}}
  limit: {name: crm, max: 1}
  tool: {kind: noop}
";

const SINGLE: &str = "
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: single, path: jobs/single}
executor: {spec: {concurrency: {limit: 1, key: '{{ workload.customer }}', on_conflict: CONFLICT}}}
workload: {customer: acme}
workflow:
- step: start
  tool: {kind: noop}
";

fn pause() -> Input {
    Input::Pause(PauseRequest { actor: Some("ada".to_owned()), ..PauseRequest::default() })
}

fn resume(scope: PauseScope) -> Input {
    Input::Resume(PauseRequest { scope, ..PauseRequest::default() })
}

fn claim(command: CommandId) -> Input {
    Input::Claim {
        command,
        attempt: Attempt(1),
        worker: WorkerId::new("w"),
        lease: std::time::Duration::from_secs(30),
        after: None,
    }
}

fn crm() -> LimitName {
    "crm".parse().expect("a name")
}

fn story(yaml: &str) -> Story {
    Story::begin(yaml, StoryOptions::default())
}

#[test]
fn a_paused_execution_starts_nothing_and_goes_on_when_it_is_resumed() {
    let mut story = story(TWO_STEPS);
    let first = story.next_ready().expect("a command");
    story.tell(&pause()).expect("a pause");
    assert_eq!(story.next_ready(), None);
    assert_eq!(story.tell(&claim(first)), Err(Refusal::Blocked(first)));
    assert_eq!(story.tell(&pause()), Ok(Vec::new()), "it is paused already");
    assert_eq!(story.tell(&resume(PauseScope::Playbook)), Ok(Vec::new()), "not by its playbook");
    story.tell(&resume(PauseScope::Execution)).expect("a resumption");
    assert_eq!(story.next_ready(), Some(first));
    assert_eq!(story.tell(&resume(PauseScope::Execution)), Ok(Vec::new()));
    story.run();
    assert_eq!(story.state.status(), ExecutionStatus::Completed);
}

#[test]
fn a_running_command_ends_during_a_pause_and_what_follows_waits() {
    let mut story = story(TWO_STEPS);
    let first = story.next_ready().expect("a command");
    story.tell(&claim(first)).expect("a claim");
    story.tell(&pause()).expect("a pause");
    story.report(first, 1, "w", Outcome::completed(json!({}))).expect("a report");
    assert_eq!(story.state.step_runs("last"), 1, "the next step is entered");
    assert_eq!(story.next_ready(), None, "and its command waits");
    story.tell(&resume(PauseScope::Execution)).expect("a resumption");
    story.run();
    assert_eq!(story.state.status(), ExecutionStatus::Completed);
}

#[test]
fn a_paused_execution_can_be_cancelled() {
    let mut story = story(TWO_STEPS);
    story.tell(&pause()).expect("a pause");
    let (reason, below) = ("enough".to_owned(), ChildExecutions::Cancelled);
    story.tell(&Input::Cancel { reason, below, actor: None }).expect("a cancellation");
    assert_eq!(story.state.status(), ExecutionStatus::Cancelled);
    assert!(story.tell(&pause()).is_err());
    assert!(story.tell(&resume(PauseScope::Execution)).is_err());
}

#[test]
fn children_are_paused_with_their_parent_also_if_they_start_later() {
    let yaml = "
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: parent}
workflow:
- step: start
  tool: {kind: playbook, path: child, return_step: end}
";
    let mut story = story(yaml);
    let command = story.next_child().expect("a child");
    let child = ExecutionId(99);
    story.tell(&Input::ChildStarted { command, child }).expect("it starts");
    story.tell(&pause()).expect("a pause");
    let actor = Some("ada".to_owned());
    let paused = Message::PauseChild { child, actor: actor.clone(), reason: None };
    assert!(story.messages.contains(&paused), "{:?}", story.messages);
    story.tell(&resume(PauseScope::Execution)).expect("a resumption");
    let resumed = |message: &Message| matches!(message, Message::ResumeChild { .. });
    assert!(story.messages.iter().any(resumed));

    let mut story = self::story(yaml);
    let command = story.next_child().expect("a child");
    story.tell(&pause()).expect("a pause");
    story.tell(&Input::ChildStarted { command, child }).expect("it was on its way");
    assert!(story.messages.contains(&paused));
}

#[test]
fn an_execution_of_a_paused_playbook_does_not_begin_until_it_is_resumed() {
    let paused = Some(StartPause { actor: Some("ada".to_owned()), reason: None });
    let mut story = Story::begin(TWO_STEPS, StoryOptions { paused, ..StoryOptions::default() });
    assert!(!story.state.has_begun());
    assert!(story.state.has_open_work(), "it is held, not stalled");
    story.tell(&Input::Stalled { detail: "no".to_owned() }).expect("an answer");
    assert!(!story.state.has_begun());
    story.tell(&resume(PauseScope::Playbook)).expect("a resumption");
    assert!(story.state.has_begun());
    story.run();
    assert_eq!(story.state.status(), ExecutionStatus::Completed);
}

#[test]
fn the_priority_of_a_start_counts_before_that_of_the_playbook() {
    let yaml = TWO_STEPS.replace("workflow:", "executor: {spec: {priority: 7}}\nworkflow:");
    assert_eq!(story(TWO_STEPS).state.priority(), Priority::default());
    assert_eq!(story(&yaml).state.priority().level(), 7);
    let priority = Some(Priority::LOWEST);
    let story = Story::begin(&yaml, StoryOptions { priority, ..StoryOptions::default() });
    assert_eq!(story.state.priority(), Priority::LOWEST);
}

#[test]
fn a_command_with_a_limit_is_parked_until_its_slot_is_granted_and_releases_it_at_its_end() {
    let mut story = story(LIMITED);
    assert_eq!(story.next_ready(), None);
    let asked = |message: &&Message| matches!(message, Message::RequestSlot { .. });
    assert_eq!(story.messages.iter().filter(asked).count(), 3);
    let [first, second] = [CommandId(0), CommandId(1)];
    assert_eq!(story.tell(&claim(first)), Err(Refusal::Blocked(first)));
    let grant = |command| Input::SlotGranted { command: Some(command), limit: crm() };
    story.tell(&grant(first)).expect("a grant");
    assert_eq!(story.tell(&grant(first)), Ok(Vec::new()), "told again");
    assert_eq!(story.next_ready(), Some(first));
    story.tell(&claim(first)).expect("a claim");
    story.report(first, 1, "w", Outcome::completed(json!({}))).expect("a report");
    let released = Message::ReleaseSlot { command: Some(first), limit: crm() };
    assert_eq!(story.messages.last(), Some(&released));
    let not_awaited = Err(Refusal::SlotNotAwaited(crm()));
    assert_eq!(story.tell(&grant(first)), not_awaited, "it has ended");
    // A grant during a pause counts once the execution is resumed.
    story.tell(&pause()).expect("a pause");
    story.tell(&grant(second)).expect("a grant");
    assert_eq!(story.next_ready(), None);
    story.tell(&resume(PauseScope::Execution)).expect("a resumption");
    assert_eq!(story.next_ready(), Some(second));
    let (reason, below) = ("enough".to_owned(), ChildExecutions::Cancelled);
    let before = story.messages.len();
    story.tell(&Input::Cancel { reason, below, actor: None }).expect("a cancellation");
    let released = |it: &&Message| matches!(it, Message::ReleaseSlot { .. });
    let count = story.messages[before..].iter().filter(released).count();
    assert_eq!(count, 2, "the slot that is held and the request that waits");
}

#[test]
fn a_command_of_a_rate_releases_its_slot_once_when_it_begins_or_ends_without_having_begun() {
    let mut story = story(&LIMITED.replace("max: 1", "rate: 5"));
    let grant = |command| Input::SlotGranted { command: Some(command), limit: crm() };
    let [first, second] = [CommandId(0), CommandId(1)];
    story.tell(&grant(first)).expect("a grant");
    story.tell(&grant(second)).expect("a grant");
    let released = |story: &Story| {
        let released = |it: &&Message| matches!(it, Message::ReleaseSlot { .. });
        story.messages.iter().filter(released).count()
    };
    story.tell(&claim(first)).expect("a claim");
    assert_eq!(
        story.messages.last(),
        Some(&Message::ReleaseSlot { command: Some(first), limit: crm() })
    );
    assert_eq!(story.state.counted_slot(Some(first)), None);
    assert!(story.state.counted_slot(Some(second)).is_some());
    let again = Input::Claim {
        command: first,
        attempt: Attempt(2),
        worker: WorkerId::new("v"),
        lease: std::time::Duration::from_secs(30),
        after: None,
    };
    story.tell(&again).expect("its worker was lost");
    story.report(first, 2, "v", Outcome::completed(json!({}))).expect("a report");
    assert_eq!(released(&story), 1);
    let (reason, below) = ("enough".to_owned(), ChildExecutions::Cancelled);
    story.tell(&Input::Cancel { reason, below, actor: None }).expect("a cancellation");
    assert_eq!(released(&story), 3, "one that has not begun, and one that waits");
}

#[test]
fn an_execution_with_a_limit_begins_with_its_slot_and_releases_it_at_its_end() {
    let mut story = story(&SINGLE.replace("CONFLICT", "queue"));
    let limit = LimitName::of_playbook("jobs/single", Some("acme"));
    assert!(!story.state.has_begun());
    let signal = Input::Signal(noetl_engine::Signal {
        name: "early".parse().expect("a name"),
        body: noetl_model::Payload::null(),
        sender: None,
        key: None,
        to: None,
        actor: None,
    });
    story.tell(&signal).expect("a signal");
    assert_eq!(story.state.status(), ExecutionStatus::Running, "a signal does not begin it");
    let grant = Input::SlotGranted { command: None, limit: limit.clone() };
    story.tell(&grant).expect("a grant");
    assert!(story.state.has_begun());
    story.run();
    assert_eq!(story.state.status(), ExecutionStatus::Completed);
    let released = Message::ReleaseSlot { command: None, limit };
    assert_eq!(story.messages.last(), Some(&released));
    assert!(story.tell(&grant).is_err());
}

#[test]
fn an_execution_that_does_not_wait_for_a_slot_is_skipped_or_fails() {
    let limit = LimitName::of_playbook("jobs/single", Some("acme"));
    let denied = Input::SlotDenied { limit, holders: 1 };
    let mut skipped = story(&SINGLE.replace("CONFLICT", "skip"));
    skipped.tell(&denied).expect("a denial");
    assert_eq!(skipped.state.status(), ExecutionStatus::Cancelled);
    let mut failed = story(&SINGLE.replace("CONFLICT", "fail"));
    failed.tell(&denied).expect("a denial");
    assert_eq!(failed.state.status(), ExecutionStatus::Failed);
    assert_eq!(failed.state.error().map(|error| error.kind), Some(ErrorKind::Limit));
    let mut queued = story(&SINGLE.replace("CONFLICT", "queue"));
    assert_eq!(queued.tell(&denied), Ok(Vec::new()));
    assert_eq!(queued.state.status(), ExecutionStatus::Running);
}

#[test]
fn the_log_of_a_held_execution_is_folded_again_to_the_same_state() {
    for yaml in [LIMITED.to_owned(), SINGLE.replace("CONFLICT", "queue")] {
        let mut story = story(&yaml);
        story.tell(&pause()).expect("a pause");
        let again = noetl_engine::replay(Story::EXECUTION, story.log.clone());
        assert_eq!(again.expect("a legal log"), Some(story.state.clone()));
    }
}

#[test]
fn a_command_of_a_paused_execution_is_enqueued_parked_and_announced_to_nobody() {
    let mut story = story(TWO_STEPS);
    let first = story.next_ready().expect("a command");
    story.tell(&claim(first)).expect("a claim");
    story.tell(&pause()).expect("a pause");
    let before = story.state.clone();
    let length = story.log.len();
    story.report(first, 1, "w", Outcome::completed(json!({}))).expect("a report");
    let mut state = before;
    for recorded in &story.log[length..] {
        let effects = effects_of(&state, recorded);
        if matches!(recorded.event, Event::CommandIssued { .. }) {
            let is_parked = matches!(
                &effects[..],
                [Effect::Enqueue { pool, is_parked: true, .. }] if *pool == Pool::shared()
            );
            assert!(is_parked, "{effects:?}");
        }
        noetl_engine::evolve(&mut state, recorded).expect("a legal log");
    }
}
