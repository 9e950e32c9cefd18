//! Pauses and limits, here or on a server.

use anyhow::anyhow;
use async_trait::async_trait;
use noetl_api::wire::{LimitDetail, LimitList, LimitView, PauseAnswer, PauseList, PauseView};
use noetl_app::{PauseError, pool_of};
use noetl_control::PauseCaller;
use noetl_model::{BadLimitName, ExecutionId, LimitName};
use serde_json::json;

use super::local::Session;
use super::remote::Remote;
use super::url::segment;
use crate::show::failure::Failure;

/// The object that is paused or resumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HoldTarget {
    Execution(ExecutionId),
    /// A playbook, by its path.
    Playbook(String),
    /// A pool, by its name.
    Pool(String),
}

/// The change to a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldAction {
    Pause,
    Resume,
}

/// The operations on pauses and limits.
#[async_trait]
pub(crate) trait Holds {
    /// Pauses or resumes an object. Returns a sentence about the result.
    async fn hold(
        &self,
        target: &HoldTarget,
        action: HoldAction,
        caller: PauseCaller,
    ) -> Result<String, Failure>;

    /// Lists the paused playbooks and pools.
    async fn pauses(&self) -> Result<Vec<PauseView>, Failure>;

    /// Lists the limits that are in use, by name.
    async fn limits(&self) -> Result<Vec<LimitView>, Failure>;

    async fn limit(&self, name: &str) -> Result<LimitDetail, Failure>;
}

fn failed(error: PauseError) -> Failure {
    match error {
        PauseError::ActorTooLong
        | PauseError::ReasonTooLong
        | PauseError::UnknownPlaybook(_)
        | PauseError::TooMany(_)
        | PauseError::Refused(_) => Failure::bad_input(error),
        PauseError::Submit(_) | PauseError::Store(_) => Failure::broken(error),
    }
}

fn not_in_use(name: &str) -> Failure {
    Failure::bad_input(anyhow!("limit {name} is not in use"))
        .help("`noetl limits list` lists the limits")
}

#[async_trait]
impl Holds for Session {
    async fn hold(
        &self,
        target: &HoldTarget,
        action: HoldAction,
        caller: PauseCaller,
    ) -> Result<String, Failure> {
        let app = self.app();
        match (target, action) {
            (HoldTarget::Execution(id), HoldAction::Pause) => {
                app.pause_execution(*id, caller).await.map_err(failed)?;
                Ok(format!("execution {id} is paused"))
            }
            (HoldTarget::Execution(id), HoldAction::Resume) => {
                app.resume_execution(*id, caller).await.map_err(failed)?;
                Ok(format!("execution {id} is resumed"))
            }
            (HoldTarget::Playbook(path), HoldAction::Pause) => {
                let running = app.pause_playbook(path, caller).await.map_err(failed)?;
                Ok(format!("{path} is paused with {running} running executions"))
            }
            (HoldTarget::Playbook(path), HoldAction::Resume) => {
                let running = app.resume_playbook(path, caller).await.map_err(failed)?;
                Ok(match running {
                    Some(running) => {
                        format!("{path} is resumed, with {running} running executions")
                    }
                    None => format!("{path} was not paused"),
                })
            }
            (HoldTarget::Pool(name), HoldAction::Pause) => {
                let pool = pool_of(name).map_err(Failure::bad_input)?;
                app.pause_pool(&pool, caller).await.map_err(failed)?;
                Ok(format!("pool {name} is paused"))
            }
            (HoldTarget::Pool(name), HoldAction::Resume) => {
                let pool = pool_of(name).map_err(Failure::bad_input)?;
                let was_paused = app.resume_pool(&pool, caller).await.map_err(failed)?;
                Ok(if was_paused {
                    format!("pool {name} is resumed")
                } else {
                    format!("pool {name} was not paused")
                })
            }
        }
    }

    async fn pauses(&self) -> Result<Vec<PauseView>, Failure> {
        Ok(self.app().pause_list().await.map_err(Failure::broken)?.pauses)
    }

    async fn limits(&self) -> Result<Vec<LimitView>, Failure> {
        let mut limits = Vec::new();
        let mut after: Option<LimitName> = None;
        loop {
            let page = self.app().limit_list(after.as_ref()).await.map_err(Failure::broken)?;
            limits.extend(page.limits);
            after = page.next_after.and_then(|name| name.parse().ok());
            if after.is_none() {
                return Ok(limits);
            }
        }
    }

    async fn limit(&self, name: &str) -> Result<LimitDetail, Failure> {
        let parsed = name.parse().map_err(|error: BadLimitName| Failure::bad_input(error))?;
        let found = self.app().limit_detail(&parsed).await.map_err(Failure::broken)?;
        found.ok_or_else(|| not_in_use(name))
    }
}

#[async_trait]
impl Holds for Remote {
    async fn hold(
        &self,
        target: &HoldTarget,
        action: HoldAction,
        caller: PauseCaller,
    ) -> Result<String, Failure> {
        let PauseCaller { actor, reason } = caller;
        let word = match action {
            HoldAction::Pause => "pause",
            HoldAction::Resume => "resume",
        };
        let body = json!({ "actor": actor, "reason": reason });
        let answer: PauseAnswer = match target {
            HoldTarget::Execution(id) => {
                self.post(&format!("api/executions/{id}/{word}"), &body).await?
            }
            HoldTarget::Playbook(path) => {
                let body = json!({ "path": path, "actor": actor, "reason": reason });
                self.post(&format!("api/catalog/{word}"), &body).await?
            }
            HoldTarget::Pool(name) => {
                self.post(&format!("api/pools/{}/{word}", segment(name)), &body).await?
            }
        };
        Ok(answer.message)
    }

    async fn pauses(&self) -> Result<Vec<PauseView>, Failure> {
        let PauseList { pauses } = self.get("api/pauses").await?;
        Ok(pauses)
    }

    async fn limits(&self) -> Result<Vec<LimitView>, Failure> {
        let mut limits = Vec::new();
        let mut path = "api/limits".to_owned();
        loop {
            let page: LimitList = self.get(&path).await?;
            limits.extend(page.limits);
            let Some(after) = page.next_after else { return Ok(limits) };
            path = format!("api/limits?after={}", segment(&after));
        }
    }

    async fn limit(&self, name: &str) -> Result<LimitDetail, Failure> {
        self.get(&format!("api/limits/{}", segment(name))).await
    }
}
