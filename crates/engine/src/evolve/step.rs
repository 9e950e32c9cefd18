//! The fold of steps: their entries, skips, awaited joins and ends.

use noetl_model::{Payload, RunId, SkipReason, StepCounts, StepName, StepStatus, ToolError};
use serde_json::json;

use crate::Execution;
use crate::inspect::{ArcCount, LatestRun, RunEnd, StepSkip};
use crate::state::{Pipeline, Run, RunBody, StepRecord};

impl Execution {
    pub(super) fn step_entered(
        &mut self,
        run: RunId,
        step: &StepName,
        from: &[StepName],
    ) -> Result<(), String> {
        if run.0 != self.drawn.runs {
            return Err(format!("run {} is next", self.drawn.runs));
        }
        self.drawn.runs += 1;
        self.arrived(step, from);
        self.current = Some(step.clone());
        let (entered, entered_at) = (self.seq, self.last_at);
        let record = self.set_status(step, StepStatus::Running);
        record.runs += 1;
        record.skipped = None;
        record.first_entered_at.get_or_insert(entered_at);
        record.latest =
            Some(LatestRun { run, entered, entered_at, ended: None, attempts: 0, items: None });
        self.runs.insert(
            run,
            Run {
                step: step.clone(),
                entered,
                attempts: 0,
                variables: imbl::OrdMap::new(),
                body: RunBody::Tasks(Pipeline::default()),
            },
        );
        Ok(())
    }

    pub(super) fn step_skipped(
        &mut self,
        step: &StepName,
        reason: SkipReason,
        from: &[StepName],
    ) -> Result<(), String> {
        self.arrived(step, from);
        let skip = StepSkip { reason, seq: self.seq };
        self.set_status(step, StepStatus::Skipped).skipped = Some(skip);
        Ok(())
    }

    /// Counts the arcs that led to a step, without those counted while the step waited for others.
    pub(super) fn arrived(&mut self, step: &StepName, from: &[StepName]) {
        let counted = self.awaited.remove(step).unwrap_or_default();
        for from in from.iter().filter(|from| !counted.contains(from)) {
            self.count_arc(from, step);
        }
    }

    pub(super) fn count_arc(&mut self, from: &StepName, to: &StepName) {
        let last = self.seq;
        let taken = self.arcs.entry(from.clone()).or_default();
        let count = taken.entry(to.clone()).or_insert(ArcCount { times: 0, last });
        *count = ArcCount { times: count.times + 1, last };
    }

    pub(super) fn step_awaited(&mut self, step: &StepName, from: &StepName) -> Result<(), String> {
        self.count_arc(from, step);
        let mut arrived = self.awaited.get(step).cloned().unwrap_or_default();
        arrived.push(from.clone());
        self.awaited.insert(step.clone(), arrived);
        Ok(())
    }

    pub(super) fn step_completed(
        &mut self,
        run: RunId,
        step: &StepName,
        output: Option<&Payload>,
    ) -> Result<(), String> {
        let ended = self.take_run(run, step)?;
        let output = output.cloned().unwrap_or_else(|| ended.last_output());
        let record = self.set_status(step, StepStatus::Completed);
        record.output = output;
        record.error = None;
        self.last = Some(step.clone());
        Ok(())
    }

    pub(super) fn step_failed(
        &mut self,
        run: RunId,
        step: &StepName,
        (error, handled): (&ToolError, bool),
        output: Option<&Payload>,
    ) -> Result<(), String> {
        let ended = self.take_run(run, step)?;
        let output = match (output, &ended.body) {
            (Some(output), _) => output.clone(),
            (None, RunBody::Tasks(pipeline)) => pipeline.last_output(),
            (None, RunBody::Loop(repeat)) => Payload::inline(json!({ "stats": repeat.stats() })),
        };
        let record = self.set_status(step, StepStatus::Failed);
        record.output = output;
        record.error = Some(error.clone());
        if !handled {
            self.failed_steps.push(step.clone());
            self.error.get_or_insert_with(|| error.clone());
        }
        Ok(())
    }

    pub(super) fn take_run(&mut self, run: RunId, step: &StepName) -> Result<Run, String> {
        match self.runs.remove(&run) {
            Some(ended) if ended.step == *step => {
                self.items = self.items.and(ended.items());
                self.close(&ended);
                Ok(ended)
            }
            Some(ended) => Err(format!("run {run} is one of step `{}`", ended.step)),
            None => Err(format!("there is no run {run}")),
        }
    }

    /// Records the end of a run, and its counters, as the step's latest run.
    pub(super) fn close(&mut self, ended: &Run) {
        let end = RunEnd { seq: self.seq, at: self.last_at };
        let record = self.steps.get_mut(&ended.step);
        if let Some(latest) = record.and_then(|record| record.latest.as_mut()) {
            latest.ended = Some(end);
            latest.attempts = ended.attempts;
            latest.items = ended.loop_items();
        }
    }

    /// Sets the status of a step, updates the counts, and returns the step's record.
    pub(super) fn set_status(&mut self, step: &StepName, status: StepStatus) -> &mut StepRecord {
        if !self.steps.contains_key(step) {
            let fresh = StepRecord {
                status,
                runs: 0,
                output: Payload::null(),
                error: None,
                skipped: None,
                first_entered_at: None,
                latest: None,
            };
            self.steps.insert(step.clone(), fresh);
            if status != StepStatus::Skipped {
                self.counts.total += 1;
            }
        } else if let Some(record) = self.steps.get_mut(step) {
            let before = record.status;
            record.status = status;
            if before == StepStatus::Skipped && status != StepStatus::Skipped {
                self.counts.total += 1;
            }
            if let Some(count) = count_of(&mut self.counts, before) {
                *count = count.saturating_sub(1);
            }
        }
        if let Some(count) = count_of(&mut self.counts, status) {
            *count += 1;
        }
        self.steps.get_mut(step).expect("the record has just been put there")
    }
}

fn count_of(counts: &mut StepCounts, status: StepStatus) -> Option<&mut u32> {
    match status {
        StepStatus::Running => Some(&mut counts.running),
        StepStatus::Completed => Some(&mut counts.completed),
        StepStatus::Failed => Some(&mut counts.failed),
        StepStatus::Skipped | StepStatus::Cancelled => None,
    }
}

impl Run {
    fn last_output(&self) -> Payload {
        match &self.body {
            RunBody::Tasks(pipeline) => pipeline.last_output(),
            RunBody::Loop(_) => Payload::null(),
        }
    }
}
