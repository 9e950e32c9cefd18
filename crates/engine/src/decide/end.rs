//! The end of an execution: completed, failed, cancelled, finalized by hand or timed out.

use std::collections::BTreeSet;

use noetl_model::{
    Actor, ChildExecutions, ErrorKind, Event, ExecutionStatus, Origin, Payload, RunId,
    TimerPurpose, ToolError,
};

use super::draft::DecisionDraft;
use super::halt::Halt;
use super::refused;
use crate::{Decision, Refusal};

impl DecisionDraft<'_> {
    /// Ends an execution without open work: runs the final step if there is one, then ends.
    pub(super) fn come_to_an_end(&mut self) -> Result<(), Halt> {
        if let Some(step) = self.given.playbook.final_step {
            let name = &self.given.playbook.step(step).name;
            if !self.state.steps.contains_key(name) {
                self.arrivals.insert(step, BTreeSet::new());
                return Ok(());
            }
        }
        if let Some(error) = self.state.error.clone() {
            self.fail_execution(error, None);
        } else {
            let output = self.execution_output();
            self.emit(Event::ExecutionCompleted { output, actor: None });
        }
        Ok(())
    }

    /// Returns the output of the execution: that of the step the parent asked for, else of the step
    /// completed last (also if no step has the requested name).
    fn execution_output(&self) -> Payload {
        let asked_for = match &self.state.origin {
            Origin::Request
            | Origin::Linked { .. }
            | Origin::Schedule { .. }
            | Origin::Rerun { .. } => None,
            Origin::Parent { return_step, .. } => return_step.as_ref(),
        };
        asked_for
            .filter(|step| self.given.playbook.index_of(step.as_str()).is_some())
            .or(self.state.last.as_ref())
            .and_then(|step| self.state.steps.get(step))
            .map_or_else(Payload::null, |record| record.output.clone())
    }

    pub(super) fn fail_execution(&mut self, error: ToolError, actor: Option<&Actor>) {
        self.cancel_commands("the execution has failed", ChildExecutions::Cancelled, |_| true);
        let steps = self.state.failed_steps.clone();
        self.emit(Event::ExecutionFailed { error, steps, actor: actor.cloned() });
    }

    pub(super) fn cancel(
        mut self,
        reason: &str,
        below: ChildExecutions,
        actor: Option<&Actor>,
    ) -> Decision {
        self.cancel_commands(reason, below, |_| true);
        let (reason, actor) = (reason.to_owned(), actor.cloned());
        self.emit(Event::ExecutionCancelled { reason, below, actor });
        Decision::Accepted(self.into_events())
    }

    pub(super) fn finalize(
        mut self,
        status: ExecutionStatus,
        reason: &str,
        actor: Option<&Actor>,
    ) -> Decision {
        match status {
            ExecutionStatus::Completed => {
                self.cancel_commands(reason, ChildExecutions::Cancelled, |_| true);
                let output = self.execution_output();
                self.emit(Event::ExecutionCompleted { output, actor: actor.cloned() });
            }
            ExecutionStatus::Failed => {
                self.fail_execution(ToolError::new(ErrorKind::Policy, reason), actor);
            }
            ExecutionStatus::Running | ExecutionStatus::Cancelled => {
                return refused(Refusal::NotAnEnd(status));
            }
        }
        Decision::Accepted(self.into_events())
    }

    pub(super) fn step_timed_out(&mut self, run: RunId) -> Result<(), Halt> {
        if !self.state.runs.contains_key(&run) {
            return Ok(());
        }
        let (_, step) = self.step_of(run);
        let after = self.timeout_of(step).unwrap_or_default();
        let message = format!("step `{}` took longer than {after:?}", step.name);
        self.cancel_commands("the step has timed out", ChildExecutions::Cancelled, |of| of == run);
        self.fail_run(run, ToolError::new(ErrorKind::Timeout, message))
    }

    pub(super) fn execution_timed_out(&mut self) -> Result<(), Halt> {
        let after = self.given.playbook.timeout.unwrap_or_default();
        let message = format!("the execution took longer than {after:?}");
        self.abort(ToolError::new(ErrorKind::Timeout, message))
    }

    /// Sets the timer of the expected end, if the playbook has one and none is open.
    pub(super) fn expect_end(&mut self) {
        let is_open = self.state.timers.values().any(|open| open.purpose == TimerPurpose::Late);
        if let Some(within) = self.given.playbook.expected_within.filter(|_| !is_open) {
            self.set_timer(within, TimerPurpose::Late);
        }
    }

    /// Handles the sweeper's notice that nothing is open: tries to advance, else records the stall.
    pub(super) fn stalled(mut self, detail: &str) -> Result<Decision, Halt> {
        if self.state.has_open_work() {
            return Ok(Decision::Accepted(Vec::new()));
        }
        self.advance()?;
        if !self.state.has_open_work() && !self.state.status.is_terminal() {
            self.emit(Event::ExecutionStalled { detail: detail.to_owned() });
        }
        Ok(Decision::Accepted(self.into_events()))
    }
}
