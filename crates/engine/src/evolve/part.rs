//! The fold of loop items and timers.

use noetl_model::{Event, RunId, TimerId, TimerPurpose, Timestamp, ToolError};

use crate::Execution;
use crate::state::OpenTimer;

/// The end of a loop item.
enum ItemEnd<'a> {
    Completed,
    /// The item failed, and a rule handled the failure.
    Tolerated,
    Failed(&'a ToolError),
}

impl ItemEnd<'_> {
    /// Returns the end of a completed item, whose last error a rule may have handled.
    fn of(tolerated: Option<&ToolError>) -> Self {
        if tolerated.is_none() { Self::Completed } else { Self::Tolerated }
    }
}

impl Execution {
    /// Folds the end of a loop item; other events change nothing.
    pub(super) fn iteration_changed(&mut self, event: &Event) -> Result<(), String> {
        if let Event::IterationCompleted { run, index, output: _, error } = event {
            self.iteration_ended(*run, *index, ItemEnd::of(error.as_ref()))?;
        }
        if let Event::IterationFailed { run, index, error } = event {
            self.iteration_ended(*run, *index, ItemEnd::Failed(error))?;
        }
        Ok(())
    }

    /// Folds an event of a timer; other events change nothing.
    pub(super) fn timer_changed(&mut self, event: &Event, at: Timestamp) -> Result<(), String> {
        if let Event::TimerSet { timer, due_at, purpose } = event {
            self.timer_set(*timer, *purpose, (at, *due_at))?;
        }
        if let Event::TimerFired { timer } | Event::TimerCancelled { timer } = event {
            self.timers.remove(timer).ok_or(format!("there is no timer {timer}"))?;
        }
        Ok(())
    }

    fn iteration_ended(&mut self, run: RunId, index: u64, end: ItemEnd<'_>) -> Result<(), String> {
        let repeat = self.loop_mut(run)?;
        repeat.open.remove(&index).ok_or(format!("item {index} is not open"))?;
        match end {
            ItemEnd::Completed => repeat.completed += 1,
            ItemEnd::Tolerated => repeat.failed += 1,
            ItemEnd::Failed(error) => {
                repeat.failed += 1;
                repeat.error.get_or_insert_with(|| error.clone());
            }
        }
        Ok(())
    }

    fn timer_set(
        &mut self,
        timer: TimerId,
        purpose: TimerPurpose,
        (set_at, due_at): (Timestamp, Timestamp),
    ) -> Result<(), String> {
        if timer.0 != self.drawn.timers {
            return Err(format!("timer {} is next", self.drawn.timers));
        }
        self.drawn.timers += 1;
        self.timers.insert(timer, OpenTimer { purpose, set: self.seq, set_at, due_at });
        Ok(())
    }
}
