//! Tests of replays of executions.

use crate::projection::canonical;
use expect_test::{Expect, expect};
use noetl_model::{Event, Seq};
use noetl_testkit::{Story, StoryOptions};
use serde_json::Value;

use super::*;

const PLAYBOOK: &str = "
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: demo, path: demo/replay}
workflow:
  - step: start
    tool: {kind: rhai, code: '1 + 1'}
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: [10, 20], iterator: item}
    tool: {kind: rhai, code: '{{ iter.item }}'}
";

fn story(inline_max: usize) -> Story {
    let mut story = Story::begin(PLAYBOOK, StoryOptions { inline_max, ..StoryOptions::default() });
    story.run();
    story
}

fn question(cutoff: Cutoff) -> ReplayRequest {
    ReplayRequest {
        execution: Story::EXECUTION,
        tenant: DEFAULT_TENANT.to_owned(),
        organization: DEFAULT_TENANT.to_owned(),
        cutoff,
        projection: Projection::All,
        limit: 1000,
    }
}

fn replay(question: &ReplayRequest, log: &[Recorded]) -> ReplayState {
    let mut replayer = Replayer::new(question);
    let mut events = log.iter();
    while events.next().is_some_and(|event| replayer.see(event) == ReadOn::Yes) {}
    replayer.finish()
}

#[track_caller]
fn check(part: &impl serde::Serialize, expected: Expect) {
    expected.assert_eq(&canonical(part).replace("},", "},\n"));
}

#[test]
fn commands_of_ours_reach_their_end() {
    let story = story(usize::MAX);
    let state = replay(&question(Cutoff::Latest), &story.log);
    assert_eq!(&*state.execution.status, "COMPLETED");
    check(
        &state.commands,
        expect![[r#"
        {"7:each:13:i1":{"claimed_event_id":14,"command_id":"7:each:13:i1","issued_event_id":13,"last_event_id":15,"status":"COMPLETED","terminal_event_id":15,"worker_id":"w"},
        "7:each:9:i0":{"claimed_event_id":10,"command_id":"7:each:9:i0","issued_event_id":9,"last_event_id":11,"status":"COMPLETED","terminal_event_id":11,"worker_id":"w"},
        "7:start:3":{"claimed_event_id":4,"command_id":"7:start:3","issued_event_id":3,"last_event_id":5,"status":"COMPLETED","terminal_event_id":5,"worker_id":"w"}}"#]],
    );
}

#[test]
fn a_loop_of_ours_is_a_loop_and_a_stage() {
    let story = story(usize::MAX);
    let state = replay(&question(Cutoff::Latest), &story.log);
    check(
        &state.loops,
        expect![[
            r#"{"each:1":{"completed":true,"done":2,"failed":0,"last_event_id":17,"loop_id":"each:1","step_name":"each","total":2}}"#
        ]],
    );
    check(
        &state.stages,
        expect![[
            r#"{"each:1":{"events_emitted":0,"failed_count":0,"frame_count":0,"kind":"loop","last_event_id":17,"loop_event_id":"each:1","row_count":0,"stage_id":"each:1","status":"COMPLETED","step_name":"each"}}"#
        ]],
    );
}

#[test]
fn values_that_are_kept_elsewhere_are_referred_to() {
    let story = story(0);
    let state = replay(&question(Cutoff::Latest), &story.log);
    let first = state.execution.payload_refs.first().unwrap();
    let digest = digest_named(&first.reference).unwrap();
    assert_eq!(first.reference.summary().sha256, Some(Value::from(digest.to_string())));
}

#[test]
fn a_cutoff_shows_what_was_known_then() {
    let story = story(usize::MAX);
    for recorded in &story.log {
        let by_seq = replay(&question(Cutoff::Seq(recorded.seq)), &story.log);
        let by_event = replay(&question(Cutoff::Event(recorded.event_id)), &story.log);
        assert_eq!(by_seq.event_count, recorded.seq.0);
        assert_eq!(by_seq.last_event_id, Some(recorded.event_id.0));
        assert_eq!(by_seq, by_event);
    }
}

#[test]
fn an_instant_shows_what_was_known_then() {
    let story = story(usize::MAX);
    let first = story.log[0].at;
    let state = replay(&question(Cutoff::Time(first)), &story.log);
    let known = story.log.iter().take_while(|recorded| recorded.at <= first).count();
    assert_eq!(state.event_count, u64::try_from(known).unwrap());
}

#[test]
fn a_limited_replay_is_marked_as_truncated() {
    let story = story(usize::MAX);
    let all = u64::try_from(story.log.len()).unwrap();
    let limited = |limit| {
        let question = ReplayRequest { limit, ..question(Cutoff::Latest) };
        let state = replay(&question, &story.log);
        (state.event_count, state.truncated)
    };
    assert_eq!(limited(all), (all, false));
    assert_eq!(limited(all - 1), (all - 1, true));
}

#[test]
fn another_tenant_sees_nothing() {
    let story = story(usize::MAX);
    let question = ReplayRequest { tenant: "acme".to_owned(), ..question(Cutoff::Latest) };
    let state = replay(&question, &story.log);
    assert_eq!((state.event_count, &*state.execution.status), (0, "UNKNOWN"));
    assert_eq!(state.tenant_id, "acme");
}

#[test]
fn reported_events_are_folded_in_their_own_words() {
    let reported = |seq: u64, name: &str, body: Value| Recorded {
        seq: Seq(seq),
        event_id: noetl_model::EventId(seq.cast_signed()),
        at: noetl_model::Timestamp::from_millis(0),
        event: Event::Reported { name: name.to_owned(), step: None, body },
        prev: None,
    };
    let log = [reported(
        1,
        "customer.created",
        serde_json::json!({
            "meta": { "business_object": { "type": "customer", "id": 4 } },
            "result": { "reference": { "uri": "s3://b/k" } },
        }),
    )];
    let state = replay(&question(Cutoff::Latest), &log);
    let customer = &state.business_objects["customer/4"];
    assert_eq!((&*customer.status, customer.payload_refs.len()), ("ACTIVE", 1));
}
