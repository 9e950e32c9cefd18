//! Real playbooks by others: those expected to run are parsed without errors, and those expected to
//! be refused are refused. The fixtures are next to the workspace; without them nothing is checked.

use std::path::{Path, PathBuf};

use noetl_playbook::{Problems, parse};
use serde_json::Value;

/// Returns the directory of the fixtures, if it exists.
fn fixtures() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures");
    root.join("open.json").exists().then_some(root)
}

fn read(path: &Path) -> Result<noetl_playbook::CheckedPlaybook, Problems> {
    let source = std::fs::read(path).expect("a fixture of the list is there");
    parse(&path.display().to_string(), &source)
}

#[test]
fn every_fixture_is_read_or_refused_as_expected() {
    let Some(root) = fixtures() else { return };
    let list = std::fs::read(root.join("open.json")).expect("the list of fixtures is readable");
    let list: Vec<Value> = serde_json::from_slice(&list).expect("the list of fixtures is JSON");
    assert!(!list.is_empty());
    let mut wrong = String::new();
    for fixture in &list {
        let file = fixture["file"].as_str().expect("a fixture names its file");
        let refused = fixture["expect"]["status"] == "REJECTED";
        match read(&root.join("playbooks").join(file)) {
            Ok(checked) if !refused => {
                assert_eq!(checked.playbook.metadata.path, fixture["path"], "{file}");
                wrong.push_str(&strange_warnings(&checked.warnings));
            }
            Err(_) if refused => {}
            Ok(_) => wrong.push_str(&format!("{file} should be refused\n")),
            Err(problems) => wrong.push_str(&problems.to_string()),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Returns the warnings that a playbook in current spelling should not get.
fn strange_warnings(warnings: &Problems) -> String {
    use noetl_playbook::DiagnosticCode;
    let expected =
        |code| matches!(code, DiagnosticCode::UnreachableStep | DiagnosticCode::UnknownKey);
    if warnings.diagnostics().iter().all(|diagnostic| expected(diagnostic.code)) {
        return String::new();
    }
    warnings.to_string()
}

#[test]
fn the_examples_are_read_without_a_warning() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = std::fs::read_dir(root).expect("the examples are in the workspace");
    let mut said = String::new();
    for file in files {
        let path = file.expect("the directory is readable").path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let problems = read(&path).map_or_else(|problems| problems, |checked| checked.warnings);
            said.push_str(&problems.to_string());
        }
    }
    assert!(said.is_empty(), "{said}");
}
