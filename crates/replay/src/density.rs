//! The density of events over a part of a log, in buckets of equal length by seq or by time.
//!
//! Times never go back within an execution, so the number of events up to an instant follows from a
//! few events with their times; between two of them it is interpolated.

use noetl_model::{Event, Recorded, Seq, Timestamp};

/// An event of a log and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedSeq {
    pub seq: Seq,
    pub at: Timestamp,
}

/// The axis along which buckets have equal lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DensityAxis {
    Seq,
    Time,
}

/// A part of the axis, and the events in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DensityBucket {
    /// The events after `after` up to and including `until` are in the bucket.
    pub after: Seq,
    pub until: Seq,
    pub from_at: Timestamp,
    pub to_at: Timestamp,
}

impl DensityBucket {
    pub fn events(&self) -> u64 {
        self.until.0 - self.after.0
    }
}

/// The kind of an event that is marked on the axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// A command, an item, a step or the execution failed.
    Failure,
    /// A task is tried again.
    Retry,
    /// Another worker took over a command.
    Takeover,
    /// The execution was forked from another one.
    Fork,
    Cancellation,
    /// The execution is late or did not advance, or its log has lost events.
    Trouble,
}

/// Returns the kind of mark of an event; `None` for an event that is not marked.
pub fn mark_kind(event: &Event) -> Option<MarkKind> {
    match event {
        Event::CommandFailed { .. }
        | Event::IterationFailed { .. }
        | Event::StepFailed { .. }
        | Event::ExecutionFailed { .. }
        | Event::IterationCompleted { error: Some(_), .. } => Some(MarkKind::Failure),
        Event::CommandIssued { task, .. } if task.retry > 0 => Some(MarkKind::Retry),
        Event::CommandClaimed { attempt, .. } if attempt.0 > 1 => Some(MarkKind::Takeover),
        Event::AttemptSuperseded { .. } => Some(MarkKind::Takeover),
        Event::ExecutionForked { .. } => Some(MarkKind::Fork),
        Event::CommandCancelled { .. } | Event::ExecutionCancelled { .. } => {
            Some(MarkKind::Cancellation)
        }
        Event::ExecutionLate { .. }
        | Event::ExecutionStalled { .. }
        | Event::ExecutionRewound { .. } => Some(MarkKind::Trouble),
        Event::ExecutionStarted { .. }
        | Event::StepEntered { .. }
        | Event::StepSkipped { .. }
        | Event::StepAwaited { .. }
        | Event::NotificationRequested { .. }
        | Event::LoopOpened { .. }
        | Event::FrameOpened { .. }
        | Event::IterationCompleted { error: None, .. }
        | Event::CommandIssued { .. }
        | Event::CommandClaimed { .. }
        | Event::CommandParked { .. }
        | Event::WaitOpened { .. }
        | Event::SignalReceived { .. }
        | Event::SignalDelivered { .. }
        | Event::ApprovalRequested { .. }
        | Event::ApprovalDecided { .. }
        | Event::ExecutionPaused { .. }
        | Event::ExecutionResumed { .. }
        | Event::SlotRequested { .. }
        | Event::SlotGranted { .. }
        | Event::CommandCompleted { .. }
        | Event::ChildStarted { .. }
        | Event::ContextUpdated { .. }
        | Event::TimerSet { .. }
        | Event::TimerFired { .. }
        | Event::TimerCancelled { .. }
        | Event::StepCompleted { .. }
        | Event::ExecutionCompleted { .. }
        | Event::Reported { .. } => None,
    }
}

impl From<&Recorded> for TimedSeq {
    fn from(recorded: &Recorded) -> Self {
        Self { seq: recorded.seq, at: recorded.at }
    }
}

/// Returns `count` buckets from the first of some events to the last one; fewer if there are fewer
/// events or microseconds. `samples` are in order, the first event included.
pub fn density(samples: &[TimedSeq], axis: DensityAxis, count: u64) -> Vec<DensityBucket> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Vec::new() };
    let before = first.seq.0.saturating_sub(1);
    let bounds: Vec<(u64, Timestamp)> = match axis {
        DensityAxis::Seq => {
            let total = last.seq.0 - before;
            let count = count.clamp(1, total);
            let seqs = (0..=count).map(|index| before + scaled(total, index, count));
            seqs.map(|seq| (seq, time_at(samples, Seq(seq)))).collect()
        }
        DensityAxis::Time => {
            let length = micros(first.at, last.at);
            let count = count.clamp(1, length.max(1));
            let times = (0..=count).map(|index| {
                let passed = i64::try_from(scaled(length, index, count)).unwrap_or(i64::MAX);
                Timestamp::from_micros(first.at.as_micros().saturating_add(passed))
            });
            let mut bounds: Vec<(u64, Timestamp)> =
                times.map(|at| (seq_until(samples, at), at)).collect();
            if let Some(start) = bounds.first_mut() {
                start.0 = before;
            }
            bounds
        }
    };
    let pairs = bounds.iter().zip(bounds.iter().skip(1));
    pairs
        .map(|(&(after, from_at), &(until, to_at))| DensityBucket {
            after: Seq(after),
            until: Seq(until.max(after)),
            from_at,
            to_at,
        })
        .collect()
}

/// Returns `total * index / count`, rounded down.
fn scaled(total: u64, index: u64, count: u64) -> u64 {
    let scaled = u128::from(total) * u128::from(index) / u128::from(count);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

fn micros(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.since(from).as_micros()).unwrap_or(u64::MAX)
}

/// Returns the time of an event.
fn time_at(samples: &[TimedSeq], seq: Seq) -> Timestamp {
    let next = samples.partition_point(|sample| sample.seq < seq);
    match (next.checked_sub(1).and_then(|at| samples.get(at)), samples.get(next)) {
        (Some(before), Some(after)) => {
            let passed = micros(before.at, after.at);
            let part = scaled(passed, seq.0 - before.seq.0, after.seq.0 - before.seq.0);
            before.at.after(std::time::Duration::from_micros(part))
        }
        (None, Some(only)) | (Some(only), None) => only.at,
        (None, None) => Timestamp::from_micros(0),
    }
}

/// Returns the last event up to an instant.
fn seq_until(samples: &[TimedSeq], at: Timestamp) -> u64 {
    let next = samples.partition_point(|sample| sample.at <= at);
    match (next.checked_sub(1).and_then(|at| samples.get(at)), samples.get(next)) {
        (Some(before), Some(after)) => {
            let (passed, length) = (micros(before.at, at), micros(before.at, after.at));
            // The next sample itself is later than the instant.
            let between = after.seq.0 - before.seq.0 - 1;
            before.seq.0 + scaled(between, passed, length.max(1))
        }
        (Some(last), None) => last.seq.0,
        (None, first) => first.map_or(0, |first| first.seq.0.saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(events: &[(u64, i64)]) -> Vec<TimedSeq> {
        let timed =
            |&(seq, at): &(u64, i64)| TimedSeq { seq: Seq(seq), at: Timestamp::from_micros(at) };
        events.iter().map(timed).collect()
    }

    fn counts(events: &[(u64, i64)], axis: DensityAxis, count: u64) -> Vec<u64> {
        let buckets = density(&samples(events), axis, count);
        let joined = buckets.iter().zip(buckets.iter().skip(1));
        assert!(joined.clone().all(|(one, next)| one.until == next.after));
        buckets.iter().map(DensityBucket::events).collect()
    }

    #[test]
    fn every_event_is_in_one_bucket() {
        use DensityAxis::{Seq as BySeq, Time};
        let even = [(1, 0), (2, 10), (3, 20), (4, 30)];
        for (events, axis, count, expected) in [
            (&even[..], BySeq, 2, vec![2, 2]),
            (&even[..], BySeq, 100, vec![1, 1, 1, 1]),
            (&even[..], Time, 3, vec![2, 1, 1]),
            (&[(1, 0), (2, 0), (3, 100)], Time, 2, vec![2, 1]),
            (&[(1, 0)], Time, 10, vec![1]),
            (&[(5, 0), (6, 50)], BySeq, 2, vec![1, 1]),
            // Sampled: between events 1 and 101 the density is even.
            (&[(1, 0), (101, 100), (102, 200)], Time, 2, vec![101, 1]),
            (&[(1, 0), (101, 100)], Time, 2, vec![50, 51]),
        ] {
            let found = counts(events, axis, count);
            let total = events[events.len() - 1].0 - events[0].0 + 1;
            assert_eq!(found.iter().sum::<u64>(), total, "{events:?} {axis:?}");
            assert_eq!(found, expected, "{events:?} {axis:?} {count}");
        }
        assert!(density(&[], Time, 10).is_empty());
    }
}
