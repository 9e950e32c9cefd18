//! A decision in progress: a copy of the state, the events so far, and the pending arrivals.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use noetl_expr::Budget;
use noetl_model::{
    CommandId, ErrorKind, Event, PAYLOAD_DEPTH_MAX, Payload, RunId, ScopeTarget, StepName, TimerId,
    TimerPurpose, ToolError, is_shallow,
};
use noetl_playbook::{AssignmentScope, SetAssignment, Step, StepIndex};
use serde_json::Value;

use super::halt::{Exceeded, Halt};
use crate::evolve::fold;
use crate::scope::{EvalError, EvalPoint, ExecutionScope, TemplateWork};
use crate::value::{assign_in, whole_of};
use crate::{CommandResult, DecisionArgs, Execution, Needs};

/// The largest number of events of one decision; a cycle of skipped steps would never end.
const DECISION_EVENTS_MAX: usize = 100_000;

/// The result of a part of a decision. Missing data is returned as [`Halt`] instead.
pub(super) type Attempted<T> = Result<T, ToolError>;

pub(super) struct DecisionDraft<'a> {
    pub(super) state: Execution,
    pub(super) given: DecisionArgs<'a>,
    events: Vec<Event>,
    /// Steps that arcs have led to and that have not been entered, with the source steps.
    pub(super) arrivals: BTreeMap<StepIndex, BTreeSet<StepIndex>>,
    /// The (target, source) pairs of arcs followed in this decision.
    pub(super) led: BTreeSet<(StepIndex, StepIndex)>,
    /// Outputs of loop items that ended in this decision and are not in the log yet.
    pub(super) produced: BTreeMap<(RunId, u64), Payload>,
    /// Waits and approvals that were issued in this decision and are not open yet.
    pub(super) unopened_waits: VecDeque<CommandId>,
    /// Commands that were issued in this decision and end without running, with their results.
    pub(super) unrun: VecDeque<(CommandId, CommandResult)>,
    /// The number of outputs that the decision has looked up in the cache.
    pub(super) lookups: usize,
    /// True while a step of a wait is decided: [`DecisionDraft::advance`] has called it and goes on
    /// afterwards, so that a cycle of waits does not nest calls.
    pub(super) is_in_wait: bool,
    /// The work of all templates of the decision.
    work: TemplateWork,
}

impl<'a> DecisionDraft<'a> {
    pub(super) fn new(state: Execution, given: DecisionArgs<'a>, events: Vec<Event>) -> Self {
        let index_of = |name: &StepName| given.playbook.index_of(name.as_str());
        let arrivals = state
            .awaited
            .iter()
            .filter_map(|(step, from)| {
                Some((index_of(step)?, from.iter().filter_map(index_of).collect()))
            })
            .collect();
        let (produced, work) =
            (BTreeMap::new(), TemplateWork::new(Budget::new(given.effort.work_max())));
        let led = BTreeSet::new();
        let mut draft = Self {
            state,
            given,
            events,
            arrivals,
            led,
            produced,
            unopened_waits: VecDeque::new(),
            unrun: VecDeque::new(),
            lookups: 0,
            is_in_wait: false,
            work,
        };
        draft.apply_fork_changes();
        draft
    }

    /// Returns the events of the decision, with the notifications that they call for.
    pub(super) fn into_events(mut self) -> Vec<Event> {
        self.request_notices();
        self.events
    }

    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    /// Folds an event and adds it to the decision.
    pub(super) fn emit(&mut self, event: Event) {
        let at = self.state.event_time(self.given.now);
        fold(&mut self.state, &event, at)
            .unwrap_or_else(|reason| panic!("decided an illegal {event:?}: {reason}"));
        self.push(event);
    }

    /// Adds an event that has already been folded.
    pub(super) fn push(&mut self, event: Event) {
        self.events.push(event);
        self.apply_fork_changes();
    }

    /// Applies the changes of a fork after the event at which it starts.
    fn apply_fork_changes(&mut self) {
        if let Some(fork) = self.given.fork_changes.filter(|fork| fork.after == self.events.len()) {
            self.state.id = fork.execution;
            self.state.change(fork.changes);
        }
    }

    /// True if the decision has so many events that it must be in an endless cycle.
    pub(super) fn runs_away(&self) -> bool {
        self.events.len() > DECISION_EVENTS_MAX
    }

    pub(super) fn scope(&self) -> ExecutionScope<'_> {
        ExecutionScope::outside(&self.state, self.given, &self.work)
    }

    /// Returns the step of an open run.
    pub(super) fn step_of(&self, run: RunId) -> (StepIndex, &'a Step) {
        let name = &self.state.runs.get(&run).expect("the run is open").step;
        let playbook = self.given.playbook;
        let index = playbook.index_of(name.as_str()).expect("a run's step is in the playbook");
        (index, playbook.step(index))
    }

    pub(super) fn set_timer(&mut self, after: Duration, purpose: TimerPurpose) {
        let timer = TimerId(self.state.drawn.timers);
        let due_at = self.given.now.after(after);
        self.emit(Event::TimerSet { timer, due_at, purpose });
    }

    pub(super) fn cancel_timers(&mut self, which: impl Fn(&TimerPurpose) -> bool) {
        let timers: Vec<TimerId> = self
            .state
            .timers
            .iter()
            .filter(|(_, open)| which(&open.purpose))
            .map(|(timer, _)| *timer)
            .collect();
        for timer in timers {
            self.emit(Event::TimerCancelled { timer });
        }
    }

    /// Evaluates a `set` block in the scope of a run and, in a loop, of an item.
    pub(super) fn evaluate_set(
        &self,
        assignments: &[SetAssignment],
        what: &str,
        (run, item): (RunId, Option<u64>),
        point: EvalPoint<'_>,
    ) -> Result<Attempted<Vec<EvaluatedAssignment>>, Halt> {
        // The point does not borrow from the state; the scope's shorter lifetime is used.
        evaluated(ExecutionScope { point, ..self.scope().inside(run, item) }, assignments, what)
    }

    /// Writes the values of a `set` block, with one event per target.
    pub(super) fn write(
        &mut self,
        written: Vec<EvaluatedAssignment>,
        targets: Targets,
    ) -> Result<(), Halt> {
        let mut by_target: Vec<(ScopeTarget, BTreeMap<String, Value>)> = Vec::new();
        for EvaluatedAssignment { scope, key, value } in written {
            let target = targets.of(scope);
            match by_target.iter_mut().find(|(known, _)| *known == target) {
                Some((_, values)) => {
                    values.insert(key, value);
                }
                None => by_target.push((target, BTreeMap::from([(key, value)]))),
            }
        }
        for (target, values) in by_target {
            let values = self.completed(target, values)?;
            self.emit(Event::ContextUpdated { target, values, large: BTreeMap::new() });
        }
        Ok(())
    }

    /// Replaces assignments to a part of a variable by the whole variable if it is, or may be,
    /// stored by reference: folding an event cannot load data.
    fn completed(
        &self,
        target: ScopeTarget,
        values: BTreeMap<String, Value>,
    ) -> Result<BTreeMap<String, Value>, Halt> {
        let known = self.state.variables(target);
        let mut completed: BTreeMap<String, Value> = BTreeMap::new();
        // Keys are sorted, so a variable comes before its parts.
        for (key, value) in values {
            let Some((name, rest)) = whole_of(&key) else {
                completed.insert(key, value);
                continue;
            };
            if let Some(whole) = completed.get_mut(name) {
                assign_in(whole, rest, value);
                continue;
            }
            match known.and_then(|known| known.get(name)) {
                Some(large @ Payload::Ref(_)) => {
                    let whole = self.loaded(large)?;
                    let mut whole = (*whole).clone();
                    assign_in(&mut whole, rest, value);
                    completed.insert(name.to_owned(), whole);
                }
                Some(Payload::Inline(_)) | None => {
                    completed.insert(key, value);
                }
            }
        }
        Ok(completed)
    }
}

/// Evaluates a `set` block.
pub(super) fn evaluated(
    scope: ExecutionScope<'_>,
    assignments: &[SetAssignment],
    what: &str,
) -> Result<Attempted<Vec<EvaluatedAssignment>>, Halt> {
    let mut written = Vec::new();
    for assignment in assignments {
        let what = format!("{what} `{}`", assignment.key);
        let rendered = settled(scope.render(&what, &assignment.value))?;
        match rendered.and_then(|value| shallow(&what, value)) {
            Ok(value) => {
                let (scope, key) = (assignment.scope, assignment.key.clone());
                written.push(EvaluatedAssignment { scope, key, value });
            }
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(written))
}

/// An evaluated assignment.
pub(super) struct EvaluatedAssignment {
    scope: AssignmentScope,
    key: String,
    value: Value,
}

/// The target of each scope's assignments at one place of an execution.
#[derive(Debug, Clone, Copy)]
pub(super) struct Targets {
    iter: ScopeTarget,
    step: ScopeTarget,
    bare: ScopeTarget,
}

impl Targets {
    /// For a step's `set` and for arcs: all values outlive the step.
    pub(super) const EXECUTION: Targets = Targets {
        iter: ScopeTarget::Execution,
        step: ScopeTarget::Execution,
        bare: ScopeTarget::Execution,
    };

    /// Returns the targets for a task's `set`: bare names are variables of the pipeline.
    pub(super) fn task(run: RunId, item: Option<u64>) -> Self {
        let innermost = match item {
            Some(index) => ScopeTarget::Item { run, index },
            None => ScopeTarget::Run { run },
        };
        Self { iter: innermost, step: ScopeTarget::Run { run }, bare: innermost }
    }

    /// Returns the targets for a rule's `set`: bare names are variables of the execution.
    pub(super) fn rule(run: RunId, item: Option<u64>) -> Self {
        Self { bare: ScopeTarget::Execution, ..Self::task(run, item) }
    }

    fn of(self, scope: AssignmentScope) -> ScopeTarget {
        match scope {
            AssignmentScope::Ctx => ScopeTarget::Execution,
            AssignmentScope::Iter => self.iter,
            AssignmentScope::Step => self.step,
            AssignmentScope::Bare => self.bare,
        }
    }
}

/// Separates missing data and exceeded budgets, which stop the decision, from template errors.
pub(super) fn settled<T>(result: Result<T, EvalError>) -> Result<Attempted<T>, Halt> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(EvalError::Fails(error)) => Ok(Err(error)),
        Err(EvalError::Needs(needs)) => Err(Needs::Payloads(needs).into()),
        Err(EvalError::Exceeded { step, what }) => Err(Halt::Exceeded(Exceeded { step, what })),
    }
}

/// Fails if the value is nested too deeply to be stored.
pub(super) fn shallow(what: &str, value: Value) -> Attempted<Value> {
    if is_shallow(&value) {
        return Ok(value);
    }
    let message = format!("{what} is nested deeper than {PAYLOAD_DEPTH_MAX} levels");
    Err(ToolError::new(ErrorKind::Schema, message))
}

pub(super) fn policy_error(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::Policy, message)
}
