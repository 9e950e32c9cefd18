//! Forks: a new execution that shares the log of another one up to an event.
//!
//! Open commands and timers at the fork belong to the other execution; the fork issues its own.

use std::collections::{BTreeMap, BTreeSet};

use noetl_model::{
    Actor, ChildExecutions, CommandId, Event, ForkPoint, Payload, Place, PlaybookRef, RunId,
    StepName, TaskAddress, TimerId, TimerPurpose,
};
use noetl_playbook::Playbook;
use serde_json::Value;
use thiserror::Error;

use super::draft::DecisionDraft;
use super::halt::Halt;
use crate::evolve::fold;
use crate::state::{OpenTimer, Pipeline, Run, RunBody};
use crate::value::whole_of;
use crate::{DecisionArgs, Effort, Execution, Needs};

/// The values that a fork changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    pub playbook: Option<PlaybookRef>,
    pub workload: Option<Payload>,
    /// Values written to `ctx`, by name.
    pub context: BTreeMap<String, Value>,
}

impl Changes {
    /// Returns the changes recorded in an event.
    pub fn of(
        playbook: Option<&PlaybookRef>,
        workload: Option<&Payload>,
        context: &BTreeMap<String, Value>,
    ) -> Self {
        let (playbook, workload) = (playbook.cloned(), workload.cloned());
        Self { playbook, workload, context: context.clone() }
    }
}

/// The description of a fork.
#[derive(Debug, Clone)]
pub struct Fork {
    pub origin: ForkPoint,
    pub changes: Changes,
    /// The events that complete the decision to which the last shared event belongs.
    pub rest: Vec<Event>,
    /// Failed tasks that are run again.
    pub again: Vec<TaskAddress>,
    pub actor: Option<Actor>,
}

/// The reason why an execution cannot be forked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unforkable {
    /// The fork's playbook version cannot continue from this state.
    #[error(
        "step `{step}` is running at this position, and {reason} in this version of the playbook"
    )]
    Unfit { step: StepName, reason: &'static str },
    /// The events that have to follow are illegal after the changes.
    #[error("the changes contradict the shared events: {0}")]
    RuledOut(String),
    /// The first decision of the fork exceeds the work limit.
    #[error("{0}")]
    TooMuchWork(String),
}

/// Decides the first events of a fork. `state` is the fold of the shared events.
pub fn fork(
    state: &Execution,
    fork: &Fork,
    given: DecisionArgs<'_>,
) -> Result<Result<Vec<Event>, Unforkable>, Needs> {
    match (decided(state, fork, given), given.effort) {
        (Ok(events), _) => Ok(events),
        (Err(Halt::Needs(needs)), _) => Err(needs),
        (Err(Halt::Exceeded(_)), Effort::Brief) => Err(Needs::Effort),
        (Err(Halt::Exceeded(exceeded)), Effort::Whole) => {
            Ok(Err(Unforkable::TooMuchWork(exceeded.reason())))
        }
    }
}

fn decided(
    state: &Execution,
    fork: &Fork,
    given: DecisionArgs<'_>,
) -> Result<Result<Vec<Event>, Unforkable>, Halt> {
    if let Err(unfit) = fits(state, given.playbook) {
        return Ok(Err(unfit));
    }
    if let Some(name) = part_of_large(state, &fork.changes.context) {
        let reason = format!("`ctx.{name}` is large; give all of it, not a part");
        return Ok(Err(Unforkable::RuledOut(reason)));
    }
    let (commands, timers): (Vec<CommandId>, Vec<(TimerId, OpenTimer)>) = (
        state.commands.keys().copied().collect(),
        state.timers.iter().map(|(timer, open)| (*timer, *open)).collect(),
    );
    let mut draft = DecisionDraft::new(state.clone(), given, Vec::new());
    let Changes { playbook, workload, context } = fork.changes.clone();
    let (origin, again) = (fork.origin, fork.again.clone());
    let actor = fork.actor.clone();
    let forked = Event::ExecutionForked { origin, playbook, workload, context, again, actor };
    let rest = own_rest(state, &fork.rest);
    for event in std::iter::once(forked).chain(rest) {
        if let Err(reason) = draft.try_emit(event) {
            return Ok(Err(Unforkable::RuledOut(reason)));
        }
    }
    if !draft.state.status.is_terminal() {
        draft.take_over(commands, timers)?;
        draft.expect_end();
        draft.do_again(&fork.again)?;
        draft.rejoin();
        if draft.state.has_begun() {
            draft.advance()?;
        } else {
            // The other execution waits for its start; the fork begins at once.
            draft.begin()?;
        }
    }
    Ok(Ok(draft.into_events()))
}

/// Returns the rest of a decision without the events that the fork decides itself: its notifications,
/// and the waits of commands that its origin has issued. Such a command is not in the fork's queue:
/// either the rest ends it, or the fork issues it again and opens its wait then.
fn own_rest(state: &Execution, rest: &[Event]) -> Vec<Event> {
    let ended: BTreeSet<CommandId> = rest.iter().filter_map(ended_command).collect();
    let issued_again = state.commands.iter().filter(|(command, _)| !ended.contains(command));
    let tasks: Vec<TaskAddress> = issued_again.map(|(_, open)| open.task).collect();
    let is_left_out = |event: &Event| {
        matches!(event, Event::NotificationRequested { .. })
            || matches!(event, Event::WaitOpened { command, .. }
                | Event::ApprovalRequested { command, .. } if state.commands.contains_key(command))
            || matches!(event, Event::TimerSet {
                purpose: TimerPurpose::WaitEnd { task } | TimerPurpose::TaskTimeout { task },
                ..
            } if tasks.contains(task))
    };
    rest.iter().filter(|event| !is_left_out(event)).cloned().collect()
}

fn ended_command(event: &Event) -> Option<CommandId> {
    if let Event::CommandCompleted { command, .. }
    | Event::CommandFailed { command, .. }
    | Event::CommandCancelled { command, .. } = event
    {
        Some(*command)
    } else {
        None
    }
}

/// Returns the name of a variable stored by reference of which only a part would change.
fn part_of_large<'a>(state: &Execution, context: &'a BTreeMap<String, Value>) -> Option<&'a str> {
    context.keys().filter_map(|key| whole_of(key)).map(|(name, _)| name).find(|name| {
        let is_given = context.contains_key(*name);
        !is_given && matches!(state.context.get(*name), Some(Payload::Ref(_)))
    })
}

/// Returns a copy of the state with some changes applied.
pub fn changed(state: &Execution, changes: &Changes) -> Execution {
    let mut state = state.clone();
    state.change(changes);
    state
}

/// Fails if the playbook cannot continue the open steps and tasks of the state.
pub fn fits(state: &Execution, playbook: &Playbook) -> Result<(), Unforkable> {
    for (run, Run { step, body, .. }) in &state.runs {
        let unfit = |reason| Unforkable::Unfit { step: step.clone(), reason };
        let Some(index) = playbook.index_of(step.as_str()) else {
            return Err(unfit("does not exist"));
        };
        let found = playbook.step(index);
        let tasks: Vec<TaskAddress> =
            state.tasks_under_way().filter(|task| task.run == *run).collect();
        match (body, &found.repeat) {
            (RunBody::Tasks(_), None) | (RunBody::Loop(_), Some(_)) => {}
            // The step has only been entered.
            (RunBody::Tasks(done), Some(_)) if tasks.is_empty() && *done == Pipeline::default() => {
            }
            (RunBody::Tasks(_), Some(_)) => return Err(unfit("has a loop")),
            (RunBody::Loop(_), None) => return Err(unfit("has no loop")),
        }
        if tasks.into_iter().filter_map(task_index).any(|task| task as usize >= found.tasks.len()) {
            return Err(unfit("has fewer tasks"));
        }
    }
    match state.awaited.keys().find(|step| playbook.index_of(step.as_str()).is_none()) {
        Some(step) => Err(Unforkable::Unfit { step: step.clone(), reason: "does not exist" }),
        None => Ok(()),
    }
}

fn task_index(task: TaskAddress) -> Option<u32> {
    match task.place {
        Place::Task(index) | Place::Item { task: index, .. } => Some(index),
        Place::Claim { .. } => None,
    }
}

impl DecisionDraft<'_> {
    /// Folds and adds an event; fails if it is illegal.
    fn try_emit(&mut self, event: Event) -> Result<(), String> {
        let before = self.state.clone();
        let at = self.state.event_time(self.given.now);
        if let Err(reason) = fold(&mut self.state, &event, at) {
            self.state = before;
            return Err(reason);
        }
        self.push(event);
        Ok(())
    }

    /// Reissues the open commands and timers as the fork's own. Timers start anew.
    fn take_over(
        &mut self,
        commands: Vec<CommandId>,
        timers: Vec<(TimerId, OpenTimer)>,
    ) -> Result<(), Halt> {
        for command in commands {
            let Some(task) = self.state.commands.get(&command).map(|open| open.task) else {
                continue;
            };
            let reason = "done again by the fork".to_owned();
            // A child started for the command belongs to the other execution.
            self.emit(Event::CommandCancelled { command, reason, below: ChildExecutions::Kept });
            self.issue_again(task)?;
        }
        for (timer, open) in timers {
            if self.state.timers.contains_key(&timer) {
                self.emit(Event::TimerCancelled { timer });
                match open.purpose {
                    // The reissued task sets its own.
                    TimerPurpose::TaskTimeout { .. }
                    | TimerPurpose::WaitEnd { .. }
                    | TimerPurpose::HeldStart
                    | TimerPurpose::Late => {}
                    TimerPurpose::Retry { .. }
                    | TimerPurpose::StepTimeout { .. }
                    | TimerPurpose::ExecutionTimeout => {
                        self.set_timer(open.due_at.since(open.set_at), open.purpose);
                    }
                }
            }
        }
        Ok(())
    }

    fn do_again(&mut self, tasks: &[TaskAddress]) -> Result<(), Halt> {
        for task in tasks {
            self.issue_again(*task)?;
        }
        let of_loops = tasks.iter().filter(|task| task.place.item().is_some());
        let mut loops: Vec<RunId> = of_loops.map(|task| task.run).collect();
        loops.dedup();
        for run in loops {
            self.continue_loop(run)?;
        }
        Ok(())
    }

    /// Rebuilds the arrivals at joins, which the completed decision may have extended.
    fn rejoin(&mut self) {
        self.arrivals = DecisionDraft::new(self.state.clone(), self.given, Vec::new()).arrivals;
    }
}
