//! The stream of notifications: created if it is missing, and extended if it lacks subjects.
//!
//! Other programs may have created the stream with fewer subjects or other limits. Their settings
//! are kept, including unknown ones.

use std::time::Duration;

use async_nats::jetstream::context::{CreateStreamError, RequestError};
use async_nats::jetstream::response::Response;
use async_nats::jetstream::{Context, ErrorCode, stream};
use noetl_bus::wire::COMMANDS;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

/// The age limit of a stream created here; without one it would grow for ever.
const AGE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The default subject prefix of events.
pub(crate) const EVENTS_PREFIX: &str = "noetl.events.";
/// The stream of events; the limits below are its age limit and its deduplication window.
const EVENTS_STREAM: &str = "noetl_events";
const EVENTS_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
const EVENTS_KNOWN: Duration = Duration::from_secs(120);

/// Creates the stream of events if it is missing.
pub(crate) async fn ensure_events(jetstream: &Context) -> Result<(), StreamError> {
    let config = stream::Config {
        name: EVENTS_STREAM.to_owned(),
        subjects: vec![format!("{EVENTS_PREFIX}>")],
        max_age: EVENTS_AGE_MAX,
        duplicate_window: EVENTS_KNOWN,
        ..Default::default()
    };
    jetstream.get_or_create_stream(config).await.map_err(StreamError::Create)?;
    Ok(())
}

/// The reason the stream is missing or not usable.
#[derive(Debug, Error)]
pub(crate) enum StreamError {
    #[error("NATS does not answer")]
    Request(#[from] RequestError),
    #[error("cannot read the state of the stream")]
    Look(#[source] async_nats::jetstream::Error),
    #[error("the stream cannot be created")]
    Create(#[source] CreateStreamError),
    #[error("the stream's subjects cannot be widened")]
    Widen(#[source] async_nats::jetstream::Error),
}

#[derive(Debug, Deserialize)]
struct StreamInfo {
    config: StreamConfig,
}

#[derive(Debug, Serialize, Deserialize)]
struct StreamConfig {
    #[serde(default)]
    subjects: Vec<String>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Makes sure that the stream `name` accepts every notification.
pub(crate) async fn ensure(jetstream: &Context, name: &str) -> Result<(), StreamError> {
    match jetstream.request(format!("STREAM.INFO.{name}"), &()).await? {
        Response::Ok(StreamInfo { config }) => match widened(&config.subjects) {
            None => Ok(()),
            Some(subjects) => widen(jetstream, name, StreamConfig { subjects, ..config }).await,
        },
        Response::Err { error } if error.error_code() == ErrorCode::STREAM_NOT_FOUND => {
            let subjects = needed().to_vec();
            let (name, max_age) = (name.to_owned(), AGE_MAX);
            let config = stream::Config { name, subjects, max_age, ..Default::default() };
            tracing::info!(stream = config.name, "the stream of notifications is created");
            jetstream.create_stream(config).await.map_err(StreamError::Create)?;
            Ok(())
        }
        Response::Err { error } => Err(StreamError::Look(error)),
    }
}

async fn widen(jetstream: &Context, name: &str, config: StreamConfig) -> Result<(), StreamError> {
    tracing::info!(stream = name, subjects = ?config.subjects, "the stream's subjects are widened");
    match jetstream.request(format!("STREAM.UPDATE.{name}"), &config).await? {
        Response::Ok(StreamInfo { .. }) => Ok(()),
        Response::Err { error } => Err(StreamError::Widen(error)),
    }
}

fn needed() -> [String; 2] {
    [COMMANDS.to_owned(), format!("{COMMANDS}.>")]
}

/// Returns the subjects with the missing ones added; `None` if none are missing. Subjects of one
/// stream must not overlap, so subjects covered by an added one are dropped.
fn widened(subjects: &[String]) -> Option<Vec<String>> {
    let is_missing = |need: &String| !subjects.iter().any(|subject| covers(subject, need));
    let missing: Vec<String> = needed().into_iter().filter(is_missing).collect();
    if missing.is_empty() {
        return None;
    }
    let is_kept = |subject: &&String| !missing.iter().any(|wide| covers(wide, subject));
    Some(subjects.iter().filter(is_kept).chain(&missing).cloned().collect())
}

/// True if `wide` matches every subject that `narrow` matches.
fn covers(wide: &str, narrow: &str) -> bool {
    let (mut wide, mut narrow) = (wide.split('.'), narrow.split('.'));
    loop {
        match (wide.next(), narrow.next()) {
            (None, None) | (Some(">"), Some(_)) => return true,
            (Some(w), Some(n)) if w == n || (w == "*" && n != ">") => {}
            (Some(_) | None, Some(_) | None) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(subjects: &[&str], expected: Option<&[&str]>) {
        let subjects: Vec<String> = subjects.iter().map(ToString::to_string).collect();
        let actual = widened(&subjects);
        let actual = actual.as_ref().map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(actual.as_deref(), expected, "{subjects:?}");
    }

    #[test]
    fn a_stream_that_takes_every_notification_is_left_alone() {
        check(&["noetl.commands", "noetl.commands.>"], None);
        check(&["noetl.>"], None);
        check(&["*.commands", "noetl.*.>"], None);
        check(&[">"], None);
    }

    #[test]
    fn missing_subjects_are_added_to_those_of_the_stream() {
        check(&["noetl.commands"], Some(&["noetl.commands", "noetl.commands.>"]));
        check(&["jobs", "noetl.commands.>"], Some(&["jobs", "noetl.commands.>", "noetl.commands"]));
        check(&[], Some(&["noetl.commands", "noetl.commands.>"]));
    }

    #[test]
    fn subjects_that_an_added_one_covers_go() {
        check(
            &["noetl.commands.shared.>", "noetl.commands.*", "noetl.*"],
            Some(&["noetl.*", "noetl.commands.>"]),
        );
    }
}
