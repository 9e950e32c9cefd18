//! `noetl diff`: compares two playbooks by meaning.

use std::path::Path;

use noetl_playbook::{ChangedPart, Playbook, PlaybookChange, parse, playbook_changes};
use serde_json::Value;

use super::catalog;
use crate::args::{DiffArgs, DiffFormat};
use crate::config::Config;
use crate::input::files;
use crate::show::failure::{Exit, Failure};
use crate::show::output::pretty;
use crate::show::terminal::Terminal;

/// The most characters of a value in a line.
const VALUE_CHARS_MAX: usize = 100;

pub(crate) async fn diff(
    args: &DiffArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let old = playbook(&args.old, args, config).await?;
    let new = playbook(&args.new, args, config).await?;
    let changes = playbook_changes(&old, &new);
    match args.format {
        DiffFormat::Text => {
            for change in &changes {
                terminal.data(&line(change))?;
            }
            if changes.is_empty() {
                terminal.say("no difference in meaning".to_owned());
            }
        }
        DiffFormat::Json => terminal.data(&pretty(&changes))?,
    }
    Ok(if changes.is_empty() { Exit::Completed } else { Exit::Failed })
}

async fn playbook(target: &str, args: &DiffArgs, config: &Config) -> Result<Playbook, Failure> {
    let source = if files::is_file_name(target) {
        files::read(Path::new(target))?
    } else {
        let registered = catalog::find(target, &args.client, config).await?;
        registered.content.unwrap_or_default().into_bytes()
    };
    Ok(parse(target, &source).map_err(Failure::Invalid)?.playbook)
}

fn line(change: &PlaybookChange) -> String {
    let place = place(&change.path);
    match &change.change {
        ChangedPart::Added { to } => format!("+ {place}: {}\n", shown(to)),
        ChangedPart::Removed { from } => format!("- {place}: {}\n", shown(from)),
        ChangedPart::Changed { from, to } => {
            format!("~ {place}: {} → {}\n", shown(from), shown(to))
        }
    }
}

/// Returns the way to a part in words: `step start › tool › url`.
fn place(path: &[String]) -> String {
    match path {
        [steps, step, rest @ ..] if steps == "steps" => {
            let rest: String = rest.iter().map(|part| format!(" › {part}")).collect();
            format!("step {step}{rest}")
        }
        path => path.join(" › "),
    }
}

/// Returns a value on one line, shortened if it is long.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => format!("{text:?}"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    };
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
