//! Tests that the catalogues are complete, and that pages use exactly their entries.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// Returns the places of a text, such as `{count}`.
fn places(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

#[test]
fn every_language_has_the_same_entries_with_the_same_places() {
    let (english, german) = (Words::of(Language::English), Words::of(Language::German));
    for key in english.texts.keys().chain(german.texts.keys()) {
        let found = [english, german].map(|words| words.texts.get(key).map(|it| places(it)));
        assert!(found[0].is_some() && found[0] == found[1], "{key}: {found:?}");
    }
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|it| it == "rs") => found.push(path),
            false => {}
        }
    }
}

/// True if a text in quotes has the form of a key.
fn is_key(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|it| it.is_ascii_lowercase() || it == '_')
    };
    let is_file = ["js", "css", "rs"].iter().any(|kind| text.ends_with(&format!(".{kind}")));
    let parts = text.split_once('.').filter(|_| !is_file);
    parts.is_some_and(|(section, name)| is_word(section) && is_word(name))
}

#[test]
fn pages_use_the_entries_that_exist_and_no_others() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let texts: Vec<String> =
        files.iter().map(|path| fs::read_to_string(path).expect("a source file")).collect();
    let quoted = texts.iter().flat_map(|text| text.split('"').skip(1));
    let used: BTreeSet<&str> = quoted.filter(|text| is_key(text)).collect();
    let words = Words::of(Language::English);
    let sections: BTreeSet<&str> =
        words.texts.keys().filter_map(|key| key.split_once('.')).map(|(it, _)| it).collect();
    let is_entry = |key: &&&str| sections.contains(key.split('.').next().unwrap_or_default());
    for key in used.iter().filter(is_entry) {
        assert!(words.texts.contains_key(*key), "{key} is used and is in no catalogue");
    }
    for key in words.texts.keys() {
        assert!(used.contains(key.as_str()), "{key} is in the catalogues and is not used");
    }
}

#[test]
fn counts_and_numbers_follow_the_language() {
    let english = Words::of(Language::English);
    assert_eq!(english.count("count.commands", 1), "1 command");
    assert_eq!(english.count("count.commands", 1234), "1,234 commands");
    assert_eq!(Words::of(Language::German).number(1_234_567), "1.234.567");
    assert_eq!(english.number(999), "999");
}
