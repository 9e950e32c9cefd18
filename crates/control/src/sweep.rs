//! The sweeper: ends commands that no worker brought to an end, and finds executions that nothing moves.

use futures::future::join_all;
use noetl_engine::Input;
use noetl_model::{ExecutionId, Timestamp};
use noetl_store::{Held, StoreError};
use tokio_util::sync::CancellationToken;

use crate::tasks::rest;
use crate::{Answer, Control};

/// How many rows one sweep deals with; the next takes the rest.
const SWEEP_MAX: usize = 256;

impl Control {
    /// Ends commands whose last lease ran out, until it is to stop.
    pub(crate) async fn sweep_leases(self, stop: CancellationToken) {
        while rest(&stop, self.parts.settings.sweep_every).await {
            if let Err(error) = self.end_exhausted().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "leases not swept");
            }
        }
    }

    /// Notes executions that nothing moves, until it is to stop.
    pub(crate) async fn sweep_stalls(self, stop: CancellationToken) {
        while rest(&stop, self.parts.settings.stall_after).await {
            if let Err(error) = self.note_stalled().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "stalls not looked for");
            }
        }
    }

    async fn end_exhausted(&self) -> Result<(), StoreError> {
        let attempts_max = self.parts.settings.attempts_max;
        let exhausted = self.parts.store.exhausted(attempts_max, SWEEP_MAX).await?;
        join_all(exhausted.into_iter().map(|held| self.end_lost(held))).await;
        Ok(())
    }

    async fn end_lost(&self, held: Held) {
        let Held { execution, command, attempt } = held;
        match self.submit(execution, Input::LeaseExhausted { command, attempt }).await {
            Ok(Answer::Accepted | Answer::Leased(_)) => {
                tracing::warn!(%execution, %command, %attempt, "command lost by its workers");
            }
            // Its worker reported at the last moment.
            Ok(Answer::Refused(_)) => {}
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %execution, %command, "lost command not ended");
            }
        }
    }

    async fn note_stalled(&self) -> Result<(), StoreError> {
        let idle = self.parts.settings.stall_after.as_micros();
        let idle = i64::try_from(idle).unwrap_or(i64::MAX);
        let now = self.parts.stamps.now().as_micros();
        let before = Timestamp::from_micros(now.saturating_sub(idle));
        let stalled = self.parts.store.stalled(before, SWEEP_MAX).await?;
        join_all(stalled.into_iter().map(|execution| self.note_stall(execution))).await;
        Ok(())
    }

    /// Has a look at an execution with its state read anew; if it really stands still, its log says so.
    async fn note_stall(&self, execution: ExecutionId) {
        self.parts.states.forget(execution);
        let detail = "no command is open, no timer is set and no message is owed".to_owned();
        match self.submit(execution, Input::Stalled { detail }).await {
            Ok(Answer::Accepted | Answer::Leased(_)) => {
                tracing::warn!(%execution, "execution stalled");
            }
            Ok(Answer::Refused(_)) => {}
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %execution, "stalled execution not looked at");
            }
        }
    }
}
