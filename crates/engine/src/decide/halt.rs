//! Decisions that stop before their end: data is missing, or the work limit is exceeded.

use noetl_model::{
    Attempt, CommandId, ErrorKind, Event, RunId, SkipReason, StepName, TimerId, TimerPurpose,
    ToolError,
};

use super::draft::DecisionDraft;
use super::lost_workers;
use super::task::EndRecord;
use crate::{DECISION_WORK_MAX, Decision, DecisionArgs, Effort, Execution, Input, Needs, Signal};

/// The reason why a decision stopped.
#[derive(Debug)]
pub(super) enum Halt {
    /// Data is missing; the decision is repeated once the data is loaded.
    Needs(Needs),
    Exceeded(Exceeded),
}

impl From<Needs> for Halt {
    fn from(needs: Needs) -> Self {
        Halt::Needs(needs)
    }
}

/// The template at which a decision exceeded its work limit.
#[derive(Debug)]
pub(super) struct Exceeded {
    pub(super) step: Option<StepName>,
    /// A description of the template.
    pub(super) what: String,
}

impl Exceeded {
    fn error(&self) -> ToolError {
        let at = self.step.as_ref().map(|step| format!("step `{step}`: ")).unwrap_or_default();
        let message = format!(
            "{at}the templates of one decision took more than {DECISION_WORK_MAX} units of work \
             (DECISION_WORK_MAX) at {}; have a step compute it, and test its result",
            self.what
        );
        ToolError::new(ErrorKind::Template, message)
    }

    /// Returns the error message, for decisions that cannot fail an execution.
    pub(super) fn reason(&self) -> String {
        self.error().message
    }
}

/// Finishes a stopped decision: returns the missing data, or fails the execution.
pub(super) fn settle(
    decided: Result<Decision, Halt>,
    effort: Effort,
    give_up: impl FnOnce(&Exceeded) -> Decision,
) -> Result<Decision, Needs> {
    match (decided, effort) {
        (Ok(decision), _) => Ok(decision),
        (Err(Halt::Needs(needs)), _) => Err(needs),
        (Err(Halt::Exceeded(_)), Effort::Brief) => Err(Needs::Effort),
        (Err(Halt::Exceeded(exceeded)), Effort::Whole) => Ok(give_up(&exceeded)),
    }
}

/// Records an input whose consequences exceed the work limit, and fails the execution.
pub(super) fn give_up(
    state: &Execution,
    input: &Input,
    given: DecisionArgs<'_>,
    exceeded: &Exceeded,
) -> Decision {
    let fresh = || {
        let mut draft = DecisionDraft::new(state.clone(), given, Vec::new());
        draft.record_input(input);
        draft
    };
    let mut draft = fresh();
    match draft.abort(exceeded.error()) {
        Ok(()) => Decision::Accepted(draft.into_events()),
        // The final step exceeds the limit too, or needs data that is not loaded.
        Err(Halt::Exceeded(_) | Halt::Needs(_)) => {
            let mut draft = fresh();
            draft.fail_execution(exceeded.error(), None);
            Decision::Accepted(draft.into_events())
        }
    }
}

/// Fails an execution whose start exceeds the work limit.
pub(super) fn give_up_start(mut draft: DecisionDraft<'_>, exceeded: &Exceeded) -> Decision {
    draft.fail_execution(exceeded.error(), None);
    Decision::Accepted(draft.into_events())
}

impl DecisionDraft<'_> {
    /// Records the fact that an input reports, without any consequences.
    fn record_input(&mut self, input: &Input) {
        match input {
            Input::Report { command, attempt, ended, logs, .. } => {
                let end = EndRecord { logs: logs.clone(), ..EndRecord::of(*attempt, ended) };
                self.record_end(*command, end);
            }
            Input::Callback { command, job, ended } => {
                let attempt =
                    self.state.commands.get(command).map_or(Attempt(1), |it| it.attempt());
                let end = EndRecord { job: job.as_deref(), ..EndRecord::of(attempt, ended) };
                self.record_end(*command, end);
            }
            Input::ChildEnded { command, ended } => {
                self.record_end(*command, EndRecord::of(Attempt(1), ended));
            }
            Input::Claim { command, attempt, .. } => self.record_lost(*command, *attempt),
            Input::LeaseExhausted { command, attempt } => {
                self.record_lost(*command, attempt.next());
            }
            Input::TimerFired { timer } => self.record_fired(*timer),
            Input::Signal(signal) => {
                let Signal { name, body, sender, key, to, actor } = signal.clone();
                let correlation = to.map(|(_, key)| key);
                self.emit(Event::SignalReceived { name, body, sender, key, correlation, actor });
            }
            Input::Decide(decision) => self.record_decision(decision),
            Input::SlotGranted { command, limit } => {
                let (command, limit) = (*command, limit.clone());
                self.emit(Event::SlotGranted { command, limit });
            }
            Input::Resume(request) => {
                let (actor, reason) = (request.actor.clone(), request.reason.clone());
                self.emit(Event::ExecutionResumed { actor, reason });
            }
            Input::Park { .. }
            | Input::Pause(_)
            | Input::SlotDenied { .. }
            | Input::ChildStarted { .. }
            | Input::Cancel { .. }
            | Input::Finalize { .. }
            | Input::Stalled { .. }
            | Input::NotClaimed { .. }
            | Input::Rewound { .. }
            | Input::Reported { .. } => {}
        }
    }

    fn record_lost(&mut self, command: CommandId, attempt: Attempt) {
        self.record_end(command, EndRecord::of(attempt, &lost_workers(attempt)));
    }

    fn record_fired(&mut self, timer: TimerId) {
        self.emit(Event::TimerFired { timer });
    }

    /// Fails all open work. If the playbook has a final step that was not entered, it runs next;
    /// otherwise the execution fails.
    pub(super) fn abort(&mut self, error: ToolError) -> Result<(), Halt> {
        let final_step = self.given.playbook.final_step;
        let name = final_step.map(|step| &self.given.playbook.step(step).name);
        let is_due = name.is_some_and(|name| !self.state.steps.contains_key(name));
        if !is_due || self.state.runs.is_empty() {
            self.fail_execution(error, None);
            return Ok(());
        }
        self.stop_work(&error.message);
        let runs: Vec<(RunId, StepName)> =
            self.state.runs.iter().map(|(run, open)| (*run, open.step.clone())).collect();
        for (run, step) in runs {
            let (error, output) = (error.clone(), None);
            self.emit(Event::StepFailed { run, step, error, handled: false, output });
        }
        self.advance()
    }

    /// Cancels all commands and timers and drops pending arrivals.
    fn stop_work(&mut self, reason: &str) {
        self.cancel_commands(reason, noetl_model::ChildExecutions::Cancelled, |_| true);
        // The final step does not change by when the execution was expected to end.
        self.cancel_timers(|purpose| *purpose != TimerPurpose::Late);
        self.arrivals.clear();
        let awaited: Vec<(StepName, Vec<StepName>)> =
            self.state.awaited.iter().map(|(step, from)| (step.clone(), from.clone())).collect();
        for (step, from) in awaited {
            self.emit(Event::StepSkipped { step, reason: SkipReason::Stopped, from });
        }
    }
}
