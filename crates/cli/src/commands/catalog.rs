//! `noetl catalog`: lists and prints registered playbooks.

use anyhow::anyhow;

use super::run::choice_of;
use crate::args::{CatalogGetArgs, CatalogListArgs};
use crate::backend;
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::document;
use crate::show::output::table::table;
use crate::show::terminal::{FAINT, Terminal, paint};

pub(crate) async fn list(
    args: &CatalogListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let entries =
        backend::open_reader(&args.client, config).await?.playbooks(args.path.as_deref()).await?;
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &entries))?,
        None if entries.is_empty() => terminal.say("no playbooks"),
        None => {
            let header = ["PLAYBOOK", "VERSION", "REGISTERED"];
            let mut rows = vec![header.iter().map(|name| paint(FAINT, name)).collect()];
            rows.extend(
                entries
                    .into_iter()
                    .map(|entry| vec![entry.path, entry.version.to_string(), entry.created_at]),
            );
            terminal.data(&table(&rows))?;
        }
    }
    Ok(Exit::Completed)
}

pub(crate) async fn get(
    args: &CatalogGetArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (path, version) = choice_of(&args.playbook)?;
    let reader = backend::open_reader(&args.client, config).await?;
    let Some(playbook) = reader.playbook(&path, version).await? else {
        let failure = Failure::bad_input(anyhow!("there is no playbook {}", args.playbook));
        let help = "`noetl catalog list` lists the registered playbooks";
        return Err(reader.suggest_playbook(failure, &path, help).await);
    };
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &playbook))?,
        None => terminal.file(playbook.content.as_deref().unwrap_or_default())?,
    }
    Ok(Exit::Completed)
}
