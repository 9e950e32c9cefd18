//! Durable timers: each fires once, never early, by the clock that set it.

use std::time::Duration;

use futures::future::join_all;
use noetl_engine::{Input, Refusal};
use noetl_model::{ExecutionId, TimerId};
use noetl_store::{PAGE_MAX, StoreError, TimerRow};
use tokio_util::sync::CancellationToken;

use crate::tasks::pause;
use crate::work::reservations::{ASIDE, RowReservation};
use crate::{Control, MailboxAnswer};

/// The largest number of timers fired at once.
const TIMERS_MAX: usize = 256;

pub(crate) type DueTimer = (ExecutionId, TimerId);

impl Control {
    /// Fires due timers until `stop`.
    pub(crate) async fn fire_timers(self, stop: CancellationToken) {
        let wakes = &self.parts.wakes;
        loop {
            let until_next = match self.fire_due().await {
                Ok(until_next) => until_next,
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "cannot read due timers; will retry"
                    );
                    self.parts.settings.poll
                }
            };
            if !pause(&stop, &wakes.timers, until_next).await {
                return;
            }
        }
    }

    /// Fires the due timers. Returns the wait until the next one.
    async fn fire_due(&self) -> Result<Duration, StoreError> {
        let aside = &self.parts.timers_aside;
        let limit = (TIMERS_MAX + aside.held()).min(PAGE_MAX);
        let due = self.parts.store.due(self.parts.stamps.now(), limit).await?;
        let firing: Vec<_> = due
            .into_iter()
            .filter_map(|row| {
                let in_hand = aside.take((row.execution, row.timer))?;
                Some(self.fire(row, in_hand))
            })
            .collect();
        let found = !firing.is_empty();
        join_all(firing).await;
        if found {
            return Ok(Duration::ZERO);
        }
        let poll = self.parts.settings.poll;
        let next = self.parts.store.next_due().await?;
        let now = self.parts.stamps.now();
        Ok(match next {
            // A timer that is already due has been set aside.
            Some(due_at) if due_at > now => due_at.since(now).min(poll),
            Some(_) | None => poll,
        })
    }

    async fn fire(&self, row: TimerRow, in_hand: RowReservation<'_, DueTimer>) {
        let TimerRow { execution, timer, due_at: _ } = row;
        match self.submit(execution, Input::TimerFired { timer }).await {
            Ok(
                MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_),
            ) => {}
            // The store's clock was set back since it was read.
            Ok(MailboxAnswer::Refused(Refusal::NotDue(_))) => {
                in_hand.set_aside(self.parts.settings.poll)
            }
            Ok(MailboxAnswer::Refused(refusal)) => {
                // Another control plane may have fired the timer after it was read here.
                tracing::debug!(%execution, %timer, %refusal, "the work of a timer has ended");
                in_hand.set_aside(ASIDE);
            }
            Err(error) => {
                in_hand.set_aside(self.aside_after(&error));
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %execution, %timer, "cannot fire a timer; will retry");
            }
        }
    }
}
