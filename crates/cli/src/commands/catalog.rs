//! `noetl catalog`: lists and prints registered playbooks.

use anyhow::anyhow;
use serde::Serialize;

use super::run::choice_of;
use crate::args::{CatalogGetArgs, CatalogListArgs};
use crate::catalog::{Catalog, Entry};
use crate::config::Config;
use crate::input::nearest::nearest;
use crate::show::failure::{Exit, Failure};
use crate::show::output::document;
use crate::show::output::table::table;
use crate::show::terminal::{FAINT, Terminal, paint};

/// One playbook, for programs.
#[derive(Serialize)]
struct ShownPlaybook<'a> {
    path: &'a str,
    version: u32,
    catalog_id: String,
    created_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
}

impl<'a> From<&'a Entry> for ShownPlaybook<'a> {
    fn from(entry: &'a Entry) -> Self {
        Self {
            path: &entry.path,
            version: entry.version,
            catalog_id: entry.catalog_id.to_string(),
            created_at: &entry.created_at,
            content: entry.content.as_deref(),
        }
    }
}

pub(crate) async fn list(
    args: &CatalogListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let entries = Catalog::open(&args.client, config).await?.list(args.path.as_deref()).await?;
    match args.output.document() {
        Some(format) => {
            let shown: Vec<ShownPlaybook<'_>> = entries.iter().map(ShownPlaybook::from).collect();
            terminal.data(&document(format, &shown))?;
        }
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
    let catalog = Catalog::open(&args.client, config).await?;
    let Some(entry) = catalog.get(&path, version).await? else {
        let failure = Failure::bad_input(anyhow!("there is no playbook {}", args.playbook));
        let known = catalog.list(None).await?;
        return Err(match nearest(&path, known.iter().map(|entry| entry.path.as_str())) {
            Some(near) => failure.help(format!("did you mean {near}?")),
            None => failure.help("`noetl catalog list` shows those there are"),
        });
    };
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &ShownPlaybook::from(&entry)))?,
        None => terminal.file(entry.content.as_deref().unwrap_or_default())?,
    }
    Ok(Exit::Completed)
}
