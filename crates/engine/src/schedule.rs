//! The rules of schedules: the next action at a given time, and the change that each event makes.
//!
//! Invariant: the next action depends only on the document, the state and the time, so that servers
//! that check at the same time act the same.

use std::time::Duration;

use noetl_model::{
    ExecutionId, Firing, InstantSkipReason, ScheduleEvent, ScheduleState, ScheduleStatus, Timestamp,
};
use noetl_playbook::{CatchUp, Overlap, Schedule};

/// The largest delay of an instant that still counts as on time.
pub const SCHEDULE_GRACE: Duration = Duration::from_secs(60);
/// The largest number of missed instants that are caught up.
pub const CATCH_UP_MAX: usize = 100;
/// The largest number of queued instants; beyond it, the oldest are skipped.
pub const QUEUED_MAX: usize = 100;

/// The next action for a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleStep {
    /// Nothing is due.
    Rest,
    /// Start the execution of an instant; first cancel the one in `cancels`.
    Fire { instant: Timestamp, cancels: Option<ExecutionId> },
    /// Record this event and check again.
    Note(ScheduleEvent),
}

/// Returns the next action for a schedule. `running` is the execution of its latest instant, if it
/// has not ended.
pub fn schedule_step(
    document: &Schedule,
    standing: &ScheduleStatus,
    running: Option<ExecutionId>,
    now: Timestamp,
) -> ScheduleStep {
    match standing.state {
        ScheduleState::Paused => return ScheduleStep::Rest,
        ScheduleState::Active => {}
    }
    if standing.queued.is_some()
        && running.is_none()
        && let Some(instant) = document.next_after(standing.reached)
    {
        return ScheduleStep::Fire { instant, cancels: None };
    }
    let seen = standing.queued.unwrap_or(standing.reached);
    let Some(instant) = document.next_after(seen) else { return ScheduleStep::Rest };
    if document.starts_at(instant) > now {
        return ScheduleStep::Rest;
    }
    // While instants are queued, missed ones are queued too.
    if standing.queued.is_none()
        && let Some(until) = missed_until(document, seen, now)
    {
        return pass(until, InstantSkipReason::Missed);
    }
    match (document.overlap, running) {
        (Overlap::Allow, _) | (_, None) => ScheduleStep::Fire { instant, cancels: None },
        (Overlap::Cancel, Some(running)) => ScheduleStep::Fire { instant, cancels: Some(running) },
        (Overlap::Skip, Some(_)) => pass(instant, InstantSkipReason::Overlap),
        (Overlap::Queue, Some(_)) => match oldest_too_many(document, standing) {
            Some(oldest) => pass(oldest, InstantSkipReason::Overlap),
            None => ScheduleStep::Note(ScheduleEvent::Queued { instant }),
        },
    }
}

fn pass(until: Timestamp, reason: InstantSkipReason) -> ScheduleStep {
    ScheduleStep::Note(ScheduleEvent::Passed { until, reason })
}

/// Returns the last missed instant after `seen` that is not caught up.
fn missed_until(document: &Schedule, seen: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let latest_on_time = SCHEDULE_GRACE + document.jitter;
    let micros = i64::try_from(latest_on_time.as_micros()).unwrap_or(i64::MAX);
    let horizon = Timestamp::from_micros(now.as_micros().saturating_sub(micros) - 1);
    let kept = match document.catch_up {
        CatchUp::None => 0,
        CatchUp::Last => {
            let last = document.latest(seen, horizon, 1).pop()?;
            let is_followed =
                document.next_after(last).is_some_and(|next| document.starts_at(next) <= now);
            usize::from(!is_followed)
        }
        CatchUp::All => CATCH_UP_MAX,
    };
    let late = document.latest(seen, horizon, kept + 1);
    (late.len() > kept).then(|| late.first().copied()).flatten()
}

/// Returns the oldest queued instant if the queue is full.
fn oldest_too_many(document: &Schedule, standing: &ScheduleStatus) -> Option<Timestamp> {
    let until = standing.queued?;
    let waiting = document.latest(standing.reached, until, QUEUED_MAX);
    (waiting.len() >= QUEUED_MAX).then(|| waiting.first().copied()).flatten()
}

/// Returns the time of the next check, not counting the end of an execution that instants wait for.
pub fn next_start(document: &Schedule, standing: &ScheduleStatus) -> Option<Timestamp> {
    match standing.state {
        ScheduleState::Paused => None,
        ScheduleState::Active => {
            let seen = standing.queued.unwrap_or(standing.reached);
            document.next_after(seen).map(|instant| document.starts_at(instant))
        }
    }
}

/// Returns the state of a schedule after an event; `None` if the event is illegal.
pub fn evolve_schedule(
    standing: Option<ScheduleStatus>,
    event: &ScheduleEvent,
    at: Timestamp,
) -> Option<ScheduleStatus> {
    let Some(standing) = standing else {
        return match event {
            ScheduleEvent::Registered { catalog_id } => Some(ScheduleStatus {
                catalog_id: *catalog_id,
                state: ScheduleState::Active,
                reached: at,
                queued: None,
                last: None,
                trouble: None,
            }),
            ScheduleEvent::Paused
            | ScheduleEvent::Resumed
            | ScheduleEvent::Fired { .. }
            | ScheduleEvent::Queued { .. }
            | ScheduleEvent::Passed { .. }
            | ScheduleEvent::Backfilled { .. }
            | ScheduleEvent::Broken { .. } => None,
        };
    };
    Some(match event {
        ScheduleEvent::Registered { catalog_id } => {
            ScheduleStatus { catalog_id: *catalog_id, trouble: None, ..begun_again(standing, at) }
        }
        ScheduleEvent::Paused => ScheduleStatus { state: ScheduleState::Paused, ..standing },
        ScheduleEvent::Resumed => {
            ScheduleStatus { state: ScheduleState::Active, ..begun_again(standing, at) }
        }
        ScheduleEvent::Fired { instant, execution } => {
            let firing = Firing { instant: *instant, execution: *execution };
            let last = standing.last.filter(|last| last.instant > *instant).or(Some(firing));
            ScheduleStatus { last, trouble: None, ..reaching(standing, *instant) }
        }
        ScheduleEvent::Queued { instant } => ScheduleStatus { queued: Some(*instant), ..standing },
        ScheduleEvent::Passed { until, reason } => {
            let trouble = match reason {
                InstantSkipReason::Overlap | InstantSkipReason::Missed => standing.trouble.clone(),
                InstantSkipReason::Unstartable { error } => Some(error.clone()),
            };
            ScheduleStatus { trouble, ..reaching(standing, *until) }
        }
        ScheduleEvent::Backfilled { .. } => standing,
        ScheduleEvent::Broken { reason } => {
            ScheduleStatus { trouble: Some(reason.clone()), ..standing }
        }
    })
}

/// Skips all instants up to now.
fn begun_again(standing: ScheduleStatus, at: Timestamp) -> ScheduleStatus {
    ScheduleStatus { reached: standing.reached.max(at), queued: None, ..standing }
}

fn reaching(standing: ScheduleStatus, instant: Timestamp) -> ScheduleStatus {
    let reached = standing.reached.max(instant);
    let queued = standing.queued.filter(|queued| *queued > reached);
    ScheduleStatus { reached, queued, ..standing }
}

#[cfg(test)]
mod tests;
