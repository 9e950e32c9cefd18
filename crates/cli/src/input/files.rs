//! Reads playbook files, and suggests another if one does not exist.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::input::nearest::nearest;
use crate::show::failure::Failure;

/// The most files of a directory considered.
const DIRECTORY_FILES_MAX: usize = 1000;

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

/// Returns the playbook files in a directory, by name.
pub(crate) fn playbooks_in(directory: &Path) -> Vec<PathBuf> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let Ok(entries) = directory.read_dir() else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| is_yaml(path) && path.is_file()).take(DIRECTORY_FILES_MAX).collect();
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
    let below = listed.read_dir().ok()?.flatten().take(DIRECTORY_FILES_MAX);
    let below = below.map(|entry| directory.join(entry.file_name()).join(name));
    below.filter(|file| file.is_file()).min()
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
    fn something_else_altogether_is_not() {
        check("invoice.yaml", None);
        check("notes.txt", None);
    }
}
