//! A story: one execution that the engine runs in memory, one input after another.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use noetl_engine::Effect;
use noetl_engine::{
    ATTEMPTS_MAX, CachedOutput, CommandResult, Decision, DecisionArgs, Effort, Execution, Input,
    ItemOutput, Loaded, LoopCollector, LoopOutput, Needs, NoticeSettings, OutputLookup, Refusal,
    StartInput, begin, decide, effects_of, evolve, lease_of, start,
};
use noetl_model::{
    Actor, Attempt, CacheKey, CatalogId, CommandId, Digest, ErrorMode, Event, EventId, ExecutionId,
    ExecutionStatus, Labels, Lease, Logs, Message, NoticeOrigin, Origin, Outcome, Payload,
    PayloadRef, PlaybookRef, Pool, Priority, Recorded, Seq, StartPause, TimerId, Timestamp,
    WorkerId,
};
use noetl_playbook::Playbook;
use serde_json::{Map, Value};

use crate::print::history_line;
use crate::worker::ScriptedWorker;

/// The maximum number of commands of a story; more indicate an endless loop.
const COMMANDS_MAX: usize = 10_000;

/// The options of a story.
#[derive(Debug, Clone)]
pub struct StoryOptions {
    pub payload: Map<String, Value>,
    pub error_mode: Option<ErrorMode>,
    pub origin: Origin,
    pub priority: Option<Priority>,
    /// The pause of the playbook.
    pub paused: Option<StartPause>,
    pub labels: Labels,
    pub actor: Option<Actor>,
    /// The maximum size of an inline payload; larger ones are stored by reference.
    pub inline_max: usize,
    pub runs_max: u64,
    pub events_max: u64,
    /// The notification that starts the execution.
    pub notice: Option<NoticeOrigin>,
    /// The documents that ask for notifications.
    pub notices: NoticeSettings,
}

impl Default for StoryOptions {
    fn default() -> Self {
        Self {
            payload: Map::new(),
            error_mode: None,
            origin: Origin::Request,
            priority: None,
            paused: None,
            labels: Labels::default(),
            actor: None,
            inline_max: noetl_model::PAYLOAD_INLINE_MAX,
            runs_max: noetl_engine::RUNS_MAX,
            events_max: noetl_engine::EVENTS_MAX,
            notice: None,
            notices: NoticeSettings::default(),
        }
    }
}

/// An execution with its log, and the resulting queue and timers.
#[derive(Debug)]
pub struct Story {
    pub playbook: Playbook,
    pub state: Execution,
    pub log: Vec<Recorded>,
    pub now: Timestamp,
    pub worker: ScriptedWorker,
    /// Outputs of earlier executions by their cache key.
    pub cached: BTreeMap<CacheKey, CachedOutput>,
    queue: BTreeMap<CommandId, Pool>,
    /// Commands that no worker can claim.
    parked: BTreeMap<CommandId, Pool>,
    /// The messages that the events have sent.
    pub messages: Vec<Message>,
    timers: BTreeMap<TimerId, Timestamp>,
    stored: BTreeMap<Digest, Arc<Value>>,
    inline_max: usize,
    notices: Arc<NoticeSettings>,
    runs_max: u64,
    events_max: u64,
}

impl Story {
    pub const EXECUTION: ExecutionId = ExecutionId(7);

    /// Starts an execution of a playbook, which has to be valid.
    pub fn begin(yaml: &str, options: StoryOptions) -> Self {
        let playbook = match noetl_playbook::parse("test.yaml", yaml.as_bytes()) {
            Ok(checked) => checked.playbook,
            Err(problems) => panic!("the playbook is not valid:\n{problems}"),
        };
        Self::of(playbook, options)
    }

    pub fn of(playbook: Playbook, options: StoryOptions) -> Self {
        let now = Timestamp::from_millis(1_800_000_000_000);
        let reference = PlaybookRef {
            catalog_id: CatalogId(3),
            path: playbook.metadata.path.clone(),
            version: 1,
        };
        let input = StartInput {
            payload: options.payload,
            origin: options.origin,
            error_mode: options.error_mode,
            pool: Pool::shared(),
            priority: options.priority,
            paused: options.paused,
            trace: None,
            notice: options.notice,
            inherited: Labels::default(),
            labels: options.labels,
            actor: options.actor,
            added: &[],
        };
        let notices = Arc::new(options.notices);
        let loaded = Loaded { notices: Some(Arc::clone(&notices)), ..Loaded::default() };
        let StoryOptions { runs_max, events_max, .. } = options;
        let attempts_max = ATTEMPTS_MAX;
        let given = DecisionArgs {
            playbook: &playbook,
            now,
            loaded: &loaded,
            effort: Effort::Whole,
            runs_max,
            events_max,
            attempts_max,
            fork_changes: None,
        };
        let Ok(Decision::Accepted(events)) = start(Self::EXECUTION, &reference, &input, given)
        else {
            panic!("a start needs nothing that is stored");
        };
        let mut events = events.into_iter();
        let first = Recorded {
            seq: Seq(1),
            event_id: EventId(1),
            at: now,
            event: events.next().expect("a start has events"),
            prev: None,
        };
        let state = begin(Self::EXECUTION, &first).expect("a legal start");
        let mut story = Self {
            playbook,
            state,
            log: vec![first],
            now,
            worker: ScriptedWorker::default(),
            cached: BTreeMap::new(),
            queue: BTreeMap::new(),
            parked: BTreeMap::new(),
            messages: Vec::new(),
            timers: BTreeMap::new(),
            stored: BTreeMap::new(),
            inline_max: options.inline_max,
            notices,
            runs_max,
            events_max,
        };
        story.record(events.collect());
        story
    }

    /// Gives the engine an input and loads the values it asks for. Returns the events or the
    /// refusal.
    pub fn tell(&mut self, input: &Input) -> Result<Vec<Event>, Refusal> {
        let notices = Some(Arc::clone(&self.notices));
        let mut loaded = Loaded { notices, ..Loaded::default() };
        loop {
            let given = DecisionArgs {
                playbook: &self.playbook,
                now: self.now,
                loaded: &loaded,
                effort: Effort::Whole,
                runs_max: self.runs_max,
                events_max: self.events_max,
                attempts_max: ATTEMPTS_MAX,
                fork_changes: None,
            };
            match decide(&self.state, input, given) {
                Ok(Decision::Accepted(events)) => return Ok(self.record(events)),
                Ok(Decision::Refused { refusal, recorded }) => {
                    self.record(recorded);
                    return Err(refusal);
                }
                Err(needs) => self.fetch(&mut loaded, needs),
            }
        }
    }

    /// Runs all commands, oldest first; when only timers are left, advances the time to the next
    /// one.
    pub fn run(&mut self) -> &mut Self {
        self.run_choosing(|_| 0)
    }

    /// Runs all commands like [`Story::run`], in the order given by `choose`, which picks one of
    /// the ready commands by index.
    pub fn run_choosing(&mut self, mut choose: impl FnMut(usize) -> usize) -> &mut Self {
        for _ in 0..COMMANDS_MAX {
            if self.state.status().is_terminal() {
                return self;
            }
            let ready: Vec<CommandId> = self.ready().collect();
            if !ready.is_empty() {
                self.run_command(ready[choose(ready.len())]);
            } else if self.grant_slots() {
                continue;
            } else if let Some((timer, due_at)) = self.next_timer() {
                self.now = self.now.max(due_at);
                self.tell(&Input::TimerFired { timer }).expect("the timer is set");
            } else {
                return self;
            }
        }
        panic!("the story does not end");
    }

    /// Grants every slot that is awaited; false if there is none.
    fn grant_slots(&mut self) -> bool {
        let awaited = self.state.slots().filter(|(_, slot)| slot.granted_at.is_none());
        let awaited: Vec<Input> = awaited
            .map(|(command, slot)| Input::SlotGranted { command, limit: slot.limit.name.clone() })
            .collect();
        for grant in &awaited {
            self.tell(grant).expect("the slot is awaited");
        }
        !awaited.is_empty() && self.state.pause().is_none()
    }

    /// Returns the oldest command that a worker may take.
    pub fn next_ready(&self) -> Option<CommandId> {
        self.ready().next()
    }

    /// Returns the oldest command that the control plane has to run.
    pub fn next_child(&self) -> Option<CommandId> {
        self.queue
            .iter()
            .find(|(_, pool)| pool.as_str() == Pool::CONTROL)
            .map(|(command, _)| *command)
    }

    pub fn next_timer(&self) -> Option<(TimerId, Timestamp)> {
        self.timers
            .iter()
            .map(|(timer, due)| (*timer, *due))
            .min_by_key(|(timer, due)| (*due, *timer))
    }

    pub fn claim(&mut self, command: CommandId, attempt: u32, worker: &str) -> Result<(), Refusal> {
        let input = Input::Claim {
            command,
            attempt: Attempt(attempt),
            worker: WorkerId::new(worker),
            lease: Duration::from_secs(30),
            after: None,
        };
        self.tell(&input).map(|_| ())
    }

    pub fn report(
        &mut self,
        command: CommandId,
        attempt: u32,
        worker: &str,
        outcome: Outcome,
    ) -> Result<Vec<Event>, Refusal> {
        let ended = match outcome {
            Outcome::Completed { output } => {
                CommandResult::Completed { output: self.keep(Payload::Inline(output)) }
            }
            Outcome::Failed { error, output } => CommandResult::Failed {
                error,
                output: output.map(|output| self.keep(Payload::Inline(output))),
            },
        };
        self.tell(&Input::Report {
            command,
            attempt: Attempt(attempt),
            worker: WorkerId::new(worker),
            ended,
            logs: Logs::default(),
        })
    }

    /// Returns the lease of a claimed command, as its worker gets it.
    pub fn lease(&self, command: CommandId) -> Lease {
        lease_of(&self.state, &self.playbook, command).expect("the command is claimed")
    }

    pub fn resolve(&self, payload: &Payload) -> Arc<Value> {
        match payload {
            Payload::Inline(value) => value.clone(),
            Payload::Ref(reference) => self.stored[&reference.digest].clone(),
        }
    }

    /// Returns the output of a step, as later templates see it.
    pub fn output(&self, step: &str) -> Value {
        self.state.step_output(step).map_or(Value::Null, |payload| (*self.resolve(payload)).clone())
    }

    pub fn status(&self) -> ExecutionStatus {
        self.state.status()
    }

    /// Returns the history, one line for each event, without claims and the start.
    pub fn history(&self) -> String {
        let resolve = |payload: &Payload| self.resolve(payload);
        self.log.iter().filter_map(|recorded| history_line(&recorded.event, &resolve)).collect()
    }

    fn ready(&self) -> impl Iterator<Item = CommandId> {
        self.queue
            .iter()
            .filter(|(_, pool)| pool.as_str() != Pool::CONTROL)
            .map(|(command, _)| *command)
    }

    fn run_command(&mut self, command: CommandId) {
        self.claim(command, 1, "w").expect("the command is ready");
        let lease = self.lease(command);
        let stored = &self.stored;
        let resolve = |payload: &Payload| match payload {
            Payload::Inline(value) => value.clone(),
            Payload::Ref(reference) => stored[&reference.digest].clone(),
        };
        let outcome = self.worker.run(&lease, &resolve);
        self.report(command, 1, "w", outcome).expect("the claim holds");
    }

    fn fetch(&self, loaded: &mut Loaded, needs: Needs) {
        match needs {
            Needs::Effort => unreachable!("a story gives every decision its whole effort"),
            Needs::Payloads(digests) => loaded
                .payloads
                .extend(digests.into_iter().map(|digest| (digest, self.stored[&digest].clone()))),
            Needs::Output(OutputLookup { key, ttl: _ }) => {
                loaded.outputs.insert(key, self.cached.get(&key).cloned());
            }
            Needs::Loop(end) => {
                let (run, after) = (end.run, end.after);
                let mut collector = LoopCollector::new(*end);
                let log = self.log.iter().filter(|event| event.seq > after);
                log.for_each(|event| collector.see(event));
                let collected = collector.finish();
                let mut writer = collected.writer();
                for (index, piece) in collected.pieces {
                    match piece {
                        ItemOutput::Json(json) => writer.put(index, &json),
                        ItemOutput::Stored(PayloadRef { digest, .. }) => {
                            writer.put(index, self.stored[&digest].to_string().as_bytes());
                        }
                    }
                }
                let output = serde_json::from_slice(&writer.finish()).expect("it is JSON");
                loaded.loops.insert(run, LoopOutput::Value(Payload::inline(output)));
            }
        }
    }

    fn keep(&mut self, payload: Payload) -> Payload {
        let Payload::Inline(value) = &payload else { return payload };
        let bytes = value.to_string().into_bytes();
        if bytes.len() <= self.inline_max {
            return payload;
        }
        let digest = Digest::of(&bytes);
        self.stored.insert(digest, value.clone());
        Payload::Ref(PayloadRef { digest, size: bytes.len() as u64 })
    }

    /// Appends events to the log, and applies each event and its effects.
    fn record(&mut self, events: Vec<Event>) -> Vec<Event> {
        let mut kept = Vec::new();
        for mut event in events {
            for payload in event.payloads_mut() {
                *payload = self.keep(payload.clone());
            }
            let seq = self.state.seq().next();
            let event_id = EventId(seq.0.cast_signed());
            let prev = Some(self.state.head());
            let recorded = Recorded { seq, event_id, at: self.now, event, prev };
            for effect in effects_of(&self.state, &recorded) {
                self.carry_out(effect);
            }
            evolve(&mut self.state, &recorded).expect("what is decided is legal");
            kept.push(recorded.event.clone());
            self.log.push(recorded);
        }
        kept
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Enqueue { command, pool, is_parked, .. } => {
                let place = if is_parked { &mut self.parked } else { &mut self.queue };
                place.insert(command, pool);
            }
            Effect::Park { command } => {
                if let Some(pool) = self.queue.remove(&command) {
                    self.parked.insert(command, pool);
                }
            }
            Effect::Unpark { command } => {
                let pool = self.parked.remove(&command).expect("the command is parked");
                self.queue.insert(command, pool);
            }
            Effect::Lease { command, .. }
            | Effect::Expire { command, .. }
            | Effect::Dequeue { command } => {
                self.parked.remove(&command);
                self.queue.remove(&command);
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
