//! The arguments of the command line and their `--help` texts.
//!
//! Invariant: the help of every command ends with examples that can be pasted.

mod approvals;
mod audit;
mod bulk;
mod client;
mod credential;
mod db;
#[cfg(test)]
mod documented;
mod events;
mod executions;
mod export;
mod fork;
mod holds;
mod init;
mod lint;
mod notifications;
mod replay;
mod schedule;
mod signals;
mod test;
mod token;
mod verify;

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use clap_complete::engine::ArgValueCandidates;
use noetl_model::{ErrorMode, ExecutionId, Label, ParseIdError, Priority};
use url::Url;

pub(crate) use credential::{
    CredentialCommand, CredentialGetArgs, CredentialListArgs, CredentialNameArgs,
    CredentialRotateArgs, CredentialSetArgs,
};

use crate::config::Flags;
use crate::input::candidates;
use crate::input::workload::ValueAssignment;
use approvals::APPROVALS_EXAMPLES;
pub(crate) use approvals::{
    ApprovalLinkArgs, ApprovalListArgs, ApprovalShowArgs, ApprovalsCommand, DecideArgs,
    WhichApproval,
};
pub(crate) use bulk::BulkArgs;
pub(crate) use export::ExportArgs;
pub(crate) use fork::{ChangeArgs, ForkArgs, RetryArgs};
pub(crate) use verify::VerifyArgs;

use client::{CATALOG_EXAMPLES, CONFIG_EXAMPLES, parse_server};
pub(crate) use client::{
    CatalogArchiveArgs, CatalogCommand, CatalogGetArgs, CatalogListArgs, ClientArgs, ConfigCommand,
    ConfigShowArgs, ConfigTrustArgs, RegisterArgs, StatusArgs,
};
use db::DB_EXAMPLES;
pub(crate) use db::{BackupArgs, CheckArgs, DbCommand, RestoreArgs};
pub(crate) use events::{
    DeadChoiceArgs, DeadCommand, FeedAddArgs, FeedCommand, FeedListArgs, FeedReadArgs,
    FeedSeekArgs, OutboxChoiceArgs, OutboxCommand, OutboxListArgs, SubscriptionArgs,
    SubscriptionCommand, SubscriptionListArgs,
};
use events::{FEED_EXAMPLES, OUTBOX_EXAMPLES, SUBSCRIPTION_EXAMPLES};
use executions::EXECUTIONS_EXAMPLES;
pub(crate) use executions::{
    CancelArgs, DeleteArgs, EventsArgs, ExecutionsCommand, GetArgs, KeepArgs, ListArgs, LogsArgs,
    RerunArgs, ResumeArgs, SignalArgs,
};
pub(crate) use holds::{
    CallerArgs, CatalogPauseArgs, HoldListArgs, LimitArgs, LimitListArgs, LimitsCommand, PauseArgs,
    PoolsCommand,
};
use holds::{LIMITS_EXAMPLES, POOLS_EXAMPLES};
pub(crate) use init::{DevArgs, DiffArgs, DiffFormat, InitArgs};
pub(crate) use lint::{ExplainArgs, FmtArgs, LSP_EXAMPLES, LintArgs, LintFormat, LspArgs};
use notifications::NOTIFICATIONS_EXAMPLES;
pub(crate) use notifications::{NotificationArgs, NotificationListArgs, NotificationsCommand};
pub(crate) use replay::{Moments, ReplayArgs, TimelineArgs};
use schedule::SCHEDULE_EXAMPLES;
pub(crate) use schedule::{
    BackfillArgs, ScheduleArgs, ScheduleCommand, ScheduleListArgs, ScheduleNextArgs,
};

pub(crate) use audit::AuditArgs;
use signals::SIGNALS_EXAMPLES;
pub(crate) use signals::{SignalDropArgs, SignalFilterArgs, SignalListArgs, SignalsCommand};
use test::TEST_EXAMPLES;
pub(crate) use test::{
    TestArgs, TestCommand, TestFormat, TestRecordArgs, TestReplayArgs, TestSaveArgs,
};
pub(crate) use token::{
    TokenCommand, TokenCreateArgs, TokenExpiry, TokenListArgs, TokenRevokeArgs,
};

/// Run playbooks: workflows in YAML, recorded as events so that they survive crashes and can be
/// replayed.
#[derive(Debug, Parser)]
#[command(name = "noetl", version, propagate_version = true, arg_required_else_help = true)]
#[command(max_term_width = 100, after_help = ROOT_EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
    /// Log more: -v, -vv, -vvv; RUST_LOG sets a filter in detail
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Use of colours; NO_COLOR=1 also switches them off
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorWhen,
    /// Settings file [default: noetl.toml in the working directory or a parent directory, and the
    /// user's noetl.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Use the server of this name in the settings
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Format of the log: text or json
    #[arg(long, global = true, value_name = "FORMAT", value_parser = ["text", "json"])]
    pub(crate) log_format: Option<String>,
}

impl Arguments {
    /// Returns the flags about configuration.
    pub(crate) fn flags(&self) -> Flags {
        Flags {
            config: self.config.clone(),
            context: self.context.clone(),
            log_format: self.log_format.clone(),
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run a playbook to its end and print its result
    Run(RunArgs),
    /// Write a first playbook with its test, settings and a README
    Init(InitArgs),
    /// Serve a directory while you write: check, register and test its playbooks on every change
    Dev(DevArgs),
    /// Check playbooks without running them
    Validate(ValidateArgs),
    /// Test playbooks without services: mocked tools, virtual time
    #[command(after_help = TEST_EXAMPLES)]
    Test(TestArgs),
    /// Check documents by all rules, with the code that they contain
    Lint(LintArgs),
    /// Explain a rule of `lint` and `validate`
    Explain(ExplainArgs),
    /// Format documents without changing their values or comments
    Fmt(FmtArgs),
    /// Serve an editor: diagnostics, completion, hover, definition, rename (language server)
    #[command(after_help = LSP_EXAMPLES)]
    Lsp(LspArgs),
    /// Compare two playbooks, or two versions of one, by meaning
    Diff(DiffArgs),
    /// Draw the steps of a playbook and the arcs between them
    Graph(GraphArgs),
    /// List, show, cancel, retry and rerun executions
    #[command(subcommand, visible_alias = "execution", after_help = EXECUTIONS_EXAMPLES)]
    Executions(ExecutionsCommand),
    /// Show the status of an execution in short
    Status(StatusArgs),
    /// Cancel an execution, its running steps and its children
    Cancel(CancelArgs),
    /// Show what the steps of an execution print, also while they run
    Logs(LogsArgs),
    /// Send a signal to an execution that waits for it, now or later
    Signal(SignalArgs),
    /// List and drop the signals sent by key that no step has taken
    #[command(subcommand, after_help = SIGNALS_EXAMPLES)]
    Signals(SignalsCommand),
    /// List what waits for the decision of a person; approve or reject it
    #[command(subcommand, visible_alias = "approval", after_help = APPROVALS_EXAMPLES)]
    Approvals(ApprovalsCommand),
    /// Verify the stored history of executions: digests, events and derived data
    Verify(VerifyArgs),
    /// Write executions with their values and playbooks to a file that any machine can read
    Export(ExportArgs),
    /// Resume interrupted executions and run them to their end
    Resume(ResumeArgs),
    /// Show an execution as of an earlier event or time, or what changed between two
    Replay(ReplayArgs),
    /// Store playbooks in the catalog without running them
    Register(RegisterArgs),
    /// List, show, archive and restore the playbooks in the catalog
    #[command(subcommand, after_help = CATALOG_EXAMPLES)]
    Catalog(CatalogCommand),
    /// Serve the HTTP API and run the executions started through it
    Server(ServerArgs),
    /// Open the web interface in a browser; starts a server if none runs
    Ui(UiArgs),
    /// Serve a demonstration: executions that run, fail, retry and wait, with their web interface
    Demo(DemoArgs),
    /// Run commands for a server
    Worker(WorkerArgs),
    /// List paused pools, pause and resume them
    #[command(subcommand, visible_alias = "pool", after_help = POOLS_EXAMPLES)]
    Pools(PoolsCommand),
    /// Show limits, who holds them and who waits for them
    #[command(subcommand, visible_alias = "limit", after_help = LIMITS_EXAMPLES)]
    Limits(LimitsCommand),
    /// List, test, pause and resume notifications about executions
    #[command(subcommand, after_help = NOTIFICATIONS_EXAMPLES)]
    Notifications(NotificationsCommand),
    /// List, retry and drop pending messages (outbox)
    #[command(subcommand, after_help = OUTBOX_EXAMPLES)]
    Outbox(OutboxCommand),
    /// Follow the events of all executions
    #[command(subcommand, after_help = FEED_EXAMPLES)]
    Feed(FeedCommand),
    /// List subscriptions, start and stop taking their messages
    #[command(subcommand, visible_alias = "subscriptions", after_help = SUBSCRIPTION_EXAMPLES)]
    Subscription(SubscriptionCommand),
    /// List and pause schedules, start executions for missed instants
    #[command(subcommand, visible_alias = "schedules", after_help = SCHEDULE_EXAMPLES)]
    Schedule(ScheduleCommand),
    /// Install libraries that tools need besides this binary
    #[command(subcommand, after_help = TOOLS_EXAMPLES)]
    Tools(ToolsCommand),
    /// Store secrets that playbooks use by alias
    #[command(
        subcommand, visible_alias = "credentials",
        after_help = credential::CREDENTIAL_EXAMPLES
    )]
    Credential(CredentialCommand),
    /// Create, list and revoke the tokens that clients of a server send
    #[command(subcommand, visible_alias = "tokens", after_help = token::TOKEN_EXAMPLES)]
    Token(TokenCommand),
    /// Print the audit log: who changed what, from where, with which outcome
    Audit(AuditArgs),
    /// Print the JSON Schema of playbooks or of their tests, for editors
    Schema(SchemaArgs),
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
    /// Back up, restore and check the embedded database
    #[command(subcommand, after_help = DB_EXAMPLES)]
    Db(DbCommand),
    /// Check that everything noetl needs is present, or that a server is healthy
    Doctor(DoctorArgs),
    /// Show the settings, trust the settings file of a project
    #[command(subcommand, after_help = CONFIG_EXAMPLES)]
    Config(ConfigCommand),
}

#[derive(Debug, Args)]
#[command(after_help = RUN_HELP)]
pub(crate) struct RunArgs {
    /// Playbook file, or path of a registered playbook: PATH or PATH@VERSION
    #[arg(value_name = "FILE_OR_PATH", value_hint = clap::ValueHint::FilePath)]
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    /// Additional playbook file to register first, such as one that a step calls
    #[arg(long, value_name = "FILE")]
    pub(crate) with: Vec<PathBuf>,
    /// Ask for no missing inputs, also on a terminal
    #[arg(long)]
    pub(crate) no_input: bool,
    /// Error mode: strict (a tool's error fails its step) or lenient [default: the playbook's
    /// choice]
    #[arg(long, value_name = "MODE", value_parser = parse_error_mode)]
    pub(crate) error_mode: Option<ErrorMode>,
    /// Priority from 0 to 9: commands of executions with a higher one are leased first [default:
    /// the playbook's choice, else 5]
    #[arg(long, value_name = "N")]
    pub(crate) priority: Option<Priority>,
    /// Label of the execution, to find it by: KEY=VALUE (repeatable)
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub(crate) labels: Vec<Label>,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Store nothing: keep the history in memory until this command ends
    #[arg(long, conflicts_with_all = ["db", "server"])]
    pub(crate) ephemeral: bool,
    /// Open the page of the execution in a browser; without a server, this command serves it until
    /// Ctrl-C
    #[arg(long)]
    pub(crate) ui: bool,
    /// With --ui: print the address only, open no browser
    #[arg(long, requires = "ui")]
    pub(crate) no_browser: bool,
}

/// Values merged into the workload of a playbook.
#[derive(Debug, Args)]
pub(crate) struct WorkloadArgs {
    /// Set one value of the workload; dots nest, JSON is parsed, anything else is text
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<ValueAssignment>,
    /// Values for the workload: JSON, @FILE (JSON or YAML), or - for standard input
    #[arg(long, value_name = "JSON|@FILE", visible_alias = "workload")]
    pub(crate) payload: Option<String>,
    /// Allow --set to add names that the workload does not have
    #[arg(long)]
    pub(crate) allow_extra: bool,
}

impl WorkloadArgs {
    /// True if `--set` may only use names that the workload has.
    pub(crate) fn must_be_declared(&self) -> bool {
        !self.allow_extra && !self.set.is_empty()
    }
}

/// Options for the progress and the final output of an execution.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Output at the end: the result (text), or a document about the whole execution
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    /// Show no progress, only the result or the error
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DatabaseArgs {
    /// Database with the history, or a bundle of `noetl export` to read [default: $NOETL_DB, else
    /// noetl/noetl.db in the user's data directory]
    #[arg(long, value_name = "PATH")]
    pub(crate) db: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = VALIDATE_EXAMPLES)]
pub(crate) struct ValidateArgs {
    /// Playbook files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Do not check the code of tools
    #[arg(long)]
    pub(crate) no_code: bool,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
#[command(after_help = GRAPH_EXAMPLES)]
pub(crate) struct GraphArgs {
    /// Playbook file, or path of a registered playbook: PATH or PATH@VERSION
    #[arg(value_name = "FILE_OR_PATH", value_hint = clap::ValueHint::FilePath)]
    pub(crate) target: String,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: GraphFormat,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = SERVER_EXAMPLES)]
pub(crate) struct ServerArgs {
    /// Address to listen on [default: $NOETL_HOST and $NOETL_PORT, else 127.0.0.1:8082]
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
    /// Run no commands in this process: leave them to separate workers
    #[arg(long)]
    pub(crate) no_worker: bool,
    /// Accept requests without a token from anyone who can reach the address
    #[arg(long)]
    pub(crate) insecure: bool,
    /// PostgreSQL database for the history, shared with other servers [default: from NOETL_SHARDS,
    /// DATABASE_URL or POSTGRES_HOST, else an embedded database]
    #[arg(long = "database", value_name = "URL", conflicts_with = "db")]
    pub(crate) postgres: Option<String>,
    /// NATS server for hints to workers and other servers [default: $NOETL_NATS_URL, else none]
    #[arg(long, value_name = "URL")]
    pub(crate) nats: Option<String>,
    /// Directory for large values [default: $NOETL_PAYLOAD_DIR, else the database]
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) payload_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

#[derive(Debug, Args)]
#[command(after_help = UI_EXAMPLES)]
pub(crate) struct UiArgs {
    /// Execution to show: an id [default: the overview]
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) execution: Option<ExecutionId>,
    /// Print the address only, open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = DEMO_EXAMPLES)]
pub(crate) struct DemoArgs {
    /// Directory for the database, which is kept [default: a temporary one, deleted at the end]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) data: Option<PathBuf>,
    /// Address to listen on; port 0 is any free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: String,
    /// Print the address only, open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,
}

#[derive(Debug, Args)]
#[command(after_help = WORKER_EXAMPLES)]
pub(crate) struct WorkerArgs {
    /// URL of the server [default: the context's or $NOETL_SERVER_URL, else http://127.0.0.1:8082]
    #[arg(long, value_name = "URL", value_parser = parse_server)]
    pub(crate) server: Option<Url>,
    /// Pool whose commands to run [default: $WORKER_POOL_NAME, else shared]
    #[arg(long, value_name = "NAME")]
    pub(crate) pool: Option<String>,
    /// Number of commands to run concurrently [default: $WORKER_MAX_CONCURRENT, else 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) concurrency: Option<u16>,
    /// Run no commands; fetch the messages of this subscription, which start executions [default:
    /// $NOETL_SUBSCRIPTION_PATH if $WORKER_MODE is subscription]
    #[arg(long, value_name = "PATH",
        conflicts_with_all = ["pool", "concurrency"],
        add = ArgValueCandidates::new(candidates::subscriptions))]
    pub(crate) subscription: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Install a library for this user with the system's package tools
    Install(ToolsInstallArgs),
}

#[derive(Debug, Args)]
#[command(after_help = TOOLS_EXAMPLES)]
pub(crate) struct ToolsInstallArgs {
    /// Library to install
    pub(crate) what: Installable,
    /// Reinstall if already installed
    #[arg(long)]
    pub(crate) force: bool,
}

/// A library that can be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Installable {
    /// DuckDB library, for the `duckdb` and `transfer` tools
    Duckdb,
}

#[derive(Debug, Args)]
#[command(after_help = SCHEMA_EXAMPLES)]
pub(crate) struct SchemaArgs {
    /// The files that the schema is for
    #[arg(value_name = "KIND", default_value = "playbook")]
    pub(crate) kind: SchemaKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaKind {
    /// Playbooks
    Playbook,
    /// Tests of playbooks, NAME.test.yaml
    Test,
}

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArgs {
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    /// Check this server instead: that it answers, is ready and reaches its database
    #[arg(long, value_name = "URL", conflicts_with = "db", value_parser = parse_server)]
    pub(crate) server: Option<Url>,
}

/// The execution that a command is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// The execution started last.
    Last,
    Id(ExecutionId),
}

impl FromStr for Chosen {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "last" => Ok(Self::Last),
            id => id.parse().map(Self::Id),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Yaml,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EventsFormat {
    Text,
    /// One list
    Json,
    /// One event per line
    Jsonl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    Text,
    Mermaid,
    Dot,
    Svg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}

fn parse_error_mode(text: &str) -> Result<ErrorMode, String> {
    text.parse().map_err(|_| "a mode is `strict` or `lenient`".to_owned())
}

const ROOT_EXAMPLES: &str = "\
Examples:
  noetl run examples/hello_world.yaml
  noetl run examples/hello_world.yaml --set name=Ada --output json
  noetl validate playbooks/*.yaml
  noetl executions list
  noetl executions events last

Results go to standard output, progress and messages to standard error.
Exit codes: 0 completed, 1 failed, 2 bad input, 130 cancelled.";

const RUN_HELP: &str = "\
A FILE is registered in the catalog, together with the playbooks beside it that its steps call,
and then run. The history is stored in the database. Executions of the same database that an
earlier command left unfinished continue at the same time (`noetl resume` waits for them).

With --server, or if a server is configured (`noetl config show`), the server stores and runs it.

The first Ctrl-C cancels the execution, the second one ends the command immediately. With --ui and
without a server, the command serves the page after the end of the execution until Ctrl-C.
Exit codes: 0 completed, 1 failed, 2 bad input, 130 cancelled.

Examples:
  noetl run examples/hello_world.yaml
  noetl run examples/hello_world.yaml --set name=Ada
  noetl run report.yaml --set 'days=[1,2]' --set database.host=localhost
  noetl run report.yaml --payload @values.yaml --output json
  noetl run examples/hello_world@2 --quiet
  noetl run report.yaml --server https://noetl.example.org:8082
  noetl run try.yaml --ephemeral
  noetl run report.yaml --ui";

const VALIDATE_EXAMPLES: &str = "\
The code of tools is compiled, not run: Python by the interpreter of the setting `tools.python`.

Exit codes: 0 all files are valid (there may be warnings), 2 at least one is not.

Examples:
  noetl validate examples/hello_world.yaml
  noetl validate playbooks/*.yaml --output json";

const GRAPH_EXAMPLES: &str = "\
Examples:
  noetl graph examples/branching.yaml
  noetl graph examples/branching.yaml --format mermaid
  noetl graph examples/branching.yaml --format svg > branching.svg
  noetl graph demo/pipeline@3 --format dot > pipeline.dot";

const UI_EXAMPLES: &str = "\
Examples:
  noetl ui
  noetl ui 380888861418373120
  noetl ui --server https://noetl.example --no-browser";

const DEMO_EXAMPLES: &str = "\
The demonstration has a database of its own and uses no configured database, server or NATS.

Examples:
  noetl demo
  noetl demo --no-browser --listen 127.0.0.1:9000
  noetl demo --data demo";

const SERVER_EXAMPLES: &str = "\
Anyone who can start a playbook can run programs on this machine. If other machines can reach the
address, NOETL_API_TOKEN must be set, and clients send it as `Authorization: Bearer`. Tools of such a
server can connect to the public internet and to the addresses in NOETL_EGRESS_ALLOW only.

On SIGTERM or Ctrl-C the server reports at /readyz that it is stopping and finishes its running
commands. A second signal ends it immediately.

Examples:
  noetl server
  noetl server --listen 127.0.0.1:9000 --db history.db
  noetl server --database postgres://noetl@db/noetl --nats nats://broker:4222
  NOETL_API_TOKEN=... noetl server --listen 0.0.0.0:8082 --no-worker";

const WORKER_EXAMPLES: &str = "\
If NOETL_API_TOKEN is set, the worker sends it to the server. For a server on another machine, tools
can connect to the public internet and to the addresses in NOETL_EGRESS_ALLOW only.

On SIGTERM or Ctrl-C the worker finishes its running commands. A second signal ends it immediately;
other workers then run these commands again.

Examples:
  noetl worker
  noetl worker --server http://10.0.0.5:8082 --pool gpu --concurrency 4
  noetl worker --subscription subscriptions/orders";

const TOOLS_EXAMPLES: &str = "\
Examples:
  noetl tools install duckdb
  noetl tools install duckdb --force";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  noetl schema > playbook.schema.json
  noetl schema test > test.schema.json

  In a playbook, and in a test file, for editors with the YAML language server:
  # yaml-language-server: $schema=playbook.schema.json
  # yaml-language-server: $schema=test.schema.json";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  noetl completions bash > ~/.local/share/bash-completion/completions/noetl
  noetl completions zsh > ~/.zfunc/_noetl
  noetl completions fish > ~/.config/fish/completions/noetl.fish";

const DOCTOR_EXAMPLES: &str = "\
Exit codes: 0 no check failed, 1 at least one check failed.

Examples:
  noetl doctor
  noetl doctor --output json
  noetl doctor --server http://127.0.0.1:8082";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definitions_agree_with_each_other() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_help_of_every_command_has_examples() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:\n  noetl "), "{}", command.get_name());
            command.get_subcommands().for_each(check);
        }
        check(&Arguments::command());
    }

    #[test]
    fn every_example_is_understood() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines().filter_map(|line| line.strip_prefix("  noetl ")) {
                let said = line.split(" > ").next().unwrap_or_default().replace('\'', "\"");
                let words = split(&said);
                let words = std::iter::once("noetl").chain(words.iter().map(String::as_str));
                if let Err(error) = Arguments::try_parse_from(words) {
                    panic!("{line}: {error}");
                }
            }
            command.get_subcommands().for_each(check);
        }
        check(&Arguments::command());
    }

    /// Splits at blanks outside double quotes.
    fn split(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for c in line.chars() {
            match c {
                '"' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words
    }
}
