//! Golden-file tests of the stored form of every event: stored logs must stay readable.

mod samples;

use std::collections::BTreeSet;
use std::path::PathBuf;

use noetl_model::{EventTag, Recorded};

fn golden_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

#[test]
fn every_event_is_stored_as_its_golden_file_says_and_read_back_the_same() {
    for recorded in samples::all() {
        let stored = serde_json::to_string_pretty(&recorded).unwrap() + "\n";
        let file = golden_dir().join(format!("{}.json", recorded.event.tag().as_str()));
        expect_test::ExpectFile { path: file.clone(), position: file!() }.assert_eq(&stored);
        let text = std::fs::read_to_string(&file).unwrap();
        let read: Recorded = serde_json::from_str(&text).unwrap();
        assert_eq!(read, recorded, "{}", file.display());
    }
}

#[test]
fn every_variant_has_a_golden_file_and_no_file_is_without_one() {
    let sampled: BTreeSet<&str> =
        samples::all().iter().map(|recorded| recorded.event.tag().as_str()).collect();
    let tags: BTreeSet<&str> = EventTag::ALL.iter().map(|tag| tag.as_str()).collect();
    assert_eq!(sampled, tags);
    let files: BTreeSet<String> = std::fs::read_dir(golden_dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let expected: BTreeSet<String> = tags.iter().map(|tag| format!("{tag}.json")).collect();
    assert_eq!(files, expected);
}

#[test]
fn an_unknown_event_is_an_error_not_a_default() {
    let text = r#"{"seq":1,"event_id":1,"at":0,"event":{"type":"step.exploded"}}"#;
    let error = serde_json::from_str::<Recorded>(text).unwrap_err();
    assert!(error.to_string().contains("step.exploded"), "{error}");
}
