//! Schedules, here or on a server.

use async_trait::async_trait;
use noetl_api::wire::{
    Backfill, Backfilled, ScheduleEvents, ScheduleInstants, ScheduleList, ScheduleView,
};
use noetl_app::BackfillMode;
use noetl_control::{ScheduleAction, ScheduleError, StartError};
use noetl_model::Timestamp;
use serde_json::json;

use super::local::Session;
use super::remote::Remote;
use super::url::segment;
use crate::show::failure::Failure;

/// The operations on schedules.
#[async_trait]
pub(crate) trait Schedules {
    /// Lists all schedules by path.
    async fn schedules(&self) -> Result<Vec<ScheduleView>, Failure>;

    async fn schedule(&self, path: &str) -> Result<ScheduleView, Failure>;

    /// Lists the last events of a schedule, newest first.
    async fn schedule_events(&self, path: &str, limit: usize) -> Result<ScheduleEvents, Failure>;

    /// Lists the next instants after a time; after the current time if it is `None`.
    async fn next_instants(
        &self,
        path: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ScheduleInstants, Failure>;

    async fn move_schedule(
        &self,
        path: &str,
        action: ScheduleAction,
    ) -> Result<ScheduleView, Failure>;

    /// Starts, or lists, an execution for every instant of a time range that has none.
    async fn backfill(&self, backfill: Backfill) -> Result<Backfilled, Failure>;
}

fn failed(error: ScheduleError) -> Failure {
    match error {
        ScheduleError::Damaged(problems) => Failure::Invalid(problems),
        ScheduleError::Unknown(_)
        | ScheduleError::TooMany
        | ScheduleError::Ahead(_)
        | ScheduleError::Contended
        | ScheduleError::Start(
            StartError::UnknownPlaybook(_)
            | StartError::ArchivedPlaybook(_)
            | StartError::AmbiguousName(_)
            | StartError::TooDeep { .. }
            | StartError::ParentCancelled(_)
            | StartError::InvalidInputs(_)
            | StartError::CredentialNotPermitted(_)
            | StartError::PayloadTooLarge
            | StartError::PayloadTooNested
            | StartError::KeyTaken(_)
            | StartError::Refused(_)
            | StartError::BacklogFull(_),
        ) => Failure::bad_input(error),
        ScheduleError::Start(StartError::Submit(_)) | ScheduleError::Store(_) => {
            Failure::broken(error)
        }
    }
}

fn instant_of(text: &str) -> Result<Timestamp, Failure> {
    text.parse().map_err(|error: noetl_model::ParseTimestampError| Failure::bad_input(error))
}

#[async_trait]
impl Schedules for Session {
    async fn schedules(&self) -> Result<Vec<ScheduleView>, Failure> {
        Ok(self.app().list_schedules().await.map_err(failed)?.schedules)
    }

    async fn schedule(&self, path: &str) -> Result<ScheduleView, Failure> {
        self.app().schedule(path).await.map_err(failed)
    }

    async fn schedule_events(&self, path: &str, limit: usize) -> Result<ScheduleEvents, Failure> {
        self.app().schedule_events(path, None, Some(limit)).await.map_err(failed)
    }

    async fn next_instants(
        &self,
        path: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ScheduleInstants, Failure> {
        let after = after.map(instant_of).transpose()?;
        self.app().next_instants(path, after, Some(limit)).await.map_err(failed)
    }

    async fn move_schedule(
        &self,
        path: &str,
        action: ScheduleAction,
    ) -> Result<ScheduleView, Failure> {
        self.app().move_schedule(path, action).await.map_err(failed)
    }

    async fn backfill(&self, backfill: Backfill) -> Result<Backfilled, Failure> {
        let Backfill { path, from, until, dry_run } = backfill;
        let from = instant_of(&from)?;
        let until = until.as_deref().map(instant_of).transpose()?;
        let mode = if dry_run { BackfillMode::List } else { BackfillMode::Start };
        self.app().backfill(&path, from, until, mode).await.map_err(failed)
    }
}

#[async_trait]
impl Schedules for Remote {
    async fn schedules(&self) -> Result<Vec<ScheduleView>, Failure> {
        let ScheduleList { schedules } = self.get("api/schedules").await?;
        Ok(schedules)
    }

    async fn schedule(&self, path: &str) -> Result<ScheduleView, Failure> {
        self.get(&format!("api/schedules/at?path={}", segment(path))).await
    }

    async fn schedule_events(&self, path: &str, limit: usize) -> Result<ScheduleEvents, Failure> {
        let path = segment(path);
        self.get(&format!("api/schedules/events?path={path}&limit={limit}")).await
    }

    async fn next_instants(
        &self,
        path: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ScheduleInstants, Failure> {
        let after = after.map(|after| format!("&after={}", segment(after))).unwrap_or_default();
        let path = segment(path);
        self.get(&format!("api/schedules/next?path={path}&limit={limit}{after}")).await
    }

    async fn move_schedule(
        &self,
        path: &str,
        action: ScheduleAction,
    ) -> Result<ScheduleView, Failure> {
        let action = match action {
            ScheduleAction::Pause => "pause",
            ScheduleAction::Resume => "resume",
        };
        self.post(&format!("api/schedules/{action}"), &json!({ "path": path })).await
    }

    async fn backfill(&self, backfill: Backfill) -> Result<Backfilled, Failure> {
        self.post("api/schedules/backfill", &json!(backfill)).await
    }
}
