//! `noetl credential`: secrets that playbooks name by alias, kept sealed in the database.

use std::io::Read as _;

use anyhow::{Context as _, anyhow, bail};
use noetl_secrets::{Access, Identifier, NewCredential, Operation, Progress};
use noetl_store::{Credential, CredentialFilter};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::args::{
    CredentialCommand, CredentialGetArgs, CredentialListArgs, CredentialNameArgs,
    CredentialRotateArgs, CredentialSetArgs, DatabaseArgs,
};
use crate::config::Config;
use crate::database;
use crate::failure::{Exit, Failure};
use crate::output::table::{line, table};
use crate::output::{DocumentFormat, document};
use crate::plane::Plane as _;
use crate::session::{Session, Work};
use crate::terminal::{FAINT, Terminal, paint};

/// How many bytes are read of a file or of standard input.
const DATA_BYTES_MAX: u64 = 1024 * 1024;
/// How much of a description fits the table.
const DESCRIPTION_CHARS_MAX: usize = 60;
/// How many rows a rotation takes at a time, and how often.
const ROTATE_BATCH: usize = 500;
const ROTATE_BATCHES_MAX: usize = 10_000;

/// One credential, for programs. What is secret is in it only if it was asked for.
#[derive(Serialize)]
struct Entry {
    id: String,
    name: String,
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    tags: Vec<String>,
    created_at: String,
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl Entry {
    fn of(credential: Credential, data: Option<Value>) -> Self {
        Self {
            id: credential.id.to_string(),
            name: credential.name,
            r#type: credential.kind,
            description: credential.description,
            tags: credential.tags,
            created_at: credential.created_at.to_string(),
            updated_at: credential.updated_at.to_string(),
            data,
        }
    }
}

/// What is to be done; data that is wrong is told before a database is made.
enum Task<'a> {
    Set(Box<NewCredential>),
    List(&'a CredentialListArgs),
    Get(&'a CredentialGetArgs),
    Delete(&'a CredentialNameArgs),
    Rotate(&'a CredentialRotateArgs),
}

pub(crate) async fn credential(
    command: &CredentialCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let task = match command {
        CredentialCommand::Set(args) => {
            Task::Set(Box::new(new_credential(args).map_err(Failure::bad_input)?))
        }
        CredentialCommand::List(args) => Task::List(args),
        CredentialCommand::Get(args) => Task::Get(args),
        CredentialCommand::Delete(args) => Task::Delete(args),
        CredentialCommand::Rotate(args) => Task::Rotate(args),
    };
    let db = database::path_of(database_of(command), config);
    let session = Session::on(database::open(&db).await?, &db, Work::Nowhere, config).await?;
    let done = match task {
        Task::Set(new) => set(&session, *new, terminal).await,
        Task::List(args) => list(&session, args, terminal).await,
        Task::Get(args) => get(&session, args, terminal).await,
        Task::Delete(args) => delete(&session, args, terminal).await,
        Task::Rotate(args) => rotate(&session, args, terminal).await,
    };
    Box::new(session).close().await;
    done
}

fn database_of(command: &CredentialCommand) -> &DatabaseArgs {
    match command {
        CredentialCommand::Set(args) => &args.database,
        CredentialCommand::List(args) => &args.database,
        CredentialCommand::Get(args) => &args.database,
        CredentialCommand::Delete(args) => &args.database,
        CredentialCommand::Rotate(args) => &args.database,
    }
}

/// What the arguments and the data they name come to.
fn new_credential(args: &CredentialSetArgs) -> anyhow::Result<NewCredential> {
    let text = if args.data == "-" {
        let mut text = String::new();
        let mut input = std::io::stdin().lock().take(DATA_BYTES_MAX);
        input.read_to_string(&mut text).context("cannot read standard input")?;
        text
    } else if let Some(file) = args.data.strip_prefix('@') {
        std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?
    } else {
        bail!(
            "--data takes @FILE, or - for standard input: a secret on the command line stays in \
             the history of the shell"
        );
    };
    // The reason of a parse error would quote the secret, so it is not told.
    let said: Value =
        serde_saphyr::from_str(&text).map_err(|_| anyhow!("the data is neither JSON nor YAML"))?;
    let Value::Object(mut said) = said else { bail!("the data has to be a map of fields") };
    // A document of a whole credential says its type itself.
    let whole = match (said.get("type").and_then(Value::as_str), said.get("data")) {
        (Some(kind), Some(Value::Object(data))) => Some((kind.to_owned(), data.clone())),
        _ => None,
    };
    let (kind, data) = match (whole, &args.kind) {
        (Some((_, data)), Some(kind)) => (kind.clone(), data),
        (Some((kind, data)), None) => (kind, data),
        (None, kind) => {
            let kind = kind.clone().or_else(|| taken(&mut said, "type"));
            let kind =
                kind.context("say with --type what it is for, such as postgres or bearer")?;
            (kind, said)
        }
    };
    Ok(NewCredential {
        name: args.name.clone(),
        kind,
        data: Value::Object(data),
        meta: None,
        tags: args.tag.clone(),
        description: args.description.clone(),
    })
}

fn taken(map: &mut Map<String, Value>, key: &str) -> Option<String> {
    map.get(key)?.as_str()?;
    match map.shift_remove(key) {
        Some(Value::String(text)) => Some(text),
        Some(_) | None => None,
    }
}

async fn set(
    session: &Session,
    new: NewCredential,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let kept = session.vault().put(new, &Access::default()).await.map_err(Failure::broken)?;
    terminal
        .say(format!("credential {} is kept, sealed under {}", kept.name, kept.sealed.key_version));
    Ok(Exit::Completed)
}

async fn list(
    session: &Session,
    args: &CredentialListArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let filter = CredentialFilter { kind: args.kind.clone(), text: args.text.clone() };
    let found = session.vault().list(&filter).await.map_err(Failure::broken)?;
    match args.output.document() {
        Some(format) => {
            let entries: Vec<Entry> = found.into_iter().map(|it| Entry::of(it, None)).collect();
            terminal.data(&document(format, &entries))?;
        }
        None if found.is_empty() => terminal.say("no credentials"),
        None => {
            let heads = ["NAME", "TYPE", "UPDATED", "DESCRIPTION"];
            let mut rows = vec![heads.map(|head| paint(FAINT, head)).to_vec()];
            rows.extend(found.into_iter().map(|it| {
                let described =
                    line(it.description.as_deref().unwrap_or(""), DESCRIPTION_CHARS_MAX);
                vec![it.name, it.kind, it.updated_at.to_string(), described]
            }));
            terminal.data(&table(&rows))?;
        }
    }
    Ok(Exit::Completed)
}

async fn get(
    session: &Session,
    args: &CredentialGetArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let vault = session.vault();
    let found = vault.find(Identifier(&args.name)).await.map_err(Failure::broken)?;
    let found = found.ok_or_else(|| unknown(&args.name))?;
    let data = match args.include_data {
        true => {
            let opened = vault.open(&found, Operation::Read, &Access::default()).await;
            Some(opened.map_err(Failure::broken)?)
        }
        false => None,
    };
    let format = args.output.document().unwrap_or(DocumentFormat::Yaml);
    terminal.data(&document(format, &Entry::of(found, data)))?;
    Ok(Exit::Completed)
}

async fn delete(
    session: &Session,
    args: &CredentialNameArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let removed = session.vault().remove(Identifier(&args.name), &Access::default()).await;
    let removed = removed.map_err(Failure::broken)?.ok_or_else(|| unknown(&args.name))?;
    terminal.say(format!("credential {} is gone", removed.name));
    Ok(Exit::Completed)
}

async fn rotate(
    session: &Session,
    args: &CredentialRotateArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let vault = session.vault();
    let rotation = vault.rotate(ROTATE_BATCH, ROTATE_BATCHES_MAX).await.map_err(Failure::broken)?;
    let told = |what: &str, progress: &Progress| {
        format!(
            "{what}: {} brought under {}, {} could not be opened",
            progress.rewrapped,
            vault.key_version(),
            progress.failed
        )
    };
    if !args.quiet {
        terminal.say(told("credentials", &rotation.credential));
        terminal.say(told("keychain", &rotation.keychain));
    }
    let failed = rotation.credential.failed + rotation.keychain.failed;
    if failed > 0 {
        return Err(Failure::broken(anyhow!("{failed} secrets are under keys that are not known"))
            .help(
                "name the keys they are under in NOETL_ENCRYPTION_KEYS_OLD, separated by commas",
            ));
    }
    Ok(Exit::Completed)
}

fn unknown(name: &str) -> Failure {
    Failure::bad_input(anyhow!("there is no credential {name}"))
        .help("`noetl credential list` shows what is there")
}
