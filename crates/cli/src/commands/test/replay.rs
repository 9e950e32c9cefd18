//! `noetl test replay`: replays histories against a playbook.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use noetl_model::Event;
use noetl_playbook::{Playbook, TargetWorkers, parse};
use noetl_playtest::{Divergence, ReplayedHistory, replay_history, value_differences};
use serde_json::{Value, json};

use super::history::{self, History};
use super::report::{diff_text, problem};
use crate::args::{Chosen, TestReplayArgs};
use crate::config::Config;
use crate::input::called_playbooks::PlaybookFile;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::{BAD, GOOD, Terminal, paint};

/// The most histories of a directory.
const HISTORIES_MAX: usize = 10_000;

pub(super) async fn replay(
    args: &TestReplayArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let directory = Path::new(&args.history);
    if directory.is_dir() {
        return replay_directory(directory, args, terminal);
    }
    let chosen: Chosen = args.history.parse().map_err(|_| {
        Failure::bad_input(anyhow!("there is no directory {}", args.history))
            .help("name the id of an execution, `last`, or a directory of histories")
    })?;
    let (history, reader) = history::stored(&args.client, chosen, config).await?;
    let playbook = match &args.playbook {
        Some(file) => PlaybookFile::read(file, TargetWorkers::Any)?.playbook,
        None => {
            let text = history::playbook_text(&history, &*reader).await?;
            parse(&args.history, text.as_bytes()).map_err(Failure::Invalid)?.playbook
        }
    };
    let name = history.execution.to_string();
    let replayed = replayed(&playbook, &history, &name)?;
    terminal.data(&text(&name, &replayed))?;
    Ok(exit(&replayed))
}

fn replay_directory(
    directory: &Path,
    args: &TestReplayArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let Some(file) = &args.playbook else {
        return Err(Failure::bad_input(anyhow!("a directory of histories needs --playbook FILE")));
    };
    let playbook = PlaybookFile::read(file, TargetWorkers::Any)?.playbook;
    let (mut worst, mut count, mut skipped) = (Exit::Completed, 0, 0);
    for file in histories_in(directory)? {
        let name = file.display().to_string();
        match replay_file(&file, &name, &playbook) {
            Ok(None) => {
                skipped += 1;
                continue;
            }
            Ok(Some(replayed)) => {
                terminal.data(&text(&name, &replayed))?;
                if worst == Exit::Completed {
                    worst = exit(&replayed);
                }
            }
            // The other histories are replayed all the same.
            Err(failure) => {
                terminal.data(&format!(
                    "{} {name}: {}\n",
                    paint(BAD, "failed"),
                    problem(&failure)
                ))?;
                worst = Exit::BadInput;
            }
        }
        count += 1;
    }
    if count == 0 {
        let path = &playbook.metadata.path;
        return Err(Failure::bad_input(anyhow!(
            "there is no history of playbook {path} in {}",
            directory.display()
        ))
        .help("`noetl test save ID` writes one"));
    }
    if skipped > 0 {
        terminal.say(format!("{skipped} histories of other playbooks were skipped"));
    }
    Ok(worst)
}

/// Returns the histories in a directory, by name.
fn histories_in(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for entry in directory.read_dir()? {
        let file = entry?.path();
        if file.extension().is_some_and(|it| it == "jsonl") {
            files.push(file);
        }
    }
    if files.len() > HISTORIES_MAX {
        let (found, shown) = (files.len(), directory.display());
        let failure =
            Failure::bad_input(anyhow!("{shown} has {found} histories, more than {HISTORIES_MAX}"));
        return Err(failure.help("divide them into several directories"));
    }
    files.sort();
    Ok(files)
}

/// Replays the history in a file; `None` if it is of another playbook.
fn replay_file(
    file: &Path,
    name: &str,
    playbook: &Playbook,
) -> Result<Option<ReplayedHistory>, Failure> {
    let history = history::from_file(file)?;
    match history.playbook() {
        Some(used) if used.path != playbook.metadata.path => Ok(None),
        // The replay says that there is no start.
        Some(_) | None => replayed(playbook, &history, name).map(Some),
    }
}

fn replayed(
    playbook: &Playbook,
    history: &History,
    name: &str,
) -> Result<ReplayedHistory, Failure> {
    replay_history(playbook, history.execution, &history.log, &history.values)
        .map_err(|error| Failure::bad_input(anyhow!("{name} cannot be replayed: {error}")))
}

fn exit(replayed: &ReplayedHistory) -> Exit {
    match replayed.divergence {
        None => Exit::Completed,
        Some(_) => Exit::Failed,
    }
}

fn text(name: &str, replayed: &ReplayedHistory) -> String {
    let Some(divergence) = &replayed.divergence else {
        return format!(
            "{} {name}: all {} events are the same\n",
            paint(GOOD, "ok"),
            replayed.events
        );
    };
    let Divergence { seq, step, recorded, decided, refusal } = divergence;
    let at = match step {
        Some(step) => format!("event {seq} (step `{step}`)"),
        None => format!("event {seq}"),
    };
    let shown = |event: &Option<Event>| event.as_ref().map_or(json!(null), document);
    let mut text = format!("{} {name}: {at} differs\n", paint(BAD, "differs"));
    match (recorded, decided) {
        (Some(recorded), Some(decided)) if recorded.tag() == decided.tag() => {
            let place = recorded.tag().as_str();
            text += &diff_text(&value_differences(place, &document(recorded), &document(decided)));
        }
        (_, _) => {
            for (sign, style, event) in [("-", BAD, recorded), ("+", GOOD, decided)] {
                let line = match event {
                    Some(event) => {
                        format!("{} {}", event.tag().as_str(), shown(&Some(event.clone())))
                    }
                    None => "no event".to_owned(),
                };
                text += &format!("  {}\n", paint(style, format!("{sign} {line}")));
            }
        }
    }
    if let Some(refusal) = refusal {
        text += &format!("  the input is refused: {refusal}\n");
    }
    text
}

fn document(event: &Event) -> Value {
    let mut value = serde_json::to_value(event).expect("an event is JSON");
    if let Some(fields) = value.as_object_mut() {
        fields.remove("type");
    }
    value
}
