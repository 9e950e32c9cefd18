//! `noetl catalog`: lists and prints registered playbooks.

use anyhow::anyhow;

use super::run::choice_of;
use crate::args::{CatalogGetArgs, CatalogListArgs};
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
    let entries =
        backend::open_reader(&args.client, config).await?.playbooks(args.path.as_deref()).await?;
    let text = ListText {
        empty: "no playbooks",
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
