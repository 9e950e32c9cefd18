//! `noetl test`: runs the tests of playbooks in the engine alone, and writes and replays histories.

mod find;
mod history;
mod junit;
mod record;
mod replay;
mod report;
mod run;
mod save;
mod watch;

use std::path::Path;

use anyhow::anyhow;

use crate::args::{TestArgs, TestCommand, TestFormat};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::pretty;
use crate::show::terminal::Terminal;
pub(super) use find::test_files;
pub(crate) use find::{load, parse_tests, playbook_of, with_called};
pub(super) use history::{History, playbook_text, stored};
pub(crate) use report::problem;
use run::TestSession;

pub(crate) async fn test(
    args: &TestArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match &args.command {
        Some(TestCommand::Record(args)) => record::record(args, config, terminal).await,
        Some(TestCommand::Save(args)) => save::save(args, config, terminal).await,
        Some(TestCommand::Replay(args)) => replay::replay(args, config, terminal).await,
        None if args.watch => watch::watch(args, terminal).await,
        None => run_once(args, terminal),
    }
}

/// Runs all tests below a directory and prints their results.
pub(super) fn run_all(directory: &Path, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let args = TestArgs {
        command: None,
        paths: vec![directory.to_owned()],
        filter: None,
        watch: false,
        format: TestFormat::Human,
        coverage: false,
        jobs: None,
    };
    run_once(&args, terminal)
}

/// Runs all chosen tests and prints their results.
fn run_once(args: &TestArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let files = find::test_files(&args.paths)?;
    let session = TestSession::run(&files, args);
    if session.tests() == 0 && session.invalid() == 0 {
        return Err(none_found(args, files.len()));
    }
    match args.format {
        TestFormat::Human => terminal.data(&report::human(&session, args.coverage))?,
        TestFormat::Json => terminal.data(&pretty(&report::document(&session, args.coverage)))?,
        TestFormat::Junit => terminal.data(&junit::document(&session))?,
    }
    Ok(session.exit())
}

fn none_found(args: &TestArgs, files: usize) -> Failure {
    match &args.filter {
        Some(filter) if files > 0 => {
            Failure::bad_input(anyhow!("no test has `{filter}` in its name"))
                .help("leave out --filter to run all tests")
        }
        Some(_) | None => Failure::bad_input(anyhow!("there is no test file (NAME.test.yaml)"))
            .help("docs/testing.md shows how to write one; `noetl test record last` writes one"),
    }
}
