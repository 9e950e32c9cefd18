//! Subscriptions: registered once per path, then moved from state to state.

use std::sync::Arc;

use noetl_engine::{IllegalTransition, SubscriptionAction, registers_anew, transition};
use noetl_model::{EventId, ExecutionId, Seq, SubscriptionEvent};
use noetl_playbook::{CheckedDocument, Problems, Subscription};
use noetl_store::{CatalogEntry, StoreError, SubscriptionRow};
use thiserror::Error;

use crate::Control;

/// The largest number of retries after conflicts with other writers.
const CONFLICTS_MAX: u32 = 8;

/// The reason why an operation on a subscription failed.
#[derive(Debug, Error)]
pub enum SubscriptionError {
    #[error("the catalog has nothing at {0}")]
    UnknownPath(String),
    #[error("{path} is a {kind}, not a subscription")]
    NotASubscription { path: String, kind: String },
    #[error("there is no subscription {0}")]
    Unknown(ExecutionId),
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// The path has another active subscription.
    #[error("{path} has subscription {other} now; act on that one")]
    Replaced { path: String, other: ExecutionId },
    /// Other writers kept winning the race.
    #[error("the subscription keeps changing")]
    Contended,
    /// The stored document is invalid.
    #[error("the subscription's document cannot be read")]
    Damaged(#[source] Problems),
    #[error("the store did not answer")]
    Store(#[from] StoreError),
}

impl Control {
    /// Returns the active subscription of a path; creates one if there is none.
    pub async fn subscribe(&self, path: &str) -> Result<SubscriptionRow, SubscriptionError> {
        let entry = self.subscription_entry(path).await?;
        for _ in 0..CONFLICTS_MAX {
            let found = self.parts.store.subscription_at(path).await?;
            let state = found.as_ref().map(SubscriptionRow::state);
            if let Some(live) = found.filter(|_| !registers_anew(state)) {
                return Ok(live);
            }
            let row = SubscriptionRow {
                id: ExecutionId(self.parts.stamps.next_id()),
                path: path.to_owned(),
                catalog_id: entry.catalog_id,
                seq: Seq::ZERO.next(),
                last_event: SubscriptionEvent::Registered,
                updated_at: self.parts.stamps.now(),
            };
            if self.record(&row).await? {
                tracing::info!(path, id = %row.id, "subscription registered");
                return Ok(row);
            }
        }
        Err(SubscriptionError::Contended)
    }

    /// Returns the latest subscription of a path, even if it is deactivated; creates one if there
    /// never was any.
    pub async fn subscription_for(&self, path: &str) -> Result<SubscriptionRow, SubscriptionError> {
        match self.parts.store.subscription_at(path).await? {
            Some(row) => Ok(row),
            None => self.subscribe(path).await,
        }
    }

    /// Applies an action to a subscription.
    pub async fn move_subscription(
        &self,
        id: ExecutionId,
        action: SubscriptionAction,
    ) -> Result<SubscriptionRow, SubscriptionError> {
        let store = &self.parts.store;
        for _ in 0..CONFLICTS_MAX {
            let found = store.subscription(id).await?;
            let current = found.ok_or(SubscriptionError::Unknown(id))?;
            let row = SubscriptionRow {
                seq: current.seq.next(),
                last_event: transition(current.state(), action)?,
                updated_at: self.parts.stamps.now(),
                ..current
            };
            if self.record(&row).await? {
                tracing::info!(path = row.path, %id, state = %row.state(), "subscription moved");
                return Ok(row);
            }
            let live = store.subscription_at(&row.path).await?;
            if let Some(other) =
                live.filter(|live| live.id != id && !registers_anew(Some(live.state())))
            {
                let (path, other) = (row.path, other.id);
                return Err(SubscriptionError::Replaced { path, other });
            }
        }
        Err(SubscriptionError::Contended)
    }

    /// Returns the newest document of a path, parsed.
    pub async fn subscription_document(
        &self,
        path: &str,
    ) -> Result<Arc<Subscription>, SubscriptionError> {
        let entry = self.subscription_entry(path).await?;
        read(&entry)
    }

    async fn subscription_entry(&self, path: &str) -> Result<CatalogEntry, SubscriptionError> {
        let entry = self.parts.store.by_path(path, None).await?;
        let entry = entry.ok_or_else(|| SubscriptionError::UnknownPath(path.to_owned()))?;
        if entry.kind.eq_ignore_ascii_case("subscription") {
            return Ok(entry);
        }
        let (path, kind) = (entry.path, entry.kind.to_lowercase());
        Err(SubscriptionError::NotASubscription { path, kind })
    }

    async fn record(&self, row: &SubscriptionRow) -> Result<bool, StoreError> {
        self.parts.store.record(row, EventId(self.parts.stamps.next_id())).await
    }
}

fn read(entry: &CatalogEntry) -> Result<Arc<Subscription>, SubscriptionError> {
    match noetl_playbook::parse_document(&entry.path, entry.content.as_bytes()) {
        Ok(CheckedDocument::Subscription(checked)) => Ok(Arc::new(checked.subscription)),
        Ok(
            CheckedDocument::Playbook(_)
            | CheckedDocument::Schedule(_)
            | CheckedDocument::Notification(_),
        ) => Err(SubscriptionError::NotASubscription {
            path: entry.path.clone(),
            kind: entry.kind.to_lowercase(),
        }),
        Err(problems) => Err(SubscriptionError::Damaged(problems)),
    }
}
