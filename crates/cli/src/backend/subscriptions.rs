//! Subscriptions and their failed messages, here or on a server.

use async_trait::async_trait;
use noetl_api::wire::{
    DeadDropped, DeadRetried, FailedMessagesView, SubscriptionEvents, SubscriptionList,
    SubscriptionView,
};
use noetl_app::IntakeError;
use noetl_control::SubscriptionError;
use noetl_engine::SubscriptionAction;
use noetl_model::ExecutionId;
use serde_json::json;

use super::local::Session;
use super::remote::Remote;
use super::url::segment;
use crate::show::failure::Failure;

/// The operations on subscriptions.
#[async_trait]
pub(crate) trait Subscriptions {
    /// Lists all subscriptions, newest first.
    async fn subscriptions(&self) -> Result<Vec<SubscriptionView>, Failure>;

    async fn subscription_events(&self, id: ExecutionId) -> Result<SubscriptionEvents, Failure>;

    /// Registers a subscription, or returns the one at the path.
    async fn subscribe(&self, path: &str) -> Result<SubscriptionView, Failure>;

    async fn move_subscription(
        &self,
        id: ExecutionId,
        action: SubscriptionAction,
    ) -> Result<SubscriptionView, Failure>;

    /// Lists a page of failed messages after a name.
    async fn failed_messages(
        &self,
        id: ExecutionId,
        after: &str,
    ) -> Result<FailedMessagesView, Failure>;

    /// Retries dead messages; all of them if `names` is empty.
    async fn retry_dead(&self, id: ExecutionId, names: &[String]) -> Result<DeadRetried, Failure>;

    /// Deletes dead messages, all of them if `names` is empty; returns their number.
    async fn drop_dead(&self, id: ExecutionId, names: &[String]) -> Result<u64, Failure>;
}

/// Returns the id of a subscription.
pub(crate) fn subscription_id(subscription: &SubscriptionView) -> Result<ExecutionId, Failure> {
    subscription.subscription_id.parse().map(ExecutionId).map_err(Failure::broken)
}

fn failed(error: SubscriptionError) -> Failure {
    match error {
        SubscriptionError::Damaged(problems) => Failure::Invalid(problems),
        SubscriptionError::UnknownPath(_)
        | SubscriptionError::Unknown(_)
        | SubscriptionError::NotASubscription { .. }
        | SubscriptionError::Illegal(_)
        | SubscriptionError::Replaced { .. } => Failure::bad_input(error),
        SubscriptionError::Contended | SubscriptionError::Store(_) => Failure::broken(error),
    }
}

fn not_taken(error: IntakeError) -> Failure {
    match error {
        IntakeError::Subscription(error) => failed(error),
        IntakeError::Pushed { .. } | IntakeError::Closed { .. } => Failure::bad_input(error),
        IntakeError::Unavailable(_) => Failure::broken(error),
    }
}

#[async_trait]
impl Subscriptions for Session {
    async fn subscriptions(&self) -> Result<Vec<SubscriptionView>, Failure> {
        Ok(self.app().list_subscriptions().await.map_err(failed)?.subscriptions)
    }

    async fn subscription_events(&self, id: ExecutionId) -> Result<SubscriptionEvents, Failure> {
        self.app().subscription_events(id).await.map_err(failed)
    }

    async fn subscribe(&self, path: &str) -> Result<SubscriptionView, Failure> {
        self.app().subscribe(path).await.map_err(failed)
    }

    async fn move_subscription(
        &self,
        id: ExecutionId,
        action: SubscriptionAction,
    ) -> Result<SubscriptionView, Failure> {
        self.app().move_subscription(id, action).await.map_err(failed)
    }

    async fn failed_messages(
        &self,
        id: ExecutionId,
        after: &str,
    ) -> Result<FailedMessagesView, Failure> {
        self.app().intake().failed_messages(id, after, None).await.map_err(not_taken)
    }

    async fn retry_dead(&self, id: ExecutionId, names: &[String]) -> Result<DeadRetried, Failure> {
        self.app().intake().retry_dead(id, names).await.map_err(not_taken)
    }

    async fn drop_dead(&self, id: ExecutionId, names: &[String]) -> Result<u64, Failure> {
        self.app().intake().drop_dead(id, names).await.map_err(not_taken)
    }
}

#[async_trait]
impl Subscriptions for Remote {
    async fn subscriptions(&self) -> Result<Vec<SubscriptionView>, Failure> {
        let SubscriptionList { subscriptions } = self.get("api/subscriptions").await?;
        Ok(subscriptions)
    }

    async fn subscription_events(&self, id: ExecutionId) -> Result<SubscriptionEvents, Failure> {
        self.get(&format!("api/subscriptions/{id}/events")).await
    }

    async fn subscribe(&self, path: &str) -> Result<SubscriptionView, Failure> {
        self.post("api/subscriptions", &json!({ "path": path })).await
    }

    async fn move_subscription(
        &self,
        id: ExecutionId,
        action: SubscriptionAction,
    ) -> Result<SubscriptionView, Failure> {
        self.post(&format!("api/subscriptions/{id}/{}", action.as_str()), &json!({})).await
    }

    async fn failed_messages(
        &self,
        id: ExecutionId,
        after: &str,
    ) -> Result<FailedMessagesView, Failure> {
        self.get(&format!("api/subscriptions/{id}/dead?after={}", segment(after))).await
    }

    async fn retry_dead(&self, id: ExecutionId, names: &[String]) -> Result<DeadRetried, Failure> {
        let path = format!("api/subscriptions/{id}/dead/retry");
        self.post(&path, &json!({ "names": names })).await
    }

    async fn drop_dead(&self, id: ExecutionId, names: &[String]) -> Result<u64, Failure> {
        let path = format!("api/subscriptions/{id}/dead/drop");
        let DeadDropped { dropped } = self.post(&path, &json!({ "names": names })).await?;
        Ok(dropped)
    }
}
