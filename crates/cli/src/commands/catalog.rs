//! `noetl catalog`: lists, prints, archives and restores registered playbooks.

use anyhow::anyhow;
use noetl_app::EntryState;

use super::run::choice_of;
use crate::args::{CatalogArchiveArgs, CatalogGetArgs, CatalogListArgs, ClientArgs};
use crate::backend::{self, PlaybookDocument};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::{ListText, document};
use crate::show::terminal::Terminal;

pub(crate) async fn list(
    args: &CatalogListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let state = if args.archived { EntryState::Archived } else { EntryState::Active };
    let reader = backend::open_reader(&args.client, config).await?;
    let entries = reader.playbooks(state, args.path.as_deref()).await?;
    let text = ListText {
        empty: if args.archived { "no archived playbooks" } else { "no playbooks" },
        header: &["PLAYBOOK", "VERSION", "REGISTERED"],
        row: |it: &PlaybookDocument| {
            vec![it.path.clone(), it.version.to_string(), it.created_at.clone()]
        },
    };
    terminal.list(args.output, &entries, &text)
}

pub(crate) async fn get(
    args: &CatalogGetArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let playbook = find(&args.playbook, &args.client, config).await?;
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &playbook))?,
        None => terminal.file(playbook.content.as_deref().unwrap_or_default())?,
    }
    Ok(Exit::Completed)
}

/// Loads the playbook that `PATH` or `PATH@VERSION` names.
pub(super) async fn find(
    text: &str,
    client: &ClientArgs,
    config: &Config,
) -> Result<PlaybookDocument, Failure> {
    let (path, version) = choice_of(text)?;
    let reader = backend::open_reader(client, config).await?;
    match reader.playbook(&path, version).await? {
        Some(playbook) => Ok(playbook),
        None => {
            let failure = Failure::bad_input(anyhow!("there is no playbook {text}"));
            let help = "`noetl catalog list` lists the registered playbooks";
            Err(reader.suggest_playbook(failure, &path, help).await)
        }
    }
}

/// Archives a playbook, or restores it.
pub(crate) async fn set_state(
    args: &CatalogArchiveArgs,
    state: EntryState,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let changed = backend::with(&args.client, config, async |backend| {
        backend.set_playbook_state(&args.path, state).await
    });
    terminal.show(args.output, &changed.await?, |it: &PlaybookDocument| match state {
        EntryState::Archived => format!(
            "{} is archived with all its versions; `noetl catalog restore {}` restores it\n",
            it.path, it.path
        ),
        EntryState::Active => format!("{} is active, newest version {}\n", it.path, it.version),
    })
}
