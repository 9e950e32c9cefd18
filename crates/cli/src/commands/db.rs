//! `noetl db`: backup, restore and check of the embedded database.
//!
//! A backup copies the large values, then the database, then the values that were stored meanwhile: a
//! file of a large value is written before the rows that refer to it and removed after them, at the
//! earliest an hour after it was stored. A restore puts the values back first.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::anyhow;
use noetl_blobs_files::FileBlobs;
use noetl_model::Digest;
use noetl_private_files as private_files;
use noetl_store::Blobs as _;
use noetl_store_sqlite::{DatabaseFile, ExistingDatabase, RestoreError, SchemaAge};

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
    let database = database::open_file(&path).await?;
    let (source, payloads) = (config.payload_directory(), incomplete.join(PAYLOADS));
    if let Some(directory) = &source {
        copy_payloads(&database, directory, &payloads, MissingPayload::Skip).await?;
    }
    database.back_up(&copy).await.map_err(Failure::broken)?;
    let copied = DatabaseFile::open(&copy).await.map_err(Failure::broken)?;
    let count = match &source {
        Some(directory) => {
            copy_payloads(&copied, directory, &payloads, MissingPayload::Refuse).await?
        }
        None => refuse_payloads(&copied).await?,
    };
    drop(copied);
    fs::rename(&incomplete, target).map_err(unwritable(target))?;
    private_files::flush_name(target).map_err(unwritable(target))?;
    tell_age(&database, terminal);
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
    let backup = DatabaseFile::open(&file).await.map_err(Failure::broken)?;
    let count = match config.payload_directory() {
        Some(directory) => {
            let payloads = args.directory.join(PAYLOADS);
            copy_payloads(&backup, &payloads, &directory, MissingPayload::Refuse).await?
        }
        None => refuse_payloads(&backup).await?,
    };
    if let Some(directory) = path.parent() {
        private_files::create_directory(directory).map_err(unwritable(directory))?;
    }
    let existing =
        if args.replace { ExistingDatabase::MoveAside } else { ExistingDatabase::Refuse };
    let restored = noetl_store_sqlite::restore(&file, &path, existing).await;
    let replaced = restored.map_err(|error| match error {
        RestoreError::Exists(_) => {
            Failure::bad_input(error).help("add --replace; its files are renamed, not removed")
        }
        RestoreError::Open(_) | RestoreError::Write { .. } => Failure::broken(error),
    })?;
    tell_age(&backup, terminal);
    if let Some(replaced) = replaced {
        terminal.say(format!("the database before is {}", replaced.display()));
    }
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
            let database = database::open_file(&path).await?;
            tell_age(&database, terminal);
            let payloads = config.payload_directory();
            (path, problems_in(&database, payloads.as_deref()).await?)
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

/// Says that a database is of an earlier version, which is no problem.
fn tell_age(database: &DatabaseFile, terminal: &mut Terminal) {
    match database.age() {
        SchemaAge::Current => {}
        SchemaAge::Older => terminal.say(format!(
            "{} is of an earlier version; the first command that writes to it migrates it",
            database.path().display()
        )),
    }
}

/// Returns the problems of a backup.
async fn problems_of(directory: &Path) -> Result<Vec<String>, Failure> {
    let database = DatabaseFile::open(&directory.join(DATABASE)).await;
    let database = database.map_err(|error| {
        Failure::bad_input(error).help("name the directory that `noetl db backup` has made")
    })?;
    problems_in(&database, Some(&directory.join(PAYLOADS))).await
}

async fn problems_in(
    database: &DatabaseFile,
    payloads: Option<&Path>,
) -> Result<Vec<String>, Failure> {
    let damage = database.damage().await.map_err(Failure::broken)?;
    let mut problems: Vec<String> =
        damage.into_iter().map(|damage| format!("the database is damaged: {damage}")).collect();
    let blobs = match payloads.filter(|directory| directory.exists()) {
        Some(directory) => Some(FileBlobs::open(directory).map_err(unreadable(directory))?),
        None => None,
    };
    let mut missing = BTreeSet::new();
    each_payload(database, async |digest| {
        let found = match &blobs {
            Some(blobs) => blobs.get(&digest).await,
            None => Ok(None),
        };
        match found {
            Ok(Some(_)) => {}
            Ok(None) => drop(missing.insert(digest)),
            Err(error) => problems.push(format!("large value {digest}: {error}")),
        }
        Ok(())
    })
    .await?;
    // A server may have removed a value since it was listed: its row is gone then too.
    if !missing.is_empty() {
        each_payload(database, async |digest| {
            if missing.contains(&digest) {
                problems.push(format!("large value {digest} is missing"));
            }
            Ok(())
        })
        .await?;
    }
    Ok(problems)
}

/// Calls a function with every large value of a database whose content is in a file.
async fn each_payload(
    database: &DatabaseFile,
    mut look: impl AsyncFnMut(Digest) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut after = None;
    loop {
        let page = database.payloads_elsewhere(after, LIST_MAX).await.map_err(Failure::broken)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(*last);
        for digest in &page {
            look(*digest).await?;
        }
    }
}

/// The treatment of a large value that is listed and has no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingPayload {
    /// A server removed it after it was listed.
    Skip,
    Refuse,
}

/// Copies the large values of a database from one directory to another, where some may be already;
/// returns the number of all.
async fn copy_payloads(
    database: &DatabaseFile,
    from: &Path,
    to: &Path,
    treatment: MissingPayload,
) -> Result<u64, Failure> {
    let source = FileBlobs::open(from).map_err(unreadable(from))?;
    let target = FileBlobs::open(to).map_err(unwritable(to))?;
    let mut count = 0;
    each_payload(database, async |digest| {
        let there = match target.get(&digest).await {
            Ok(Some(bytes)) => Some(bytes),
            // A damaged file from before is replaced.
            Ok(None) | Err(_) => source.get(&digest).await.map_err(Failure::broken)?,
        };
        match (there, treatment) {
            (Some(bytes), _) => target.put(&digest, &bytes).await.map_err(Failure::broken)?,
            (None, MissingPayload::Skip) => return Ok(()),
            (None, MissingPayload::Refuse) => return Err(missing(&digest, from)),
        }
        count += 1;
        Ok(())
    })
    .await?;
    Ok(count)
}

/// Fails if a database has large values in files although no directory is configured.
async fn refuse_payloads(database: &DatabaseFile) -> Result<u64, Failure> {
    let found = database.payloads_elsewhere(None, 1).await.map_err(Failure::broken)?;
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
