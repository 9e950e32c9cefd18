//! Tests of single transition rules of the fold.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{bare, event, fold, state};
use crate::projection::{Projection, canonical};

#[track_caller]
fn check(events: &[Value], expected: Expect) {
    let state = state(events);
    let status = &state.execution.status;
    let node = state.execution.last_node_name.as_deref().unwrap_or("-");
    let last = state.last_event_type.as_deref().unwrap_or("-");
    expected.assert_eq(&format!("{status} {node} {} {last}", state.event_count));
}

#[track_caller]
fn check_part(part: impl serde::Serialize, expected: Expect) {
    expected.assert_eq(&canonical(&part));
}

#[test]
fn an_empty_log_shows_an_unknown_status_and_empty_maps() {
    check(&[], expect!["UNKNOWN - 0 -"]);
    let state = state(&[]);
    assert_eq!(state.last_event_id, None);
    let answer = serde_json::to_value(&state).unwrap();
    for part in ["stages", "frames", "commands", "business_objects", "loops"] {
        assert_eq!(answer[part], json!({}), "{part}");
    }
}

#[test]
fn a_step_that_is_entered_makes_the_execution_run_and_is_named() {
    let events =
        [event("playbook_started", "p", "STARTED"), event("step.enter", "start", "ENTERED")];
    check(&events, expect!["RUNNING start 2 step.enter"]);
}

#[test]
fn the_end_decides_the_status_and_the_last_step_stays_named() {
    let events = [
        event("step.enter", "start", "ENTERED"),
        event("command.completed", "start", "success"),
        event("playbook.completed", "playbook", "COMPLETED"),
    ];
    check(&events, expect!["COMPLETED start 3 playbook.completed"]);
}

#[test]
fn a_failed_end_is_failed() {
    let events =
        [event("step.enter", "a", "ENTERED"), event("playbook.failed", "playbook", "FAILED")];
    check(&events, expect!["FAILED a 2 playbook.failed"]);
}

#[test]
fn a_cancelled_end_is_cancelled_in_both_spellings() {
    check(&[event("playbook.cancelled", "p", "")], expect!["CANCELLED - 1 playbook.cancelled"]);
    check(&[event("playbook_cancelled", "p", "")], expect!["CANCELLED - 1 playbook_cancelled"]);
}

#[test]
fn old_spellings_are_understood() {
    let events = [event("step_started", "alpha", "ENTERED"), event("playbook_completed", "", "")];
    check(&events, expect!["COMPLETED alpha 2 playbook_completed"]);
}

#[test]
fn a_failed_command_alone_does_not_end_an_execution() {
    let events = [event("step.enter", "a", "ENTERED"), event("command.failed", "a", "FAILED")];
    check(&events, expect!["RUNNING a 2 command.failed"]);
}

#[test]
fn projections_are_known_by_their_names_and_no_other() {
    for projection in Projection::ALL {
        assert_eq!(projection.as_str().parse(), Ok(*projection));
    }
    assert!("garbage".parse::<Projection>().is_err());
    assert!("All".parse::<Projection>().is_err());
}

#[test]
fn a_projection_shows_itself_and_what_it_refers_to() {
    let shown = |projection: Projection| -> Vec<&str> {
        let parts = Projection::ALL.iter().filter(|part| projection.shows(**part));
        parts.map(|part| part.as_str()).filter(|part| *part != "all").collect()
    };
    let table: Vec<String> =
        Projection::ALL.iter().map(|it| format!("{it}: {}", shown(*it).join(" "))).collect();
    expect![[r#"
        execution: execution
        stage: stage loop
        frame: stage frame command loop
        command: stage frame command loop
        business_object: business_object
        loop: loop
        all: execution stage frame command business_object loop"#]]
    .assert_eq(&table.join("\n"));
}

#[test]
fn a_projection_that_is_not_asked_for_is_not_folded() {
    let events = [bare("command.issued", json!({ "command_id": "c" }))];
    let state = fold(1, Projection::Execution, &events).finish();
    assert!(state.commands.is_empty());
    assert_eq!((state.event_count, state.projection.as_str()), (1, "execution"));
}

#[test]
fn a_command_goes_from_issued_to_its_end() {
    let id = json!({ "command_id": 7 });
    let names = ["command.issued", "command.claimed", "command.started", "command.completed"];
    let events: Vec<Value> = names.iter().map(|name| bare(name, id.clone())).collect();
    check_part(
        &state(&events).commands,
        expect![[
            r#"{"7":{"claimed_event_id":2,"command_id":"7","issued_event_id":1,"last_event_id":4,"started_event_id":3,"status":"COMPLETED","terminal_event_id":4}}"#
        ]],
    );
}

#[test]
fn an_event_that_is_not_a_commands_leaves_its_status_alone() {
    let events = [
        bare("command.issued", json!({ "command_id": "c" })),
        json!({ "event_type": "call.done", "status": "COMPLETED", "meta": { "command_id": "c" } }),
    ];
    check_part(
        &state(&events).commands,
        expect![[
            r#"{"c":{"command_id":"c","issued_event_id":1,"last_event_id":2,"status":"PENDING"}}"#
        ]],
    );
}

#[test]
fn the_columns_of_an_event_win_over_what_it_says_in_meta() {
    let mut event = bare("note", json!({ "stage_id": "m", "frame_id": "m", "command_id": "m" }));
    event["stage_id"] = json!("s");
    event["frame_id"] = json!("f");
    event["command_id"] = json!("c");
    let state = state(&[event]);
    assert!(state.stages.contains_key("s") && state.frames.contains_key("f"));
    assert!(state.commands.iter().any(|command| command.command_id == "c"));
}

#[test]
fn a_frame_without_a_result_has_an_empty_summary() {
    let events = [bare("frame.failed", json!({ "frame_id": "f", "events_emitted": 3 }))];
    check_part(
        &state(&events).frames,
        expect![[
            r#"{"f":{"attempts":0,"events_emitted":3,"frame_id":"f","last_event_id":1,"output_ref_summary":{},"row_count":0,"status":"FAILED","terminal_event_id":1}}"#
        ]],
    );
}

#[test]
fn a_loop_of_ours_counts_its_items_and_ends_with_its_step() {
    let id = json!({ "loop_id": "l" });
    let events = [
        bare("loop.opened", json!({ "loop_id": "l", "collection_size": 2 })),
        bare("iteration.completed", id.clone()),
        bare("iteration.failed", id.clone()),
        bare("step.exit", id),
    ];
    check_part(
        &state(&events).loops,
        expect![[
            r#"{"l":{"completed":true,"done":1,"failed":1,"last_event_id":4,"loop_id":"l","total":2}}"#
        ]],
    );
}

#[test]
fn canonical_json_sorts_keys_and_leaves_numbers_and_characters_as_they_are() {
    let value = json!({ "b": [1.0, 1e16, 0.1, -0.0, 10], "a": { "z": "Zoë\n\u{1}", "y": null } });
    expect![[r#"{"a":{"y":null,"z":"Zoë\n\u0001"},"b":[1.0,1e16,0.1,-0.0,10]}"#]]
        .assert_eq(&canonical(&value));
}
