//! `noetl test --watch`: runs the tests again when a file changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{find, run_once};
use crate::args::TestArgs;
use crate::commands::stopped;
use crate::input::files;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::{FAINT, Terminal, paint};

/// The interval at which files are looked at.
const LOOK: Duration = Duration::from_millis(300);

/// The time of the last change of each file.
type ChangeTimes = BTreeMap<PathBuf, Option<SystemTime>>;

pub(super) async fn watch(args: &TestArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let stop = stopped()?;
    loop {
        let seen = change_times(args);
        let exit = match run_once(args, terminal) {
            Ok(exit) => exit,
            Err(failure) => {
                failure.explain(terminal);
                failure.exit()
            }
        };
        terminal.say(paint(FAINT, "waiting for a change; Ctrl-C ends"));
        while change_times(args) == seen {
            tokio::select! {
                () = stop.cancelled() => return Ok(exit),
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }
}

/// Returns the test files and the playbooks beside them, with their times.
fn change_times(args: &TestArgs) -> ChangeTimes {
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
    let all = playbooks.chain(named).collect::<Vec<_>>().into_iter().chain(tests.clone());
    let modified = |file: &Path| file.metadata().and_then(|about| about.modified()).ok();
    all.map(|file| {
        let at = modified(&file);
        (file, at)
    })
    .collect()
}
