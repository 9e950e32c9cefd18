//! The documents that ask for notifications, as decisions see them.
//!
//! They are read from the catalog again after a short time, so that a document takes effect on every
//! server within [`FRESH`] of its registration, and at once on the server that registers it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use noetl_engine::NoticeSettings;
use noetl_playbook::{CheckedDocument, NotificationDocument, parse_document};
use noetl_store::{CatalogEntry, EntryState, StoreError};
use tokio::time::Instant;

use crate::Control;
use crate::starts::catalog::NOTIFICATION;

/// The time after which the documents are read again.
const FRESH: Duration = Duration::from_secs(2);

/// The cache of the active documents.
#[derive(Debug, Default)]
pub(crate) struct NoticeCache {
    known: Mutex<Option<KnownNotices>>,
    /// Held while the documents are read, so that one decision reads them and the others go on with
    /// those that are known.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone)]
struct KnownNotices {
    read_at: Instant,
    settings: Arc<NoticeSettings>,
}

impl NoticeCache {
    fn known(&self) -> MutexGuard<'_, Option<KnownNotices>> {
        self.known.lock().expect("nothing panics while it holds the documents")
    }

    fn fresh(&self) -> Option<Arc<NoticeSettings>> {
        let known = self.known();
        let known = known.as_ref().filter(|known| known.read_at.elapsed() < FRESH)?;
        Some(Arc::clone(&known.settings))
    }

    fn stale(&self) -> Option<Arc<NoticeSettings>> {
        self.known().as_ref().map(|known| Arc::clone(&known.settings))
    }

    fn put(&self, settings: &Arc<NoticeSettings>) {
        let (read_at, settings) = (Instant::now(), Arc::clone(settings));
        *self.known() = Some(KnownNotices { read_at, settings });
    }
}

impl Control {
    /// Returns the active documents that ask for notifications.
    pub(crate) async fn notices(&self) -> Result<Arc<NoticeSettings>, StoreError> {
        let cache = &self.parts.notices;
        if let Some(fresh) = cache.fresh() {
            return Ok(fresh);
        }
        let _reading = match (cache.reading.try_lock(), cache.stale()) {
            (Ok(reading), _) => reading,
            (Err(_), Some(stale)) => return Ok(stale),
            (Err(_), None) => cache.reading.lock().await,
        };
        if let Some(fresh) = cache.fresh() {
            return Ok(fresh);
        }
        let read = self.parts.store.entries_of_kind(NOTIFICATION, EntryState::Active).await;
        let documents = match (read, cache.stale()) {
            (Ok(entries), _) => entries.iter().filter_map(document_of).collect(),
            // While the store does not answer, nothing can be written either.
            (Err(_), Some(stale)) => return Ok(stale),
            (Err(error), None) => return Err(error),
        };
        let public_url = self.parts.settings.public_url.clone();
        let settings = Arc::new(NoticeSettings { documents, public_url });
        cache.put(&settings);
        Ok(settings)
    }

    /// Has the documents read again before the next decision.
    pub fn notices_changed(&self) {
        *self.parts.notices.known() = None;
    }

    /// Waits until this process has written a notification to the outbox.
    pub async fn notification_requested(&self) {
        self.parts.wakes.notifications.notified().await;
    }
}

fn document_of(entry: &CatalogEntry) -> Option<NotificationDocument> {
    match parse_document(&entry.path, entry.content.as_bytes()) {
        Ok(CheckedDocument::Notification(checked)) => Some(checked.notification),
        Ok(
            CheckedDocument::Playbook(_)
            | CheckedDocument::Subscription(_)
            | CheckedDocument::Schedule(_),
        ) => None,
        // A document registered by another version may be invalid in this one.
        Err(problems) => {
            tracing::warn!(path = entry.path, %problems, "a notification cannot be read");
            None
        }
    }
}
