//! Finds the playbooks in the directory of a file that the file calls, so that they are registered
//! with it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use noetl_model::ToolKind;
use noetl_playbook::{
    AnalysisLevel, LoopSource, ParseOptions, Playbook, Problems, TargetWorkers, parse_with,
};
use serde::Deserialize;

use crate::input::files;
use crate::show::failure::Failure;

/// A valid playbook file.
pub(crate) struct PlaybookFile {
    pub(crate) file: PathBuf,
    pub(crate) content: String,
    pub(crate) playbook: Playbook,
    /// The warnings about the playbook.
    pub(crate) warnings: Problems,
}

impl PlaybookFile {
    /// Reads a playbook for the given workers.
    pub(crate) fn read(file: &Path, workers: TargetWorkers) -> Result<Self, Failure> {
        Self::of_text(file, files::read(file)?, workers)
    }

    /// Reads a playbook from the text of its file.
    pub(crate) fn of_text(
        file: &Path,
        bytes: Vec<u8>,
        workers: TargetWorkers,
    ) -> Result<Self, Failure> {
        let options = ParseOptions { workers, analysis: AnalysisLevel::Warn };
        let checked = parse_with(options, &file.display().to_string(), &bytes);
        let checked = checked.map_err(Failure::Invalid)?;
        let content = String::from_utf8(bytes).expect("what parses is UTF-8");
        Ok(Self {
            file: file.to_owned(),
            content,
            playbook: checked.playbook,
            warnings: checked.warnings,
        })
    }
}

/// Returns the playbooks that the given ones call, directly or not, and that are in the same
/// directory; and the paths of those that are not.
pub(crate) fn called_by(
    documents: &[PlaybookFile],
    workers: TargetWorkers,
) -> Result<(Vec<PlaybookFile>, Vec<String>), Failure> {
    let mut known: BTreeSet<String> =
        documents.iter().map(|document| document.playbook.metadata.path.clone()).collect();
    let mut waiting: Vec<(PathBuf, String)> = documents.iter().flat_map(calls).collect();
    let mut beside = BTreeMap::new();
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    while let Some((directory, path)) = waiting.pop() {
        if !known.insert(path.clone()) {
            continue;
        }
        let files = beside.entry(directory).or_insert_with_key(|directory| by_path(directory));
        match files.get(&path) {
            Some(file) => {
                let document = PlaybookFile::read(file, workers)?;
                waiting.extend(calls(&document));
                found.push(document);
            }
            None => missing.push(path),
        }
    }
    Ok((found, missing))
}

/// Returns each playbook that a document calls by a literal path, with the directory to search.
fn calls(document: &PlaybookFile) -> Vec<(PathBuf, String)> {
    let directory = document.file.parent().unwrap_or(Path::new(""));
    let tasks = document.playbook.steps.iter().flat_map(|step| {
        let claim = step.repeat.as_ref().and_then(|repeat| match &repeat.source {
            LoopSource::Cursor(claim) => Some(claim.as_ref()),
            LoopSource::In(_) => None,
        });
        step.tasks.iter().chain(claim)
    });
    tasks
        .filter(|task| task.tool == ToolKind::Playbook)
        .filter_map(|task| task.config.source().get("path")?.as_str())
        .filter(|path| !path.contains("{{"))
        .map(|path| (directory.to_owned(), path.to_owned()))
        .collect()
}

/// The part of a document that gives its path.
#[derive(Deserialize)]
struct CalledPlaybook {
    metadata: Name,
}

#[derive(Deserialize)]
struct Name {
    name: Option<String>,
    path: Option<String>,
}

/// Returns the playbook files of a directory by their catalog paths.
fn by_path(directory: &Path) -> BTreeMap<String, PathBuf> {
    files::playbooks_in(directory)
        .into_iter()
        .filter_map(|file| {
            let text = std::fs::read_to_string(&file).ok()?;
            let CalledPlaybook { metadata: Name { name, path } } =
                serde_saphyr::from_str(&text).ok()?;
            Some((path.or(name)?, file))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn playbook(name: &str, tool: &str) -> String {
        format!(
            "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: {name}, path: p/{name}}}\n\
             workflow:\n  - step: start\n    tool: {tool}\n"
        )
    }

    #[track_caller]
    fn check(start: &str, expected_found: &[&str], expected_missing: &[&str]) {
        let directory = tempfile::tempdir().unwrap();
        for (name, tool) in [
            ("parent", "{kind: playbook, path: p/child}"),
            ("child", "{kind: playbook, path: p/grandchild}"),
            ("grandchild", "{kind: playbook, path: p/parent}"),
            ("astray", "{kind: playbook, path: p/nowhere}"),
            ("open", "{kind: playbook, path: \"{{ workload.path }}\"}"),
        ] {
            let file = directory.path().join(format!("{name}.yaml"));
            std::fs::write(file, playbook(name, tool)).unwrap();
        }
        let start = PlaybookFile::read(&directory.path().join(start), TargetWorkers::Ours).unwrap();
        let (found, missing) = called_by(&[start], TargetWorkers::Ours).unwrap();
        let found: Vec<&str> = found.iter().map(|it| it.playbook.metadata.path.as_str()).collect();
        assert_eq!(found, expected_found);
        assert_eq!(missing, expected_missing);
    }

    #[test]
    fn called_playbooks_are_found_at_every_depth_and_once() {
        check("parent.yaml", &["p/child", "p/grandchild"], &[]);
    }

    #[test]
    fn a_called_playbook_without_a_file_is_named() {
        check("astray.yaml", &[], &["p/nowhere"]);
    }

    #[test]
    fn a_path_that_is_rendered_later_is_left_alone() {
        check("open.yaml", &[], &[]);
    }
}
