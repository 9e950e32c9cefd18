//! `noetl test --watch`: runs the tests again when a file changes.

use std::path::{Path, PathBuf};

use super::{find, run_once};
use crate::args::TestArgs;
use crate::commands::stopped;
use crate::input::file_watch::FileWatch;
use crate::input::files;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::{FAINT, Terminal, paint};

pub(super) async fn watch(args: &TestArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let stop = stopped()?;
    let mut watch = FileWatch::default();
    let mut exit = Exit::Completed;
    while watch.changed(|| watched_files(args), &stop).await.is_some() {
        exit = run_once(args, terminal).unwrap_or_else(|failure| {
            failure.explain(terminal);
            failure.exit()
        });
        terminal.say(paint(FAINT, "waiting for a change; Ctrl-C ends"));
    }
    Ok(exit)
}

/// Returns the test files and the playbooks beside them.
fn watched_files(args: &TestArgs) -> Vec<PathBuf> {
    let tests = find::test_files(&args.paths).unwrap_or_default();
    let mut directories: Vec<&Path> = tests.iter().filter_map(|file| file.parent()).collect();
    directories.sort_unstable();
    directories.dedup();
    let playbooks = directories.into_iter().flat_map(files::playbooks_in);
    // A playbook elsewhere is named by its test file.
    let named = tests.iter().filter_map(|file| {
        let source = std::fs::read(file).ok()?;
        find::playbook_of(file, &source).ok()
    });
    playbooks.chain(named).chain(tests.iter().cloned()).collect()
}
