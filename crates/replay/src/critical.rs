//! The critical path of an execution: the runs of steps that its end waited for, one after another.

use noetl_model::{ExecutionId, Recorded, StepName, Timestamp};

use crate::timeline::TimelineFold;

/// A run of a step on the critical path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriticalRun {
    pub step: StepName,
    pub entered_at: Timestamp,
    /// `None` if the run is still open.
    pub ended_at: Option<Timestamp>,
}

/// Returns the critical path of a log, in order. Each run was entered because of the one before it;
/// of several, the one that ended last counts. The path of an execution that has not ended leads to
/// the open run that was entered last.
pub fn critical_path(execution: ExecutionId, log: &[Recorded]) -> Vec<CriticalRun> {
    let mut fold = TimelineFold::new(execution);
    log.iter().for_each(|recorded| fold.see(recorded));
    let critical = fold.finish(None).steps.into_iter().filter(|span| span.is_critical);
    let runs = critical.map(|span| CriticalRun {
        step: span.step,
        entered_at: span.entered_at,
        ended_at: span.ended_at,
    });
    runs.collect()
}
