//! The arguments of `noetl credential`.

use clap::{Args, Subcommand};
use noetl_model::{HostPattern, Label};

use super::{ClientArgs, Format};

#[derive(Debug, Subcommand)]
pub(crate) enum CredentialCommand {
    /// Store a credential (replaces one with the same name)
    Set(CredentialSetArgs),
    /// List credentials, newest first, without secrets
    List(CredentialListArgs),
    /// Show a credential; secrets only with --include-data
    Get(CredentialGetArgs),
    /// Delete a credential
    Delete(CredentialNameArgs),
    /// Re-encrypt every secret with the current key
    Rotate(CredentialRotateArgs),
}

#[derive(Debug, Args)]
#[command(after_help = SET_EXAMPLES)]
pub(crate) struct CredentialSetArgs {
    /// Alias by which playbooks refer to the credential
    pub(crate) name: String,
    /// Type, such as postgres, bearer, basic, api_key [default: the type in the data]
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Accept a type that looks misspelt
    #[arg(long)]
    pub(crate) any_type: bool,
    /// Secret fields, a map in JSON or YAML: @FILE, or - for standard input
    #[arg(long, value_name = "@FILE|-", default_value = "-")]
    pub(crate) data: String,
    /// Description for people
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// Tag for searching
    #[arg(long)]
    pub(crate) tag: Vec<String>,
    /// Path of a playbook that may use the credential: `team/*` for all below; can be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Vec<String>,
    /// Label, of which executions that use the credential have one: KEY=VALUE; can be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) label: Vec<Label>,
    /// Name of who may start executions that use the credential; can be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Vec<String>,
    /// Host that the credential may be sent to: HOST, *.DOMAIN or HOST:PORT; can be repeated
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<HostPattern>,
    /// Remove the restrictions of a stored credential
    #[arg(long, conflicts_with_all = ["path", "label", "owner", "host"])]
    pub(crate) no_policy: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct CredentialListArgs {
    /// Only credentials of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Only credentials whose name or description contains this text
    #[arg(long)]
    pub(crate) text: Option<String>,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = GET_EXAMPLES)]
pub(crate) struct CredentialGetArgs {
    /// Name or id of the credential
    pub(crate) name: String,
    /// Include the secret fields
    #[arg(long)]
    pub(crate) include_data: bool,
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = DELETE_EXAMPLES)]
pub(crate) struct CredentialNameArgs {
    /// Name or id of the credential
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = ROTATE_EXAMPLES)]
pub(crate) struct CredentialRotateArgs {
    /// Print nothing on success
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

pub(super) const CREDENTIAL_EXAMPLES: &str = "\
Secrets are encrypted with NOETL_ENCRYPTION_KEY (32 bytes in base64). If it is not set, a key is
generated and stored next to the database, in a file that only you can read.

Examples:
  noetl credential set warehouse --type postgres --data @warehouse.json
  noetl credential list --server https://noetl.example.org:8082
  noetl credential delete warehouse";

const SET_EXAMPLES: &str = "\
A new credential without --path, --label and --owner may be used by every playbook, and without --host it
may be sent anywhere. An execution needs one of the given paths, one of the labels and one of the owners. A
credential with hosts cannot be read in templates. A credential that is set again keeps its restrictions
unless new ones are given, which replace all of them, or --no-policy.

A step uses the credential by its name: `auth: warehouse` or `credential: warehouse`. The environment
variable NOETL_CREDENTIAL_WAREHOUSE takes precedence over a stored credential `warehouse`.

Examples:
  noetl credential set warehouse --type postgres --data @warehouse.json
  noetl credential set api --type bearer --data - --description 'the billing API'
  noetl credential set api --type bearer --data @api.json --path 'billing/*' --host api.example.org";

const LIST_EXAMPLES: &str = "\
Examples:
  noetl credential list
  noetl credential list --type postgres --output json";

const GET_EXAMPLES: &str = "\
Every access to secret fields is recorded in the audit log.

Examples:
  noetl credential get warehouse
  noetl credential get warehouse --include-data --output json";

const DELETE_EXAMPLES: &str = "\
Examples:
  noetl credential delete warehouse";

const ROTATE_EXAMPLES: &str = "\
Set NOETL_ENCRYPTION_KEY to the new key and NOETL_ENCRYPTION_KEYS_OLD to the previous one, then
rotate. The secrets themselves are not decrypted. If a rotation is interrupted, run it again.

Examples:
  noetl credential rotate
  noetl credential rotate --db history.db --quiet";
