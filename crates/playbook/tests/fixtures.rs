//! Real playbooks by others: those expected to run are parsed without errors, and those expected to
//! be refused are refused. The fixtures are next to the workspace; without them nothing is checked.

use std::path::{Path, PathBuf};

use noetl_playbook::layout::{ArcShape, GraphLayout, GraphShape, NodeSize, layout};
use noetl_playbook::{Playbook, Problems, parse};
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
        let name = path.to_string_lossy();
        if name.ends_with(".yaml") && !name.ends_with(".test.yaml") {
            let problems = read(&path).map_or_else(|problems| problems, |checked| checked.warnings);
            said.push_str(&problems.to_string());
        }
    }
    assert!(said.is_empty(), "{said}");
}

/// Returns the playbooks of the fixtures and of the examples that can be read.
fn playbooks() -> Vec<(PathBuf, Playbook)> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let directories =
        [Some(examples), fixtures().map(|root| root.join("playbooks"))].into_iter().flatten();
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = directories.collect();
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).expect("the directory is readable") {
            let path = entry.expect("the directory is readable").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "yaml")
                && let Ok(checked) = read(&path)
            {
                found.push((path, checked.playbook));
            }
        }
    }
    assert!(!found.is_empty());
    found
}

fn shape_of(playbook: &Playbook) -> GraphShape {
    let size = NodeSize { width: 190.0, height: 46.0, loop_height: 64.0 };
    GraphShape::of(playbook, size, |arc| if arc.when.is_some() { 120.0 } else { 0.0 })
}

#[test]
fn no_two_steps_of_a_drawn_fixture_overlap() {
    for (path, playbook) in playbooks() {
        let GraphLayout { nodes, .. } = layout(&shape_of(&playbook));
        for (index, a) in nodes.iter().enumerate() {
            for b in &nodes[..index] {
                let beside = a.right() <= b.left || b.right() <= a.left;
                let above = a.bottom() <= b.top || b.bottom() <= a.top;
                assert!(beside || above, "{}: {a:?} {b:?}", path.display());
            }
        }
    }
}

/// A step added behind any other leaves the others in their layer and, with few exceptions, in their
/// order.
#[test]
fn a_drawn_fixture_is_stable_when_a_step_is_added() {
    let (mut pairs, mut swapped) = (0, 0);
    for (path, playbook) in playbooks() {
        let shape = shape_of(&playbook);
        let before = layout(&shape).nodes;
        for from in (0..before.len()).filter(|from| shape.last != Some(*from)) {
            let mut longer = shape.clone();
            longer.node_heights.push(46.0);
            longer.arcs.push(ArcShape { from, to: before.len(), label_width: 0.0 });
            let after = layout(&longer).nodes;
            for (index, old) in before.iter().enumerate() {
                assert_eq!(old.layer, after[index].layer, "{}", path.display());
                for (other, it) in before[..index].iter().enumerate() {
                    let is_above = after[other].top < after[index].top;
                    pairs += usize::from(it.layer == old.layer);
                    swapped += usize::from(it.layer == old.layer && (it.top < old.top) != is_above);
                }
            }
        }
    }
    assert!(swapped * 50 < pairs, "{swapped} of {pairs} pairs changed their order");
}
