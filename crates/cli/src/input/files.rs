//! Reads playbook files, and suggests another if one does not exist.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::input::nearest::nearest;
use crate::show::failure::Failure;

/// The most files that one command reads.
const FILES_MAX: usize = 10_000;
/// The deepest level of directories searched.
const DEPTH_MAX: usize = 32;
/// The most entries of a directory in which a file of the same name is looked for.
const SUGGESTION_ENTRIES_MAX: usize = 1000;

/// Reads the bytes of a playbook file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| {
        let shown = path.display();
        match error.kind() {
            io::ErrorKind::NotFound => {
                let failure = Failure::bad_input(anyhow!("there is no file {shown}"));
                match meant(path) {
                    Some(other) => failure.help(format!("did you mean {}?", other.display())),
                    None => failure,
                }
            }
            io::ErrorKind::IsADirectory => {
                let failure = Failure::bad_input(anyhow!("{shown} is a directory"));
                match playbooks_in(path).first() {
                    Some(first) => {
                        failure.help(format!("name a file, such as {}", first.display()))
                    }
                    None => failure.help("name a playbook file"),
                }
            }
            _ => Failure::bad_input(
                anyhow::Error::new(error).context(format!("cannot read {shown}")),
            ),
        }
    })
}

/// True if a text names a file rather than a playbook of the catalog.
pub(crate) fn is_file_name(text: &str) -> bool {
    let path = Path::new(text);
    is_yaml(path) || path.exists()
}

/// Returns the YAML files that paths name: each is a file, or a directory that is searched.
pub(crate) fn yaml_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    chosen_files(paths, is_playbook)
}

fn chosen_files(paths: &[PathBuf], is_chosen: fn(&Path) -> bool) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        collect(path, DEPTH_MAX, is_chosen, &mut files)?;
    }
    Ok(files)
}

/// Returns the documents that paths name, by default those below the working directory. Of a
/// directory, only files that say that they are documents of this program.
pub(crate) fn documents(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    chosen_documents(paths, is_playbook)
}

/// Returns the documents that paths name, and the test files of directories.
pub(crate) fn documents_and_tests(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    chosen_documents(paths, is_yaml)
}

fn chosen_documents(
    paths: &[PathBuf],
    is_chosen: fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, Failure> {
    let here = [PathBuf::from(".")];
    let paths = if paths.is_empty() { &here } else { paths };
    let mut documents = Vec::new();
    for path in paths {
        let found = chosen_files(std::slice::from_ref(path), is_chosen)?;
        let is_named = !path.is_dir();
        let found = found.into_iter();
        documents.extend(found.filter(|it| is_named || is_test_file(it) || is_document(it)));
    }
    Ok(documents)
}

/// True if a line of a file gives one of the kinds of documents.
pub(crate) fn is_document(file: &Path) -> bool {
    let Ok(bytes) = std::fs::read(file) else { return true };
    let text = String::from_utf8_lossy(&bytes);
    text.lines().any(|line| {
        let kind = line.trim_start_matches('{').trim_start().strip_prefix("kind:");
        let kind = kind.map(|kind| kind.trim().trim_matches(['"', '\'']));
        kind.is_some_and(|kind| {
            let kind = kind.split([' ', ',', '}']).next().unwrap_or_default();
            matches!(kind, "Playbook" | "Subscription" | "Schedule" | "Notification")
                && !line.starts_with(' ')
        })
    })
}

/// Replaces the content of a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| {
        let context = format!("cannot write {}", path.display());
        Failure::bad_input(anyhow::Error::new(error).context(context))
    })
}

/// Collects the chosen files of a path.
fn collect(
    path: &Path,
    depth: usize,
    is_chosen: fn(&Path) -> bool,
    files: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let before = files.len();
    files.extend(files_in(path, is_chosen));
    if files.len() > FILES_MAX {
        return Err(Failure::bad_input(anyhow!("there are more than {FILES_MAX} files")));
    }
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    let directories = path.read_dir()?.flatten().filter(|entry| {
        // Links are not followed: they may lead in circles. Hidden directories belong to tools.
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        !is_hidden && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    let mut directories: Vec<PathBuf> = directories.map(|entry| entry.path()).collect();
    directories.sort();
    for directory in directories {
        collect(&directory, depth, is_chosen, files)?;
    }
    if files.len() == before && depth == DEPTH_MAX - 1 {
        let shown = path.display();
        return Err(Failure::bad_input(anyhow!("there is no playbook file in {shown}")));
    }
    Ok(())
}

/// Returns the playbook files in a directory, by name.
pub(crate) fn playbooks_in(directory: &Path) -> Vec<PathBuf> {
    files_in(directory, is_playbook)
}

/// Returns the chosen files in a directory, by name.
fn files_in(directory: &Path, is_chosen: fn(&Path) -> bool) -> Vec<PathBuf> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let Ok(entries) = directory.read_dir() else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = paths.filter(|path| is_chosen(path) && path.is_file()).collect();
    found.sort();
    found
}

/// Suggests a file for one that does not exist: a similar name in the same directory, else the same
/// name one directory down, where examples are often kept.
fn meant(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let directory = path.parent().unwrap_or(Path::new(""));
    let beside = playbooks_in(directory);
    let names = beside.iter().filter_map(|file| file.file_name()?.to_str());
    if let Some(near) = nearest(name, names) {
        return Some(directory.join(near));
    }
    let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let below = listed.read_dir().ok()?.flatten().take(SUGGESTION_ENTRIES_MAX);
    let below = below.map(|entry| directory.join(entry.file_name()).join(name));
    below.filter(|file| file.is_file()).min()
}

/// True if the name of a file is that of a playbook, not of its tests.
fn is_playbook(path: &Path) -> bool {
    is_yaml(path) && !is_test_file(path)
}

/// True if a file has the name of a test file: `NAME.test.yaml`.
pub(crate) fn is_test_file(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    is_yaml(path) && stem.is_some_and(|stem| stem.ends_with(".test"))
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: Option<&str>) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("examples")).unwrap();
        for file in ["hello.yaml", "report.yml", "notes.txt", "examples/deep.yaml"] {
            std::fs::write(directory.path().join(file), "").unwrap();
        }
        let meant = meant(&directory.path().join(name));
        assert_eq!(meant, expected.map(|file| directory.path().join(file)), "{name}");
    }

    #[test]
    fn a_slip_of_the_hand_is_found() {
        check("helo.yaml", Some("hello.yaml"));
        check("report.yaml", Some("report.yml"));
    }

    #[test]
    fn the_same_name_one_directory_down_is_found() {
        check("deep.yaml", Some("examples/deep.yaml"));
    }

    #[test]
    fn a_directory_of_many_files_is_read_whole_and_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let names: Vec<String> = (0..1200).map(|index| format!("{index:04}.yaml")).collect();
        for name in &names {
            std::fs::write(directory.path().join(name), "kind: Playbook\n").unwrap();
        }
        let found = documents(&[directory.path().to_owned()]).ok().unwrap();
        let expected: Vec<PathBuf> = names.iter().map(|it| directory.path().join(it)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn files_of_other_kinds_are_ignored() {
        check("invoice.yaml", None);
        check("notes.txt", None);
    }
}
