//! The arguments of `noetl test`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCandidates;

use super::{Chosen, ClientArgs};
use crate::input::candidates;

pub(super) const TEST_EXAMPLES: &str = "\
A test file NAME.test.yaml is beside its playbook NAME.yaml. Its tests run in the engine alone: tools
are mocked, and waits, retries and delays take no time. A call without a mock fails the test. Steps of
kind noop and rhai need no mock; a child playbook is run from the file beside it, or mocked.

Exit codes: 0 all tests passed, 1 at least one failed, 2 a file is not valid or there are no tests.

Examples:
  noetl test
  noetl test examples/hello_world.yaml
  noetl test playbooks --filter retry --watch
  noetl test --coverage
  noetl test --format junit > report.xml
  noetl test record last
  noetl test replay last --playbook changed.yaml";

const RECORD_EXAMPLES: &str = "\
The results of all calls become mocks; signals, decisions and the end are recorded too. Values of keys
that name secrets, secret inputs and sealed values are masked, also where the same texts appear in
messages of errors and other values. The new test is run once.

Examples:
  noetl test record last
  noetl test record last --playbook playbooks/report.yaml
  noetl test record 380888861418373120 --out report.test.yaml --name 'the night of the outage'";

const SAVE_EXAMPLES: &str = "\
The file has all events, and the values that are stored apart from them. Nothing is masked: secret
inputs are sealed, but other secrets that the execution has are in the file.

Examples:
  noetl test save last --directory histories
  noetl test replay histories --playbook changed.yaml";

const REPLAY_EXAMPLES: &str = "\
The inputs of the history (claims, results of tools, timers, signals, decisions) are given to the
engine again, and the events that follow are compared with the recorded ones. Nothing is run or
stored. Without --playbook, the version that the execution used is taken: its history must be the
same with any version of noetl.

A directory has files ID.jsonl, written by `noetl test save ID`. Histories of
other playbooks are skipped. A file that cannot be read is a failure of its own; the others are
replayed. A directory has at most 10,000 histories.

Exit codes: 0 all histories are the same, 1 one differs, 2 bad input (also of one history).

Examples:
  noetl test replay last
  noetl test replay last --playbook changed.yaml
  noetl test replay histories --playbook changed.yaml";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TestArgs {
    #[command(subcommand)]
    pub(crate) command: Option<TestCommand>,
    /// Test files, playbook files, or directories to search [default: the working directory]
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Only tests whose name, or whose file, contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Run the tests again whenever a file changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
    /// Format of the result
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub(crate) format: TestFormat,
    /// Report the steps, arcs and guards that no test uses
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Number of tests that run at the same time [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TestCommand {
    /// Write a test from an execution
    Record(TestRecordArgs),
    /// Write the history of an execution to a file, to replay it later
    Save(TestSaveArgs),
    /// Replay histories against a playbook and show the first event that differs
    Replay(TestReplayArgs),
}

#[derive(Debug, Args)]
#[command(after_help = RECORD_EXAMPLES)]
pub(crate) struct TestRecordArgs {
    /// Id of an execution, or `last`
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) execution: Chosen,
    /// Playbook file that the test is for [default: the version that the execution used, which is
    /// written beside the test if there is no such file]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) playbook: Option<PathBuf>,
    /// Test file to write [default: NAME.test.yaml beside the playbook file; it must not exist]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    /// Name of the test [default: execution ID]
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
    /// Replace a test file that exists
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = SAVE_EXAMPLES)]
pub(crate) struct TestSaveArgs {
    /// Id of an execution, or `last`
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) execution: Chosen,
    /// Directory to write ID.jsonl to; it is created if it does not exist
    #[arg(long, value_name = "DIRECTORY", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = REPLAY_EXAMPLES)]
pub(crate) struct TestReplayArgs {
    /// Id of an execution, `last`, or a directory of histories
    #[arg(value_name = "ID_OR_DIRECTORY", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) history: String,
    /// Playbook file to replay against [default: the version that the execution used]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) playbook: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// The format of the results of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestFormat {
    Human,
    Json,
    /// JUnit XML, for continuous integration
    Junit,
}
