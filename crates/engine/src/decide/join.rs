//! Arrivals at steps: entering them, waiting at joins, detecting the end.

use std::collections::BTreeSet;
use std::time::Duration;

use noetl_model::{
    ErrorKind, Event, Payload, RunId, SkipReason, StepName, StepStatus, TimerPurpose,
};
use noetl_playbook::{Step, StepIndex};

use super::draft::{Attempted, DecisionDraft, policy_error, settled};
use super::halt::Halt;
use crate::scope::{EndWay, StepEnd};

/// The timeout of the final step after an execution timeout if the step has none.
const FINAL_STEP_TIMEOUT_DEFAULT: Duration = Duration::from_secs(300);

impl DecisionDraft<'_> {
    /// Enters the first step of a new execution.
    pub(super) fn begin(&mut self) -> Result<(), Halt> {
        if let Some(timeout) = self.given.playbook.timeout {
            self.set_timer(timeout, TimerPurpose::ExecutionTimeout);
        }
        self.expect_end();
        self.arrivals.insert(self.given.playbook.entry, BTreeSet::new());
        self.advance()
    }

    /// Records that an arc leads to `to`.
    pub(super) fn arrive(&mut self, to: StepIndex, from: StepIndex) {
        self.arrivals.entry(to).or_default().insert(from);
        self.led.insert((to, from));
    }

    /// Enters every step that has arrivals and need not wait, until nothing changes; then ends the
    /// execution if no work is open.
    pub(super) fn advance(&mut self) -> Result<(), Halt> {
        if self.is_in_wait {
            return Ok(());
        }
        while !self.state.status.is_terminal() {
            if self.runs_away() || self.goes_on_for_ever() {
                self.give_up();
                return Ok(());
            }
            match self.next_arrival() {
                Some(step) => {
                    let from = self.arrivals.remove(&step).unwrap_or_default();
                    self.enter(step, &from)?;
                }
                None if self.is_at_rest() && self.state.has_begun() => self.come_to_an_end()?,
                None if self.advance_wait()? => {}
                None => break,
            }
        }
        self.note_arrivals();
        Ok(())
    }

    /// Returns the next step to enter; the first one if only joins are left that wait for each
    /// other.
    fn next_arrival(&self) -> Option<StepIndex> {
        let graph = &self.given.playbook.graph;
        let free = self.arrivals.iter().find(|(step, arrived)| {
            let is_live = |other| {
                self.is_running(other) || (other != **step && self.arrivals.contains_key(&other))
            };
            !self.is_running(**step) && !graph.must_wait(**step, arrived, is_live)
        });
        match free {
            Some((step, _)) => Some(*step),
            None if self.state.runs.is_empty() => self.arrivals.keys().next().copied(),
            None => None,
        }
    }

    fn is_running(&self, step: StepIndex) -> bool {
        let record = self.state.steps.get(&self.given.playbook.step(step).name);
        record.is_some_and(|record| record.status == StepStatus::Running)
    }

    fn is_at_rest(&self) -> bool {
        self.state.runs.is_empty() && self.arrivals.is_empty()
    }

    /// Records the arrivals that have to wait, so that later decisions know them.
    fn note_arrivals(&mut self) {
        if self.state.status.is_terminal() {
            return;
        }
        // Arrivals of earlier decisions are already recorded.
        for (step, from) in std::mem::take(&mut self.led) {
            if !self.arrivals.get(&step).is_some_and(|arrived| arrived.contains(&from)) {
                continue;
            }
            let step = self.given.playbook.step(step).name.clone();
            let from = self.given.playbook.step(from).name.clone();
            if !self.state.awaited.get(&step).is_some_and(|known| known.contains(&from)) {
                self.emit(Event::StepAwaited { step, from });
            }
        }
    }

    fn enter(&mut self, index: StepIndex, from: &BTreeSet<StepIndex>) -> Result<(), Halt> {
        let step = self.given.playbook.step(index);
        match self.admission(step)? {
            Ok(None) => {
                let run = self.emit_entered(step, from);
                self.begin_body(run)
            }
            Ok(Some(reason)) => {
                let from = self.names_of(from);
                self.emit(Event::StepSkipped { step: step.name.clone(), reason, from });
                let output = Payload::null();
                let end = StepEnd {
                    step: &step.name,
                    output: &output,
                    error: None,
                    way: EndWay::Skipped,
                };
                self.leave_skipped(index, &end)
            }
            Err(error) => {
                let run = self.emit_entered(step, from);
                self.fail_run(run, error)
            }
        }
    }

    fn emit_entered(&mut self, step: &Step, from: &BTreeSet<StepIndex>) -> RunId {
        let run = RunId(self.state.drawn.runs);
        let from = self.names_of(from);
        self.emit(Event::StepEntered { run, step: step.name.clone(), from });
        if let Some(timeout) = self.timeout_of(step) {
            self.set_timer(timeout, TimerPurpose::StepTimeout { run });
        }
        run
    }

    fn names_of(&self, steps: &BTreeSet<StepIndex>) -> Vec<StepName> {
        steps.iter().map(|step| self.given.playbook.step(*step).name.clone()).collect()
    }

    /// Returns the timeout of a run of the step. The final step of a timed-out execution always has
    /// one, because the execution's own timer has already fired.
    pub(super) fn timeout_of(&self, step: &Step) -> Option<Duration> {
        let playbook = self.given.playbook;
        let is_final = playbook.final_step.is_some_and(|it| playbook.step(it).name == step.name);
        let error = self.state.error.as_ref();
        let is_late = error.is_some_and(|error| error.kind == ErrorKind::Timeout);
        step.timeout.or_else(|| (is_final && is_late).then_some(FINAL_STEP_TIMEOUT_DEFAULT))
    }

    /// Returns the reason if the step has to be skipped.
    fn admission(&self, step: &Step) -> Result<Attempted<Option<SkipReason>>, Halt> {
        if let Some(when) = &step.when {
            match settled(self.scope().holds("`when`", when))? {
                Ok(true) => {}
                Ok(false) => return Ok(Ok(Some(SkipReason::Guard))),
                Err(error) => return Ok(Err(error)),
            }
        }
        for rule in &step.admit {
            let holds = match &rule.when {
                None => Ok(true),
                Some(when) => settled(self.scope().holds("an admission rule", when))?,
            };
            match holds {
                Ok(true) if rule.allow => return Ok(Ok(None)),
                Ok(true) => return Ok(Ok(Some(SkipReason::Admission))),
                Ok(false) => {}
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(None))
    }

    fn begin_body(&mut self, run: RunId) -> Result<(), Halt> {
        let (_, step) = self.step_of(run);
        match &step.repeat {
            None => self.issue_task(run, None, 0, 0),
            Some(repeat) => self.open_loop(run, repeat),
        }
    }

    fn goes_on_for_ever(&self) -> bool {
        self.state.seq.0 > self.given.events_max || self.state.drawn.runs > self.given.runs_max
    }

    fn give_up(&mut self) {
        let error = policy_error(format!(
            "stopped after {} events: the playbook goes in circles",
            self.state.seq
        ));
        self.fail_execution(error, None);
    }
}
