//! `noetl db`: backup, restore and check of the embedded database.
//!
//! A backup copies the database first and the large values after it: a file of a large value is written
//! before the rows that refer to it, and is removed at the earliest an hour after the last of them.
//! A restore puts them back in the opposite order.

use std::fs;
use std::path::Path;

use anyhow::anyhow;
use noetl_blobs_files::FileBlobs;
use noetl_model::Digest;
use noetl_private_files as private_files;
use noetl_store::Blobs as _;
use noetl_store_sqlite::{ExistingDatabase, RestoreError, SqliteStore};

use crate::args::{BackupArgs, CheckArgs, DbCommand, RestoreArgs};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;
use crate::wiring::database;

/// The names of the parts of a backup.
const DATABASE: &str = "noetl.db";
const PAYLOADS: &str = "payloads";
/// The suffix of a backup that is not complete.
const INCOMPLETE: &str = "incomplete";
/// The number of large values that are listed at once.
const LIST_MAX: u32 = 500;

pub(crate) async fn db(
    command: &DbCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match command {
        DbCommand::Backup(args) => backup(args, config, terminal).await,
        DbCommand::Restore(args) => restore(args, config, terminal).await,
        DbCommand::Check(args) => check(args, config, terminal).await,
    }
}

async fn backup(
    args: &BackupArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let path = database::path_of(&args.database, config);
    let target = &args.directory;
    if target.exists() {
        let error = anyhow!("{} exists already", target.display());
        return Err(Failure::bad_input(error).help("name a new directory"));
    }
    let incomplete = target.with_added_extension(INCOMPLETE);
    if incomplete.exists() {
        fs::remove_dir_all(&incomplete).map_err(unwritable(&incomplete))?;
    }
    private_files::create_directory(&incomplete).map_err(unwritable(&incomplete))?;
    let copy = incomplete.join(DATABASE);
    database::open_read_only(&path, config).await?.back_up(&copy).await.map_err(Failure::broken)?;
    let copied = SqliteStore::open_read_only(&copy).await.map_err(Failure::broken)?;
    let count = match config.payload_directory() {
        Some(directory) => copy_payloads(&copied, &directory, &incomplete.join(PAYLOADS)).await?,
        None => refuse_payloads(&copied).await?,
    };
    drop(copied);
    fs::rename(&incomplete, target).map_err(unwritable(target))?;
    private_files::flush_name(target).map_err(unwritable(target))?;
    terminal.say(format!(
        "copied {} and {count} large values to {}",
        path.display(),
        target.display()
    ));
    Ok(Exit::Completed)
}

async fn restore(
    args: &RestoreArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let path = database::path_of(&args.database, config);
    let file = args.directory.join(DATABASE);
    let problems = problems_of(&args.directory).await?;
    if let Some(problem) = problems.first() {
        let error = anyhow!("{problem}").context("the backup is damaged; nothing was changed");
        return Err(Failure::bad_input(error).help("`noetl db check DIR` lists all problems"));
    }
    let backup = SqliteStore::open_read_only(&file).await.map_err(Failure::broken)?;
    let count = match config.payload_directory() {
        Some(directory) => {
            copy_payloads(&backup, &args.directory.join(PAYLOADS), &directory).await?
        }
        None => refuse_payloads(&backup).await?,
    };
    drop(backup);
    if let Some(directory) = path.parent() {
        private_files::create_directory(directory).map_err(unwritable(directory))?;
    }
    let existing =
        if args.replace { ExistingDatabase::MoveAside } else { ExistingDatabase::Refuse };
    SqliteStore::restore(&file, &path, existing).await.map_err(|error| match error {
        RestoreError::Exists(_) => {
            Failure::bad_input(error).help("add --replace; its files are renamed, not removed")
        }
        RestoreError::Open(_) | RestoreError::Write { .. } => Failure::broken(error),
    })?;
    terminal.say(format!("restored {} with {count} large values", path.display()));
    Ok(Exit::Completed)
}

async fn check(
    args: &CheckArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (place, problems) = match &args.directory {
        Some(directory) => (directory.clone(), problems_of(directory).await?),
        None => {
            let path = database::path_of(&args.database, config);
            let store = database::open_read_only(&path, config).await?;
            let payloads = config.payload_directory();
            (path, problems_in(&store, payloads.as_deref()).await?)
        }
    };
    for problem in &problems {
        terminal.say(problem.clone());
    }
    if problems.is_empty() {
        let logs = "`noetl verify --all` checks the logs of executions";
        terminal.say(format!("{} is whole; {logs}", place.display()));
        return Ok(Exit::Completed);
    }
    Ok(Exit::Failed)
}

/// Returns the problems of a backup.
async fn problems_of(directory: &Path) -> Result<Vec<String>, Failure> {
    let store = SqliteStore::open_read_only(&directory.join(DATABASE)).await;
    let store = store.map_err(|error| {
        Failure::bad_input(error).help("name the directory that `noetl db backup` has made")
    })?;
    problems_in(&store, Some(&directory.join(PAYLOADS))).await
}

async fn problems_in(store: &SqliteStore, payloads: Option<&Path>) -> Result<Vec<String>, Failure> {
    let damage = store.damage().await.map_err(Failure::broken)?;
    let mut problems: Vec<String> =
        damage.into_iter().map(|damage| format!("the database is damaged: {damage}")).collect();
    let blobs = match payloads.filter(|directory| directory.exists()) {
        Some(directory) => Some(FileBlobs::open(directory).map_err(unreadable(directory))?),
        None => None,
    };
    let mut after = None;
    loop {
        let page = store.payloads_elsewhere(after, LIST_MAX).await.map_err(Failure::broken)?;
        let Some(last) = page.last() else { return Ok(problems) };
        after = Some(*last);
        for digest in &page {
            let found = match &blobs {
                Some(blobs) => blobs.get(digest).await,
                None => Ok(None),
            };
            match found {
                Ok(Some(_)) => {}
                Ok(None) => problems.push(format!("large value {digest} is missing")),
                Err(error) => problems.push(format!("large value {digest}: {error}")),
            }
        }
    }
}

/// Copies the large values of a database from one directory to another; returns their number.
async fn copy_payloads(store: &SqliteStore, from: &Path, to: &Path) -> Result<u64, Failure> {
    let source = FileBlobs::open(from).map_err(unreadable(from))?;
    let target = FileBlobs::open(to).map_err(unwritable(to))?;
    let (mut after, mut count) = (None, 0);
    loop {
        let page = store.payloads_elsewhere(after, LIST_MAX).await.map_err(Failure::broken)?;
        let Some(last) = page.last() else { return Ok(count) };
        after = Some(*last);
        for digest in &page {
            let bytes = source.get(digest).await.map_err(Failure::broken)?;
            let bytes = bytes.ok_or_else(|| missing(digest, from))?;
            target.put(digest, &bytes).await.map_err(Failure::broken)?;
            count += 1;
        }
    }
}

/// Fails if a database has large values in files although no directory is configured.
async fn refuse_payloads(store: &SqliteStore) -> Result<u64, Failure> {
    let found = store.payloads_elsewhere(None, 1).await.map_err(Failure::broken)?;
    match found.first() {
        None => Ok(0),
        Some(digest) => {
            let error =
                anyhow!("large value {digest} is in a file, and no directory is configured");
            Err(Failure::bad_input(error).help("name the directory with NOETL_PAYLOAD_DIR"))
        }
    }
}

fn missing(digest: &Digest, directory: &Path) -> Failure {
    let error = anyhow!("large value {digest} is not in {}", directory.display());
    Failure::broken(error).help("`noetl db check` lists all that are missing")
}

fn unwritable(path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let path = path.display().to_string();
    move |error| Failure::broken(anyhow!(error).context(format!("cannot write {path}")))
}

fn unreadable(path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let path = path.display().to_string();
    move |error| Failure::broken(anyhow!(error).context(format!("cannot read {path}")))
}
