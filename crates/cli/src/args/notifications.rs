//! Arguments of `noetl notifications`.

use clap::{Args, Subcommand};

use super::{ClientArgs, Format};

#[derive(Debug, Subcommand)]
pub(crate) enum NotificationsCommand {
    /// List the notification documents in the catalog
    List(NotificationListArgs),
    /// Send a sample to every target of a notification
    Test(NotificationArgs),
    /// Pause a notification: it sends nothing until it is resumed
    Pause(NotificationArgs),
    /// Resume a paused notification
    Resume(NotificationArgs),
}

#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct NotificationListArgs {
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(after_help = CHOICE_EXAMPLES)]
pub(crate) struct NotificationArgs {
    /// Path of the notification in the catalog
    pub(crate) path: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

pub(super) const NOTIFICATIONS_EXAMPLES: &str = "\
`noetl register FILE` stores a document of `kind: Notification` in the catalog. It says which
executions it is about and who is told when they fail, complete, are cancelled, late or wait.
`noetl outbox list` shows the messages that could not be sent.

Examples:
  noetl notifications list
  noetl notifications test notifications/ops --server http://127.0.0.1:8082
  noetl notifications pause notifications/ops";

const LIST_EXAMPLES: &str = "\
Examples:
  noetl notifications list
  noetl notifications list --output json --server https://noetl.example.org:8082";

const CHOICE_EXAMPLES: &str = "\
Examples:
  noetl notifications test notifications/ops
  noetl notifications pause notifications/ops --server https://noetl.example.org:8082";
