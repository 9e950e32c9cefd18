//! The arguments of `noetl db`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::DatabaseArgs;

pub(super) const DB_EXAMPLES: &str = "\
A backup is a directory with the database (`noetl.db`) and its large values (`payloads`). The encryption
key of credentials is not part of it.

Examples:
  noetl db backup /backups/2026-01-31
  noetl db check /backups/2026-01-31
  noetl db restore /backups/2026-01-31 --replace";

const BACKUP_EXAMPLES: &str = "\
Examples:
  noetl db backup /backups/2026-01-31
  noetl db backup /backups/2026-01-31 --db /srv/noetl.db";

const RESTORE_EXAMPLES: &str = "\
Examples:
  noetl db restore /backups/2026-01-31
  noetl db restore /backups/2026-01-31 --replace --db /srv/noetl.db";

const CHECK_EXAMPLES: &str = "\
Exit codes: 0 nothing is damaged or missing, 1 something is.

Examples:
  noetl db check
  noetl db check /backups/2026-01-31";

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Copy the embedded database and its large values, also while a server uses them
    Backup(BackupArgs),
    /// Put a backup in the place of the embedded database, which nothing may use
    Restore(RestoreArgs),
    /// Check the pages and large values of the embedded database or of a backup
    Check(CheckArgs),
}

#[derive(Debug, Args)]
#[command(after_help = BACKUP_EXAMPLES)]
pub(crate) struct BackupArgs {
    /// Directory of the backup, which must not exist
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

#[derive(Debug, Args)]
#[command(after_help = RESTORE_EXAMPLES)]
pub(crate) struct RestoreArgs {
    /// Directory of the backup
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Replace an existing database; its files are renamed to `….replaced-1` (or -2, …)
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct CheckArgs {
    /// Directory of a backup [default: the embedded database]
    #[arg(value_name = "DIR", conflicts_with = "db")]
    pub(crate) directory: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}
