//! The questions that decisions and views ask a state.

use noetl_model::{
    Attempt, CommandId, Digest, ErrorMode, ExecutionId, ExecutionStatus, Labels, LimitAmount,
    NoticeOrigin, Origin, Parent, Payload, PlaybookRef, Pool, Priority, RunId, ScopeTarget, Seq,
    SignalKey, SignalName, StepName, StepStatus, Summary, TaskAddress, TimerId, TimerPurpose,
    Timestamp, WaitCondition,
};
use serde_json::Value;

use crate::Execution;
use crate::state::{
    CommandHolder, DecidedApproval, KeptSignal, LimitSlot, OpenHolder, Pause, Pipeline, RunBody,
    SetVariables, SignalReceipt,
};

impl Execution {
    pub fn id(&self) -> ExecutionId {
        self.id
    }

    /// Returns the execution under another id, as the shared state of a fork.
    #[must_use]
    pub fn shared_with(self, id: ExecutionId) -> Self {
        Self { id, ..self }
    }

    /// Returns the seq of the last folded event.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Returns the digest of the last folded event.
    pub fn head(&self) -> Digest {
        self.head
    }

    /// Returns the time for an event at `now`; times never go back within an execution.
    pub fn event_time(&self, now: Timestamp) -> Timestamp {
        now.max(self.last_at)
    }

    pub fn status(&self) -> ExecutionStatus {
        self.status
    }

    pub fn playbook(&self) -> &PlaybookRef {
        &self.playbook
    }

    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// Returns the pause of the execution; `None` unless it is paused.
    pub fn pause(&self) -> Option<&Pause> {
        self.paused.as_ref()
    }

    /// Returns the slot that a command, or without one the execution itself, waits for or holds.
    pub fn slot(&self, command: Option<CommandId>) -> Option<&LimitSlot> {
        match command {
            Some(command) => self.slots.get(&command),
            None => self.own_slot.as_ref(),
        }
    }

    /// Returns the slot that a command, or the execution itself, awaits or holds. A slot of a rate is
    /// held until the command begins.
    pub fn counted_slot(&self, command: Option<CommandId>) -> Option<&LimitSlot> {
        let slot = self.slot(command)?;
        match (slot.limit.amount, slot.granted_at) {
            (LimitAmount::Slots { .. }, _) | (LimitAmount::Rate { .. }, None) => Some(slot),
            (LimitAmount::Rate { .. }, Some(_)) => {
                let open = command.and_then(|command| self.commands.get(&command))?;
                (open.holder == CommandHolder::Nobody).then_some(slot)
            }
        }
    }

    /// Returns every slot that is awaited or was granted, with its command; `None` for the execution.
    pub fn slots(&self) -> impl Iterator<Item = (Option<CommandId>, &LimitSlot)> {
        let own = self.own_slot.iter().map(|slot| (None, slot));
        own.chain(self.slots.iter().map(|(command, slot)| (Some(*command), slot)))
    }

    /// True if the first step was entered or skipped.
    pub fn has_begun(&self) -> bool {
        !self.steps.is_empty()
    }

    /// True if the first step is due: nothing holds the execution back, and it has not begun.
    pub(crate) fn may_begin(&self) -> bool {
        let awaits_slot = self.own_slot.as_ref().is_some_and(|slot| slot.granted_at.is_none());
        !self.has_begun() && self.paused.is_none() && !awaits_slot
    }

    /// True if a command waits for a slot.
    pub(crate) fn awaits_slot(&self, command: CommandId) -> bool {
        self.slots.get(&command).is_some_and(|slot| slot.granted_at.is_none())
    }

    /// True if no worker may claim the command: the execution is paused, or the command waits for a
    /// slot.
    pub fn is_blocked(&self, command: CommandId) -> bool {
        self.paused.is_some() || self.awaits_slot(command)
    }

    /// Returns the W3C trace context of the start request.
    pub fn trace(&self) -> Option<&Value> {
        self.trace.as_deref()
    }

    /// Returns the notification that started the execution, or one of its ancestors.
    pub fn notice(&self) -> Option<&NoticeOrigin> {
        self.notice.as_ref()
    }

    pub fn error_mode(&self) -> ErrorMode {
        self.error_mode
    }

    pub fn workload(&self) -> &Payload {
        &self.workload
    }

    /// Returns the number of ancestors.
    pub fn depth(&self) -> u32 {
        match self.origin {
            Origin::Request | Origin::Schedule { .. } | Origin::Rerun { .. } => 0,
            Origin::Parent { depth, .. } | Origin::Linked { depth, .. } => depth,
        }
    }

    /// Returns the output of a step's latest ended run.
    pub fn step_output(&self, step: &str) -> Option<&Payload> {
        self.steps.get(step).map(|record| &record.output)
    }

    /// Returns how often a step has been entered.
    pub fn step_runs(&self, step: &str) -> u32 {
        self.steps.get(step).map_or(0, |record| record.runs)
    }

    pub fn step_status(&self, step: &str) -> Option<StepStatus> {
        self.steps.get(step).map(|record| record.status)
    }

    /// Returns the variables of `ctx`.
    pub fn context(&self) -> impl Iterator<Item = (&String, &Payload)> {
        self.context.iter()
    }

    /// Returns a variable of `ctx`.
    pub fn context_value(&self, name: &str) -> Option<&Payload> {
        self.context.get(name)
    }

    /// Returns the variables of a scope; `None` if the scope is not open.
    pub(crate) fn variables(&self, target: ScopeTarget) -> Option<&SetVariables> {
        match target {
            ScopeTarget::Execution => Some(&self.context),
            ScopeTarget::Run { run } => self.runs.get(&run).map(|run| &run.variables),
            ScopeTarget::Item { run, index } => match &self.runs.get(&run)?.body {
                RunBody::Loop(repeat) => repeat.open.get(&index).map(|item| &item.variables),
                RunBody::Tasks(_) => None,
            },
        }
    }

    /// Returns the step of an open command.
    pub fn step_of_command(&self, command: CommandId) -> Option<&StepName> {
        let run = self.commands.get(&command)?.task.run;
        self.runs.get(&run).map(|run| &run.step)
    }

    /// Returns the event that issued an open command.
    pub fn issued_by(&self, command: CommandId) -> Option<Seq> {
        self.commands.get(&command).map(|open| open.issued)
    }

    /// True if a callback of the job has ended a command.
    pub(crate) fn has_ended(&self, job: &str) -> bool {
        self.jobs.iter().any(|ended| ended == job)
    }

    /// Returns the signal that was received with this idempotency key.
    pub(crate) fn signal_receipt(&self, key: &str) -> Option<&SignalReceipt> {
        self.signal_receipts.iter().find(|known| known.key == key)
    }

    /// Returns an approval that was decided; `None` if it waits, or is older than the last 1,000.
    pub fn decided_approval(&self, command: CommandId) -> Option<&DecidedApproval> {
        self.decisions.iter().find(|decided| decided.command == command)
    }

    /// Returns the first command that waits for a signal with a name and a correlation key.
    pub fn signal_wait(&self, name: &SignalName, key: &SignalKey) -> Option<CommandId> {
        let waits = self.signal_waits.iter().find(|command| {
            let Some(open) = self.commands.get(*command) else { return false };
            matches!(
                &open.holder,
                CommandHolder::Wait { condition: WaitCondition::Signal { name: of, key: Some(own) }, .. }
                    if of == name && own == key
            )
        });
        waits.copied()
    }

    /// Returns the number of signals that no wait has taken.
    pub(crate) fn kept_signals(&self) -> usize {
        self.signals.len()
    }

    /// Returns the oldest signal that no wait has taken and that a wait with a name and a correlation
    /// key takes.
    pub(crate) fn first_signal(
        &self,
        name: &SignalName,
        key: Option<&SignalKey>,
    ) -> Option<KeptSignal> {
        self.signals.iter().find(|kept| kept.is_for(name, key)).cloned()
    }

    /// True if the command was claimed, or waits for its child.
    pub fn is_held(&self, command: CommandId) -> bool {
        self.commands.get(&command).is_some_and(|open| open.holder != CommandHolder::Nobody)
    }

    /// True if a command or a timer is open, or if something holds the execution back.
    pub fn has_open_work(&self) -> bool {
        let is_held = !self.has_begun() && !self.may_begin();
        !self.commands.is_empty() || !self.timers.is_empty() || is_held
    }

    /// Returns the tasks with an open command or a pending retry.
    pub(crate) fn tasks_under_way(&self) -> impl Iterator<Item = TaskAddress> {
        let retried = self.timers.values().filter_map(|open| match open.purpose {
            TimerPurpose::Retry { task } => Some(task),
            TimerPurpose::StepTimeout { .. }
            | TimerPurpose::WaitEnd { .. }
            | TimerPurpose::HeldStart
            | TimerPurpose::TaskTimeout { .. }
            | TimerPurpose::ExecutionTimeout
            | TimerPurpose::Late => None,
        });
        self.commands.values().map(|open| open.task).chain(retried)
    }

    /// Returns the open commands with their number of claims and their holder.
    pub fn open_commands(&self) -> impl Iterator<Item = (CommandId, Attempt, OpenHolder<'_>)> {
        self.commands.iter().map(|(command, open)| {
            let holder = match &open.holder {
                CommandHolder::Nobody if self.is_blocked(*command) => OpenHolder::Blocked,
                CommandHolder::Nobody => OpenHolder::Nobody,
                CommandHolder::Worker { worker, .. } => OpenHolder::Worker(worker),
                CommandHolder::Child { .. } => OpenHolder::Child,
                CommandHolder::Callback { .. } => OpenHolder::Callback,
                CommandHolder::Wait { .. } | CommandHolder::Approval { .. } => OpenHolder::Wait,
            };
            (*command, open.attempt(), holder)
        })
    }

    /// Returns the open timers with their due times.
    pub fn open_timers(&self) -> impl Iterator<Item = (TimerId, Timestamp)> {
        self.timers.iter().map(|(timer, open)| (*timer, open.due_at))
    }

    /// Returns the summary, the row stored beside the events.
    pub fn summary(&self) -> Summary {
        let parent = match self.origin {
            Origin::Request | Origin::Schedule { .. } | Origin::Rerun { .. } => None,
            Origin::Parent { execution, command, .. } => Some(Parent::of(execution, Some(command))),
            Origin::Linked { execution, .. } => Some(Parent::of(execution, None)),
        };
        Summary {
            execution: self.id,
            playbook: self.playbook.clone(),
            status: self.status,
            seq: self.seq,
            started_at: self.started_at,
            ended_at: self.ended_at,
            parent,
            current_step: self.current.clone(),
            steps: self.counts,
            items: self.runs.values().fold(self.items, |items, run| items.and(run.items())),
            error: self.error.clone(),
            head: Some(self.head),
            fork: self.fork,
            labels: (*self.labels).clone(),
            actor: self.actor.clone(),
        }
    }

    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Returns the progress of the tasks of an open run, or of an open item of its loop.
    pub(crate) fn pipeline(&self, run: RunId, item: Option<u64>) -> Option<&Pipeline> {
        match (&self.runs.get(&run)?.body, item) {
            (RunBody::Tasks(pipeline), _) => Some(pipeline),
            (RunBody::Loop(repeat), Some(index)) => {
                repeat.open.get(&index).map(|item| &item.pipeline)
            }
            (RunBody::Loop(_), None) => None,
        }
    }
}
