//! One execution in memory: the engine's decisions, folded at once, with queue and timers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use noetl_engine::{
    ATTEMPTS_MAX, Decision, DecisionArgs, EVENTS_MAX, Effect, Effort, Execution, Input, ItemOutput,
    Loaded, LoopCollector, LoopEnd, LoopOutput, Needs, NoticeSettings, OutputLookup, RUNS_MAX,
    Refusal, StartInput, begin, decide, effects_of, evolve, explain, start,
};
use noetl_model::{
    CatalogId, CommandId, Digest, Event, EventId, ExecutionId, Message, PAYLOAD_INLINE_MAX,
    Payload, PayloadRef, PlaybookRef, Pool, Recorded, Seq, TimerId, Timestamp,
};
use noetl_playbook::Playbook;
use serde_json::Value;

use crate::coverage::Coverage;

/// An execution with its log, and the resulting queue, timers and messages.
pub(crate) struct VirtualExecution<'p> {
    pub(crate) playbook: &'p Playbook,
    pub(crate) state: Execution,
    pub(crate) log: Vec<Recorded>,
    pub(crate) coverage: Coverage,
    /// Messages of its events that are not delivered yet.
    pub(crate) messages: Vec<Message>,
    /// Commands that a worker, or the control plane, can take.
    ready: BTreeMap<CommandId, Pool>,
    parked: BTreeMap<CommandId, Pool>,
    timers: BTreeMap<TimerId, Timestamp>,
    stored: BTreeMap<Digest, Arc<Value>>,
    notices: Arc<NoticeSettings>,
}

/// The arguments of a decision that are the same for every execution of a test.
fn args<'a>(playbook: &'a Playbook, now: Timestamp, loaded: &'a Loaded) -> DecisionArgs<'a> {
    DecisionArgs {
        playbook,
        now,
        loaded,
        effort: Effort::Whole,
        runs_max: RUNS_MAX,
        events_max: EVENTS_MAX,
        attempts_max: ATTEMPTS_MAX,
        fork_changes: None,
    }
}

impl<'p> VirtualExecution<'p> {
    /// Starts an execution. The workload was checked before.
    pub(crate) fn start(
        id: ExecutionId,
        playbook: &'p Playbook,
        input: &StartInput,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        let notices = Arc::new(NoticeSettings::default());
        let mut loaded = Loaded { notices: Some(Arc::clone(&notices)), ..Loaded::default() };
        let path = playbook.metadata.path.clone();
        let reference = PlaybookRef { catalog_id: CatalogId(1), path, version: 1 };
        let events = loop {
            match start(id, &reference, input, args(playbook, now, &loaded)) {
                Ok(Decision::Accepted(events)) => break events,
                Ok(Decision::Refused { refusal, .. }) => return Err(refusal),
                // Nothing ran before.
                Err(Needs::Output(OutputLookup { key, ttl: _ })) => {
                    loaded.outputs.insert(key, None);
                }
                Err(needs @ (Needs::Effort | Needs::Payloads(_) | Needs::Loop(_))) => {
                    unreachable!("a start needs nothing that is stored: {needs:?}")
                }
            }
        };
        let mut events = events.into_iter();
        let event = events.next().expect("a start has events");
        let first = Recorded { seq: Seq(1), event_id: EventId(1), at: now, event, prev: None };
        let state = begin(id, &first).expect("a start begins an execution");
        let mut execution = Self {
            playbook,
            state,
            log: vec![first],
            coverage: Coverage::default(),
            messages: Vec::new(),
            ready: BTreeMap::new(),
            parked: BTreeMap::new(),
            timers: BTreeMap::new(),
            stored: BTreeMap::new(),
            notices,
        };
        execution.record(events.collect(), now);
        Ok(execution)
    }

    /// Gives the engine an input, and loads the values that the decision asks for.
    pub(crate) fn tell(&mut self, input: &Input, now: Timestamp) -> Result<(), Refusal> {
        let decision = self.loading(|execution, loaded| {
            decide(&execution.state, input, args(execution.playbook, now, loaded))
        });
        match decision {
            Decision::Accepted(events) => {
                self.record(events, now);
                Ok(())
            }
            Decision::Refused { refusal, recorded } => {
                self.record(recorded, now);
                Err(refusal)
            }
        }
    }

    /// Calls a function of the engine until it has all stored values that it needs.
    pub(crate) fn loading<T>(&self, call: impl Fn(&Self, &Loaded) -> Result<T, Needs>) -> T {
        let notices = Some(Arc::clone(&self.notices));
        let mut loaded = Loaded { notices, ..Loaded::default() };
        loop {
            match call(self, &loaded) {
                Ok(value) => return value,
                Err(needs) => self.fetch(&mut loaded, needs),
            }
        }
    }

    /// Returns the arguments of a function of the engine.
    pub(crate) fn given<'a>(&'a self, now: Timestamp, loaded: &'a Loaded) -> DecisionArgs<'a> {
        args(self.playbook, now, loaded)
    }

    pub(crate) fn resolve(&self, payload: &Payload) -> Arc<Value> {
        match payload {
            Payload::Inline(value) => value.clone(),
            Payload::Ref(reference) => self.stored[&reference.digest].clone(),
        }
    }

    /// Moves a large value out of the log.
    pub(crate) fn keep(&mut self, payload: Payload) -> Payload {
        let Payload::Inline(value) = &payload else { return payload };
        let bytes = value.to_string().into_bytes();
        if bytes.len() <= PAYLOAD_INLINE_MAX {
            return payload;
        }
        let digest = Digest::of(&bytes);
        self.stored.insert(digest, value.clone());
        Payload::Ref(PayloadRef { digest, size: bytes.len() as u64 })
    }

    /// Returns the commands that a worker can take, oldest first.
    pub(crate) fn ready(&self) -> Vec<CommandId> {
        self.queued(|pool| pool.as_str() != Pool::CONTROL)
    }

    /// Returns the commands that start a child, oldest first.
    pub(crate) fn child_commands(&self) -> Vec<CommandId> {
        self.queued(|pool| pool.as_str() == Pool::CONTROL)
    }

    fn queued(&self, which: impl Fn(&Pool) -> bool) -> Vec<CommandId> {
        let chosen = self.ready.iter().filter(|(_, pool)| which(pool));
        chosen.map(|(command, _)| *command).collect()
    }

    pub(crate) fn next_timer(&self) -> Option<(Timestamp, TimerId)> {
        self.timers.iter().map(|(timer, due)| (*due, *timer)).min()
    }

    /// Removes a command of kind `playbook` from the queue: its mock or its child ends it.
    pub(crate) fn take(&mut self, command: CommandId) {
        self.ready.remove(&command);
    }

    /// Grants every slot that is awaited; false if there is none.
    pub(crate) fn grant_slots(&mut self, now: Timestamp) -> bool {
        let awaited = self.state.slots().filter(|(_, slot)| slot.granted_at.is_none());
        let awaited: Vec<Input> = awaited
            .map(|(command, slot)| Input::SlotGranted { command, limit: slot.limit.name.clone() })
            .collect();
        for grant in &awaited {
            self.tell(grant, now).expect("an awaited slot can be granted");
        }
        !awaited.is_empty()
    }

    /// Returns the steps that were entered, in order, with repetitions.
    pub(crate) fn entered(&self) -> Vec<&str> {
        let mut steps = Vec::new();
        for recorded in &self.log {
            if let Event::StepEntered { step, .. } = &recorded.event {
                steps.push(step.as_str());
            }
        }
        steps
    }

    /// Returns the steps that were skipped by a guard.
    pub(crate) fn skipped(&self) -> BTreeSet<&str> {
        let mut steps = BTreeSet::new();
        for recorded in &self.log {
            if let Event::StepSkipped { step, .. } = &recorded.event {
                steps.insert(step.as_str());
            }
        }
        steps
    }

    fn fetch(&self, loaded: &mut Loaded, needs: Needs) {
        match needs {
            Needs::Effort => unreachable!("every decision of a test has its whole effort"),
            Needs::Payloads(digests) => loaded
                .payloads
                .extend(digests.into_iter().map(|digest| (digest, self.stored[&digest].clone()))),
            // A test has no earlier executions.
            Needs::Output(OutputLookup { key, ttl: _ }) => {
                loaded.outputs.insert(key, None);
            }
            Needs::Loop(end) => {
                let run = end.run;
                let stored = |digest: &Digest| self.stored[digest].clone();
                let output = loop_output(&self.log, *end, &stored);
                loaded.loops.insert(run, LoopOutput::Value(Payload::inline(output)));
            }
        }
    }

    /// Appends events to the log, and applies each event and its effects.
    fn record(&mut self, events: Vec<Event>, now: Timestamp) {
        for mut event in events {
            for payload in event.payloads_mut() {
                *payload = self.keep(payload.clone());
            }
            let seq = self.state.seq().next();
            let event_id = EventId(seq.0.cast_signed());
            let (at, prev) = (self.state.event_time(now), Some(self.state.head()));
            let recorded = Recorded { seq, event_id, at, event, prev };
            self.cover(&recorded, now);
            for effect in effects_of(&self.state, &recorded) {
                self.carry_out(effect);
            }
            evolve(&mut self.state, &recorded).expect("a decided event is legal");
            self.log.push(recorded);
        }
    }

    /// Counts the guards behind an event.
    fn cover(&mut self, recorded: &Recorded, now: Timestamp) {
        let is_of_step = matches!(
            &recorded.event,
            Event::StepEntered { .. }
                | Event::StepSkipped { .. }
                | Event::StepCompleted { .. }
                | Event::StepFailed { .. }
        );
        if !is_of_step {
            return;
        }
        let explained = self.loading(|execution, loaded| {
            explain(&execution.state, recorded, args(execution.playbook, now, loaded))
        });
        self.coverage.add(&recorded.event, explained);
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Enqueue { command, pool, is_parked, .. } => {
                let place = if is_parked { &mut self.parked } else { &mut self.ready };
                place.insert(command, pool);
            }
            Effect::Park { command } => {
                if let Some(pool) = self.ready.remove(&command) {
                    self.parked.insert(command, pool);
                }
            }
            Effect::Unpark { command } => {
                if let Some(pool) = self.parked.remove(&command) {
                    self.ready.insert(command, pool);
                }
            }
            Effect::Lease { command, .. }
            | Effect::Expire { command, .. }
            | Effect::Dequeue { command } => {
                self.parked.remove(&command);
                self.ready.remove(&command);
            }
            Effect::SetTimer { timer, due_at } => {
                self.timers.insert(timer, due_at);
            }
            Effect::DropTimer { timer } => {
                self.timers.remove(&timer);
            }
            Effect::Send(message) => self.messages.push(message),
            Effect::Index(_) => {}
        }
    }
}

/// Returns the output of a loop that has ended, collected from its log.
pub(crate) fn loop_output(
    log: &[Recorded],
    end: LoopEnd,
    stored: &dyn Fn(&Digest) -> Arc<Value>,
) -> Value {
    let after = end.after;
    let mut collector = LoopCollector::new(end);
    log.iter().filter(|event| event.seq > after).for_each(|event| collector.see(event));
    let collected = collector.finish();
    let mut writer = collected.writer();
    for (index, piece) in collected.pieces {
        match piece {
            ItemOutput::Json(json) => writer.put(index, &json),
            ItemOutput::Stored(PayloadRef { digest, .. }) => {
                writer.put(index, stored(&digest).to_string().as_bytes());
            }
        }
    }
    serde_json::from_slice(&writer.finish()).expect("a collected output is JSON")
}
