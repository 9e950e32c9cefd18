//! Notifications about executions, here or on a server.

use async_trait::async_trait;
use noetl_api::wire::{
    NotificationItem, NotificationList, NotificationTest, NotificationTestResult,
};
use noetl_app::NotificationError;
use serde_json::json;

use super::local::Session;
use super::remote::Remote;
use crate::show::failure::Failure;

/// A change of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotificationChange {
    Pause,
    Resume,
}

/// The operations on notification documents.
#[async_trait]
pub(crate) trait Notifications {
    async fn notifications(&self) -> Result<Vec<NotificationItem>, Failure>;

    /// Sends a sample to every target of a notification.
    async fn test_notification(&self, path: &str) -> Result<Vec<NotificationTestResult>, Failure>;

    async fn change_notification(
        &self,
        path: &str,
        change: NotificationChange,
    ) -> Result<(), Failure>;
}

fn failed(error: NotificationError) -> Failure {
    match error {
        NotificationError::Unknown(_)
        | NotificationError::OtherKind { .. }
        | NotificationError::Unreadable(..)
        | NotificationError::NoTransport
        | NotificationError::Catalog(_) => {
            Failure::bad_input(error).help("`noetl notifications list` lists the notifications")
        }
        NotificationError::Store(_) => Failure::broken(error),
    }
}

#[async_trait]
impl Notifications for Session {
    async fn notifications(&self) -> Result<Vec<NotificationItem>, Failure> {
        let listed = self.app().list_notifications().await.map_err(Failure::broken)?;
        Ok(listed.into_iter().map(Into::into).collect())
    }

    async fn test_notification(&self, path: &str) -> Result<Vec<NotificationTestResult>, Failure> {
        let tested = self.app().test_notification(path).await.map_err(failed)?;
        Ok(tested.into_iter().map(Into::into).collect())
    }

    async fn change_notification(
        &self,
        path: &str,
        change: NotificationChange,
    ) -> Result<(), Failure> {
        let changed = match change {
            NotificationChange::Pause => self.app().pause_notification(path).await,
            NotificationChange::Resume => self.app().resume_notification(path).await,
        };
        changed.map_err(failed)
    }
}

#[async_trait]
impl Notifications for Remote {
    async fn notifications(&self) -> Result<Vec<NotificationItem>, Failure> {
        let NotificationList { notifications } = self.get("api/notifications").await?;
        Ok(notifications)
    }

    async fn test_notification(&self, path: &str) -> Result<Vec<NotificationTestResult>, Failure> {
        let choice = json!({ "path": path });
        let NotificationTest { results } = self.post("api/notifications/test", &choice).await?;
        Ok(results)
    }

    async fn change_notification(
        &self,
        path: &str,
        change: NotificationChange,
    ) -> Result<(), Failure> {
        let choice = json!({ "path": path });
        let action = match change {
            NotificationChange::Pause => "pause",
            NotificationChange::Resume => "resume",
        };
        let NotificationList { .. } =
            self.post(&format!("api/notifications/{action}"), &choice).await?;
        Ok(())
    }
}
