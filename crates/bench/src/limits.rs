//! The raw speed of the databases, the upper limit of any system built on them.

mod postgres;
mod sqlite;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use noetl_model::{ExecutionId, Recorded};

use crate::database::{MeasuredDatabase, connect};

/// The number of rows in a batch of raw inserts.
const BATCH: usize = 1000;
/// The number of single-row commits that are timed.
const COMMITS: usize = 400;
/// The number of connections that insert concurrently into PostgreSQL.
const CONNECTIONS: usize = 4;

/// An event as a raw row.
#[derive(Debug, Clone)]
pub(crate) struct RawRow {
    execution: i64,
    seq: i64,
    event_id: i64,
    event_type: &'static str,
    step: Option<String>,
    at: i64,
    body: String,
    prev: Option<Vec<u8>>,
}

impl RawRow {
    pub(crate) fn of(execution: ExecutionId, recorded: &Recorded) -> Result<Self> {
        Ok(Self {
            execution: execution.0,
            seq: i64::try_from(recorded.seq.0)?,
            event_id: recorded.event_id.0,
            event_type: recorded.event.tag().as_str(),
            step: recorded.event.step().map(|step| step.as_str().to_owned()),
            at: recorded.at.as_micros(),
            body: serde_json::to_string(&recorded.event)?,
            prev: recorded.prev.map(|digest| digest.as_bytes().to_vec()),
        })
    }
}

impl MeasuredDatabase {
    /// Measures the time of each of several single-row commits.
    pub(crate) async fn single_commits(&self) -> Result<Vec<Duration>> {
        match self.url() {
            Some(url) => postgres::single_commits(&mut connect(url).await?, COMMITS).await,
            None => sqlite::single_commits(&self.home, COMMITS).await,
        }
    }

    /// Measures the time of durable batch inserts of raw rows.
    pub(crate) async fn raw_inserts(&self, rows: &[RawRow]) -> Result<Duration> {
        match self.url() {
            Some(url) => postgres::raw_inserts(url, rows).await,
            None => sqlite::raw_inserts(&self.home, rows).await,
        }
    }

    /// Measures the time of reading the rows of an execution without decoding them.
    pub(crate) async fn raw_read(&self, execution: ExecutionId) -> Result<Duration> {
        match self.flags()? {
            [_, url] if self.url().is_some() => postgres::raw_read(&url, execution).await,
            [_, path] => sqlite::raw_read(Path::new(&path), execution).await,
        }
    }
}
