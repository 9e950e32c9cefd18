//! Reminders for workers that are notified and do not poll: a command whose worker was lost, or
//! that has waited long, is announced again.
//!
//! A broker may lose notifications, and the outbox sends each one only once. So ready commands are
//! checked periodically, and one that has been ready for too long is announced like a new one; the
//! first claim wins. Where an external program publishes the notifications, the reminder is put into
//! the outbox, unless the program has not published the previous notification yet.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use noetl_bus::{BusError, Notification, NotificationReason, Reach};
use noetl_model::{
    Attempt, CommandId, CommandName, Event, ExecutionId, Message, Pool, Priority, Seq,
};
use noetl_store::{ReadyCommand, StoreError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::loops::relay::is_notified;
use crate::tasks::rest;
use crate::work::lease::ReadyKey;
use crate::{Control, NotificationSender};

/// The number of commands watched per pool: the first to be leased.
const WATCHED_MAX: usize = 256;
/// The longest pause between two reminders of the same command.
const PAUSE_MAX: Duration = Duration::from_secs(300);

/// The ready commands seen so far, with the time of their next announcement.
#[derive(Debug, Default)]
struct Watch {
    commands: BTreeMap<ReadyKey, WatchedCommand>,
    /// The pools that were paused, whose workers were not notified of what became ready: commands that
    /// are seen for the first time are announced at once, until few are ready.
    resumed: BTreeSet<Pool>,
}

#[derive(Debug, Clone, Copy)]
struct WatchedCommand {
    due: Instant,
    /// The number of announcements so far.
    count: u32,
}

impl Watch {
    /// Updates the watched commands; those not ready any more are dropped. Returns the commands to
    /// announce, with the number of earlier announcements.
    fn look(
        &mut self,
        ready: Vec<ReadyCommand>,
        now: Instant,
        patience: Duration,
    ) -> Vec<(ReadyCommand, u32)> {
        let mut commands = BTreeMap::new();
        let mut overdue = Vec::new();
        let mut counts: BTreeMap<Pool, usize> = BTreeMap::new();
        for row in ready {
            *counts.entry(row.pool.clone()).or_default() += 1;
            let key = (row.execution, row.command, row.attempt);
            let mut watched = self.commands.get(&key).copied().unwrap_or_else(|| {
                // A command whose worker was lost has not been announced again.
                let is_known = row.attempt == Attempt(0) && !self.resumed.contains(&row.pool);
                let patience = if is_known { patience } else { Duration::ZERO };
                WatchedCommand { due: now + patience, count: 0 }
            });
            if watched.due <= now {
                overdue.push((row, watched.count));
                let pause = patience.saturating_mul(2u32.saturating_pow(watched.count));
                watched =
                    WatchedCommand { due: now + pause.min(PAUSE_MAX), count: watched.count + 1 };
            }
            commands.insert(key, watched);
        }
        self.commands = commands;
        self.resumed.retain(|pool| counts.get(pool).is_none_or(|count| *count >= WATCHED_MAX));
        overdue
    }
}

impl Control {
    /// Announces commands that have waited too long until `stop`.
    pub(crate) async fn remind_workers(self, stop: CancellationToken) {
        let mut watch = Watch::default();
        while rest(&stop, self.parts.settings.remind_every).await {
            match (self.parts.settings.notifications, self.parts.bus.reach()) {
                // No worker is notified here, or the relay still has to send the first
                // notification.
                (NotificationSender::Relay, Reach::Process | Reach::Disconnected) => continue,
                (NotificationSender::Relay, Reach::Connected)
                | (
                    NotificationSender::External,
                    Reach::Process | Reach::Disconnected | Reach::Connected,
                ) => {}
            }
            if let Err(error) = self.remind(&mut watch).await {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "cannot check waiting commands; will retry");
            }
        }
    }

    async fn remind(&self, watch: &mut Watch) -> Result<(), StoreError> {
        let mut ready = Vec::new();
        for pool in self.parts.store.ready_pools().await?.iter().filter(|pool| is_notified(pool)) {
            if self.is_pool_paused(pool).await? {
                watch.resumed.insert(pool.clone());
                continue;
            }
            ready.extend(self.parts.store.ready(pool, None, WATCHED_MAX).await?);
        }
        let patience = self.parts.settings.remind_after;
        for (row, count) in watch.look(ready, Instant::now(), patience) {
            match self.announce(&row, count).await {
                Ok(()) => {}
                Err(Unannounced::Bus(error)) => {
                    tracing::debug!(
                        error = &error as &dyn std::error::Error,
                        "cannot announce a command"
                    );
                    return Ok(());
                }
                Err(Unannounced::Store(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Announces a command that was parked to workers that do not poll.
    pub(crate) async fn announce_unparked(
        &self,
        execution: ExecutionId,
        command: CommandId,
        pool: &Pool,
    ) -> Result<(), BusError> {
        if !is_notified(pool) {
            return Ok(());
        }
        let (pool, attempt, priority) = (pool.clone(), Attempt(0), Priority::default());
        let row = ReadyCommand { execution, command, pool, attempt, priority };
        match self.announce(&row, 0).await {
            Ok(()) => Ok(()),
            Err(Unannounced::Bus(error)) => Err(error),
            Err(Unannounced::Store(error)) => {
                // A reminder follows.
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %execution, %command, "cannot announce an unparked command");
                Ok(())
            }
        }
    }

    async fn announce(&self, row: &ReadyCommand, count: u32) -> Result<(), Unannounced> {
        let Some(notification) = self.reminder(row, count).await? else { return Ok(()) };
        tracing::debug!(command = %notification.command, count, "command announced again");
        match self.parts.settings.notifications {
            NotificationSender::Relay => {
                self.parts.bus.notify(&notification).await.map_err(Unannounced::Bus)
            }
            NotificationSender::External => {
                let (execution, command) = (row.execution, row.command);
                let message = message_of(command, notification);
                self.parts.store.remind(execution, command, &message).await?;
                Ok(())
            }
        }
    }

    /// Returns the notification about a command; `None` if it is not open any more.
    async fn reminder(
        &self,
        row: &ReadyCommand,
        count: u32,
    ) -> Result<Option<Notification>, StoreError> {
        let Ok(state) = self.known_state(row.execution).await else { return Ok(None) };
        let Some(issued) = state.issued_by(row.command) else { return Ok(None) };
        let before = Seq(issued.0 - 1);
        let found = self.parts.store.read(row.execution, before, 1).await?.pop();
        let Some(recorded) = found else { return Ok(None) };
        let Event::CommandIssued { step, task, .. } = recorded.event else { return Ok(None) };
        let pool: Pool = row.pool.clone();
        Ok(Some(Notification {
            reason: NotificationReason::Reminder { attempt: row.attempt, count },
            pool,
            command: CommandName {
                execution: row.execution,
                step,
                event_id: recorded.event_id,
                item: task.place.item(),
            },
            trace: state.trace().cloned().map(std::sync::Arc::new),
        }))
    }
}

/// Returns a notification as a message of the outbox.
fn message_of(command: CommandId, notification: Notification) -> Message {
    let Notification { reason: _, pool, command: name, trace } = notification;
    let CommandName { execution: _, step, event_id, item } = name;
    Message::CommandReady { pool, command, event_id, step, item, trace }
}

/// The reason why a command was not announced.
enum Unannounced {
    Bus(BusError),
    Store(StoreError),
}

impl From<StoreError> for Unannounced {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn row(command: u64, attempt: u32) -> ReadyCommand {
        ReadyCommand {
            execution: ExecutionId(1),
            command: CommandId(command),
            pool: Pool::shared(),
            attempt: Attempt(attempt),
            priority: Priority::default(),
        }
    }

    /// Checks in which seconds of an hour a command that is seen each second is announced.
    #[track_caller]
    fn check(row: &ReadyCommand, expected: &[u64]) {
        let (mut watch, begun) = (Watch::default(), Instant::now());
        let announced: Vec<u64> = (0..3600)
            .filter(|second| {
                let now = begun + Duration::from_secs(*second);
                !watch.look(vec![row.clone()], now, PATIENCE).is_empty()
            })
            .take(expected.len())
            .collect();
        assert_eq!(announced, expected);
    }

    #[tokio::test]
    async fn a_new_command_is_given_time() {
        check(&row(1, 0), &[30, 60, 120, 240, 480, 780, 1080]);
    }

    #[tokio::test]
    async fn a_lost_command_is_announced_at_once() {
        check(&row(1, 1), &[0, 30, 90, 210, 450, 750]);
    }

    #[tokio::test]
    async fn commands_of_a_resumed_pool_are_announced_at_once_until_few_are_ready() {
        let (mut watch, now) = (Watch::default(), Instant::now());
        let rows = |commands: std::ops::Range<u64>| commands.map(|it| row(it, 0)).collect();
        let announced =
            |watch: &mut Watch, rows: Vec<ReadyCommand>| watch.look(rows, now, PATIENCE).len();
        watch.resumed.insert(Pool::shared());
        assert_eq!(announced(&mut watch, Vec::new()), 0, "it is paused");
        assert_eq!(announced(&mut watch, rows(0..256)), 256);
        assert_eq!(announced(&mut watch, rows(100..356)), 100);
        assert_eq!(announced(&mut watch, rows(356..400)), 44);
        assert_eq!(announced(&mut watch, rows(400..440)), 0);
    }

    #[tokio::test]
    async fn a_command_that_no_longer_waits_is_forgotten() {
        let (mut watch, begun) = (Watch::default(), Instant::now());
        watch.look(vec![row(1, 0)], begun, PATIENCE);
        watch.look(Vec::new(), begun + Duration::from_secs(10), PATIENCE);
        let again = watch.look(vec![row(1, 0)], begun + Duration::from_secs(31), PATIENCE);
        assert_eq!(again, []);
    }
}
