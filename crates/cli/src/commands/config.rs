//! `noetl config`: what is configured, and by whom.

use serde::Serialize;

use crate::args::ConfigShowArgs;
use crate::config::settings::{Secrecy, TABLE};
use crate::config::{Config, Source};
use crate::failure::{Exit, Failure};
use crate::output::document;
use crate::output::table::table;
use crate::terminal::{FAINT, Terminal, paint};

/// What stands for a secret.
const MASK: &str = "********";

/// All that is configured, for programs.
#[derive(Serialize)]
struct Shown {
    file: Option<String>,
    contexts: Vec<String>,
    settings: Vec<Entry>,
}

/// One setting.
#[derive(Serialize)]
struct Entry {
    key: &'static str,
    variable: &'static str,
    value: Option<String>,
    source: &'static str,
    secret: bool,
    about: &'static str,
}

pub(crate) fn show(
    args: &ConfigShowArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let settings = TABLE.iter().map(|row| {
        let (value, source) = config.in_force(row);
        let secret = row.secrecy == Secrecy::Masked;
        Entry {
            key: row.key,
            variable: row.variable,
            value: value.map(|value| if secret { MASK.to_owned() } else { value.to_owned() }),
            source: name_of(source),
            secret,
            about: row.about,
        }
    });
    let shown = Shown {
        file: config.file().map(|path| path.display().to_string()),
        contexts: config.contexts().to_vec(),
        settings: settings.collect(),
    };
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &shown))?,
        None => terminal.data(&text(&shown))?,
    }
    Ok(Exit::Completed)
}

fn name_of(source: Source) -> &'static str {
    match source {
        Source::Flag => "flag",
        Source::Context => "context",
        Source::Environment => "environment",
        Source::File => "file",
        Source::Default => "default",
    }
}

fn text(shown: &Shown) -> String {
    let header = ["SETTING", "VALUE", "FROM", "VARIABLE"];
    let mut rows = vec![header.iter().map(|name| paint(FAINT, name)).collect()];
    rows.extend(shown.settings.iter().map(|entry| {
        vec![
            entry.key.to_owned(),
            entry.value.clone().unwrap_or_else(|| "-".to_owned()),
            entry.source.to_owned(),
            entry.variable.to_owned(),
        ]
    }));
    let file = shown.file.as_deref().unwrap_or("none");
    let mut text = format!("file      {file}\n");
    if !shown.contexts.is_empty() {
        text.push_str(&format!("contexts  {}\n", shown.contexts.join(", ")));
    }
    format!("{text}\n{}", table(&rows))
}
