//! Runs every example of the repository as a reader would.

use std::path::{Path, PathBuf};

use crate::sandbox::Sandbox;

#[test]
fn every_example_completes() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<PathBuf> =
        directory.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.retain(|file| !file.to_string_lossy().ends_with(".test.yaml"));
    files.sort();
    assert!(files.len() >= 10, "only {} examples", files.len());
    let sandbox = Sandbox::new();
    for file in files {
        let ended = sandbox.noetl(&["run", file.to_str().unwrap(), "--output", "json"]);
        assert_eq!(ended.code, Some(0), "{}: {}", file.display(), ended.stderr);
    }
}
