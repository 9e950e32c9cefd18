//! Runs the test file of every example.

use std::path::{Path, PathBuf};

use noetl_playtest::PlaybookLibrary;

use crate::files::{playbook, printed, run};

pub(crate) fn examples() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = directory.read_dir().expect("the examples are there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| {
        let name = file.to_string_lossy();
        name.ends_with(".yaml") && !name.ends_with(".test.yaml")
    });
    files.sort();
    files
}

#[test]
fn every_example_has_tests_and_they_pass() {
    let files = examples();
    assert!(files.len() >= 20, "only {} examples", files.len());
    let read = |file: &Path| std::fs::read_to_string(file).expect("a readable file");
    let library: PlaybookLibrary = files
        .iter()
        .map(|file| playbook(&read(file)))
        .map(|playbook| (playbook.metadata.path.clone(), playbook))
        .collect();
    let mut faults = String::new();
    for file in &files {
        let tests = file.with_extension("test.yaml");
        assert!(tests.is_file(), "{} has no tests", file.display());
        let playbook = playbook(&read(file));
        for (number, outcome) in run(&playbook, &library, &read(&tests)).iter().enumerate() {
            if !outcome.has_passed() {
                let name = tests.display();
                faults += &format!("{name}, test {}:\n{}", number + 1, printed(outcome));
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}
