//! The reports that wait to be sent, and which of them are sent together.
//!
//! A batch is answered as a whole, so the reports of an execution with many commands at once are
//! sent in batches of their own: other executions do not wait for their answers.

use std::collections::BTreeMap;

use noetl_model::ExecutionId;

use crate::report::BATCH_MAX;

/// The number of waiting reports from which an execution gets batches of its own.
const OWN_BATCH_FROM: usize = 4;
/// The most batches in flight per lane: while one is being written, the next is being decided.
const IN_FLIGHT_MAX: usize = 2;

/// The group of executions whose reports share batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// Executions with few reports at a time.
    Shared,
    /// One execution with many reports at a time.
    Own(ExecutionId),
}

/// The reports that wait to be sent, by execution.
#[derive(Debug)]
pub(crate) struct Unsent<T> {
    waiting: BTreeMap<ExecutionId, Vec<T>>,
    /// The number of unanswered batches of every lane that has any.
    in_flight: BTreeMap<Lane, usize>,
}

impl<T> Default for Unsent<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), in_flight: BTreeMap::new() }
    }
}

impl<T> Unsent<T> {
    /// Returns the number of waiting reports.
    pub(crate) fn len(&self) -> usize {
        self.waiting.values().map(Vec::len).sum()
    }

    pub(crate) fn add(&mut self, execution: ExecutionId, report: T) {
        self.waiting.entry(execution).or_default().push(report);
    }

    /// Records that a batch of a lane was answered.
    pub(crate) fn answered(&mut self, lane: Lane) {
        if let Some(count) = self.in_flight.get_mut(&lane) {
            *count -= 1;
            if *count == 0 {
                self.in_flight.remove(&lane);
            }
        }
    }

    /// Takes the next batch to send; `None` if no reports wait, or only behind unanswered batches.
    pub(crate) fn next_batch(&mut self) -> Option<(Lane, Vec<T>)> {
        let batch = self.next_own().or_else(|| self.next_shared());
        if let Some((lane, _)) = &batch {
            *self.in_flight.entry(*lane).or_default() += 1;
        }
        batch
    }

    fn next_own(&mut self) -> Option<(Lane, Vec<T>)> {
        let ready = self.waiting.iter().find(|(execution, reports)| {
            self.lane_of(**execution, reports.len()) != Lane::Shared
                && self.has_room(Lane::Own(**execution))
        });
        let execution = *ready?.0;
        let mut batch = self.waiting.remove(&execution)?;
        let rest = batch.split_off(batch.len().min(BATCH_MAX));
        if !rest.is_empty() {
            self.waiting.insert(execution, rest);
        }
        Some((Lane::Own(execution), batch))
    }

    fn next_shared(&mut self) -> Option<(Lane, Vec<T>)> {
        if !self.has_room(Lane::Shared) {
            return None;
        }
        let few = self.waiting.iter().filter(|(execution, reports)| {
            self.lane_of(**execution, reports.len()) == Lane::Shared
        });
        let executions: Vec<ExecutionId> =
            few.map(|(execution, _)| *execution).take(BATCH_MAX / OWN_BATCH_FROM).collect();
        let taken = executions.iter().filter_map(|execution| self.waiting.remove(execution));
        let batch: Vec<T> = taken.flatten().collect();
        (!batch.is_empty()).then_some((Lane::Shared, batch))
    }

    /// Returns the lane of an execution with so many waiting reports.
    fn lane_of(&self, execution: ExecutionId, reports: usize) -> Lane {
        let own = Lane::Own(execution);
        if reports >= OWN_BATCH_FROM || self.in_flight.contains_key(&own) {
            own
        } else {
            Lane::Shared
        }
    }

    fn has_room(&self, lane: Lane) -> bool {
        self.in_flight.get(&lane).is_none_or(|count| *count < IN_FLIGHT_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: ExecutionId = ExecutionId(1);

    fn unsent(reports: &[(i64, usize)]) -> Unsent<i64> {
        let mut unsent = Unsent::default();
        for (execution, count) in reports {
            (0..*count).for_each(|_| unsent.add(ExecutionId(*execution), *execution));
        }
        unsent
    }

    fn batches(unsent: &mut Unsent<i64>) -> Vec<(Lane, usize)> {
        let next = std::iter::from_fn(|| unsent.next_batch());
        next.map(|(lane, batch)| (lane, batch.len())).collect()
    }

    #[test]
    fn executions_with_few_reports_share_a_batch() {
        assert_eq!(batches(&mut unsent(&[(1, 1), (2, 3), (3, 1)])), [(Lane::Shared, 5)]);
        assert_eq!(batches(&mut unsent(&[])), []);
    }

    #[test]
    fn an_execution_with_many_reports_is_sent_apart() {
        let mut unsent = unsent(&[(1, 60), (2, 1)]);
        assert_eq!(batches(&mut unsent), [(Lane::Own(LARGE), 60), (Lane::Shared, 1)]);
    }

    #[test]
    fn others_do_not_wait_for_the_answers_to_a_large_execution() {
        let mut unsent = unsent(&[(1, 60)]);
        assert_eq!(batches(&mut unsent), [(Lane::Own(LARGE), 60)]);
        unsent.add(LARGE, 1);
        assert_eq!(batches(&mut unsent), [(Lane::Own(LARGE), 1)], "its lane has room for another");
        unsent.add(LARGE, 1);
        unsent.add(ExecutionId(2), 2);
        assert_eq!(batches(&mut unsent), [(Lane::Shared, 1)], "the third batch waits");
        assert_eq!(unsent.len(), 1);
        unsent.answered(Lane::Own(LARGE));
        assert_eq!(batches(&mut unsent), [(Lane::Own(LARGE), 1)]);
    }

    #[test]
    fn batches_are_bounded() {
        let mut unsent = unsent(&[(1, BATCH_MAX + 1)]);
        assert_eq!(batches(&mut unsent), [(Lane::Own(LARGE), BATCH_MAX), (Lane::Own(LARGE), 1)],);
        let many: Vec<(i64, usize)> = (1..=100).map(|execution| (execution, 3)).collect();
        let mut unsent = self::unsent(&many);
        let sizes: Vec<usize> = batches(&mut unsent).into_iter().map(|(_, size)| size).collect();
        assert_eq!(sizes, [192, 108]);
    }
}
