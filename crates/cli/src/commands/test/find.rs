//! Finds test files, and reads them with their playbooks.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use noetl_playbook::{
    PlaybookTest, Problems, TargetWorkers, TestFile, document_value, parse_test_file,
};
use noetl_playtest::PlaybookLibrary;
use serde_json::Value;

use crate::input::called_playbooks::{PlaybookFile, called_by};
use crate::input::files;
use crate::show::failure::Failure;

/// The most test files of one command.
const TEST_FILES_MAX: usize = 100_000;
/// The deepest level of directories searched.
const DEPTH_MAX: usize = 32;
/// The endings of a test file.
const TEST_ENDINGS: [&str; 2] = [".test.yaml", ".test.yml"];

/// A test file with its playbook and the playbooks that it calls.
pub(crate) struct LoadedTests {
    pub(crate) playbook: PlaybookFile,
    pub(crate) library: PlaybookLibrary,
    pub(crate) tests: Vec<PlaybookTest>,
}

/// Returns the test files of the given paths, sorted; of the working directory if none is given.
pub(in crate::commands) fn test_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    if paths.is_empty() {
        collect(Path::new("."), DEPTH_MAX, &mut found)?;
    }
    for path in paths {
        if path.is_dir() {
            collect(path, DEPTH_MAX, &mut found)?;
        } else if files::is_test_file(path) {
            found.push(path.clone());
        } else {
            found.push(tests_of(path)?);
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Returns the test file beside a playbook.
fn tests_of(playbook: &Path) -> Result<PathBuf, Failure> {
    files::read(playbook)?;
    let beside = TEST_ENDINGS.map(|ending| playbook.with_extension(&ending[1..]));
    let first = beside[0].display().to_string();
    beside.into_iter().find(|file| file.is_file()).ok_or_else(|| {
        Failure::bad_input(anyhow!("{} has no tests", playbook.display()))
            .help(format!("its tests belong in {first}"))
    })
}

fn collect(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    for entry in directory.read_dir()?.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        // Links are not followed: they may lead in circles.
        if kind.is_dir() && !is_hidden {
            collect(&entry.path(), depth, found)?;
        } else if files::is_test_file(&entry.path()) {
            let path = entry.path();
            found.push(path.strip_prefix(".").map(Path::to_owned).unwrap_or(path));
        }
        if found.len() > TEST_FILES_MAX {
            return Err(Failure::bad_input(anyhow!("there are more than {TEST_FILES_MAX} files")));
        }
    }
    Ok(())
}

/// Reads a test file and its playbook.
pub(crate) fn load(file: &Path) -> Result<LoadedTests, Failure> {
    let source = files::read(file)?;
    let playbook = PlaybookFile::read(&playbook_of(file, &source)?, TargetWorkers::Any)?;
    let (playbook, library) = with_called(playbook)?;
    let tests = parse_tests(file, &source, &playbook, &library);
    let tests = tests.map_err(Failure::Invalid)?.tests;
    Ok(LoadedTests { playbook, library, tests })
}

/// Reads the tests of a file.
pub(crate) fn parse_tests(
    file: &Path,
    source: &[u8],
    playbook: &PlaybookFile,
    library: &PlaybookLibrary,
) -> Result<TestFile, Problems> {
    let children = |path: &str| library.get(path);
    parse_test_file(&file.display().to_string(), source, &playbook.playbook, &children)
}

/// Reads the playbooks that a playbook calls.
pub(crate) fn with_called(
    playbook: PlaybookFile,
) -> Result<(PlaybookFile, PlaybookLibrary), Failure> {
    let playbooks = [playbook];
    let (called, _) = called_by(&playbooks, TargetWorkers::Any)?;
    let [playbook] = playbooks;
    let called = called.into_iter().map(|called| called.playbook);
    let library: PlaybookLibrary = called
        .chain([playbook.playbook.clone()])
        .map(|playbook| (playbook.metadata.path.clone(), playbook))
        .collect();
    Ok((playbook, library))
}

/// Returns the playbook that a test file is for.
pub(crate) fn playbook_of(file: &Path, source: &[u8]) -> Result<PathBuf, Failure> {
    let directory = file.parent().unwrap_or(Path::new(""));
    let document = document_value(source);
    if let Some(named) = document.as_ref().and_then(|it| it.get("playbook")?.as_str()) {
        return Ok(directory.join(named));
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = TEST_ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
    let stem = stem.unwrap_or(&name);
    let beside = ["yaml", "yml"].map(|ending| directory.join(format!("{stem}.{ending}")));
    let shown = beside[0].display().to_string();
    beside.into_iter().find(|file| file.is_file()).ok_or_else(|| {
        let is_read = document.is_some_and(|document| document != Value::Null);
        let help =
            if is_read { "name another file with `playbook: FILE`" } else { "it is no YAML" };
        Failure::bad_input(anyhow!("{}: there is no playbook {shown}", file.display())).help(help)
    })
}
