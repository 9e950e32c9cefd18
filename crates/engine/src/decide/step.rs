//! The end of a step: its `set`, its arcs, and the handling of failures.

use std::fmt::{self, Display};

use noetl_model::{Event, Payload, RunId, TimerPurpose, ToolError};
use noetl_playbook::{Arc, BodyForm, RouterMode, Step, StepIndex};
use serde_json::{Map, Value, json};

use super::draft::{
    Attempted, DecisionDraft, EvaluatedAssignment, Targets, evaluated, policy_error, settled,
};
use super::halt::Halt;
use crate::Needs;
use crate::scope::{EndWay, EvalPoint, ExecutionScope, StepEnd};
use crate::state::{Pipeline, RunBody};

/// Adds the values that the other guards lack to those that one guard lacks, so that the decision
/// is repeated once and not once per guard.
fn with_needs_of(halt: Halt, scope: ExecutionScope<'_>, arcs: &[Arc]) -> Halt {
    match halt {
        Halt::Needs(Needs::Payloads(mut lacking)) => {
            let guards = arcs.iter().filter_map(|arc| arc.when.as_ref());
            guards.for_each(|guard| lacking.extend(scope.lacks(guard)));
            Halt::Needs(Needs::Payloads(lacking))
        }
        Halt::Needs(Needs::Loop(_) | Needs::Output(_) | Needs::Effort) | Halt::Exceeded(_) => halt,
    }
}

/// An arc that fires, with the values of its `set`.
struct FiredArc {
    to: StepIndex,
    written: Vec<EvaluatedAssignment>,
}

impl DecisionDraft<'_> {
    /// Completes a run without a loop whose tasks have all succeeded.
    pub(super) fn complete_tasks(&mut self, run: RunId) -> Result<(), Halt> {
        let (_, step) = self.step_of(run);
        let pipeline = self.pipeline(run, None);
        let own = match step.form {
            BodyForm::Single => None,
            BodyForm::Pipeline => Some(self.pipeline_output(step, &pipeline)?),
        };
        self.complete_run(run, pipeline.last_output(), own, EndWay::Tasks)
    }

    /// Completes a run. `own` is its output if it differs from that of its last command.
    pub(super) fn complete_run(
        &mut self,
        run: RunId,
        last_output: Payload,
        own: Option<Payload>,
        way: EndWay,
    ) -> Result<(), Halt> {
        let (index, step) = self.step_of(run);
        let output = own.clone().unwrap_or(last_output);
        let end = StepEnd { step: &step.name, output: &output, error: None, way };
        let written =
            match self.evaluate_set(&step.set, "`set`", (run, None), EvalPoint::StepEnd(&end))? {
                Ok(written) => written,
                Err(error) => return self.fail_run(run, error),
            };
        self.write(written, Targets::EXECUTION)?;
        let fired = match self.fired_arcs(step, run, &end, |_| true)? {
            Ok(fired) => fired,
            Err(error) => return self.fail_run(run, error),
        };
        let dead_end = fired.is_empty() && !step.next.arcs.is_empty();
        if dead_end && self.given.playbook.no_next_is_error {
            let error = policy_error(format!("no arc of step `{}` matched", step.name));
            return self.fail_run(run, error);
        }
        self.end_timers(run);
        self.emit(Event::StepCompleted { run, step: step.name.clone(), output: own });
        self.follow(index, fired)?;
        self.advance()
    }

    /// Fails a run and follows the arcs that handle the failure.
    pub(super) fn fail_run(&mut self, run: RunId, error: ToolError) -> Result<(), Halt> {
        let (index, step) = self.step_of(run);
        let (last, way) = match &self.state.runs.get(&run).expect("the run is open").body {
            RunBody::Tasks(pipeline) => (pipeline.last_output(), EndWay::Tasks),
            RunBody::Loop(repeat) => {
                (Payload::inline(json!({ "stats": repeat.stats() })), EndWay::Loop)
            }
        };
        // Arcs that handle the failure can read the outputs of the pipeline's finished tasks.
        let own = match (way, step.form) {
            (EndWay::Tasks, BodyForm::Pipeline) => {
                Some(self.pipeline_output(step, &self.pipeline(run, None))?)
            }
            (EndWay::Tasks | EndWay::Loop | EndWay::Skipped, _) => None,
        };
        let output = own.clone().unwrap_or(last);
        let end = StepEnd { step: &step.name, output: &output, error: Some(&error), way };
        // A guard that cannot be evaluated handles nothing.
        let fired = self.fired_arcs(step, run, &end, |arc| arc.tests_failure)?.unwrap_or_default();
        self.end_timers(run);
        let handled = !fired.is_empty();
        let step = step.name.clone();
        self.emit(Event::StepFailed { run, step, error, handled, output: own });
        self.follow(index, fired)?;
        self.advance()
    }

    /// Follows the arcs of a skipped step.
    pub(super) fn leave_skipped(
        &mut self,
        index: StepIndex,
        end: &StepEnd<'_>,
    ) -> Result<(), Halt> {
        let step = self.given.playbook.step(index);
        let scope = ExecutionScope { point: EvalPoint::StepEnd(end), ..self.scope() };
        let mut fired = Vec::new();
        for arc in &step.next.arcs {
            // A skipped step cannot fail the execution: guards that fail count as false.
            let holds = match &arc.when {
                None => true,
                Some(when) => settled(scope.holds(self.guard_of(arc), when))?.unwrap_or(false),
            };
            if holds {
                let written = evaluated(scope, &arc.set, "an arc's `set`")?.unwrap_or_default();
                fired.push(FiredArc { to: arc.to, written });
                if step.next.mode == RouterMode::Exclusive {
                    break;
                }
            }
        }
        self.follow(index, fired)
    }

    /// Returns the arcs that fire among the `eligible` ones.
    fn fired_arcs(
        &self,
        step: &Step,
        run: RunId,
        end: &StepEnd<'_>,
        eligible: impl Fn(&Arc) -> bool,
    ) -> Result<Attempted<Vec<FiredArc>>, Halt> {
        let point = EvalPoint::StepEnd(end);
        let scope = ExecutionScope { point, ..self.scope().inside(run, None) };
        let mut fired = Vec::new();
        for arc in step.next.arcs.iter().filter(|arc| eligible(arc)) {
            let holds = match &arc.when {
                None => Ok(true),
                Some(when) => settled(scope.holds(self.guard_of(arc), when))
                    .map_err(|halt| with_needs_of(halt, scope, &step.next.arcs))?,
            };
            match holds {
                Ok(false) => continue,
                Ok(true) => {}
                Err(error) => return Ok(Err(error)),
            }
            match self.evaluate_set(&arc.set, "an arc's `set`", (run, None), point)? {
                Ok(written) => fired.push(FiredArc { to: arc.to, written }),
                Err(error) => return Ok(Err(error)),
            }
            if step.next.mode == RouterMode::Exclusive {
                break;
            }
        }
        Ok(Ok(fired))
    }

    /// Returns a description of an arc's guard for error messages.
    fn guard_of(&self, arc: &Arc) -> impl Display {
        let to = &self.given.playbook.step(arc.to).name;
        fmt::from_fn(move |f| write!(f, "`when` of the arc to `{to}`"))
    }

    fn follow(&mut self, from: StepIndex, fired: Vec<FiredArc>) -> Result<(), Halt> {
        for FiredArc { to, written } in fired {
            self.write(written, Targets::EXECUTION)?;
            self.arrive(to, from);
        }
        Ok(())
    }

    /// Cancels the timers of a run.
    fn end_timers(&mut self, run: RunId) {
        self.cancel_timers(|purpose| match purpose {
            TimerPurpose::Retry { task }
            | TimerPurpose::WaitEnd { task }
            | TimerPurpose::TaskTimeout { task } => task.run == run,
            TimerPurpose::StepTimeout { run: timed } => *timed == run,
            TimerPurpose::HeldStart | TimerPurpose::ExecutionTimeout | TimerPurpose::Late => false,
        });
    }

    /// Returns the output of a pipeline: each task's output under its label, and the fields of
    /// outputs that are maps.
    pub(super) fn pipeline_output(
        &self,
        step: &Step,
        pipeline: &Pipeline,
    ) -> Result<Payload, Halt> {
        let mut output = Map::new();
        let mut labelled = Map::new();
        let mut needs = std::collections::BTreeSet::new();
        for (task, result) in &pipeline.results {
            let label = &step.tasks[usize::try_from(*task).expect("a task's index is small")].label;
            match self.loaded(&result.output) {
                Ok(value) => {
                    if let Value::Object(fields) = &*value {
                        output.extend(fields.clone());
                    }
                    labelled.insert(label.clone(), (*value).clone());
                }
                Err(Halt::Needs(Needs::Payloads(lacking))) => needs.extend(lacking),
                Err(
                    halt @ (Halt::Needs(Needs::Loop(_) | Needs::Output(_) | Needs::Effort)
                    | Halt::Exceeded(_)),
                ) => return Err(halt),
            }
        }
        if !needs.is_empty() {
            return Err(Needs::Payloads(needs).into());
        }
        output.extend(labelled);
        Ok(Payload::inline(Value::Object(output)))
    }
}
