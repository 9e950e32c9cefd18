//! The output of an execution's steps, from a local database or from a server.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use noetl_api::wire::{LogEntry, StepLogQuery};
use noetl_api::{Client, ClientError, StreamedLogEntries};
use noetl_app::{LOG_ENTRIES_MAX, LogFilter, StepLogReader};
use noetl_model::{ExecutionId, StepName};
use tokio::time::Instant;

use super::remote::refused;
use crate::show::failure::Failure;

/// Polling interval for output that another process stores.
const LOOK: Duration = Duration::from_millis(200);
/// The time for which a server that does not answer is asked again.
const LOST_MAX: Duration = Duration::from_secs(60);
/// The delay between two such requests.
const LOST_PAUSE: Duration = Duration::from_secs(1);

/// The output of an execution, a page at a time.
#[async_trait]
pub(crate) trait LogFeed: Send {
    /// Waits for the next entries; `None` at the end.
    async fn next(&mut self) -> Result<Option<Vec<LogEntry>>, Failure>;
}

/// The output in a database of this machine.
pub(crate) struct LocalLogs {
    pub(crate) reader: StepLogReader,
    pub(crate) follow: bool,
}

#[async_trait]
impl LogFeed for LocalLogs {
    async fn next(&mut self) -> Result<Option<Vec<LogEntry>>, Failure> {
        loop {
            let had_ended = self.reader.has_ended();
            let page = self.reader.next_page(LOG_ENTRIES_MAX).await.map_err(Failure::broken)?;
            if !page.is_empty() {
                return Ok(Some(page));
            }
            if had_ended || !self.follow {
                return Ok(None);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// The output on a server. A lost connection is resumed after the last entry.
pub(crate) struct RemoteLogs {
    client: Arc<Client>,
    execution: ExecutionId,
    query: StepLogQuery,
    stream: Option<StreamedLogEntries>,
    lost_at: Option<Instant>,
}

impl RemoteLogs {
    pub(crate) fn new(
        client: Arc<Client>,
        execution: ExecutionId,
        filter: LogFilter,
        follow: bool,
    ) -> Self {
        let query = StepLogQuery {
            step: filter.step.as_ref().map(StepName::to_string),
            attempt: filter.attempt,
            stream: filter.stream,
            after: None,
            follow,
            format: "jsonl",
        };
        Self { client, execution, query, stream: None, lost_at: None }
    }

    async fn read(&mut self) -> Result<Option<Vec<LogEntry>>, ClientError> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let stream = self.client.step_logs(self.execution, &self.query).await?;
                self.stream.insert(stream)
            }
        };
        stream.next().await
    }

    /// True if the execution has ended: a server that stops ends the stream earlier.
    async fn has_ended(&self) -> Result<bool, ClientError> {
        let found = self.client.summary(self.execution).await?;
        Ok(found.is_none_or(|reply| reply.summary.status.is_terminal()))
    }
}

#[async_trait]
impl LogFeed for RemoteLogs {
    async fn next(&mut self) -> Result<Option<Vec<LogEntry>>, Failure> {
        loop {
            let read = match self.read().await {
                Ok(None) if self.query.follow => match self.has_ended().await {
                    Ok(true) => Ok(None),
                    Ok(false) => Ok(Some(Vec::new())),
                    Err(error) => Err(error),
                },
                read => read,
            };
            match read {
                Ok(None) => return Ok(None),
                Ok(Some(page)) => {
                    self.lost_at = None;
                    match page.last() {
                        Some(last) => {
                            self.query.after = Some(last.position.clone());
                            return Ok(Some(page));
                        }
                        None => self.stream = None,
                    }
                }
                Err(error @ ClientError::Unreachable { .. }) => {
                    self.stream = None;
                    let lost_at = *self.lost_at.get_or_insert_with(Instant::now);
                    if !self.query.follow || LOST_MAX <= lost_at.elapsed() {
                        return Err(refused(error));
                    }
                }
                Err(error) => return Err(refused(error)),
            }
            tokio::time::sleep(LOST_PAUSE).await;
        }
    }
}
