//! Histories of executions: from a database or a server, and from files.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use noetl_model::{Digest, Event, EventId, ExecutionId, PlaybookRef, Recorded, Seq, Timestamp};
use noetl_playtest::{StoredValues, stored_references};
use noetl_replay::ReadOn;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::{Chosen, ClientArgs};
use crate::backend::{self, BackendReader};
use crate::commands::executions::jsonl;
use crate::config::Config;
use crate::show::failure::Failure;

/// The most events of a history.
const HISTORY_EVENTS_MAX: usize = 1_000_000;

/// The history of one execution, with all its values.
pub(in crate::commands) struct History {
    pub(in crate::commands) execution: ExecutionId,
    pub(in crate::commands) log: Vec<Recorded>,
    pub(in crate::commands) values: StoredValues,
}

impl History {
    /// Returns the playbook version that the execution was started with.
    pub(super) fn playbook(&self) -> Option<&PlaybookRef> {
        if let Event::ExecutionStarted { playbook, .. } = &self.log.first()?.event {
            Some(playbook)
        } else {
            None
        }
    }
}

/// Loads the history of an execution, and the reader that has it.
pub(in crate::commands) async fn stored(
    client: &ClientArgs,
    execution: Chosen,
    config: &Config,
) -> Result<(History, Box<dyn BackendReader>), Failure> {
    let reader = backend::open_reader(client, config).await?;
    let execution = reader.chosen_here(execution).await?.execution;
    let mut log = Vec::new();
    reader
        .read(execution, |recorded| {
            log.push(recorded.clone());
            Ok(if log.len() < HISTORY_EVENTS_MAX { ReadOn::Yes } else { ReadOn::No })
        })
        .await?;
    if log.len() == HISTORY_EVENTS_MAX {
        return Err(Failure::bad_input(anyhow!(
            "execution {execution} has more than {HISTORY_EVENTS_MAX} events"
        )));
    }
    let mut values = StoredValues::new();
    for reference in stored_references(&log) {
        values.insert(reference.digest, Arc::new(reader.payload(&reference).await?));
    }
    Ok((History { execution, log, values }, reader))
}

/// Loads the text of the playbook version that a history used.
pub(in crate::commands) async fn playbook_text(
    history: &History,
    reader: &dyn BackendReader,
) -> Result<String, Failure> {
    let Some(PlaybookRef { path, version, .. }) = history.playbook() else {
        return Err(Failure::broken(anyhow!("the history has no start")));
    };
    let found = reader.playbook(path, Some(*version)).await?;
    found.and_then(|found| found.content).ok_or_else(|| {
        Failure::bad_input(anyhow!("version {version} of playbook {path} is not in the catalog"))
            .help("name its file with --playbook")
    })
}

/// An event as `noetl executions events --output jsonl` prints it.
#[derive(Deserialize)]
struct PrintedEvent {
    seq: Seq,
    event_id: String,
    at: String,
    #[serde(flatten)]
    event: Event,
}

/// A value that the events of a history refer to, as a line of its file.
#[derive(Serialize, Deserialize)]
struct StoredValue {
    digest: Digest,
    value: Value,
}

/// Returns the text of the file of a history: its events, then the values that they refer to.
pub(super) fn to_text(history: &History) -> String {
    let events = history.log.iter().cloned().map(jsonl);
    let values = history.values.iter().map(|(digest, value)| {
        let line = StoredValue { digest: *digest, value: (**value).clone() };
        serde_json::to_string(&line).expect("a value is JSON") + "\n"
    });
    events.chain(values).collect()
}

/// Reads a history from a file with one event or value per line. The name of the file ends with the id
/// of the execution.
pub(super) fn from_file(file: &Path) -> Result<History, Failure> {
    let place = |line: usize| format!("{}, line {line}", file.display());
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read {}", file.display()))
        .map_err(Failure::bad_input)?;
    let (mut log, mut values) = (Vec::new(), StoredValues::new());
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let mut read = || -> anyhow::Result<Option<Recorded>> {
            let PrintedEvent { seq, event_id, at, event } = match line.starts_with("{\"digest\"") {
                true => {
                    let StoredValue { digest, value } = serde_json::from_str(line)?;
                    values.insert(digest, Arc::new(value));
                    return Ok(None);
                }
                false => serde_json::from_str(line)?,
            };
            let event_id: EventId = event_id.parse().map_err(|error| anyhow!("{error}"))?;
            let at: Timestamp = at.parse().map_err(|error| anyhow!("{error}"))?;
            Ok(Some(Recorded { seq, event_id, at, event, prev: None }))
        };
        log.extend(read().with_context(|| place(index + 1)).map_err(Failure::bad_input)?);
    }
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let id = name.rsplit('.').next().unwrap_or_default();
    let execution = id.parse().unwrap_or(ExecutionId(0));
    Ok(History { execution, log, values })
}
