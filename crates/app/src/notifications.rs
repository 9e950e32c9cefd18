//! Notifications about executions: sending them, testing them, and the documents that ask for them.
//!
//! The engine requests a notification with an event (`notification.requested`), whose message waits
//! in the outbox. A server takes it from there and sends it, at least once, always under the same
//! id. What cannot be sent is retried and then dead, where an operator sees it.

mod documents;
mod send;
mod sender;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use noetl_model::{ExecutionId, NoticeKind, Seq};
use serde_json::{Map, Value};

pub(crate) use documents::NOTIFICATION;
pub use documents::{ListedNotification, NotificationError, TestedTarget};
pub use sender::send_notifications;

/// The way to receivers outside: HTTP and mail, under the network policy of the server.
#[async_trait]
pub trait NoticeTransport: Send + Sync {
    async fn call(&self, call: NoticeCall) -> Result<(), NoticeFailure>;

    async fn mail(&self, mail: NoticeMail) -> Result<(), NoticeFailure>;
}

/// An HTTP call that notifies.
#[derive(Debug, Clone)]
pub struct NoticeCall {
    pub method: String,
    pub url: String,
    pub headers: BTreeMap<String, String>,
    /// The body, as JSON.
    pub body: Option<Value>,
    /// The fields of the credential that authenticates the call.
    pub credential: Option<Map<String, Value>>,
}

/// A mail that notifies.
#[derive(Debug, Clone)]
pub struct NoticeMail {
    /// The id of the notification, the same in every attempt.
    pub id: String,
    pub to: Vec<String>,
    pub subject: String,
    pub body: String,
    /// The fields of the credential: the server, the user and the sender.
    pub credential: Map<String, Value>,
}

/// The reason why a notification was not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeFailure {
    pub reason: String,
    pub kind: NoticeFailureKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeFailureKind {
    /// The receiver refuses this message: another attempt would fail too.
    Refused,
    /// Another attempt may succeed.
    Temporary,
    /// The receiver does not answer: other messages to it would fail too.
    Unreachable,
}

impl NoticeFailure {
    pub fn refused(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), kind: NoticeFailureKind::Refused }
    }

    pub fn temporary(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), kind: NoticeFailureKind::Temporary }
    }

    pub fn unreachable(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), kind: NoticeFailureKind::Unreachable }
    }
}

/// Returns the id of a notification: the same in every attempt, and for every server.
pub(crate) fn notice_id(execution: ExecutionId, event: Seq) -> String {
    format!("noetl-{execution}-{event}")
}

/// The notifications that this server has sent, and attempts that failed, by kind of target.
#[derive(Debug, Default)]
pub(crate) struct NoticeCounters {
    sent: [AtomicU64; NoticeKind::ALL.len()],
    failed: [AtomicU64; NoticeKind::ALL.len()],
    dead: [AtomicU64; NoticeKind::ALL.len()],
}

/// The numbers of one kind of target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoticeCounts {
    pub kind: NoticeKind,
    pub sent: u64,
    /// Attempts that failed and are repeated.
    pub failed: u64,
    /// Notifications that are not tried again.
    pub dead: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticeOutcome {
    Sent,
    Failed,
    Dead,
}

impl NoticeCounters {
    pub(crate) fn count(&self, kind: NoticeKind, outcome: NoticeOutcome) {
        let counters = match outcome {
            NoticeOutcome::Sent => &self.sent,
            NoticeOutcome::Failed => &self.failed,
            NoticeOutcome::Dead => &self.dead,
        };
        counters[place(kind)].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> Vec<NoticeCounts> {
        let of = |kind: &NoticeKind| NoticeCounts {
            kind: *kind,
            sent: self.sent[place(*kind)].load(Ordering::Relaxed),
            failed: self.failed[place(*kind)].load(Ordering::Relaxed),
            dead: self.dead[place(*kind)].load(Ordering::Relaxed),
        };
        NoticeKind::ALL.iter().map(of).collect()
    }
}

/// Returns the index of a kind in the counters.
fn place(kind: NoticeKind) -> usize {
    match kind {
        NoticeKind::Playbook => 0,
        NoticeKind::Http => 1,
        NoticeKind::Mail => 2,
        NoticeKind::Slack => 3,
    }
}
