//! The transitions of a replay: the effect of each event on the replay state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::canon::checksums;
use super::commands::Commands;
use super::state::{
    BusinessObject, Frame, ProjectedLoop, ReferredPayload, ReplayState, ReplayedExecution, Stage,
    Word,
};
use super::{Projection, ReplayEvent};

/// The largest number of interned texts.
const WORDS_MAX: usize = 4096;

/// Interned texts that occur in many entries.
#[derive(Debug, Clone, Default)]
pub(crate) struct InternedTexts(BTreeSet<Word>);

impl InternedTexts {
    pub(crate) fn of(&mut self, text: &str) -> Word {
        if let Some(word) = self.0.get(text) {
            return word.clone();
        }
        let word: Word = Arc::from(text);
        if self.0.len() < WORDS_MAX {
            self.0.insert(word.clone());
        }
        word
    }

    fn maybe(&mut self, text: Option<impl AsRef<str>>) -> Option<Word> {
        text.map(|text| self.of(text.as_ref()))
    }
}

/// A replay in progress; takes events in log order.
#[derive(Debug, Clone)]
pub struct Fold {
    state: ReplayState,
    projection: Projection,
    words: InternedTexts,
}

impl Fold {
    pub fn new(tenant: &str, organization: &str, execution: i64, projection: Projection) -> Self {
        let mut words = InternedTexts::default();
        let state = ReplayState {
            tenant_id: tenant.to_owned(),
            organization_id: organization.to_owned(),
            execution_id: execution,
            projection: projection.as_str().to_owned(),
            event_count: 0,
            last_event_id: None,
            last_event_type: None,
            execution: ReplayedExecution {
                status: words.of("UNKNOWN"),
                last_node_name: None,
                payload_refs: Vec::new(),
            },
            stages: BTreeMap::new(),
            frames: BTreeMap::new(),
            commands: Commands::default(),
            business_objects: BTreeMap::new(),
            loops: BTreeMap::new(),
            truncated: false,
            checksums: None,
        };
        Self { state, projection, words }
    }

    /// Continues from the state of an earlier replay with the events after it.
    pub fn resume(base: ReplayState, projection: Projection) -> Self {
        let projection_name = projection.as_str().to_owned();
        let state =
            ReplayState { checksums: None, truncated: false, projection: projection_name, ..base };
        Self { state, projection, words: InternedTexts::default() }
    }

    /// Folds one event.
    pub fn see(&mut self, event: &ReplayEvent<'_>) {
        let payload = self.count(event);
        self.execution(event);
        if self.projection.shows(Projection::Stage) {
            self.stage(event);
        }
        if self.projection.shows(Projection::Frame) {
            self.frame(event, payload.as_ref());
        }
        if self.projection.shows(Projection::Command) {
            self.state.commands.see(event);
        }
        if self.projection.shows(Projection::Loop) {
            self.repeat(event);
        }
        self.refer(event, payload);
    }

    /// Folds a reported fact: it counts, and changes business objects and references only.
    pub fn note(&mut self, event: &ReplayEvent<'_>) {
        let payload = self.count(event);
        self.refer(event, payload);
    }

    fn count(&mut self, event: &ReplayEvent<'_>) -> Option<ReferredPayload> {
        self.state.event_count += 1;
        self.state.last_event_id = Some(event.event_id);
        match &mut self.state.last_event_type {
            Some(last) => event.event_type.as_ref().clone_into(last),
            none @ None => *none = Some(event.event_type.clone().into_owned()),
        }
        let event_id = event.event_id;
        event.reference.clone().map(|reference| ReferredPayload { event_id, reference })
    }

    fn refer(&mut self, event: &ReplayEvent<'_>, payload: Option<ReferredPayload>) {
        if self.projection.shows(Projection::BusinessObject) {
            self.object(event, payload.as_ref());
        }
        self.state.execution.payload_refs.extend(payload);
    }

    /// Marks the state as truncated: the log has more events than were requested.
    pub fn cut_short(&mut self) {
        self.state.truncated = true;
    }

    /// Returns the state so far, without checksums.
    pub fn state(&self) -> &ReplayState {
        &self.state
    }

    /// Returns the number of entries of all kinds.
    pub fn len(&self) -> usize {
        let ReplayState { execution, stages, frames, commands, business_objects, loops, .. } =
            &self.state;
        let of_objects = business_objects.values().map(|object| object.payload_refs.len() + 1);
        execution.payload_refs.len()
            + stages.len()
            + frames.len()
            + commands.len()
            + loops.len()
            + of_objects.sum::<usize>()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the state with its checksums.
    pub fn finish(self) -> ReplayState {
        let checksums = Some(checksums(&self.state));
        ReplayState { checksums, ..self.state }
    }

    fn execution(&mut self, event: &ReplayEvent<'_>) {
        let execution = &mut self.state.execution;
        let status = match &*event.event_type {
            "playbook.completed" | "playbook_completed" => Some("COMPLETED"),
            "playbook.failed" | "playbook_failed" => Some("FAILED"),
            "playbook.cancelled" | "playbook_cancelled" => Some("CANCELLED"),
            "step.enter" | "step_enter" | "step_started" if &*execution.status == "UNKNOWN" => {
                Some("RUNNING")
            }
            _ => None,
        };
        if let Some(status) = status {
            execution.status = self.words.of(status);
        }
        let names_step = matches!(
            &*event.event_type,
            "step.enter"
                | "step_enter"
                | "step_started"
                | "step.exit"
                | "step_completed"
                | "command.completed"
        );
        if let Some(name) = event.node_name.as_ref().filter(|_| names_step) {
            execution.last_node_name = Some(self.words.of(name));
        }
    }

    fn stage(&mut self, event: &ReplayEvent<'_>) {
        let Some(id) = event.stage() else { return };
        let words = &mut self.words;
        if !self.state.stages.contains_key(&*id) {
            let step = event.node_name.clone().or_else(|| event.meta_text("step_name"));
            let stage = Stage {
                stage_id: words.of(&id),
                status: words.of("UNKNOWN"),
                kind: words.maybe(event.meta_text("kind")),
                step_name: words.maybe(step),
                parent_stage_id: words.maybe(event.meta_text("parent_stage_id")),
                loop_event_id: None,
                opened_event_id: None,
                closed_event_id: None,
                frame_count: 0,
                row_count: 0,
                events_emitted: 0,
                failed_count: 0,
                last_event_id: None,
            };
            self.state.stages.insert(stage.stage_id.clone(), stage);
        }
        let stage = self.state.stages.get_mut(&*id).expect("it has just been put there");
        stage.last_event_id = Some(event.event_id);
        update(&mut stage.parent_stage_id, words.maybe(event.meta_text("parent_stage_id")));
        update(&mut stage.loop_event_id, words.maybe(event.loop_id()));
        match &*event.event_type {
            "stage.opened" => {
                stage.status = words.of("OPEN");
                stage.opened_event_id = Some(event.event_id);
            }
            "stage.closed" => {
                stage.status = words.of(event.status_or("CLOSED"));
                stage.closed_event_id = Some(event.event_id);
                count(&mut stage.frame_count, event, "frame_count");
                count(&mut stage.row_count, event, "row_count");
                count(&mut stage.events_emitted, event, "events_emitted");
                count(&mut stage.failed_count, event, "failed_count");
            }
            _ if !event.status.is_empty() => stage.status = words.of(&event.status),
            _ => {}
        }
    }

    fn frame(&mut self, event: &ReplayEvent<'_>, payload: Option<&ReferredPayload>) {
        let Some(id) = event.frame() else { return };
        let words = &mut self.words;
        if !self.state.frames.contains_key(&*id) {
            let frame = Frame {
                frame_id: words.of(&id),
                stage_id: None,
                parent_frame_id: None,
                command_id: None,
                claimed_event_id: None,
                terminal_event_id: None,
                status: words.of("UNKNOWN"),
                row_count: 0,
                attempts: 0,
                last_event_id: None,
                events_emitted: 0,
                output_ref: None,
                output_ref_summary: None,
            };
            self.state.frames.insert(frame.frame_id.clone(), frame);
        }
        let frame = self.state.frames.get_mut(&*id).expect("it has just been put there");
        frame.last_event_id = Some(event.event_id);
        update(&mut frame.stage_id, words.maybe(event.stage()));
        update(&mut frame.parent_frame_id, words.maybe(event.meta_text("parent_frame_id")));
        update(&mut frame.command_id, words.maybe(event.command()));
        let status = match &*event.event_type {
            "frame.dispatched" => {
                frame.claimed_event_id = Some(event.event_id);
                frame.attempts = frame.attempts.max(event.meta_integer("attempt").unwrap_or(1));
                "CLAIMED"
            }
            "frame.started" => "RUNNING",
            "frame.abandoned" => event.status_or("ABANDONED"),
            // An event of this program's own logs, which carries the row count.
            "frame.opened" => {
                count(&mut frame.row_count, event, "row_count");
                event.status_or("OPEN")
            }
            "frame.committed" => {
                count(&mut frame.row_count, event, "row_count");
                frame.end(event, payload);
                event.status_or("COMPLETED")
            }
            "frame.failed" => {
                frame.end(event, payload);
                event.status_or("FAILED")
            }
            _ if event.status.is_empty() => return,
            _ => &event.status,
        };
        frame.status = words.of(status);
    }

    fn repeat(&mut self, event: &ReplayEvent<'_>) {
        let Some(id) = event.loop_id() else { return };
        let words = &mut self.words;
        if !self.state.loops.contains_key(&*id) {
            let total = event.meta_integer("collection_size");
            let repeat = ProjectedLoop {
                loop_id: words.of(&id),
                step_name: words.maybe(event.node_name.as_ref()),
                total: total.or_else(|| event.meta_integer("total")),
                done: 0,
                failed: 0,
                completed: false,
                last_event_id: None,
            };
            self.state.loops.insert(repeat.loop_id.clone(), repeat);
        }
        let repeat = self.state.loops.get_mut(&*id).expect("it has just been put there");
        repeat.last_event_id = Some(event.event_id);
        match &*event.event_type {
            "command.completed" | "loop.shard.done" | "iteration.completed" => repeat.done += 1,
            "command.failed" | "loop.shard.failed" | "iteration.failed" => repeat.failed += 1,
            // In this program's own logs, the end of a step ends its loop.
            "loop.done" | "loop.fanin.completed" | "step.exit" | "step.failed" => {
                repeat.completed = true;
            }
            _ => {}
        }
    }

    fn object(&mut self, event: &ReplayEvent<'_>, payload: Option<&ReferredPayload>) {
        let Some(id) = event.object() else { return };
        let words = &mut self.words;
        let key: Word = Arc::from(id.key());
        let object =
            self.state.business_objects.entry(key.clone()).or_insert_with(|| BusinessObject {
                object_key: key,
                object_type: words.of(&id.kind),
                object_id: Arc::from(id.id.as_str()),
                status: words.of("UNKNOWN"),
                version: 0,
                event_count: 0,
                first_event_id: None,
                last_event_id: None,
                deleted_event_id: None,
                last_event_type: None,
                attributes: serde_json::Map::new(),
                payload_refs: Vec::new(),
                last_payload_ref: None,
            });
        object.see(event, words, payload);
    }
}

impl Frame {
    fn end(&mut self, event: &ReplayEvent<'_>, payload: Option<&ReferredPayload>) {
        count(&mut self.events_emitted, event, "events_emitted");
        self.terminal_event_id = Some(event.event_id);
        self.output_ref = payload.map(|payload| payload.reference.clone());
        self.output_ref_summary =
            Some(payload.map(|payload| payload.reference.summary()).unwrap_or_default());
    }
}

fn update(known: &mut Option<Word>, told: Option<Word>) {
    if told.is_some() {
        *known = told;
    }
}

fn count(counter: &mut i64, event: &ReplayEvent<'_>, key: &str) {
    if let Some(told) = event.meta_integer(key) {
        *counter = told;
    }
}
