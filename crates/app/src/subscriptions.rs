//! Subscriptions: registering, listing, and changing their state.

use noetl_api::wire::{
    SubscriptionEventView, SubscriptionEvents, SubscriptionList, SubscriptionView,
};
use noetl_control::SubscriptionError;
use noetl_engine::SubscriptionAction;
use noetl_model::{ExecutionId, Seq};
use noetl_store::{PAGE_MAX, StoreError, SubscriptionRow};

use crate::app::App;

/// Maximum number of subscriptions in a list.
const LIST_MAX: usize = 10_000;

impl App {
    /// Lists all subscriptions, newest first.
    pub async fn list_subscriptions(&self) -> Result<SubscriptionList, SubscriptionError> {
        let mut rows: Vec<SubscriptionRow> = Vec::new();
        loop {
            let page = self.store().subscriptions(rows.last().map(|row| row.id), PAGE_MAX).await?;
            let is_last = page.len() < PAGE_MAX;
            rows.extend(page);
            if is_last || rows.len() >= LIST_MAX {
                break;
            }
        }
        Ok(SubscriptionList { subscriptions: rows.into_iter().map(view).collect() })
    }

    /// Returns the subscription at a path; registers one if there is none that is not deactivated.
    pub async fn subscribe(&self, path: &str) -> Result<SubscriptionView, SubscriptionError> {
        Ok(view(self.control().subscribe(path).await?))
    }

    /// True if a subscription has this id.
    pub async fn is_subscription(&self, id: ExecutionId) -> Result<bool, StoreError> {
        Ok(self.store().subscription(id).await?.is_some())
    }

    /// Returns a subscription.
    pub async fn subscription(
        &self,
        id: ExecutionId,
    ) -> Result<SubscriptionView, SubscriptionError> {
        let row = self.store().subscription(id).await?;
        Ok(view(row.ok_or(SubscriptionError::Unknown(id))?))
    }

    /// Lists the events of a subscription.
    pub async fn subscription_events(
        &self,
        id: ExecutionId,
    ) -> Result<SubscriptionEvents, SubscriptionError> {
        let records = self.store().subscription_events(id, Seq::ZERO).await?;
        if records.is_empty() {
            return Err(SubscriptionError::Unknown(id));
        }
        let events = records.iter().map(|record| SubscriptionEventView {
            seq: record.seq.0,
            event_id: record.event_id.to_string(),
            event_type: record.event.as_str().to_owned(),
            state: record.event.state().to_string(),
            created_at: record.at.to_string(),
        });
        Ok(SubscriptionEvents { events: events.collect() })
    }

    /// Activates, pauses, resumes, drains or deactivates a subscription.
    pub async fn move_subscription(
        &self,
        id: ExecutionId,
        action: SubscriptionAction,
    ) -> Result<SubscriptionView, SubscriptionError> {
        Ok(view(self.control().move_subscription(id, action).await?))
    }
}

fn view(row: SubscriptionRow) -> SubscriptionView {
    SubscriptionView {
        subscription_id: row.id.to_string(),
        state: row.state().to_string(),
        last_event_type: row.last_event.as_str().to_owned(),
        updated_at: noetl_compat::time_with_offset(row.updated_at),
        catalog_id: row.catalog_id.to_string(),
        path: row.path,
    }
}
