//! `noetl credential`: secrets that playbooks use by alias, encrypted in the database or on a
//! server.

use std::io::Read as _;

use anyhow::{Context as _, anyhow, bail};
use noetl_app::CredentialFilter;
use noetl_model::CredentialPolicy;
use noetl_secrets::{NewCredential, PolicyChange};
use serde_json::{Map, Value};

use crate::args::{
    ClientArgs, CredentialCommand, CredentialGetArgs, CredentialListArgs, CredentialNameArgs,
    CredentialRotateArgs, CredentialSetArgs,
};
use crate::backend::{self, Backend, CredentialItem, RotatedTable};
use crate::config::Config;
use crate::input::nearest::nearest;
use crate::show::failure::{Exit, Failure};
use crate::show::output::table::line;
use crate::show::output::{DocumentFormat, ListText, document};
use crate::show::terminal::Terminal;

/// The types that built-in tools use. Other types are stored as well.
const TYPES: &[&str] = &[
    "api_key",
    "apikey",
    "azure",
    "basic",
    "bearer",
    "bearer_token",
    "client_credentials",
    "duckdb",
    "gcp",
    "gcs",
    "gcs_hmac",
    "google_oauth",
    "google_service_account",
    "hmac",
    "httpbasicauth",
    "httpbearerauth",
    "mysql",
    "nats",
    "oauth2",
    "oauth2_client_credentials",
    "postgres",
    "postgresql",
    "s3",
    "s3_hmac",
    "secret",
    "service_account",
    "snowflake",
    "sqlite",
    "token",
    "webhook",
];
/// The most bytes read from a file or from standard input.
const DATA_BYTES_MAX: u64 = 1024 * 1024;
/// The most characters of a description in the table.
const DESCRIPTION_CHARS_MAX: usize = 60;
/// The number of rows that one rotation call re-encrypts, and the most calls.
const ROTATE_BATCH: usize = 500;
const ROTATE_BATCHES_MAX: usize = 1000;

/// The requested operation. Parsed first, so that invalid data fails before a database is created.
enum CredentialTask<'a> {
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
            CredentialTask::Set(Box::new(new_credential(args).map_err(Failure::bad_input)?))
        }
        CredentialCommand::List(args) => CredentialTask::List(args),
        CredentialCommand::Get(args) => CredentialTask::Get(args),
        CredentialCommand::Delete(args) => CredentialTask::Delete(args),
        CredentialCommand::Rotate(args) => CredentialTask::Rotate(args),
    };
    backend::with(client_of(command), config, async |backend| match task {
        CredentialTask::Set(new) => set(backend, *new, terminal).await,
        CredentialTask::List(args) => list(backend, args, terminal).await,
        CredentialTask::Get(args) => get(backend, args, terminal).await,
        CredentialTask::Delete(args) => delete(backend, args, terminal).await,
        CredentialTask::Rotate(args) => rotate(backend, args, terminal).await,
    })
    .await
}

fn client_of(command: &CredentialCommand) -> &ClientArgs {
    match command {
        CredentialCommand::Set(args) => &args.client,
        CredentialCommand::List(args) => &args.client,
        CredentialCommand::Get(args) => &args.client,
        CredentialCommand::Delete(args) => &args.client,
        CredentialCommand::Rotate(args) => &args.client,
    }
}

/// Builds a new credential from the arguments and their data.
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
    // The reason of a parse error would quote the secret, so it is left out.
    let said: Value =
        serde_saphyr::from_str(&text).map_err(|_| anyhow!("the data is neither JSON nor YAML"))?;
    let Value::Object(mut said) = said else { bail!("the data has to be a map of fields") };
    // A document of a whole credential contains its type.
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
    if !args.any_type
        && !TYPES.contains(&kind.to_ascii_lowercase().as_str())
        && let Some(near) = nearest(&kind, TYPES.iter().copied())
    {
        bail!(
            "no tool knows the type `{kind}`; did you mean `{near}`? --any-type keeps it as it is"
        );
    }
    Ok(NewCredential {
        name: args.name.clone(),
        kind,
        data: Value::Object(data),
        meta: None,
        tags: args.tag.clone(),
        description: args.description.clone(),
        policy: policy_of(args),
    })
}

/// Returns the restrictions that the arguments name. Without any, those of a stored credential stay.
fn policy_of(args: &CredentialSetArgs) -> PolicyChange {
    let policy = CredentialPolicy {
        paths: args.path.clone(),
        labels: args.label.clone(),
        owners: args.owner.clone(),
        hosts: args.host.clone(),
    };
    match (args.no_policy, policy == CredentialPolicy::default()) {
        (true, _) => PolicyChange::Remove,
        (false, true) => PolicyChange::Keep,
        (false, false) => PolicyChange::Set(policy),
    }
}

fn taken(map: &mut Map<String, Value>, key: &str) -> Option<String> {
    map.get(key)?.as_str()?;
    match map.shift_remove(key) {
        Some(Value::String(text)) => Some(text),
        Some(_) | None => None,
    }
}

async fn set(
    backend: &dyn Backend,
    new: NewCredential,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let kept = backend.put_credential(new).await?;
    terminal.say(format!("credential {} is stored, encrypted", kept.name));
    Ok(Exit::Completed)
}

async fn list(
    backend: &dyn Backend,
    args: &CredentialListArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let filter = CredentialFilter { kind: args.kind.clone(), text: args.text.clone() };
    let found = backend.credentials(filter).await?;
    let text = ListText {
        empty: "no credentials",
        header: &["NAME", "TYPE", "UPDATED", "DESCRIPTION"],
        row: |it: &CredentialItem| {
            let described = line(it.description.as_deref().unwrap_or(""), DESCRIPTION_CHARS_MAX);
            vec![it.name.clone(), it.r#type.clone(), it.updated_at.clone(), described]
        },
    };
    terminal.list(args.output, &found, &text)
}

async fn get(
    backend: &dyn Backend,
    args: &CredentialGetArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let found = backend.credential(&args.name, args.include_data).await?;
    let found = found.ok_or_else(|| unknown(&args.name))?;
    let format = args.output.document().unwrap_or(DocumentFormat::Yaml);
    terminal.data(&document(format, &found))?;
    Ok(Exit::Completed)
}

async fn delete(
    backend: &dyn Backend,
    args: &CredentialNameArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    if !backend.remove_credential(&args.name).await? {
        return Err(unknown(&args.name));
    }
    terminal.say(format!("deleted the credential {}", args.name));
    Ok(Exit::Completed)
}

async fn rotate(
    backend: &dyn Backend,
    args: &CredentialRotateArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let rotated = backend.rotate_keys(ROTATE_BATCH, ROTATE_BATCHES_MAX).await?;
    let told = |what: &str, table: &RotatedTable| {
        format!(
            "{what}: {} re-encrypted with key {}, {} could not be decrypted",
            table.rewrapped, rotated.key_version, table.failed
        )
    };
    if !args.quiet {
        terminal.say(told("credentials", &rotated.credential));
        terminal.say(told("keychain", &rotated.keychain));
    }
    let failed = rotated.credential.failed + rotated.keychain.failed;
    if failed > 0 {
        return Err(Failure::broken(anyhow!("{failed} secrets are encrypted with unknown keys"))
            .help("set NOETL_ENCRYPTION_KEYS_OLD to the earlier keys, separated by commas"));
    }
    Ok(Exit::Completed)
}

fn unknown(name: &str) -> Failure {
    Failure::bad_input(anyhow!("there is no credential {name}"))
        .help("`noetl credential list` lists the credentials")
}
