//! A decision being written: its events numbered and folded, with their effects.
//!
//! Invariant: the draft's state is the fold of the stored log and the draft's events, so each
//! decision sees the ones before it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use noetl_engine::{
    CommandTiming, Effect, Execution, Illegal, Loaded, begin, command_timing, effects_of, evolve,
};
use noetl_model::{
    Attempt, CommandId, Digest, Event, EventId, EventTag, ExecutionId, IdGenerator, IndexChange,
    Message, PAYLOAD_INLINE_MAX, Payload, PayloadRef, Recorded, Seq, Timestamp,
};
use noetl_playbook::Playbook;
use noetl_store::{Append, Clock, QueueChange, TimerChange, ready_command};
use serde_json::Value;

use crate::state::payloads::{BINDING_INLINE_MAX, Large, json_len_within};
use crate::submit::mailbox::OfferedValues;
use crate::submit::needs::{Fetched, LogPart, Unstored};

/// The source of event ids and times.
#[derive(Clone)]
pub(crate) struct Stamps {
    /// The store's clock.
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<IdGenerator>,
}

impl Stamps {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn next_id(&self) -> i64 {
        self.ids.next(self.now())
    }

    fn event_id(&self, now: Timestamp) -> EventId {
        EventId(self.ids.next(now))
    }
}

/// The pending append of one execution.
#[derive(Debug)]
pub(crate) struct PendingAppend {
    /// The state after the draft is written.
    pub(crate) state: Execution,
    /// The time by the store's clock, read once for the whole draft.
    pub(crate) now: Timestamp,
    /// Data loaded for the decisions of this draft.
    pub(crate) fetched: Fetched,
    expected: Seq,
    pages: PendingWrites,
}

#[derive(Debug, Default)]
struct PendingWrites {
    events: Vec<Recorded>,
    queue: Vec<QueueChange>,
    timers: Vec<TimerChange>,
    outbox: Vec<Message>,
    index: Vec<IndexChange>,
    /// The times of the commands that end.
    timings: Vec<CommandTiming>,
    payloads: Unstored,
    /// Large values that came with an input or were made for a decision; stored if an event refers
    /// to them.
    offered: Unstored,
    /// Values already moved out of events, by address; holding the value keeps the address unique.
    moved: BTreeMap<usize, (Arc<Value>, PayloadRef)>,
    /// The lengths of values that came with an input, by address in the same way.
    measured: BTreeMap<usize, (Arc<Value>, usize)>,
}

impl PendingAppend {
    /// Creates a draft that continues a stored log.
    pub(crate) fn onto(state: Execution, now: Timestamp) -> Self {
        let expected = state.seq();
        Self { state, now, fetched: Fetched::default(), expected, pages: PendingWrites::default() }
    }

    /// Creates a draft that begins an execution.
    pub(crate) fn opening(
        execution: ExecutionId,
        mut first: Event,
        (now, stamps): (Timestamp, &Stamps),
    ) -> Result<Self, Illegal> {
        let mut pages = PendingWrites::default();
        let mut fetched = Fetched::default();
        pages.move_out(&mut first, PAYLOAD_INLINE_MAX, &mut fetched.loaded);
        let recorded = Recorded {
            seq: Seq::ZERO.next(),
            event_id: stamps.event_id(now),
            at: now,
            event: first,
            prev: Some(Digest::before(execution)),
        };
        let state = begin(execution, &recorded)?;
        pages.note(&state, &recorded);
        pages.events.push(recorded);
        Ok(Self { state, now, fetched, expected: Seq::ZERO, pages })
    }

    /// Offers a large value that came with an input or was made for a decision.
    pub(crate) fn offer(&mut self, large: &Arc<Large>) {
        let digest = large.reference.digest;
        if let Some(value) = &large.parsed {
            self.fetched.loaded.payloads.insert(digest, Arc::clone(value));
        }
        self.pages.offered.insert(digest, Arc::clone(large));
    }

    /// Offers the values of an input.
    pub(crate) fn offer_all(&mut self, values: &OfferedValues) {
        values.large.iter().for_each(|large| self.offer(large));
        for (value, len) in &values.measured {
            let address = Arc::as_ptr(value).addr();
            self.pages.measured.insert(address, (Arc::clone(value), *len));
        }
    }

    /// Returns the stored log together with the draft's events.
    pub(crate) fn log(&self) -> LogPart<'_> {
        let (execution, expected) = (self.state.id(), self.expected);
        let PendingWrites { events, offered, payloads, .. } = &self.pages;
        LogPart { execution, expected, events, offered, referred: payloads }
    }

    /// Folds and adds a decided event. On an error the draft must be discarded.
    pub(crate) fn record(
        &mut self,
        mut event: Event,
        playbook: &Playbook,
        stamps: &Stamps,
    ) -> Result<(), Illegal> {
        let inline_max = inline_max(&self.state, playbook, &event);
        self.pages.move_out(&mut event, inline_max, &mut self.fetched.loaded);
        let recorded = Recorded {
            seq: self.state.seq().next(),
            event_id: stamps.event_id(self.now),
            at: self.state.event_time(self.now),
            event,
            prev: Some(self.state.head()),
        };
        self.pages.note(&self.state, &recorded);
        evolve(&mut self.state, &recorded)?;
        self.pages.events.push(recorded);
        Ok(())
    }

    /// Returns the state after the events so far.
    pub(crate) fn state(&self) -> &Execution {
        &self.state
    }

    pub(crate) fn events(&self) -> &[Recorded] {
        &self.pages.events
    }

    /// Returns the values that were moved out of events.
    pub(crate) fn moved(&self) -> impl Iterator<Item = (PayloadRef, &Arc<Value>)> {
        self.pages.moved.values().map(|(value, reference)| (*reference, value))
    }

    /// Returns the times of the commands that end with the draft.
    pub(crate) fn take_timings(&mut self) -> Vec<CommandTiming> {
        std::mem::take(&mut self.pages.timings)
    }

    /// Returns the append to be written and the resulting state.
    pub(crate) fn finish(self) -> (Append, Execution) {
        let Self { state, now: _, fetched: _, expected, pages } = self;
        let PendingWrites { events, queue, timers, mut outbox, index, payloads, .. } = pages;
        let leased: BTreeSet<CommandId> = queue.iter().filter_map(leased_at_once).collect();
        // No ready message is sent for a command that is already leased.
        outbox.retain(|message| !announced(message).is_some_and(|it| leased.contains(&it)));
        let append = Append {
            execution: state.id(),
            expected,
            events,
            summary: state.summary(),
            queue,
            timers,
            outbox,
            index,
            payloads: payloads
                .into_iter()
                .map(|(digest, large)| (digest, large.bytes.clone()))
                .collect(),
            key: None,
        };
        (append, state)
    }
}

/// Returns the command that a message announces.
fn announced(message: &Message) -> Option<CommandId> {
    if let Message::CommandUnparked { command, .. } = message {
        return Some(*command);
    }
    ready_command(message)
}

/// Returns the command that a queue change leases for the first time.
fn leased_at_once(change: &QueueChange) -> Option<CommandId> {
    match change {
        QueueChange::Lease { command, attempt: Attempt(1), .. } => Some(*command),
        QueueChange::Lease { .. }
        | QueueChange::Add { .. }
        | QueueChange::Park { .. }
        | QueueChange::Unpark { .. }
        | QueueChange::Expire { .. }
        | QueueChange::Remove { .. } => None,
    }
}

impl PendingWrites {
    /// Replaces every large value of an event by a reference.
    fn move_out(&mut self, event: &mut Event, inline_max: usize, loaded: &mut Loaded) {
        if let Event::ContextUpdated { values, large, .. } = event {
            self.move_out_variables(values, large, loaded);
        }
        for payload in event.payloads_mut() {
            match payload {
                Payload::Ref(reference) => {
                    if let Some(large) = self.offered.remove(&reference.digest) {
                        self.payloads.insert(reference.digest, large);
                    }
                }
                Payload::Inline(value) => {
                    if !self.is_within(value, inline_max) {
                        *payload = Payload::Ref(self.moved_out(value, loaded));
                    }
                }
            }
        }
    }

    /// True if the JSON of a value has at most `max` bytes.
    fn is_within(&self, value: &Arc<Value>, max: usize) -> bool {
        match self.measured.get(&Arc::as_ptr(value).addr()) {
            Some((_, len)) => *len <= max,
            None => json_len_within(&**value, max).is_some(),
        }
    }

    /// Replaces every large variable by a reference; parts of a variable stay inline.
    fn move_out_variables(
        &mut self,
        values: &mut BTreeMap<String, Value>,
        large: &mut BTreeMap<String, PayloadRef>,
        loaded: &mut Loaded,
    ) {
        let is_large = |name: &String, value: &mut Value| {
            !name.contains('.') && json_len_within(value, PAYLOAD_INLINE_MAX).is_none()
        };
        for (name, value) in values.extract_if(.., is_large) {
            large.insert(name, self.moved_out(&Arc::new(value), loaded));
        }
    }

    fn moved_out(&mut self, value: &Arc<Value>, loaded: &mut Loaded) -> PayloadRef {
        let address = Arc::as_ptr(value).addr();
        if let Some((_, reference)) = self.moved.get(&address) {
            return *reference;
        }
        let large = Large::of(Arc::clone(value));
        let reference = large.reference;
        loaded.payloads.insert(reference.digest, Arc::clone(value));
        self.payloads.insert(reference.digest, Arc::new(large));
        self.moved.insert(address, (Arc::clone(value), reference));
        reference
    }

    /// Adds the effects of an event to the append.
    fn note(&mut self, before: &Execution, recorded: &Recorded) {
        self.timings.extend(command_timing(before, recorded));
        for effect in effects_of(before, recorded) {
            match effect {
                Effect::Enqueue { command, pool, step, priority, is_parked } => {
                    let step = step.to_string();
                    self.queue.push(QueueChange::Add { command, pool, step, priority, is_parked });
                }
                Effect::Lease { command, attempt, worker, lease } => {
                    self.queue.push(QueueChange::Lease { command, attempt, worker, lease });
                }
                Effect::Park { command } => self.queue.push(QueueChange::Park { command }),
                Effect::Unpark { command } => self.queue.push(QueueChange::Unpark { command }),
                Effect::Expire { command, attempt } => {
                    self.queue.push(QueueChange::Expire { command, attempt });
                }
                Effect::Dequeue { command } => self.queue.push(QueueChange::Remove { command }),
                Effect::SetTimer { timer, due_at } => {
                    self.timers.push(TimerChange::Set { timer, due_at });
                }
                Effect::DropTimer { timer } => self.timers.push(TimerChange::Remove { timer }),
                Effect::Send(message) => self.outbox.push(message),
                Effect::Index(change) => self.index.push(change),
            }
        }
    }
}

/// Returns the inline limit for the payloads of an event. A step may set a lower limit, so that its
/// output is always stored by reference.
fn inline_max(state: &Execution, playbook: &Playbook, event: &Event) -> usize {
    if event.tag() == EventTag::CommandIssued {
        return BINDING_INLINE_MAX;
    }
    // A step without an output of its own uses its last command's.
    let step = if let Event::CommandCompleted { command, .. } = event {
        state.step_of_command(*command)
    } else {
        event.step().filter(|_| event.tag() == EventTag::StepCompleted)
    };
    let step = step.and_then(|step| playbook.index_of(step.as_str()));
    let above = step.map(|step| playbook.step(step).output.reference_above);
    above
        .and_then(|above| usize::try_from(above).ok())
        .unwrap_or(usize::MAX)
        .min(PAYLOAD_INLINE_MAX)
}
