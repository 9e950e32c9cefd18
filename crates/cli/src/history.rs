//! Reads executions, their events and values from a store or a server.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use noetl_api::wire::SummariesQuery;
use noetl_api::{Client, Method};
use noetl_app::{
    ExecutionFilter, FORKS_MAX, PAGE_MAX, Page, PathFilter, ReadValueError, StoreError, StoreReader,
};
use noetl_model::{
    Event, ExecutionId, ExecutionStatus, Payload, Recorded, Seq, Summary, Timestamp, first_id_at,
};
use noetl_replay::Wanted;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::args::Chosen;
use crate::config::Config;
use crate::remote::refused;
use crate::show::failure::Failure;
use crate::show::overview::Overview;
use crate::wiring::database;
use crate::wiring::server_parts::machine_time;

/// The choice of executions in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    All,
    /// Only executions that were started by a request, without child executions.
    Requested,
}

/// The source of history: a store or a server.
#[derive(Clone)]
pub(crate) enum History {
    Store(StoreReader),
    Server(Arc<Client>),
}

/// The range of times in which an execution was started.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Started {
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
}

impl Started {
    fn admits(self, summary: &Summary) -> bool {
        self.since.is_none_or(|since| since <= summary.started_at)
            && self.until.is_none_or(|until| summary.started_at <= until)
    }

    /// Returns the lowest id after `until`: ids contain the millisecond of their creation.
    fn before_id(self) -> Option<ExecutionId> {
        self.until.map(|until| ExecutionId(first_id_at(until.after(MILLISECOND))))
    }
}

const MILLISECOND: Duration = Duration::from_millis(1);

/// The part of an execution's status that tells why it is waiting.
#[derive(Deserialize)]
struct Hinted {
    #[serde(default)]
    hint: Option<String>,
}

impl History {
    pub(crate) async fn open(path: &Path, config: &Config) -> Result<Self, Failure> {
        Ok(Self::of(database::reader(path, config).await?))
    }

    pub(crate) fn of(store: StoreReader) -> Self {
        Self::Store(store)
    }

    pub(crate) fn of_server(client: Arc<Client>) -> Self {
        Self::Server(client)
    }

    /// Returns the location for messages.
    fn name(&self) -> &'static str {
        match self {
            History::Store(_) => "in this database",
            History::Server(_) => "on this server",
        }
    }

    /// Loads the chosen execution; fails if it does not exist.
    pub(crate) async fn chosen(&self, chosen: Chosen) -> Result<Summary, Failure> {
        match chosen {
            Chosen::Id(id) => self.summary(id).await?.ok_or_else(|| {
                Failure::bad_input(anyhow!("there is no execution {id} {}", self.name()))
                    .help("`noetl executions list` shows those there are")
            }),
            Chosen::Last => {
                let latest = self.list(Which::Requested, &ExecutionFilter::default(), 1).await?;
                latest.into_iter().next().ok_or_else(|| {
                    Failure::bad_input(anyhow!("there is no execution {} yet", self.name()))
                        .help("`noetl run FILE` starts one")
                })
            }
        }
    }

    pub(crate) async fn summary(&self, id: ExecutionId) -> Result<Option<Summary>, Failure> {
        match self {
            History::Store(store) => store.summary(id).await.map_err(unread),
            History::Server(client) => client.summary(id).await.map_err(refused),
        }
    }

    /// Lists executions, newest first.
    pub(crate) async fn list(
        &self,
        which: Which,
        filter: &ExecutionFilter,
        limit: usize,
    ) -> Result<Vec<Summary>, Failure> {
        self.list_started(which, filter, Started::default(), limit).await
    }

    /// Lists executions that were started within a time range, newest first.
    pub(crate) async fn list_started(
        &self,
        which: Which,
        filter: &ExecutionFilter,
        started: Started,
        limit: usize,
    ) -> Result<Vec<Summary>, Failure> {
        let mut listed: Vec<Summary> = Vec::new();
        let mut before = started.before_id();
        // The page is larger than the limit because some of its executions may be filtered out.
        let page_limit = PAGE_MAX.min(2 * limit + 20);
        while listed.len() < limit {
            let page = self.listed(filter, Page { before, limit: page_limit }).await?;
            let Some(last) = page.last() else { break };
            before = Some(last.execution);
            let is_beyond = started.since.is_some_and(|since| last.started_at < since);
            listed.extend(page.into_iter().filter(|summary| match which {
                Which::All => started.admits(summary),
                Which::Requested => started.admits(summary) && summary.parent.is_none(),
            }));
            if is_beyond {
                break;
            }
        }
        listed.truncate(limit);
        Ok(listed)
    }

    /// Loads a page of executions, newest first.
    pub(crate) async fn listed(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<Summary>, Failure> {
        match self {
            History::Store(store) => store.summaries(filter, page).await.map_err(unread),
            History::Server(client) => {
                let (path, path_exact) = match filter.path.clone() {
                    Some(PathFilter::Whole(whole)) => (None, Some(whole)),
                    Some(PathFilter::Part(part)) => (Some(part), None),
                    None => (None, None),
                };
                let query = SummariesQuery {
                    status: filter.status.map(|status| status.to_string()),
                    path,
                    path_exact,
                    catalog_id: filter.catalog_id.map(|id| id.0),
                    parent_execution_id: filter.parent.map(|id| id.0),
                    before: page.before.map(|before| before.0),
                    limit: Some(page.limit),
                };
                client.summaries(&query).await.map_err(refused)
            }
        }
    }

    /// Returns the time by the clock that stamps events.
    pub(crate) async fn now(&self) -> Result<Timestamp, Failure> {
        match self {
            History::Store(store) => Ok(store.now()),
            History::Server(client) => {
                let health = client.health().await.map_err(refused)?;
                let time = health["time"].as_str().and_then(|time| time.parse().ok());
                // Servers of older versions do not report their time.
                Ok(time.unwrap_or_else(machine_time))
            }
        }
    }

    /// Loads a page of events after `after`, in order; empty if there are none.
    pub(crate) async fn page(
        &self,
        execution: ExecutionId,
        after: Seq,
    ) -> Result<Vec<Recorded>, Failure> {
        match self {
            History::Store(store) => store.log(execution, after).await.map_err(unread),
            History::Server(client) => {
                client.events(execution, after, Duration::ZERO).await.map_err(refused)
            }
        }
    }

    /// Returns the reason why a running execution does not proceed, as far as its server knows.
    pub(crate) async fn hint(
        &self,
        execution: ExecutionId,
        status: ExecutionStatus,
    ) -> Option<String> {
        let client = match self {
            History::Server(client) if status == ExecutionStatus::Running => client,
            History::Server(_) | History::Store(_) => return None,
        };
        let path = format!("api/executions/{execution}/status");
        let asked: Result<Hinted, _> = client.ask(Method::GET, &path, None, Duration::ZERO).await;
        match asked {
            Ok(Hinted { hint }) => hint,
            Err(error) => {
                tracing::debug!(%error, %execution, "no hint");
                None
            }
        }
    }

    /// Returns the workload of an execution. A fork may have replaced the workload of its origin.
    pub(crate) async fn workload(&self, summary: &Summary) -> Result<Map<String, Value>, Failure> {
        let id = summary.execution;
        let mut fork = summary.fork;
        let mut after = Seq::ZERO;
        let mut until = summary.seq;
        for _ in 0..=FORKS_MAX {
            let Some(point) = fork else { break };
            // A fork that its descendant left before the first event of the fork has changed
            // nothing.
            if point.seq < until {
                let event = self.page(id, point.seq).await?.into_iter().next();
                if let Some(Event::ExecutionForked { workload: Some(_), .. }) =
                    event.map(|recorded| recorded.event)
                {
                    after = point.seq;
                    break;
                }
                until = point.seq;
            }
            fork = self.summary(point.execution).await?.and_then(|origin| origin.fork);
        }
        let event = self.page(id, after).await?.into_iter().next().map(|recorded| recorded.event);
        let workload = match event {
            Some(Event::ExecutionStarted { workload, .. }) => Some(workload),
            Some(Event::ExecutionForked { workload, .. }) => workload,
            Some(_) | None => None,
        };
        let Some(workload) = workload else {
            return Err(Failure::broken(anyhow!("execution {id} does not begin with a start")));
        };
        match self.value(&workload).await? {
            Value::Object(workload) => Ok(workload),
            _ => Err(Failure::broken(anyhow!("the workload of execution {id} is no map"))),
        }
    }

    /// Reads the events of an execution in order, page by page, until the end or until `see` has
    /// enough.
    pub(crate) async fn read(
        &self,
        execution: ExecutionId,
        mut see: impl FnMut(&Recorded) -> Result<Wanted, Failure>,
    ) -> Result<(), Failure> {
        let mut after = Seq::ZERO;
        loop {
            let page = self.page(execution, after).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            for recorded in &page {
                if see(recorded)? == Wanted::Enough {
                    return Ok(());
                }
            }
        }
    }

    /// Returns the overview of an execution, folded from all its events.
    pub(crate) async fn overview(&self, summary: &Summary) -> Result<Overview, Failure> {
        let mut overview = Overview::of(summary);
        let mut after = Seq::ZERO;
        loop {
            let page = self.page(summary.execution, after).await?;
            let Some(last) = page.last() else { return Ok(overview) };
            after = last.seq;
            for recorded in &page {
                overview.see(recorded);
            }
        }
    }

    /// Loads a value, inline or stored by reference.
    pub(crate) async fn value(&self, payload: &Payload) -> Result<Value, Failure> {
        let reference = match payload {
            Payload::Inline(value) => return Ok((**value).clone()),
            Payload::Ref(reference) => reference,
        };
        match self {
            History::Store(store) => store.value(reference).await.map_err(|error| match error {
                ReadValueError::Store(error) => unread(error),
                ReadValueError::Missing(_) | ReadValueError::NotJson(_) => Failure::broken(error),
            }),
            History::Server(client) => client.payload(reference).await.map_err(refused),
        }
    }
}

fn unread(error: StoreError) -> Failure {
    Failure::broken(anyhow::Error::new(error).context("cannot read the history"))
        .help("`noetl doctor` looks at the database")
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;

    use noetl_api::ClientSettings;

    use super::*;

    /// Starts a server that answers one request with a document; returns its address.
    fn answering(document: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{document}", document.len())
                .unwrap();
        });
        url
    }

    async fn hint(document: &'static str, status: ExecutionStatus) -> Option<String> {
        // Another test of this process may have installed it first.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let base = answering(document).parse().unwrap();
        let client = Client::new(ClientSettings { base, token: None, ca: None }).unwrap();
        History::of_server(Arc::new(client)).hint(ExecutionId(7), status).await
    }

    #[tokio::test]
    async fn the_hint_of_a_server_is_told_while_an_execution_runs() {
        const WAITS: &str = r#"{"status": "RUNNING", "hint": "No worker is connected"}"#;
        let told = hint(WAITS, ExecutionStatus::Running).await;
        assert_eq!(told.as_deref(), Some("No worker is connected"));
        assert_eq!(hint(WAITS, ExecutionStatus::Completed).await, None);
        assert_eq!(hint(r#"{"status": "RUNNING"}"#, ExecutionStatus::Running).await, None);
    }
}
