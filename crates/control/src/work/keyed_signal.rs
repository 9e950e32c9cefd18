//! Signals that are sent by a correlation key, to a wait of any execution.
//!
//! A signal is stored in the cluster's database before the caller is answered. Its delivery is in
//! three steps: the signal is assigned to a wait, the execution of that wait records it, and the
//! assignment is settled. Until the wait refuses the signal no other wait gets it, and an execution
//! records a signal once, so a delivery can be repeated by any server after any crash.
//!
//! Invariant: a signal is assigned only when all earlier ones of its key are delivered, so that a wait
//! never takes a later signal before an earlier one.
//!
//! A wait that opens, and a signal that is stored, each look for the other afterwards; what both miss
//! because a database was out of reach is found by a periodic look at all open signals.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use noetl_engine::{Input, Refusal, Signal, signal_index_key};
use noetl_model::{Actor, IndexKey, IndexKind, Payload, SignalKey, SignalName};
use noetl_store::{
    IndexOrder, IndexPage, KeyedSignal, PAGE_MAX, SignalState, SignalTarget, StoreError,
    StoredSignal,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::report::kept;
use super::signal::SendSignalError;
use crate::error::LoadError;
use crate::submit::mailbox::{OfferedValues, Submission};
use crate::tasks::rest;
use crate::{Control, MailboxAnswer, SubmitError};

/// The longest body of a signal that is sent by a correlation key, as JSON.
pub const KEYED_BODY_MAX: usize = 256 * 1024;
/// The largest number of signals that no wait has taken.
pub const KEPT_SIGNALS_MAX: u64 = 100_000;
/// The largest number of signals of one name and key that no wait has taken.
pub const KEPT_SIGNALS_OF_KEY_MAX: u64 = 1000;
/// The time for which a delivered signal is kept, so that every server that delivers it learns of it.
const DELIVERED_KEPT: Duration = Duration::from_secs(10);
/// The time for which a delivered signal with an idempotency key is kept, which a repeated request
/// finds.
const DELIVERED_ONCE_KEPT: Duration = Duration::from_secs(3600);
/// The largest number of pages of expired signals that one look deletes.
const FORGOTTEN_PAGES_MAX: usize = 200;
/// The time for which a signal is kept unless its request says otherwise.
pub const SIGNAL_KEPT: Duration = Duration::from_secs(7 * 86_400);
/// The longest time for which a signal is kept.
pub const SIGNAL_KEPT_MAX: Duration = Duration::from_secs(90 * 86_400);
/// The number of waits of one key that a lookup returns.
const WAITS: usize = 32;
/// The largest number of deliveries of one key in a row.
const DELIVERIES_MAX: usize = 1000;
/// The time between two looks at all open signals.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// The age from which a look at all open signals delivers a signal.
const SWEEP_AFTER: Duration = Duration::from_secs(2);
/// The number of open signals that one look reads.
const SWEPT_MAX: usize = 500;
/// The number of keys whose signals a look delivers at the same time.
const SWEPT_AT_ONCE: usize = 16;

/// A signal as a caller sends it.
#[derive(Debug, Clone)]
pub struct SignalByKey {
    pub name: SignalName,
    pub key: SignalKey,
    pub body: Value,
    /// The sender as the caller names it.
    pub sender: Option<String>,
    pub actor: Option<Actor>,
    /// The idempotency key: while it is stored, a signal with the same one is not sent again, and
    /// refused if its body differs.
    pub once: Option<String>,
    /// The time for which the signal is kept if no wait takes it.
    pub kept_for: Option<Duration>,
}

/// The result of a delivery to one wait.
enum Delivered {
    Taken,
    /// The wait has ended without the signal.
    Refused,
}

impl Control {
    /// Sends a signal to the oldest wait with its name and key, or keeps it for the next one. Returns
    /// once the signal is durable: the wait that has taken it, or `None` if it is kept.
    pub async fn signal_by_key(
        &self,
        sent: SignalByKey,
    ) -> Result<Option<SignalTarget>, SendSignalError> {
        let SignalByKey { name, key, body, sender, actor, once, kept_for } = sent;
        let mut values = OfferedValues::default();
        kept("the body of the signal", Arc::new(body.clone()), KEYED_BODY_MAX, &mut values)
            .map_err(SendSignalError::Body)?;
        let store = &self.parts.store;
        // The count is taken by the sweep: a request that counted would slow every signal down.
        if self.parts.signals_full.load(Ordering::Relaxed) {
            return Err(SendSignalError::TooMany);
        }
        let now = self.parts.stamps.now();
        let index_key = signal_index_key(&name, Some(&key));
        let max = KEPT_SIGNALS_OF_KEY_MAX;
        if store.count_signals_of(&index_key, max).await? >= max {
            return Err(SendSignalError::TooManyOfKey(name, key));
        }
        let once = once.map(|once| format!("{index_key}\n{once}"));
        let stored = store
            .add_signal(&StoredSignal {
                id: self.parts.stamps.next_id(),
                index_key: index_key.clone(),
                once,
                state: SignalState::Kept,
                expires_at: now.after(kept_for.unwrap_or(SIGNAL_KEPT)),
                signal: KeyedSignal {
                    name: name.clone(),
                    key: key.clone(),
                    body: body.clone(),
                    sender,
                    actor,
                    received_at: now,
                },
            })
            .await?;
        if stored.signal.body != body {
            let taken = match stored.state {
                SignalState::Delivered(target) => Some(target),
                SignalState::Kept | SignalState::Assigned(_) => None,
            };
            return Err(SendSignalError::KeyReused { name, key, taken });
        }
        match stored.state {
            SignalState::Delivered(target) => return Ok(Some(target)),
            SignalState::Kept | SignalState::Assigned(_) => {}
        }
        // The signal is durable: a failure from here on only delays it.
        match self.deliver_new_signal(&index_key, stored.id).await {
            Ok(target) => Ok(target),
            Err(error) => {
                tracing::warn!(%error, signal = stored.id, "a signal is delivered later");
                Ok(None)
            }
        }
    }

    /// Delivers the signals of a key and returns the wait that has taken the signal with the given
    /// number; `None` if no wait is open for it.
    async fn deliver_new_signal(
        &self,
        index_key: &IndexKey,
        id: i64,
    ) -> Result<Option<SignalTarget>, SubmitError> {
        for _ in 0..DELIVERIES_MAX {
            self.deliver_signals(index_key).await?;
            let stored = self.parts.store.find_signal(id).await.map_err(unavailable)?;
            let Some(stored) = stored else { return Ok(None) };
            match stored.state {
                SignalState::Kept => return Ok(None),
                SignalState::Delivered(target) => return Ok(Some(target)),
                // The wait has looked for signals when it opened, or another server was faster. A
                // second delivery to the same wait changes nothing and tells whether it has taken it.
                SignalState::Assigned(target) => {
                    match self.deliver_signal(&stored, target).await? {
                        Delivered::Taken => return Ok(Some(target)),
                        Delivered::Refused => {}
                    }
                }
            }
        }
        Ok(None)
    }

    /// Delivers the signals of a key, in order, as long as waits take them.
    pub(crate) async fn deliver_signals(&self, index_key: &IndexKey) -> Result<(), SubmitError> {
        let store = &self.parts.store;
        let mut refused: BTreeSet<(i64, u64)> = BTreeSet::new();
        for _ in 0..DELIVERIES_MAX {
            let first =
                store.undelivered_signals(index_key, i64::MIN, 1).await.map_err(unavailable)?;
            let Some(signal) = first.into_iter().next() else { break };
            let target = match signal.state {
                SignalState::Delivered(_) => break,
                // Another delivery has it, or had it before a crash. A second delivery to the same
                // wait changes nothing, and the next signal must not come before this one.
                SignalState::Assigned(target) => target,
                SignalState::Kept => {
                    let target = self.open_wait(index_key, &refused).await.map_err(unavailable)?;
                    let Some(target) = target else { break };
                    if !store.assign_signal(signal.id, target).await.map_err(unavailable)? {
                        // Another delivery was faster.
                        continue;
                    }
                    target
                }
            };
            match self.deliver_signal(&signal, target).await? {
                Delivered::Taken => {}
                Delivered::Refused => {
                    refused.insert((target.execution.0, target.command.0));
                }
            }
        }
        Ok(())
    }

    /// Returns the oldest open wait of a key that has refused nothing.
    async fn open_wait(
        &self,
        index_key: &IndexKey,
        refused: &BTreeSet<(i64, u64)>,
    ) -> Result<Option<SignalTarget>, StoreError> {
        let page = IndexPage { order: IndexOrder::OldestFirst, after: None, limit: WAITS };
        let rows = self.parts.store.indexed(IndexKind::Signal, index_key, page).await?;
        let mut open = rows.into_iter().filter_map(|row| {
            let command = row.entry.command?;
            Some(SignalTarget { execution: row.execution, command })
        });
        Ok(open.find(|target| !refused.contains(&(target.execution.0, target.command.0))))
    }

    /// Delivers a signal to the wait that it is assigned to, and settles the assignment.
    async fn deliver_signal(
        &self,
        stored: &StoredSignal,
        target: SignalTarget,
    ) -> Result<Delivered, SubmitError> {
        let KeyedSignal { name, key, body, sender, actor, received_at: _ } = stored.signal.clone();
        let mut values = OfferedValues::default();
        let body = kept("the body of the signal", Arc::new(body), KEYED_BODY_MAX, &mut values);
        let body = body.unwrap_or_else(|_| Payload::null());
        self.keep_parsed(&values);
        let signal = Signal {
            name,
            body,
            sender,
            key: Some(format!("signal {}", stored.id)),
            to: Some((target.command, key)),
            actor,
        };
        let submission = Submission { input: Input::Signal(signal), values, next: None };
        let answer = self.post(target.execution, submission).await;
        let store = &self.parts.store;
        let is_taken = match answer {
            Ok(
                MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_),
            ) => true,
            Ok(MailboxAnswer::Refused(Refusal::SignalNotAwaited(_) | Refusal::Finished(_))) => {
                false
            }
            Ok(MailboxAnswer::Refused(refusal)) => {
                tracing::warn!(%refusal, signal = stored.id, "a signal is refused");
                false
            }
            // The execution is gone or cannot be read, such as after a restore of its database. The
            // signal is kept for the next wait, where its sender can see it.
            Err(error) if !error.is_transient() => {
                let error: &dyn std::error::Error = &error;
                let SignalTarget { execution, command } = target;
                tracing::warn!(
                    error, %execution, %command, signal = stored.id,
                    "a signal is kept: the execution of its wait cannot be loaded"
                );
                false
            }
            Err(error) => return Err(error),
        };
        if is_taken {
            let kept_for = match stored.once {
                Some(_) => DELIVERED_ONCE_KEPT,
                None => DELIVERED_KEPT,
            };
            let expires_at = self.parts.stamps.now().after(kept_for);
            store.settle_signal(stored.id, target, expires_at).await.map_err(unavailable)?;
            return Ok(Delivered::Taken);
        }
        store.release_signal(stored.id, target).await.map_err(unavailable)?;
        Ok(Delivered::Refused)
    }

    /// Looks at all open signals from time to time until `stop`: repeats deliveries that a crash has
    /// interrupted, and forgets expired signals.
    pub(crate) async fn sweep_signals(self, stop: CancellationToken) {
        let mut after = i64::MIN;
        loop {
            match self.swept_signals(after).await {
                Ok(next) => after = next,
                Err(error) => tracing::warn!(%error, "signals are not swept"),
            }
            if !rest(&stop, SWEEP_EVERY).await {
                return;
            }
        }
    }

    /// Looks at a page of open signals after a number; returns the number to continue with.
    async fn swept_signals(&self, after: i64) -> Result<i64, SubmitError> {
        let store = &self.parts.store;
        let page = store.open_signals(after, SWEPT_MAX).await.map_err(unavailable)?;
        let next = match page.last() {
            Some(last) if page.len() == SWEPT_MAX.min(PAGE_MAX) => last.id,
            Some(_) | None => i64::MIN,
        };
        let now = self.parts.stamps.now();
        // A signal that has just arrived is being delivered by the server that got it.
        let is_late = |stored: &StoredSignal| now.since(stored.signal.received_at) >= SWEEP_AFTER;
        let late = page.into_iter().filter(is_late).map(|stored| stored.index_key);
        let keys: BTreeSet<IndexKey> = late.collect();
        // A key whose wait cannot be reached must not hold up the others.
        stream::iter(keys)
            .for_each_concurrent(SWEPT_AT_ONCE, |key| async move {
                if let Err(error) = self.deliver_signals(&key).await {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, %key, "signals of a key are delivered later");
                }
            })
            .await;
        for _ in 0..FORGOTTEN_PAGES_MAX {
            let forgotten = store.forget_signals(now, PAGE_MAX).await.map_err(unavailable)?;
            if usize::try_from(forgotten).is_ok_and(|forgotten| forgotten < PAGE_MAX) {
                break;
            }
        }
        let kept = store.count_signals(KEPT_SIGNALS_MAX).await.map_err(unavailable)?;
        self.parts.signals_full.store(kept >= KEPT_SIGNALS_MAX, Ordering::Relaxed);
        Ok(next)
    }
}

fn unavailable(error: StoreError) -> SubmitError {
    SubmitError::Load(LoadError::Unavailable(Arc::new(error)))
}
