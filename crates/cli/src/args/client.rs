//! The arguments of commands that use the embedded database or a server.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;
use url::Url;

use super::{CatalogPauseArgs, Chosen, DatabaseArgs, Format};
use crate::input::candidates;

/// The database or server that a command uses.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClientArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    /// Server to use, instead of the embedded database [default: the context's or
    /// $NOETL_SERVER_URL, else none]
    #[arg(long, value_name = "URL", conflicts_with = "db", value_parser = parse_server)]
    pub(crate) server: Option<Url>,
    /// Use the embedded database even if a server is configured
    #[arg(long, conflicts_with = "server")]
    pub(crate) local: bool,
}

#[derive(Debug, Args)]
#[command(after_help = REGISTER_EXAMPLES)]
pub(crate) struct RegisterArgs {
    /// Playbook files, or directories to register recursively
    #[arg(value_name = "FILE_OR_DIRECTORY", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    /// List playbooks, each at its newest version
    List(CatalogListArgs),
    /// Print a playbook as it was registered
    Get(CatalogGetArgs),
    /// Hide a playbook with all its versions; it starts nothing until it is restored
    #[command(alias = "delete")]
    Archive(CatalogArchiveArgs),
    /// Restore an archived playbook with all its versions
    Restore(CatalogArchiveArgs),
    /// Pause the running executions of a playbook; new ones do not begin
    Pause(CatalogPauseArgs),
    /// Resume a paused playbook and its executions
    Resume(CatalogPauseArgs),
}

#[derive(Debug, Args)]
#[command(after_help = CATALOG_LIST_EXAMPLES)]
pub(crate) struct CatalogListArgs {
    /// Only playbooks whose path contains this text
    #[arg(long)]
    pub(crate) path: Option<String>,
    /// List archived playbooks instead of active ones
    #[arg(long)]
    pub(crate) archived: bool,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = CATALOG_GET_EXAMPLES)]
pub(crate) struct CatalogGetArgs {
    /// Path of a registered playbook: PATH or PATH@VERSION
    #[arg(value_name = "PATH", add = ArgValueCandidates::new(candidates::playbooks))]
    pub(crate) playbook: String,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = CATALOG_ARCHIVE_EXAMPLES)]
pub(crate) struct CatalogArchiveArgs {
    /// Path of a registered playbook
    #[arg(value_name = "PATH", add = ArgValueCandidates::new(candidates::playbooks))]
    pub(crate) path: String,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = STATUS_EXAMPLES)]
pub(crate) struct StatusArgs {
    /// Id of an execution, or `last`
    #[arg(value_name = "ID", default_value = "last", add = ArgValueCandidates::new(candidates::executions))]
    pub(crate) execution: Chosen,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting with its effective value and source
    Show(ConfigShowArgs),
    /// Allow a project's noetl.toml to set programs, servers, tokens, databases and egress
    Trust(ConfigTrustArgs),
}

#[derive(Debug, Args)]
#[command(after_help = CONFIG_TRUST_EXAMPLES)]
pub(crate) struct ConfigTrustArgs {
    /// Project file [default: noetl.toml in the working directory or a parent directory]
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// Revoke the trust in the file
    #[arg(long)]
    pub(crate) revoke: bool,
}

#[derive(Debug, Args)]
#[command(after_help = CONFIG_SHOW_EXAMPLES)]
pub(crate) struct ConfigShowArgs {
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
}

/// Parses the URL of a server.
pub(crate) fn parse_server(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| "a server is a URL such as https://noetl.example.org:8082".to_owned())
}

const REGISTER_EXAMPLES: &str = "\
All files are checked before the first one is registered. A file that equals the newest version in
the catalog does not become a new version.
Exit codes: 0 all files are registered, 2 at least one is invalid and none is registered.

Examples:
  noetl register examples/hello_world.yaml
  noetl register playbooks/ --server https://noetl.example.org:8082";

pub(super) const CATALOG_EXAMPLES: &str = "\
Examples:
  noetl catalog list
  noetl catalog get examples/hello_world
  noetl catalog archive examples/hello_world";

const CATALOG_LIST_EXAMPLES: &str = "\
Examples:
  noetl catalog list
  noetl catalog list --path examples/ --output json
  noetl catalog list --archived";

const CATALOG_ARCHIVE_EXAMPLES: &str = "\
An archived playbook is not listed, and starts, schedules, subscriptions and parent playbooks that
name it fail with the code `playbook-archived`. Its executions stay as they are, and running ones go
on. Registering a version of it restores it too.

Examples:
  noetl catalog archive examples/hello_world
  noetl catalog list --archived
  noetl catalog restore examples/hello_world";

const CATALOG_GET_EXAMPLES: &str = "\
Examples:
  noetl catalog get examples/hello_world
  noetl catalog get examples/hello_world@2 > hello_world.yaml";

const STATUS_EXAMPLES: &str = "\
Exit codes: 0 running or completed, 1 failed, 130 cancelled.

Examples:
  noetl status
  noetl status 380247909993574400 --output json --server http://localhost:8082";

pub(super) const CONFIG_EXAMPLES: &str = "\
Settings come from, in order of precedence: flags, environment variables, the project's noetl.toml,
the user's noetl.toml, defaults. The project's file is in the working directory or a parent
directory; the user's is noetl/noetl.toml in the user's configuration directory. --config FILE or
$NOETL_CONFIG replaces both. Programs, servers, tokens, databases and egress rules of a project's file
have an effect only after `noetl config trust`.

Examples:
  noetl config show
  noetl config trust";

const CONFIG_TRUST_EXAMPLES: &str = "\
Read the file first: it may name programs that noetl runs with your rights, and servers it connects
to. The path and a digest of the content are stored in noetl/trusted in the user's configuration
directory; a changed file must be trusted again. `noetl config show` lists the settings of an
untrusted file that have no effect.

Examples:
  noetl config trust
  noetl config trust ~/project/noetl.toml
  noetl config trust --revoke";

const CONFIG_SHOW_EXAMPLES: &str = "\
Secrets are not shown.

Examples:
  noetl config show
  noetl config show --output json
  noetl config show --context prod";
