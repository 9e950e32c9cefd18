//! Test files from texts, and their results as text.

use noetl_playbook::{Playbook, TestFile, parse, parse_test_file};
use noetl_playtest::{FaultLine, PlaybookLibrary, TestOutcome, run_test};

pub(crate) fn playbook(yaml: &str) -> Playbook {
    match parse("t.yaml", yaml.as_bytes()) {
        Ok(checked) => checked.playbook,
        Err(problems) => panic!("{problems}"),
    }
}

/// Returns a playbook with the given workflow.
pub(crate) fn workflow(steps: &str) -> Playbook {
    playbook(&format!(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: t}}\nworkflow:\n{steps}"
    ))
}

pub(crate) fn test_file(
    playbook: &Playbook,
    library: &PlaybookLibrary,
    yaml: &str,
) -> Result<TestFile, String> {
    let children = |path: &str| library.get(path);
    parse_test_file("t.test.yaml", yaml.as_bytes(), playbook, &children)
        .map_err(|problems| problems.to_string())
}

/// Runs every test of a file.
pub(crate) fn run(playbook: &Playbook, library: &PlaybookLibrary, yaml: &str) -> Vec<TestOutcome> {
    match test_file(playbook, library, yaml) {
        Ok(file) => file.tests.iter().map(|test| run_test(playbook, library, test)).collect(),
        Err(problems) => panic!("{problems}"),
    }
}

/// Returns the faults of a test as text.
pub(crate) fn printed(outcome: &TestOutcome) -> String {
    let mut text = String::new();
    for fault in &outcome.faults {
        text += &format!("{}\n", fault.message);
        for line in &fault.diff {
            text += &match line {
                FaultLine::Place(place) => format!("    {place}\n"),
                FaultLine::Expected(value) => format!("  - {value}\n"),
                FaultLine::Actual(value) => format!("  + {value}\n"),
            };
        }
        if let Some(help) = &fault.help {
            text += &format!("  help: {help}\n");
        }
    }
    text
}
