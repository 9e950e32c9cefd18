//! The first event at which two logs part.
//!
//! Parallel branches and loop items write their events in any order, so the log is divided into
//! strands (a run of a step, an item of a loop, a set of variables), and each strand is compared
//! with the same strand of the other log. Ids, times, workers, timers and written output are left
//! out; so are the playbook version and the workload, which a comparison shows on their own.
//!
//! Invariant: two logs of the same behaviour do not part, in whichever order they were written.

use std::collections::{BTreeMap, VecDeque};

use noetl_model::{
    Attempt, CommandId, Event, Logs, Place, Pool, Recorded, RunId, ScopeTarget, Seq, StepName,
    TaskAddress,
};

/// One of the two logs that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSide {
    Left,
    Right,
}

/// The events at which two logs part; `None` where the log has no such event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parting {
    pub left: Option<Seq>,
    pub right: Option<Seq>,
}

impl Parting {
    /// Returns the earlier of the two places, by which partings are ordered.
    fn place(&self) -> Seq {
        let places = [self.left, self.right].into_iter().flatten();
        places.min().unwrap_or(Seq::ZERO)
    }
}

/// A part of a log whose events are in a fixed order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Strand {
    /// The end of the execution.
    End,
    /// A set of variables of `ctx` that are written together.
    Variables(Vec<String>),
    Skips(StepName),
    /// The n-th run of a step.
    Run(StepName, u32),
    /// A run that began before the compared part of the log; forks share the ids of their origin.
    EarlierRun(RunId),
    EarlierCommand(CommandId),
    Item(Box<Strand>, u64),
}

/// The names that the ids of one log stand for.
#[derive(Debug, Default)]
struct LogNames {
    runs: BTreeMap<RunId, Strand>,
    runs_of: BTreeMap<StepName, u32>,
    commands: BTreeMap<CommandId, Strand>,
}

/// The events of one strand that the other log has not reached yet.
#[derive(Debug, Default)]
struct Unmatched {
    left: VecDeque<(Seq, Event)>,
    right: VecDeque<(Seq, Event)>,
    has_parted: bool,
}

/// Finds the first event at which two logs part. The logs may be folded in turns.
#[derive(Debug, Default)]
pub struct PartingFold {
    left: LogNames,
    right: LogNames,
    strands: BTreeMap<Strand, Unmatched>,
    first: Option<Parting>,
}

impl PartingFold {
    /// Folds the next event of a log.
    pub fn see(&mut self, side: LogSide, recorded: &Recorded) {
        let names = match side {
            LogSide::Left => &mut self.left,
            LogSide::Right => &mut self.right,
        };
        let Some((strand, event)) = names.compared(&recorded.event) else { return };
        let strand = self.strands.entry(strand).or_default();
        if let Some(found) = strand.see(side, recorded.seq, event) {
            self.found(found);
        }
    }

    fn found(&mut self, found: Parting) {
        if self.first.is_none_or(|first| found.place() < first.place()) {
            self.first = Some(found);
        }
    }

    /// Returns the first difference of two logs that were folded in part: an event that the other
    /// log lacks so far is no difference yet.
    pub fn so_far(&self) -> Option<Parting> {
        self.first
    }

    /// Returns the first difference of two logs that were folded to their ends.
    pub fn finish(mut self) -> Option<Parting> {
        let strands = std::mem::take(&mut self.strands);
        for strand in strands.values().filter(|strand| !strand.has_parted) {
            let left = strand.left.front().map(|(seq, _)| *seq);
            let right = strand.right.front().map(|(seq, _)| *seq);
            if left.is_some() || right.is_some() {
                self.found(Parting { left, right });
            }
        }
        self.first
    }
}

impl Unmatched {
    /// Compares an event with its counterpart, if the other log has it already.
    fn see(&mut self, side: LogSide, seq: Seq, event: Event) -> Option<Parting> {
        if self.has_parted {
            return None;
        }
        let (own, other) = match side {
            LogSide::Left => (&mut self.left, &mut self.right),
            LogSide::Right => (&mut self.right, &mut self.left),
        };
        let Some((other_seq, counterpart)) = other.pop_front() else {
            own.push_back((seq, event));
            return None;
        };
        if counterpart == event {
            return None;
        }
        *self = Self { has_parted: true, ..Self::default() };
        Some(match side {
            LogSide::Left => Parting { left: Some(seq), right: Some(other_seq) },
            LogSide::Right => Parting { left: Some(other_seq), right: Some(seq) },
        })
    }
}

impl LogNames {
    /// Returns the strand of an event, and the event without ids, attempts, jobs, pools, written
    /// output and details of errors; `None` if it says nothing about the behaviour of the execution.
    #[allow(clippy::too_many_lines, reason = "one short arm per event")]
    fn compared(&mut self, event: &Event) -> Option<(Strand, Event)> {
        let mut plain = event.clone();
        let strand = match &mut plain {
            Event::StepEntered { run, step, from } => {
                from.sort();
                self.enter(take_run(run), step)
            }
            Event::StepSkipped { step, from, .. } => {
                from.sort();
                Strand::Skips(step.clone())
            }
            Event::LoopOpened { run, in_flight_max, .. } => {
                *in_flight_max = 0;
                self.run(take_run(run))
            }
            Event::FrameOpened { run, .. } | Event::StepCompleted { run, .. } => {
                self.run(take_run(run))
            }
            Event::StepFailed { run, error, .. } => {
                error.details = None;
                self.run(take_run(run))
            }
            Event::IterationCompleted { run, index, error, .. } => {
                if let Some(error) = error {
                    error.details = None;
                }
                self.item(take_run(run), *index)
            }
            Event::IterationFailed { run, index, error } => {
                error.details = None;
                self.item(take_run(run), *index)
            }
            Event::ContextUpdated { target, values, large } => {
                match std::mem::replace(target, ScopeTarget::Execution) {
                    ScopeTarget::Execution => {
                        Strand::Variables(values.keys().chain(large.keys()).cloned().collect())
                    }
                    ScopeTarget::Run { run } => self.run(run),
                    ScopeTarget::Item { run, index } => self.item(run, index),
                }
            }
            Event::CommandIssued { command, task, pool, cache, .. } => {
                let strand = self.issue(take_command(command), *task);
                take_run(&mut task.run);
                (*pool, *cache) = (Pool::shared(), None);
                strand
            }
            Event::CommandCompleted { command, attempt, logs, job, .. } => {
                (*attempt, *logs, *job) = (Attempt(0), Logs::default(), None);
                self.end(take_command(command))
            }
            Event::CommandFailed { command, attempt, error, logs, job, .. } => {
                (*attempt, *logs, *job) = (Attempt(0), Logs::default(), None);
                error.details = None;
                self.end(take_command(command))
            }
            Event::CommandCancelled { command, .. } => self.end(take_command(command)),
            Event::ExecutionFailed { error, steps, .. } => {
                error.details = None;
                steps.sort();
                Strand::End
            }
            Event::ExecutionCompleted { .. } | Event::ExecutionCancelled { .. } => Strand::End,
            Event::ExecutionStarted { .. }
            | Event::ExecutionForked { .. }
            | Event::StepAwaited { .. }
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
            | Event::AttemptSuperseded { .. }
            | Event::ChildStarted { .. }
            | Event::TimerSet { .. }
            | Event::TimerFired { .. }
            | Event::TimerCancelled { .. }
            | Event::ExecutionLate { .. }
            | Event::NotificationRequested { .. }
            | Event::ExecutionStalled { .. }
            | Event::ExecutionRewound { .. }
            | Event::Reported { .. } => return None,
        };
        Some((strand, plain))
    }

    fn enter(&mut self, run: RunId, step: &StepName) -> Strand {
        let count = self.runs_of.entry(step.clone()).or_default();
        *count += 1;
        let strand = Strand::Run(step.clone(), *count);
        self.runs.insert(run, strand.clone());
        strand
    }

    fn run(&self, run: RunId) -> Strand {
        self.runs.get(&run).cloned().unwrap_or(Strand::EarlierRun(run))
    }

    fn item(&self, run: RunId, index: u64) -> Strand {
        Strand::Item(Box::new(self.run(run)), index)
    }

    fn issue(&mut self, command: CommandId, task: TaskAddress) -> Strand {
        let strand = match task.place {
            Place::Item { index, .. } => self.item(task.run, index),
            Place::Task(_) | Place::Claim { .. } => self.run(task.run),
        };
        self.commands.insert(command, strand.clone());
        strand
    }

    /// Returns the strand of a command that ends; it ends once, so its entry is removed.
    fn end(&mut self, command: CommandId) -> Strand {
        self.commands.remove(&command).unwrap_or(Strand::EarlierCommand(command))
    }
}

/// Returns a run and leaves no id in its place.
fn take_run(run: &mut RunId) -> RunId {
    std::mem::replace(run, RunId(0))
}

/// Returns a command and leaves no id in its place.
fn take_command(command: &mut CommandId) -> CommandId {
    std::mem::replace(command, CommandId(0))
}

#[cfg(test)]
mod tests;
