//! The documents of `kind: Notification`: listed, tested, paused and resumed.

use noetl_api::wire::{NotificationItem, NotificationTestResult};
use noetl_engine::sample_notices;
use noetl_model::{ExecutionId, NOTICE_DEPTH_MAX, NoticeReason, Seq};
use noetl_playbook::{CheckedDocument, NotificationDocument, parse_document};
use noetl_store::{CatalogEntry, EntryState, StoreError};

use super::send::Notice;
use crate::app::App;
use crate::catalog::{CatalogError, EntryChoice};

/// The kind of notifications in the catalog.
pub(crate) const NOTIFICATION: &str = "Notification";

/// A notification document in a list.
#[derive(Debug, Clone)]
pub struct ListedNotification {
    pub entry: CatalogEntry,
    /// The paths of playbooks that it matches; all if empty.
    pub paths: Vec<String>,
    /// The labels that an execution must have, as `key:value`.
    pub labels: Vec<String>,
    /// The reasons, each with its receivers in words.
    pub on: Vec<(NoticeReason, Vec<String>)>,
    /// True if the document is paused: it requests nothing.
    pub is_paused: bool,
    /// The reason why the document cannot be read by this version.
    pub problem: Option<String>,
}

/// A target of a tested document.
#[derive(Debug, Clone)]
pub struct TestedTarget {
    pub reason: NoticeReason,
    pub receiver: String,
    /// The reason why the sample was not sent.
    pub failure: Option<String>,
}

/// The reason why an operation on a notification fails.
#[derive(Debug, thiserror::Error)]
pub enum NotificationError {
    #[error("the catalog has no notification `{0}`")]
    Unknown(String),
    #[error("{path} is a {kind}, not a notification")]
    OtherKind { path: String, kind: String },
    #[error("{0} cannot be read: {1}")]
    Unreadable(String, String),
    #[error("this server does not send notifications")]
    NoTransport,
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl App {
    /// Lists the notification documents, active ones first.
    pub async fn list_notifications(&self) -> Result<Vec<ListedNotification>, StoreError> {
        let mut listed = Vec::new();
        for (state, is_paused) in [(EntryState::Active, false), (EntryState::Archived, true)] {
            let entries = self.store().entries_of_kind(NOTIFICATION, state).await?;
            listed.extend(entries.into_iter().map(|entry| listed_of(entry, is_paused)));
        }
        Ok(listed)
    }

    /// Pauses a notification: it requests nothing until it is resumed.
    pub async fn pause_notification(&self, path: &str) -> Result<(), NotificationError> {
        let choice = self.notification_entry(path).await?;
        self.archive(&choice).await?;
        Ok(())
    }

    /// Resumes a paused notification.
    pub async fn resume_notification(&self, path: &str) -> Result<(), NotificationError> {
        let choice = self.notification_entry(path).await?;
        self.restore(&choice).await?;
        Ok(())
    }

    async fn notification_entry(&self, path: &str) -> Result<EntryChoice, NotificationError> {
        let choice = EntryChoice::Path { path: path.to_owned(), version: None };
        let found = self.find_entry(&choice).await?;
        let entry = found.ok_or_else(|| NotificationError::Unknown(path.to_owned()))?;
        if entry.kind != NOTIFICATION {
            let (path, kind) = (entry.path, entry.kind.to_lowercase());
            return Err(NotificationError::OtherKind { path, kind });
        }
        Ok(choice)
    }

    /// Sends a sample to every target of a notification, at once and without retries.
    pub async fn test_notification(
        &self,
        path: &str,
    ) -> Result<Vec<TestedTarget>, NotificationError> {
        let choice = self.notification_entry(path).await?;
        let entry = self.catalog_entry(&choice).await?;
        let document = document_of(&entry)
            .map_err(|problem| NotificationError::Unreadable(entry.path.clone(), problem))?;
        let transport = self.notice_transport().ok_or(NotificationError::NoTransport)?;
        let execution = ExecutionId(self.next_id());
        let samples = sample_notices(&document, execution, self.now());
        let mut tested = Vec::with_capacity(samples.len());
        for (place, (reason, target)) in samples.iter().enumerate() {
            let event = Seq(place as u64 + 1);
            let document = Some(entry.path.clone());
            // A started playbook is at the end of a chain: the test leads to no notification.
            let notice = Notice::requested(execution, event, (document, NOTICE_DEPTH_MAX), target);
            let sent = self.send_notice(&*transport, &notice).await;
            let failure = sent.err().map(|failure| failure.reason);
            tested.push(TestedTarget { reason: *reason, receiver: target.receiver(), failure });
        }
        Ok(tested)
    }
}

fn document_of(entry: &CatalogEntry) -> Result<NotificationDocument, String> {
    match parse_document(&entry.path, entry.content.as_bytes()) {
        Ok(CheckedDocument::Notification(checked)) => Ok(checked.notification),
        Ok(
            CheckedDocument::Playbook(_)
            | CheckedDocument::Subscription(_)
            | CheckedDocument::Schedule(_),
        ) => Err("it is a document of another kind".to_owned()),
        Err(problems) => Err(problems.to_string()),
    }
}

fn listed_of(entry: CatalogEntry, is_paused: bool) -> ListedNotification {
    match document_of(&entry) {
        Ok(document) => {
            let on = document.on.iter().map(|(reason, targets)| {
                (*reason, targets.iter().map(|target| target.receiver()).collect())
            });
            let on = on.collect();
            let labels = document.matches.labels.iter().map(ToString::to_string).collect();
            let paths = document.matches.paths;
            ListedNotification { entry, paths, labels, on, is_paused, problem: None }
        }
        Err(problem) => {
            let (paths, labels, on) = (Vec::new(), Vec::new(), Vec::new());
            ListedNotification { entry, paths, labels, on, is_paused, problem: Some(problem) }
        }
    }
}

impl From<ListedNotification> for NotificationItem {
    fn from(listed: ListedNotification) -> Self {
        let ListedNotification { entry, paths, labels, on, is_paused, problem } = listed;
        let on = on.into_iter().map(|(reason, receivers)| (reason.to_string(), receivers));
        let (path, version) = (entry.path, entry.version);
        Self { path, version, paused: is_paused, paths, labels, on: on.collect(), problem }
    }
}

impl From<TestedTarget> for NotificationTestResult {
    fn from(tested: TestedTarget) -> Self {
        let TestedTarget { reason, receiver, failure } = tested;
        Self { reason: reason.to_string(), receiver, sent: failure.is_none(), error: failure }
    }
}
