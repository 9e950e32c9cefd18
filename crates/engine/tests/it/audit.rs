//! Tests of the auditor: every manipulation of a log is detected and named.

use expect_test::{Expect, expect};
use noetl_engine::{Auditor, Input, LogFault};
use noetl_model::{Digest, Event, EventId, ExecutionId, Recorded, Seq};
use noetl_testkit::{Story, StoryOptions};

const EXECUTION: ExecutionId = Story::EXECUTION;

/// Returns a valid log, chained from its first event on.
fn log() -> Vec<Recorded> {
    let mut story = Story::begin(
        "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: a, path: a}
workflow:
  - step: start
    loop: {in: 4, iterator: n}
    tool: {kind: noop, n: '{{ n }}'}
",
        StoryOptions::default(),
    );
    story.run();
    for note in 0..4 {
        let input = Input::Reported { name: note.to_string(), step: None, body: note.into() };
        story.tell(&input).expect("a note is welcome");
    }
    chained(story.log)
}

/// Returns the events, each with the digest of the one before it.
fn chained(log: Vec<Recorded>) -> Vec<Recorded> {
    let mut head = Digest::before(EXECUTION);
    let chain = log.into_iter().map(|recorded| {
        let chained = Recorded { prev: Some(head), ..recorded };
        head = chained.digest_after(&head);
        chained
    });
    chain.collect()
}

fn head(log: &[Recorded]) -> Digest {
    log.iter().fold(Digest::before(EXECUTION), |head, recorded| recorded.digest_after(&head))
}

fn audited(log: &[Recorded], head: Option<Digest>) -> Result<Option<Seq>, LogFault> {
    let mut auditor = Auditor::new(EXECUTION, EXECUTION);
    log.iter().try_for_each(|recorded| auditor.see(recorded))?;
    auditor.end(log.last().map_or(Seq::ZERO, |last| last.seq), head)?;
    Ok(auditor.proven_from())
}

#[track_caller]
fn check(tamper: impl FnOnce(&mut Vec<Recorded>), expected: &Expect) {
    let mut log = log();
    let kept = head(&log);
    tamper(&mut log);
    let found = match audited(&log, Some(kept)) {
        Ok(Some(Seq(1))) => "nothing".to_owned(),
        Ok(from) => format!("nothing, proven from {from:?}"),
        Err(fault) => fault.to_string(),
    };
    expected.assert_eq(&found);
}

fn renumber(log: &mut [Recorded]) {
    for (recorded, seq) in log.iter_mut().zip(1..) {
        recorded.seq = Seq(seq);
    }
}

fn note(text: &str) -> Event {
    Event::Reported { name: text.into(), step: None, body: serde_json::Value::Null }
}

#[test]
fn an_honest_log_has_no_fault() {
    check(|_| {}, &expect!["nothing"]);
}

#[test]
fn a_changed_event_is_found() {
    check(
        |log| log[4].at = Recorded::clone(&log[0]).at.after(std::time::Duration::from_secs(9)),
        &expect!["event 5 (command.claimed, id 5) is not what was written"],
    );
}

#[test]
fn the_last_event_is_covered_by_the_digest_that_is_kept() {
    check(
        |log| log.last_mut().unwrap().event = note("forged"),
        &expect![
            "event 25 (reported, id 25) or the digest that is kept of it is not what was written"
        ],
    );
}

#[test]
fn a_removed_event_is_found() {
    check(|log| drop(log.remove(4)), &expect!["event 5 is missing"]);
}

#[test]
fn a_removed_event_is_found_though_the_others_close_ranks() {
    check(
        |log| {
            let end = log.len();
            log.remove(end - 3);
            renumber(log);
        },
        &expect!["an event was removed before event 23 (reported, id 24)"],
    );
}

#[test]
fn an_inserted_event_is_found() {
    check(
        |log| {
            let place = log.len() - 2;
            let prev = Some(head(&log[..place]));
            let forged = Recorded {
                event_id: EventId(99),
                event: note("forged"),
                prev,
                ..log[place].clone()
            };
            log.insert(place, forged);
            renumber(log);
        },
        &expect!["event 24 (reported, id 99) was inserted"],
    );
}

#[test]
fn a_swapped_pair_is_found() {
    check(
        |log| {
            let place = log.len() - 3;
            log.swap(place, place + 1);
            renumber(log);
        },
        &expect!["event 23 (reported, id 24) and event 24 (reported, id 23) have changed places"],
    );
}

#[test]
fn an_appended_event_is_found() {
    check(
        |log| {
            let prev = Some(head(log));
            let last = log.last().unwrap().clone();
            log.push(Recorded { seq: last.seq.next(), event: note("forged"), prev, ..last });
        },
        &expect!["event 26 (reported, id 25) was inserted"],
    );
}

#[test]
fn a_digest_that_was_taken_away_is_found() {
    check(
        |log| log[4].prev = None,
        &expect!["event 5 (command.claimed, id 5) has lost the digest of the event before it"],
    );
}

#[test]
fn an_event_that_its_past_rules_out_is_found_though_the_chain_holds() {
    let mut log = log();
    log[5].event = Event::TimerFired { timer: noetl_model::TimerId(7) };
    let log = chained(log);
    expect!["event 6 (timer.fired, id 6) is not allowed at this position: there is no timer 7"]
        .assert_eq(&audited(&log, Some(head(&log))).unwrap_err().to_string());
}

#[test]
fn the_log_of_another_execution_is_not_this_ones() {
    let mut auditor = Auditor::new(EXECUTION, ExecutionId(8));
    let fault = log().iter().try_for_each(|recorded| auditor.see(recorded)).unwrap_err();
    expect!["event 1 (execution.started, id 1) does not follow the event before it"]
        .assert_eq(&fault.to_string());
}

#[test]
fn events_from_before_there_were_digests_are_unproven_and_not_wrong() {
    let mut log = log();
    log.iter_mut().for_each(|recorded| recorded.prev = None);
    assert_eq!(audited(&log, None), Ok(None));
}

#[test]
fn a_missing_digest_of_the_last_event_is_a_fault() {
    expect!["event 25 (reported, id 25) or the digest that is kept of it is not what was written"]
        .assert_eq(&audited(&log(), None).unwrap_err().to_string());
}

/// Returns a log whose first `old` events have no digests.
fn upgraded(old: usize) -> Vec<Recorded> {
    let mut head = Digest::UNKNOWN;
    let chain = log().into_iter().enumerate().map(|(place, recorded)| {
        let chained = Recorded { prev: (place >= old).then_some(head), ..recorded };
        head = chained.digest_after(&head);
        chained
    });
    chain.collect()
}

#[test]
fn the_first_event_with_a_digest_vouches_for_those_before_it() {
    let mut log = upgraded(7);
    let kept = log.iter().fold(Digest::UNKNOWN, |head, recorded| recorded.digest_after(&head));
    assert_eq!(audited(&log, Some(kept)), Ok(Some(Seq(8))));
    log[6].at = log[6].at.after(std::time::Duration::from_secs(1));
    expect!["event 7 (iteration.completed, id 7) is not what was written"]
        .assert_eq(&audited(&log, None).unwrap_err().to_string());
}
