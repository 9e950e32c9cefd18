//! Databases that each version of noetl has written: this version migrates, verifies, replays and
//! continues them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::playbooks::HELLO;
use crate::sandbox::Sandbox;

/// The examples whose executions are in the database of a version; the first is a child of another.
const EXAMPLES: [&str; 9] = [
    "sub_playbook_child",
    "sub_playbook",
    "hello_world",
    "branching",
    "fan_out_join",
    "loop_parallel",
    "loop_sequential_carry",
    "map_loop",
    "workbook",
];

fn databases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/databases")
}

/// Runs a command that has to succeed, and returns its standard output.
#[track_caller]
fn done(sandbox: &Sandbox, args: &[&str]) -> String {
    let ended = sandbox.noetl(args);
    assert_eq!(ended.code, Some(0), "{args:?}: {}{}", ended.stdout, ended.stderr);
    ended.stdout
}

#[test]
fn databases_of_every_version_are_migrated_verified_replayed_and_continued() {
    let mut count = 0;
    for entry in databases().read_dir().expect("a directory") {
        let kept = entry.expect("an entry").path();
        let sandbox = Sandbox::new().with("hello.yaml", HELLO);
        std::fs::copy(&kept, sandbox.path("old.db")).expect("a copy");
        // A running execution is the first to migrate the database.
        done(&sandbox, &["run", "hello.yaml", "-q", "--db", "old.db"]);
        let listed = sandbox.json(&["executions", "list", "--db", "old.db", "-o", "json"]);
        let listed: Vec<&Value> = listed.as_array().into_iter().flatten().collect();
        assert!(listed.len() > EXAMPLES.len(), "{}: {listed:?}", kept.display());
        for execution in listed {
            assert_eq!(execution["status"], "COMPLETED", "{}: {execution}", kept.display());
            let id = execution["execution_id"].as_str().expect("an id");
            done(&sandbox, &["verify", id, "--db", "old.db"]);
            let replayed = sandbox.json(&["replay", id, "--db", "old.db", "-o", "json"]);
            assert_eq!(replayed["execution"]["status"], "COMPLETED", "{}: {id}", kept.display());
            count += 1;
        }
    }
    assert!(count > EXAMPLES.len(), "only {count} executions");
}

/// Checks that this version has a database; with `UPDATE_EXPECT=1`, a missing one is written. An
/// existing one stays as its version has written it.
#[test]
fn there_is_a_database_of_this_version() {
    let kept = databases().join(format!("{}.db", env!("CARGO_PKG_VERSION")));
    if kept.is_file() {
        return;
    }
    let is_update = std::env::var_os("UPDATE_EXPECT").is_some();
    assert!(is_update, "{} is missing; UPDATE_EXPECT=1 writes it", kept.display());
    let sandbox = Sandbox::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for example in EXAMPLES {
        let file = examples.join(example).with_extension("yaml");
        let file = file.to_str().expect("a plain name");
        done(&sandbox, &["register", file, "--db", "new.db"]);
        done(&sandbox, &["run", file, "-q", "--db", "new.db"]);
    }
    std::fs::create_dir_all(databases()).expect("a writable directory");
    done(&sandbox, &["db", "backup", "backup", "--db", "new.db"]);
    std::fs::copy(sandbox.path("backup/noetl.db"), kept).expect("a writable directory");
}
