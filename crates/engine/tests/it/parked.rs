//! Tests of parked commands: a worker has started a job elsewhere, and its callback ends the command.

use std::time::Duration;

use expect_test::expect;
use noetl_engine::{
    ATTEMPTS_MAX, Changes, CommandResult, DecisionArgs, EVENTS_MAX, Effect, Effort, Fork,
    HolderStatus, Input, Loaded, RUNS_MAX, Refusal, awaits_callback, effects_of, evolve, fork,
    holder_status, replay,
};
use noetl_model::{
    Attempt, ChildExecutions, CommandId, ErrorKind, Event, EventId, ExecutionId, ExecutionStatus,
    ForkPoint, Outcome, Payload, Recorded, ToolError, WorkerId,
};
use noetl_testkit::{Story, StoryOptions};
use serde_json::json;

use crate::playbook;

const JOB: &str = "
  - {step: start, tool: {kind: container, image: busybox}, next: end}
  - {step: end, tool: {kind: noop, result: '{{ start.state }}'}}
";
const LIMITED: &str = "
  - step: start
    tool: {kind: container, image: busybox, timeout: 60}
    next: {arcs: [{step: repair, when: '{{ event.name == \"step.failed\" }}'}, {step: end}]}
  - {step: end, tool: {kind: noop}}
  - {step: repair, tool: {kind: noop, result: repaired}}
";
const RETRIED: &str = "
  - step: start
    tool:
      kind: container
      image: busybox
      spec: {policy: {rules: [{when: '{{ output.status == \"error\" }}', then: {do: retry, attempts: 3, delay: 0}}]}}
";
const LOOP: &str = "
  - step: start
    loop: {in: [a, b], iterator: it, spec: {mode: parallel}}
    tool: {kind: container, image: '{{ it }}'}
";
const FIRST: CommandId = CommandId(0);
const SECOND: CommandId = CommandId(1);

fn begun(text: &str) -> Story {
    Story::begin(&playbook(text), StoryOptions::default())
}

fn park(
    story: &mut Story,
    command: CommandId,
    attempt: u32,
    worker: &str,
) -> Result<Vec<Event>, Refusal> {
    let (attempt, worker) = (Attempt(attempt), WorkerId::new(worker));
    story.tell(&Input::Park { command, attempt, worker })
}

/// Returns a story whose first command is parked.
fn parked(text: &str) -> Story {
    let mut story = begun(text);
    story.claim(FIRST, 1, "a").expect("the command is free");
    park(&mut story, FIRST, 1, "a").expect("its worker holds it");
    story
}

fn succeeded() -> CommandResult {
    CommandResult::Completed { output: Payload::inline(json!({ "state": "succeeded" })) }
}

fn broken() -> CommandResult {
    CommandResult::Failed {
        error: ToolError::new(ErrorKind::Exception, "out of memory"),
        output: None,
    }
}

fn call_back(
    story: &mut Story,
    command: CommandId,
    job: &str,
    ended: CommandResult,
) -> Result<Vec<Event>, Refusal> {
    story.tell(&Input::Callback { command, job: Some(job.to_owned()), ended })
}

/// Checks that the log folds to the state of the story.
#[track_caller]
fn check_replay(story: &Story) {
    let replayed = replay(Story::EXECUTION, story.log.clone()).expect("a legal log");
    assert_eq!(replayed.as_ref(), Some(&story.state));
}

#[test]
fn a_callback_ends_a_parked_command_once() {
    let mut story = parked(JOB);
    assert!(!call_back(&mut story, FIRST, "j-1", succeeded()).unwrap().is_empty());
    let again = call_back(&mut story, FIRST, "j-1", succeeded());
    assert_eq!(again, Err(Refusal::JobEnded("j-1".to_owned())));
    story.run();
    let late = call_back(&mut story, FIRST, "j-2", succeeded());
    assert_eq!(late, Err(Refusal::Finished(ExecutionStatus::Completed)));
    expect![[r#"
        enter start
        issue 0: start (container)
        park 0: attempt 1 of a
        done 0: {"state":"succeeded"}
        leave start
        enter end from start
        issue 1: end (noop)
        done 1: "succeeded"
        leave end
        COMPLETED "succeeded"
    "#]]
    .assert_eq(&story.history());
    check_replay(&story);
}

#[test]
fn nobody_takes_over_a_parked_command_however_many_leases_have_expired() {
    let mut story = parked(JOB);
    story.now = story.now.after(Duration::from_secs(3600));
    for attempt in 1..6 {
        assert_eq!(story.claim(FIRST, attempt, "b"), Err(Refusal::AlreadyClaimed(FIRST)));
        assert_eq!(story.claim(FIRST, attempt, "a"), Err(Refusal::AlreadyClaimed(FIRST)));
        let attempt = Attempt(attempt);
        let swept = story.tell(&Input::LeaseExhausted { command: FIRST, attempt });
        assert_eq!(swept, Ok(Vec::new()));
    }
    let waits = HolderStatus::Callback { worker: WorkerId::new("a"), attempt: Attempt(1) };
    assert_eq!(holder_status(&story.state, FIRST), waits);
}

#[test]
fn a_log_in_which_a_parked_command_is_claimed_is_illegal() {
    let story = parked(JOB);
    let claimed = Recorded {
        seq: story.state.seq().next(),
        event_id: EventId(99),
        at: story.now,
        event: Event::CommandClaimed {
            command: FIRST,
            attempt: Attempt(2),
            worker: WorkerId::new("b"),
            lease_until: story.now,
            after: None,
        },
        prev: None,
    };
    let illegal = evolve(&mut story.state.clone(), &claimed).unwrap_err();
    assert_eq!(illegal.reason, "command 0 is parked");
}

#[test]
fn parking_releases_the_lease() {
    let story = parked(JOB);
    let (last, before) = story.log.split_last().expect("events");
    let before = replay(Story::EXECUTION, before.to_vec()).expect("a legal log").expect("a start");
    assert_eq!(effects_of(&before, last), [Effect::Park { command: FIRST }]);
}

#[test]
fn only_the_worker_that_holds_a_command_parks_it_and_saying_it_again_changes_nothing() {
    let mut story = begun(JOB);
    let superseded = |attempt| Refusal::Superseded { command: FIRST, attempt: Attempt(attempt) };
    assert_eq!(park(&mut story, FIRST, 1, "a"), Err(superseded(1)), "nobody holds it");
    story.claim(FIRST, 1, "a").expect("the command is free");
    story.claim(FIRST, 2, "b").unwrap();
    assert_eq!(park(&mut story, FIRST, 1, "a"), Err(superseded(1)), "another took over");
    assert_eq!(park(&mut story, FIRST, 2, "a"), Err(superseded(2)), "another's attempt");
    assert_eq!(park(&mut story, FIRST, 2, "b").unwrap().len(), 1);
    assert_eq!(park(&mut story, FIRST, 2, "b"), Ok(Vec::new()));
    assert_eq!(park(&mut story, FIRST, 1, "a"), Err(superseded(1)), "still too late");
    let unknown = CommandId(9);
    assert_eq!(park(&mut story, unknown, 1, "a"), Err(Refusal::UnknownCommand(unknown)));
}

#[test]
fn a_callback_that_is_faster_than_its_worker_ends_the_command() {
    let mut story = begun(JOB);
    story.claim(FIRST, 1, "a").expect("the command is free");
    assert_eq!(awaits_callback(&story.state, "start", Some("j-1")), Ok(FIRST));
    call_back(&mut story, FIRST, "j-1", succeeded()).unwrap();
    assert_eq!(park(&mut story, FIRST, 1, "a"), Ok(Vec::new()), "the worker is answered");
    story.run();
    assert_eq!(park(&mut story, FIRST, 1, "a"), Ok(Vec::new()), "also after the end");
    assert_eq!(story.status(), ExecutionStatus::Completed);
}

#[test]
fn a_command_that_nobody_has_claimed_waits_for_no_callback() {
    let mut story = begun(JOB);
    let nothing = Err(Refusal::NothingAwaited("start".to_owned()));
    assert_eq!(awaits_callback(&story.state, "start", None), nothing);
    let refused = call_back(&mut story, FIRST, "j-1", succeeded());
    assert_eq!(refused, Err(Refusal::NotAwaited(FIRST)));
    let unknown = call_back(&mut story, CommandId(7), "j-1", succeeded());
    assert_eq!(unknown, Err(Refusal::UnknownCommand(CommandId(7))));
}

#[test]
fn a_report_without_a_result_does_not_end_a_parked_command_and_one_with_a_result_does() {
    let mut story = parked(JOB);
    let nothing = Outcome::completed(json!(null));
    assert_eq!(story.report(FIRST, 1, "a", nothing), Ok(Vec::new()));
    let other = story.report(FIRST, 1, "b", Outcome::completed(json!(1)));
    assert_eq!(other, Err(Refusal::Superseded { command: FIRST, attempt: Attempt(1) }));
    let ended = story.report(FIRST, 1, "a", Outcome::completed(json!({ "state": "polled" })));
    assert!(!ended.unwrap().is_empty());
    story.run();
    assert_eq!(story.output("end"), json!("polled"));
}

#[test]
fn the_timeout_of_a_parked_task_counts_from_its_claim() {
    let mut story = begun(LIMITED);
    story.claim(FIRST, 1, "a").expect("the command is free");
    let claimed = story.now;
    story.now = story.now.after(Duration::from_secs(20));
    park(&mut story, FIRST, 1, "a").expect("its worker holds it");
    let (timer, due_at) = story.next_timer().expect("a timer");
    assert_eq!(due_at, claimed.after(Duration::from_secs(60)));
    story.now = due_at;
    story.tell(&Input::TimerFired { timer }).unwrap();
    let late = call_back(&mut story, FIRST, "j-1", succeeded());
    assert_eq!(late, Err(Refusal::CommandFinished(FIRST)));
    assert_eq!(park(&mut story, FIRST, 1, "a"), Ok(Vec::new()), "its worker is answered");
    story.run();
    let failed = "fail 0: the callback of step `start` did not come in time (timeout)";
    assert!(story.history().contains(failed), "{}", story.history());
    assert_eq!(story.output("repair"), json!("repaired"));
    check_replay(&story);
}

#[test]
fn a_callback_in_time_cancels_the_timeout() {
    let mut story = parked(LIMITED);
    call_back(&mut story, FIRST, "j-1", succeeded()).unwrap();
    assert_eq!(story.next_timer(), None);
    story.run();
    assert_eq!(story.status(), ExecutionStatus::Completed);
    check_replay(&story);
}

#[test]
fn a_cancellation_ends_a_parked_command_and_its_callback_is_refused() {
    let mut story = parked(LIMITED);
    let below = ChildExecutions::Cancelled;
    story.tell(&Input::Cancel { reason: "enough".to_owned(), below, actor: None }).unwrap();
    let cancelled = Refusal::Finished(ExecutionStatus::Cancelled);
    assert_eq!(awaits_callback(&story.state, "start", None), Err(cancelled.clone()));
    assert_eq!(call_back(&mut story, FIRST, "j-1", succeeded()), Err(cancelled));
    assert_eq!(park(&mut story, FIRST, 1, "a"), Ok(Vec::new()), "its worker is answered");
    assert_eq!(story.next_timer(), None);
}

#[test]
fn the_repeated_callback_of_one_job_does_not_end_the_next() {
    let mut story = parked(RETRIED);
    call_back(&mut story, FIRST, "j-1", broken()).unwrap();
    story.claim(SECOND, 1, "b").unwrap();
    let ended = Err(Refusal::JobEnded("j-1".to_owned()));
    assert_eq!(awaits_callback(&story.state, "start", Some("j-1")), ended);
    park(&mut story, SECOND, 1, "b").unwrap();
    assert_eq!(awaits_callback(&story.state, "start", Some("j-1")), ended);
    let again = call_back(&mut story, SECOND, "j-1", broken());
    assert_eq!(again, Err(Refusal::JobEnded("j-1".to_owned())));
    assert_eq!(awaits_callback(&story.state, "start", Some("j-2")), Ok(SECOND));
    call_back(&mut story, SECOND, "j-2", succeeded()).unwrap();
    assert_eq!(story.status(), ExecutionStatus::Completed);
    check_replay(&story);
}

#[test]
fn of_several_commands_of_a_step_a_parked_one_is_ended_first() {
    let mut story = begun(LOOP);
    story.claim(FIRST, 1, "a").expect("the command is free");
    assert_eq!(awaits_callback(&story.state, "start", None), Ok(FIRST));
    story.claim(SECOND, 1, "a").unwrap();
    park(&mut story, SECOND, 1, "a").unwrap();
    assert_eq!(awaits_callback(&story.state, "start", None), Ok(SECOND));
    call_back(&mut story, SECOND, "j-b", succeeded()).unwrap();
    call_back(&mut story, FIRST, "j-a", succeeded()).unwrap();
    assert_eq!(story.status(), ExecutionStatus::Completed);
}

#[test]
fn a_fork_starts_a_job_of_its_own() {
    let mut story = parked(LIMITED);
    let other = ExecutionId(8);
    let state = story.state.clone().shared_with(other);
    let loaded = Loaded::default();
    let given = DecisionArgs {
        playbook: &story.playbook,
        now: story.now,
        loaded: &loaded,
        effort: Effort::Whole,
        runs_max: RUNS_MAX,
        events_max: EVENTS_MAX,
        attempts_max: ATTEMPTS_MAX,
        fork_changes: None,
    };
    let origin = ForkPoint { execution: Story::EXECUTION, seq: state.seq() };
    let (changes, rest, again) = (Changes::default(), Vec::new(), Vec::new());
    let events = fork(&state, &Fork { origin, changes, rest, again, actor: None }, given);
    let tags: Vec<&str> =
        events.unwrap().unwrap().iter().map(|event| event.tag().as_str()).collect();
    let expected = ["execution.forked", "command.cancelled", "command.issued", "timer.cancelled"];
    assert_eq!(tags, expected);
    call_back(&mut story, FIRST, "j-1", succeeded()).unwrap();
    story.run();
    assert_eq!(story.status(), ExecutionStatus::Completed, "the origin is not affected");
}
