//! The arguments of `noetl credential`.

use clap::{Args, Subcommand};

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
A step uses the credential by its name: `auth: warehouse` or `credential: warehouse`. The environment
variable NOETL_CREDENTIAL_WAREHOUSE takes precedence over a stored credential `warehouse`.

Examples:
  noetl credential set warehouse --type postgres --data @warehouse.json
  noetl credential set api --type bearer --data - --description 'the billing API'";

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
