//! Projected events of other systems, stored once each and read by execution, and the executions
//! that are known only from such events.

use std::collections::{BTreeMap, BTreeSet};

use noetl_model::{
    CatalogId, Envelope, ExecutionId, ExecutionStatus, ImportedChange, ItemCounts, Labels, Parent,
    PlaybookRef, Seq, StepChange, StepCounts, Summary, Timestamp,
};
use serde::{Deserialize, Serialize};

/// The maximum number of events that one call stores or reads.
pub const PROJECT_MAX: usize = 1000;

/// An event to store, and its execution as far as the caller knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectedEvent {
    pub envelope: Envelope,
    pub onto: ProjectedOnto,
}

/// The execution that a projected event names.
#[derive(Debug, Clone, PartialEq)]
pub enum ProjectedOnto {
    /// The execution has its own log, or the event names none; no summary changes.
    Existing,
    /// The execution is known only from projected events; its summary changes.
    Imported(ImportedChange),
}

/// The way to fold projected events that were stored before there were imported executions.
#[derive(Debug, Clone, Copy)]
pub enum ImportFold {
    /// The execution has its own log; nothing is imported.
    Existing,
    /// The execution is known only from projected events; the function returns the change of each.
    Imported(fn(&Envelope) -> ImportedChange),
}

/// An execution that is known only from projected events: the fold of these events, which does not
/// depend on the order in which they are stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedExecution {
    pub summary: Summary,
    /// The time of the latest event.
    pub last_at: Timestamp,
    /// The ids of the events that gave the path, the end and the current step.
    path_event: Option<i64>,
    end_event: Option<i64>,
    step_event: Option<i64>,
}

impl ImportedExecution {
    fn new(first: &Envelope) -> Self {
        let execution = ExecutionId(first.execution_id);
        Self {
            summary: Summary {
                execution,
                playbook: PlaybookRef { catalog_id: CatalogId(0), path: String::new(), version: 0 },
                status: ExecutionStatus::Running,
                seq: Seq::ZERO,
                started_at: first.created_at,
                ended_at: None,
                parent: None,
                current_step: None,
                steps: StepCounts::default(),
                items: ItemCounts::default(),
                error: None,
                head: None,
                fork: None,
                labels: Labels::default(),
                actor: None,
            },
            last_at: first.created_at,
            path_event: None,
            end_event: None,
            step_event: None,
        }
    }

    /// Returns the execution with one more event; `known` is `None` for its first event.
    #[must_use]
    pub fn with(known: Option<Self>, event: &Envelope, change: &ImportedChange) -> Self {
        let mut execution = known.unwrap_or_else(|| Self::new(event));
        execution.see(event, change);
        execution
    }

    /// Returns the executions that events change, among them those already `known`; only the events
    /// in `new` count, each once.
    pub fn with_all(
        known: Vec<Self>,
        events: &[ProjectedEvent],
        mut new: BTreeSet<i64>,
    ) -> Vec<Self> {
        let mut known: BTreeMap<ExecutionId, Self> =
            known.into_iter().map(|imported| (imported.summary.execution, imported)).collect();
        let mut changed = BTreeMap::new();
        for ProjectedEvent { envelope, onto } in events {
            let ProjectedOnto::Imported(change) = onto else { continue };
            if !new.remove(&envelope.event_id) {
                continue;
            }
            let execution = ExecutionId(envelope.execution_id);
            let before = changed.remove(&execution).or_else(|| known.remove(&execution));
            changed.insert(execution, Self::with(before, envelope, change));
        }
        changed.into_values().collect()
    }

    /// Returns the parent that an event named.
    pub fn parent(&self) -> Option<ExecutionId> {
        self.summary.parent.map(Parent::execution)
    }

    fn see(&mut self, event: &Envelope, change: &ImportedChange) {
        let (id, at) = (event.event_id, event.created_at);
        let summary = &mut self.summary;
        summary.seq = summary.seq.next();
        summary.started_at = summary.started_at.min(at);
        self.last_at = self.last_at.max(at);
        if event.catalog_id != 0 {
            summary.playbook.catalog_id = CatalogId(event.catalog_id);
        }
        if let Some(parent) = change.parent {
            summary.parent = Some(Parent::Named { execution: parent });
        }
        if let Some(version) = change.version {
            summary.playbook.version = version;
        }
        if let Some(path) = &change.path
            && self.path_event.is_none_or(|known| id < known)
        {
            self.path_event = Some(id);
            summary.playbook.path.clone_from(path);
        }
        if let Some(status) = change.end
            && self.end_event.is_none_or(|known| id > known)
        {
            self.end_event = Some(id);
            summary.status = status;
            summary.ended_at = Some(at);
            summary.error.clone_from(&change.error);
        }
        self.see_step(id, change.step.as_ref());
    }

    fn see_step(&mut self, id: i64, change: Option<&StepChange>) {
        let steps = &mut self.summary.steps;
        match change {
            Some(StepChange::Entered(step)) => {
                steps.total += 1;
                if self.step_event.is_none_or(|known| id > known) {
                    self.step_event = Some(id);
                    self.summary.current_step = Some(step.clone());
                }
            }
            Some(StepChange::Completed) => steps.completed += 1,
            Some(StepChange::Failed) => steps.failed += 1,
            None => {}
        }
        steps.running = steps.total.saturating_sub(steps.completed + steps.failed);
    }
}

/// A place among the events of an execution, by time and then by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventPlace {
    pub at: Timestamp,
    pub event_id: i64,
}

impl EventPlace {
    /// A place before every event.
    pub const FIRST: Self = Self { at: Timestamp::from_micros(i64::MIN), event_id: i64::MIN };
    /// A place after every event.
    pub const LAST: Self = Self { at: Timestamp::from_micros(i64::MAX), event_id: i64::MAX };

    pub fn of(event: &Envelope) -> Self {
        Self { at: event.created_at, event_id: event.event_id }
    }
}

/// The events of an execution after one place and up to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSpan {
    pub after: EventPlace,
    pub until: EventPlace,
}
