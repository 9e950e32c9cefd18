//! `noetl config`: shows the settings with their sources, and trusts project files.

use std::io;

use anyhow::anyhow;
use serde::Serialize;

use crate::args::{ConfigShowArgs, ConfigTrustArgs};
use crate::config::settings::{Secrecy, TABLE};
use crate::config::trust::{Withheld, guarded};
use crate::config::{Config, MASK, Source, file};
use crate::show::failure::{Exit, Failure};
use crate::show::output::table::headed_table;
use crate::show::terminal::{CAREFUL, Terminal, paint};

/// The whole configuration, for programs.
#[derive(Serialize)]
struct ShownSetting {
    /// The file with the highest precedence.
    file: Option<String>,
    /// All files in use, in order of increasing precedence.
    files: Vec<String>,
    /// The keys of the project file that have no effect until it is trusted.
    untrusted: Vec<String>,
    contexts: Vec<String>,
    settings: Vec<ConfigEntry>,
}

/// One setting.
#[derive(Serialize)]
struct ConfigEntry {
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
        ConfigEntry {
            key: row.key,
            variable: row.variable,
            value: value.map(|value| if secret { MASK.to_owned() } else { value.to_owned() }),
            source: name_of(source),
            secret,
            about: row.about,
        }
    });
    let shown = ShownSetting {
        file: config.files().last().map(|path| path.display().to_string()),
        files: config.files().iter().map(|path| path.display().to_string()).collect(),
        untrusted: config.withheld().map(|withheld| withheld.keys.clone()).unwrap_or_default(),
        contexts: config.contexts().to_vec(),
        settings: settings.collect(),
    };
    terminal.show(args.output, &shown, text)?;
    if let Some(withheld) = config.withheld() {
        terminal.say(format!("{} {withheld}", paint(CAREFUL, "warning:")));
        terminal.say(format!("{} {}", paint(CAREFUL, "   help:"), Withheld::WAY_OUT));
    }
    Ok(Exit::Completed)
}

/// Trusts a project file with its current content, or revokes the trust.
pub(crate) fn trust(
    args: &ConfigTrustArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let path = match &args.file {
        Some(path) => path.clone(),
        None => file::of_project(&file::working_directory()?).ok_or_else(|| {
            let name = file::NAME;
            Failure::bad_input(anyhow!("there is no {name} in the working directory or above it"))
                .help("name the file: noetl config trust FILE")
        })?,
    };
    let list = config.trust_list()?;
    let unwritten = |error: io::Error| {
        let error = anyhow::Error::new(error);
        Failure::broken(error.context(format!("cannot write {}", list.path().display())))
    };
    let shown = path.display();
    if args.revoke {
        let message = match list.remove(&path).map_err(unwritten)? {
            true => format!("{shown} is no longer trusted"),
            false => format!("{shown} was not trusted"),
        };
        terminal.say(message);
        return Ok(Exit::Completed);
    }
    let (content, digest) = file::read(&path)?;
    list.add(&path, digest).map_err(unwritten)?;
    terminal.say(match guarded(&content).as_slice() {
        [] => format!("{shown} is trusted; it sets nothing that needs it"),
        keys => format!("{shown} is trusted and sets {}", keys.join(", ")),
    });
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

fn text(shown: &ShownSetting) -> String {
    let rows = shown.settings.iter().map(|entry| {
        vec![
            entry.key.to_owned(),
            entry.value.clone().unwrap_or_else(|| "-".to_owned()),
            entry.source.to_owned(),
            entry.variable.to_owned(),
        ]
    });
    let settings = headed_table(&["SETTING", "VALUE", "FROM", "VARIABLE"], rows);
    let files = if shown.files.is_empty() { "none".to_owned() } else { shown.files.join(", ") };
    let mut text = format!("file      {files}\n");
    if !shown.contexts.is_empty() {
        text.push_str(&format!("contexts  {}\n", shown.contexts.join(", ")));
    }
    format!("{text}\n{settings}")
}
