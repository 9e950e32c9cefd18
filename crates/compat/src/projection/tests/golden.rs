//! Golden tests: the published logs give the published states, byte for byte.

use serde_json::Value;

use super::{fold, replay_event};
use crate::projection::{Fold, Projection, Reference, ReplayState, canonical};

fn golden() -> Value {
    serde_json::from_str(include_str!("../../../tests/golden/replay_golden.json")).unwrap()
}

fn events() -> Vec<Value> {
    golden()["events"].as_array().unwrap().clone()
}

#[track_caller]
fn check(state: &ReplayState, expected: &Value) {
    // Parsing keeps the order of keys, so this compares bytes.
    assert_eq!(serde_json::to_string(state).unwrap(), expected.to_string());
}

#[test]
fn every_transition_gives_the_published_state_and_checksums() {
    check(&fold(990_001, Projection::All, &events()).finish(), &golden()["state"]);
}

#[test]
fn a_cutoff_and_a_projection_give_the_published_state_and_checksums() {
    let expected = include_str!("../../../tests/golden/replay_golden_asof60_frame.json");
    let before: Vec<Value> =
        events().into_iter().filter(|event| event["event_id"].as_i64() <= Some(60)).collect();
    let state = fold(990_001, Projection::Frame, &before).finish();
    check(&state, &serde_json::from_str(expected).unwrap());
}

#[test]
fn a_fold_that_goes_on_from_any_place_ends_where_one_from_the_beginning_does() {
    let events = events();
    for cut in 0..=events.len() {
        let base = fold(990_001, Projection::All, &events[..cut]).finish();
        let stored = serde_json::to_string(&base).unwrap();
        let base: ReplayState = serde_json::from_str(&stored).unwrap();
        let mut fold = Fold::resume(base, Projection::All);
        for (index, event) in events.iter().enumerate().skip(cut) {
            fold.see(&replay_event(index, event));
        }
        check(&fold.finish(), &golden()["state"]);
    }
}

#[test]
fn digests_are_those_of_the_canonical_form_of_what_is_answered() {
    use sha2::{Digest as _, Sha256};
    let state = fold(990_001, Projection::All, &events()).finish();
    let mut answer = serde_json::to_value(&state).unwrap();
    let told = answer.as_object_mut().unwrap().shift_remove("checksum").unwrap();
    let hash: String = Sha256::digest(canonical(&answer).as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(told["value"], hash);
}

#[test]
fn a_truncated_projection_has_another_checksum() {
    let mut cut = fold(1, Projection::All, &[]);
    let whole = cut.clone().finish();
    cut.cut_short();
    let cut = cut.finish();
    assert!(cut.truncated);
    assert_ne!(cut.checksums.unwrap().checksum, whole.checksums.unwrap().checksum);
}

#[test]
fn a_reference_of_ours_is_held_closely_and_answered_like_any_other() {
    use noetl_model::{Digest, PayloadRef};
    let kept = Reference::Kept(PayloadRef { digest: Digest::of(b"1"), size: 1 });
    let text = serde_json::to_string(&kept).unwrap();
    expect_test::expect![[
        r#"{"bytes":1,"kind":"payload","media_type":"application/json","ref":"/api/payloads/6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b","sha256":"6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"}"#
    ]]
    .assert_eq(&text);
    assert_eq!(serde_json::from_str::<Reference>(&text).unwrap(), kept);
    assert_eq!(Reference::told(&kept.value()).summary(), kept.summary());
    let other = text.replace("\"payload\"", "\"blob\"");
    let other: Reference = serde_json::from_str(&other).unwrap();
    assert!(matches!(other, Reference::Told(_)), "{other:?}");
}
