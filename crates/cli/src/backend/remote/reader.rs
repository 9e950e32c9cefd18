//! Reads executions and the catalog of a server.

use std::time::Duration;

use async_trait::async_trait;
use noetl_api::wire::{
    AuditLogPage, AuditVerification, SummariesQuery, SummariesReply, SummaryReply, Verification,
    VerificationQuery,
};
use noetl_api::{CatalogItem, ClientError, Method, PublicEvent};
use noetl_app::{
    AuditLogQuery, CredentialFilter, EntryState, ExecutionFilter, KnownExecution, LogFilter, Page,
    PathFilter,
};
use noetl_compat::{Projection, ReplayState, replay_of_server};
use noetl_model::{
    CatalogId, Cutoff, Digest, ExecutionId, ExecutionStatus, PayloadRef, Recorded, Seq, Timestamp,
};
use serde::Deserialize;
use serde_json::Value;

use super::{Remote, refused};
use crate::backend::step_logs::{LogFeed, RemoteLogs};
use crate::backend::url::segment;
use crate::backend::{BackendReader, Credentials as _, HistoryLocation, PlaybookDocument};
use crate::show::failure::Failure;
use crate::wiring::server_parts::machine_time;

/// The most playbooks listed.
const PLAYBOOKS_MAX: usize = 10_000;
/// The number of playbooks per request.
const PLAYBOOKS_PAGE: usize = 500;

/// The part of an execution's status that tells why it is waiting.
#[derive(Deserialize)]
struct Hinted {
    #[serde(default)]
    hint: Option<String>,
}

/// The events of a page of a log.
#[derive(Deserialize)]
struct EventsOfPage {
    events: Vec<PublicEvent>,
}

impl From<CatalogItem> for PlaybookDocument {
    fn from(item: CatalogItem) -> Self {
        Self {
            path: item.path,
            version: item.version,
            catalog_id: CatalogId::from(item.catalog_id).to_string(),
            created_at: item.created_at,
            archived_at: item.archived_at,
            content: item.content,
        }
    }
}

#[async_trait]
impl BackendReader for Remote {
    fn location(&self) -> &HistoryLocation {
        &self.location
    }

    async fn find(&self, id: ExecutionId) -> Result<Option<KnownExecution>, Failure> {
        let found = self.client.summary(id).await.map_err(refused)?;
        Ok(found.map(|SummaryReply { summary, origin }| KnownExecution { origin, summary }))
    }

    async fn page(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<KnownExecution>, Failure> {
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
            labels: SummariesQuery::label_lines(&filter.labels),
            actor: filter.actor.as_ref().map(ToString::to_string),
            text: filter.text.as_ref().map(ToString::to_string),
            before: page.before.map(|before| before.0),
            limit: Some(page.limit),
        };
        let SummariesReply { summaries, origins } =
            self.client.summaries(&query).await.map_err(refused)?;
        let known = summaries.into_iter().map(|summary| {
            let origin = origins.get(&summary.execution).copied().unwrap_or_default();
            KnownExecution { origin, summary }
        });
        Ok(known.collect())
    }

    async fn foreign_events(
        &self,
        known: &KnownExecution,
        after: Seq,
    ) -> Result<Vec<PublicEvent>, Failure> {
        let path = format!("api/executions/{}/events?after={after}", known.summary.execution);
        let page = self.client.ask(Method::GET, &path, None, Duration::ZERO).await;
        let EventsOfPage { events } = page.map_err(refused)?;
        Ok(events)
    }

    async fn now(&self) -> Result<Timestamp, Failure> {
        let health = self.client.health().await.map_err(refused)?;
        let time = health["time"].as_str().and_then(|time| time.parse().ok());
        // Servers of older versions do not report their time.
        Ok(time.unwrap_or_else(machine_time))
    }

    async fn events(&self, execution: ExecutionId, after: Seq) -> Result<Vec<Recorded>, Failure> {
        self.client.events(execution, after, Duration::ZERO).await.map_err(refused)
    }

    async fn step_logs(
        &self,
        execution: ExecutionId,
        filter: LogFilter,
        follow: bool,
    ) -> Result<Box<dyn LogFeed>, Failure> {
        Ok(Box::new(RemoteLogs::new(self.client.clone(), execution, filter, follow)))
    }

    async fn hint(&self, execution: ExecutionId, status: ExecutionStatus) -> Option<String> {
        if status != ExecutionStatus::Running {
            return None;
        }
        let path = format!("api/executions/{execution}/status");
        match self.client.ask(Method::GET, &path, None, Duration::ZERO).await {
            Ok(Hinted { hint }) => hint,
            Err(error) => {
                tracing::debug!(%error, %execution, "cannot determine what an execution waits for");
                None
            }
        }
    }

    async fn payload(&self, reference: &PayloadRef) -> Result<Value, Failure> {
        self.client.payload(reference).await.map_err(refused)
    }

    /// Replays on the server, which has the snapshots of earlier replays.
    async fn replay(
        &self,
        execution: ExecutionId,
        cutoff: Cutoff,
        projection: Projection,
    ) -> Result<ReplayState, Failure> {
        replay_of_server(&self.client, execution, cutoff, projection).await.map_err(refused)
    }

    async fn verify(
        &self,
        execution: ExecutionId,
        expected: Option<Digest>,
        _progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Verification, Failure> {
        let query = VerificationQuery { expect: expected.map(|digest| digest.to_string()) };
        self.client.verification(execution, &query).await.map_err(refused)
    }

    async fn verify_audit(&self) -> Result<Option<AuditVerification>, Failure> {
        let path = "api/audit/verification";
        match self.client.ask(Method::GET, path, None, Duration::ZERO).await {
            Ok(found) => Ok(Some(found)),
            Err(ClientError::Refused { code, .. })
                if code == "forbidden" || code == "unknown-path" =>
            {
                Ok(None)
            }
            Err(error) => Err(refused(error)),
        }
    }

    async fn audit_page(&self, query: &AuditLogQuery) -> Result<AuditLogPage, Failure> {
        let since = query.since.map(|since| since.to_string());
        let given = [("since", &since), ("actor", &query.actor), ("action", &query.action)];
        let given = given.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)));
        let given: String =
            given.map(|(key, value)| format!("&{key}={}", segment(value))).collect();
        self.get(&format!("api/audit?after={}{given}", query.after)).await
    }

    async fn playbooks(
        &self,
        state: EntryState,
        part: Option<&str>,
    ) -> Result<Vec<PlaybookDocument>, Failure> {
        let archived = state == EntryState::Archived;
        let mut playbooks = Vec::new();
        while playbooks.len() < PLAYBOOKS_MAX {
            let page = self.client.catalog(part, archived, PLAYBOOKS_PAGE, playbooks.len());
            let page = page.await.map_err(refused)?;
            if page.is_empty() {
                break;
            }
            playbooks.extend(page.into_iter().map(PlaybookDocument::from));
        }
        Ok(playbooks)
    }

    async fn credential_names(&self) -> Result<Vec<String>, Failure> {
        let found = self.credentials(CredentialFilter::default()).await?;
        Ok(found.into_iter().map(|credential| credential.name).collect())
    }

    async fn playbook(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<PlaybookDocument>, Failure> {
        let item = self.client.catalog_item(path, version).await.map_err(refused)?;
        Ok(item.map(Into::into))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use std::sync::Arc;

    use noetl_api::{Client, ClientSettings};
    use url::Url;

    use super::*;

    /// Starts a server that answers one request with a document; returns its address.
    fn answering(document: &'static str) -> Url {
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
        url.parse().unwrap()
    }

    async fn hint(document: &'static str, status: ExecutionStatus) -> Option<String> {
        // Another test of this process may have installed it first.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let base = answering(document);
        let location = HistoryLocation::Server(base.clone());
        let client =
            Client::new(ClientSettings { base, token: None, actor: None, ca: None }).unwrap();
        Remote { client: Arc::new(client), location }.hint(ExecutionId(7), status).await
    }

    #[tokio::test]
    async fn the_hint_of_a_server_is_shown_while_an_execution_runs() {
        const WAITS: &str = r#"{"status": "RUNNING", "hint": "No worker is connected"}"#;
        let told = hint(WAITS, ExecutionStatus::Running).await;
        assert_eq!(told.as_deref(), Some("No worker is connected"));
        assert_eq!(hint(WAITS, ExecutionStatus::Completed).await, None);
        assert_eq!(hint(r#"{"status": "RUNNING"}"#, ExecutionStatus::Running).await, None);
    }
}
