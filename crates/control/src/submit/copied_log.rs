//! A log that was written elsewhere, as an append to another store.
//!
//! Invariant: every event is verified (number, digest, legal after the events before it) before the
//! append exists.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use noetl_engine::{Auditor, Effect, Execution, LogFault, effects_of};
use noetl_model::{CommandId, Digest, ExecutionId, IndexChange, Recorded, Seq, TimerId, Timestamp};
use noetl_store::{Append, QueueChange, TimerChange};

/// The whole log of an execution, as it was read from another store.
#[derive(Debug, Clone, Copy)]
pub struct CopiedLog<'a> {
    pub execution: ExecutionId,
    /// The execution of the first event: itself or, for a fork, its oldest origin.
    pub root: ExecutionId,
    /// The events that a fork shares with its origin; empty for other executions.
    pub shared: &'a [Recorded],
    pub own: &'a [Recorded],
    /// The digest of the last event.
    pub head: Option<Digest>,
}

/// The effects of a log that still count after its last event.
#[derive(Default)]
struct RemainingEffects {
    queue: BTreeMap<CommandId, Vec<QueueChange>>,
    timers: BTreeMap<TimerId, Timestamp>,
    index: Vec<IndexChange>,
}

impl CopiedLog<'_> {
    /// Verifies the log and returns the append that writes its own events, with the rows of its open
    /// work. Messages are left out: they were sent where the log was written.
    pub fn append(self, payloads: Vec<(Digest, Arc<Vec<u8>>)>) -> Result<Append, LogFault> {
        let mut auditor = Auditor::new(self.execution, self.root);
        for recorded in self.shared {
            auditor.see(recorded)?;
        }
        let mut remaining = RemainingEffects::default();
        for recorded in self.own {
            let effects = auditor.state().map(|before| effects_of(before, recorded));
            auditor.see(recorded)?;
            // The effects of a first event follow from the state that it begins.
            let effects = effects.or_else(|| Some(effects_of(auditor.state()?, recorded)));
            remaining.note(effects.unwrap_or_default());
        }
        let expected = self.shared.last().map_or(Seq::ZERO, |recorded| recorded.seq);
        let last = self.own.last().map_or(expected, |recorded| recorded.seq);
        auditor.end(last, self.head)?;
        let Some(state) = auditor.state() else { return Err(LogFault::Missing(Seq(1))) };
        Ok(remaining.append(state, expected, self.own.to_vec(), payloads))
    }
}

impl RemainingEffects {
    fn note(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Enqueue { command, pool, step, priority, is_parked } => {
                    let step = step.to_string();
                    self.change(QueueChange::Add { command, pool, step, priority, is_parked });
                }
                // The worker is elsewhere: its lease has passed.
                Effect::Lease { command, attempt, worker, lease: _ } => {
                    let lease = Duration::ZERO;
                    self.change(QueueChange::Lease { command, attempt, worker, lease });
                }
                Effect::Park { command } => self.change(QueueChange::Park { command }),
                Effect::Unpark { command } => self.change(QueueChange::Unpark { command }),
                Effect::Expire { command, attempt } => {
                    self.change(QueueChange::Expire { command, attempt });
                }
                Effect::Dequeue { command } => {
                    self.queue.remove(&command);
                }
                Effect::SetTimer { timer, due_at } => {
                    self.timers.insert(timer, due_at);
                }
                Effect::DropTimer { timer } => {
                    self.timers.remove(&timer);
                }
                Effect::Send(_) => {}
                Effect::Index(change) => self.index.push(change),
            }
        }
    }

    fn change(&mut self, change: QueueChange) {
        self.queue.entry(change.command()).or_default().push(change);
    }

    fn append(
        self,
        state: &Execution,
        expected: Seq,
        events: Vec<Recorded>,
        payloads: Vec<(Digest, Arc<Vec<u8>>)>,
    ) -> Append {
        let timers = self.timers.into_iter();
        Append {
            execution: state.id(),
            expected,
            events,
            summary: state.summary(),
            queue: self.queue.into_values().flatten().collect(),
            timers: timers.map(|(timer, due_at)| TimerChange::Set { timer, due_at }).collect(),
            outbox: Vec::new(),
            index: self.index,
            payloads,
            key: None,
        }
    }
}
