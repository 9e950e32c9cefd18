//! The effects of events outside the execution. Every effect is derived from an event.

use std::time::Duration;

use std::collections::BTreeSet;

use noetl_model::{
    Actor, Attempt, ChildExecutions, CommandId, ErrorKind, Event, ExecutionId, ExecutionStatus,
    IndexChange, IndexEntry, IndexKey, IndexKind, LimitAmount, LimitDefinition, LimitName, Message,
    OnConflict, Origin, Payload, Pool, Priority, Recorded, SignalKey, SignalName, StepName,
    TimerId, Timestamp, ToolError, ToolKind, WaitCondition, WorkerId, indexed_words,
    word_index_entry,
};

use crate::Execution;
use crate::approval::APPROVAL_INDEX_KEY;
use crate::state::{CacheableOutput, CommandHolder, Pipeline};

/// A change outside the execution's own state, written in the event's transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Enqueue {
        command: CommandId,
        pool: Pool,
        step: StepName,
        priority: Priority,
        /// True if no worker may claim the command yet.
        is_parked: bool,
    },
    Lease {
        command: CommandId,
        attempt: Attempt,
        worker: WorkerId,
        lease: Duration,
    },
    /// The command waits for its child, its callback, a time, a signal or a person, not for a
    /// worker.
    Park {
        command: CommandId,
    },
    /// A parked command that no worker has claimed can be claimed from now on.
    Unpark {
        command: CommandId,
    },
    /// The command is removed from the queue if the lease of this attempt has expired.
    Expire {
        command: CommandId,
        attempt: Attempt,
    },
    Dequeue {
        command: CommandId,
    },
    SetTimer {
        timer: TimerId,
        due_at: Timestamp,
    },
    DropTimer {
        timer: TimerId,
    },
    Send(Message),
    /// The entries of the execution in the index change.
    Index(IndexChange),
}

/// Returns the effects of an event, given the execution before it (for the first event: after it).
#[allow(clippy::too_many_lines, reason = "one short arm per event")]
pub fn effects_of(before: &Execution, recorded: &Recorded) -> Vec<Effect> {
    match &recorded.event {
        Event::CommandIssued { .. } => issued(before, recorded),
        Event::CommandClaimed { command, attempt, worker, lease_until, after: _ } => {
            let lease = Effect::Lease {
                command: *command,
                attempt: *attempt,
                worker: worker.clone(),
                // A duration, not an end: the store compares leases with its own clock.
                lease: lease_until.since(recorded.at),
            };
            [lease].into_iter().chain(begun(before, *command)).collect()
        }
        Event::CommandCompleted { command, .. } => {
            let dequeued = [Effect::Dequeue { command: *command }].into_iter();
            dequeued
                .chain(closed_wait(before, *command))
                .chain(released(before, Some(*command)))
                .collect()
        }
        Event::CommandFailed { command, attempt, error, .. } => {
            let given_up = given_up(before, *command, error);
            let failed = [failed(before, *command, *attempt)].into_iter().chain(given_up);
            let closed = closed_wait(before, *command);
            failed.chain(closed).chain(released(before, Some(*command))).collect()
        }
        Event::CommandCancelled { command, reason, below } => {
            cancelled(before, *command, reason, *below)
        }
        Event::ChildStarted { command, child } => child_started(before, *command, *child),
        Event::CommandParked { command, .. } => {
            vec![Effect::Park { command: *command }]
        }
        Event::WaitOpened { command, condition, .. } => {
            let entry = signal_entry(*command, condition);
            let mut effects = opened_wait(*command, entry, recorded.at);
            effects.extend(awaited(condition));
            effects
        }
        Event::ApprovalRequested { command, .. } => {
            opened_wait(*command, Some(approval_entry(*command)), recorded.at)
        }
        Event::ExecutionPaused { .. }
        | Event::ExecutionResumed { .. }
        | Event::SlotRequested { .. }
        | Event::SlotGranted { .. } => hold_changed(before, recorded),
        Event::TimerSet { timer, due_at, .. } => {
            vec![Effect::SetTimer { timer: *timer, due_at: *due_at }]
        }
        Event::TimerFired { timer } | Event::TimerCancelled { timer } => {
            vec![Effect::DropTimer { timer: *timer }]
        }
        Event::ExecutionCompleted { output, .. } => {
            let status = ExecutionStatus::Completed;
            ended(before, (status, recorded.at), output.clone(), None)
        }
        Event::ExecutionFailed { error, .. } => {
            let status = ExecutionStatus::Failed;
            ended(before, (status, recorded.at), Payload::null(), Some(error.clone()))
        }
        Event::ExecutionCancelled { reason, below, .. } => {
            execution_cancelled(before, recorded.at, reason, *below)
        }
        Event::NotificationRequested { reason, document, target, problems: _ } => {
            let depth = before.notice.as_ref().map_or(0, |notice| notice.depth) + 1;
            vec![Effect::Send(Message::Notification {
                event: recorded.seq,
                reason: *reason,
                document: document.clone(),
                depth,
                target: target.clone(),
            })]
        }
        Event::ExecutionStarted { actor, .. } | Event::ExecutionForked { actor, .. } => {
            let entries = properties_at(before, actor.as_ref(), ExecutionStatus::Running);
            entries
                .map(|entry| Effect::Index(IndexChange::Add { entry, at: recorded.at }))
                .collect()
        }
        Event::IterationCompleted { run, index, error: None, .. } => {
            cached_outputs(before.pipeline(*run, Some(*index)))
        }
        Event::StepCompleted { run, .. } => cached_outputs(before.pipeline(*run, None)),
        Event::IterationCompleted { error: Some(_), .. }
        | Event::StepEntered { .. }
        | Event::StepSkipped { .. }
        | Event::StepAwaited { .. }
        | Event::LoopOpened { .. }
        | Event::FrameOpened { .. }
        | Event::IterationFailed { .. }
        | Event::AttemptSuperseded { .. }
        | Event::ContextUpdated { .. }
        | Event::StepFailed { .. }
        | Event::SignalReceived { .. }
        | Event::SignalDelivered { .. }
        | Event::ApprovalDecided { .. }
        | Event::ExecutionLate { .. }
        | Event::ExecutionStalled { .. }
        | Event::Reported { .. } => Vec::new(),
        Event::ExecutionRewound { .. } => lost_requests(before),
    }
}

/// Returns the index entries of the outputs that other executions may reuse.
fn cached_outputs(done: Option<&Pipeline>) -> Vec<Effect> {
    let results = done.into_iter().flat_map(|done| done.results.values());
    let cached = results.filter_map(|result| result.cached);
    cached
        .map(|CacheableOutput { key, command, at }| {
            Effect::Index(IndexChange::Add { entry: key.index_entry(command), at })
        })
        .collect()
}

/// Returns the effects of a wait that something outside can end: it is parked, and found by its index
/// entry.
fn opened_wait(command: CommandId, entry: Option<IndexEntry>, at: Timestamp) -> Vec<Effect> {
    let add = entry.map(|entry| Effect::Index(IndexChange::Add { entry, at }));
    [Effect::Park { command }].into_iter().chain(add).collect()
}

/// Returns the removal of the index entry of a wait that ends.
fn closed_wait(before: &Execution, command: CommandId) -> Option<Effect> {
    let entry = match &before.commands.get(&command)?.holder {
        CommandHolder::Wait { condition, .. } => signal_entry(command, condition)?,
        CommandHolder::Approval { .. } => approval_entry(command),
        CommandHolder::Nobody
        | CommandHolder::Worker { .. }
        | CommandHolder::Child { .. }
        | CommandHolder::Callback { .. } => return None,
    };
    Some(Effect::Index(IndexChange::Remove { entry }))
}

fn signal_entry(command: CommandId, condition: &WaitCondition) -> Option<IndexEntry> {
    match condition {
        WaitCondition::Time { .. } => None,
        WaitCondition::Signal { name, key } => {
            let (kind, command) = (IndexKind::Signal, Some(command));
            Some(IndexEntry { kind, key: signal_index_key(name, key.as_ref()), command })
        }
    }
}

/// Returns the message that a wait with a correlation key has opened: signals may be kept for it.
fn awaited(condition: &WaitCondition) -> Option<Effect> {
    match condition {
        WaitCondition::Signal { name, key: Some(key) } => {
            let (name, key) = (name.clone(), key.clone());
            Some(Effect::Send(Message::SignalAwaited { name, key }))
        }
        WaitCondition::Signal { key: None, .. } | WaitCondition::Time { .. } => None,
    }
}

/// Returns the index key of the waits for a signal.
pub fn signal_index_key(name: &SignalName, key: Option<&SignalKey>) -> IndexKey {
    // The name of a signal has no space.
    match key {
        Some(key) => IndexKey::new(format!("{name} {key}")),
        None => IndexKey::new(name.as_str()),
    }
}

fn approval_entry(command: CommandId) -> IndexEntry {
    IndexEntry::new(IndexKind::Approval, APPROVAL_INDEX_KEY, Some(command))
}

/// Returns the effects of an issued command: it is enqueued, and a worker is told unless something
/// holds the command back.
fn issued(before: &Execution, recorded: &Recorded) -> Vec<Effect> {
    let Event::CommandIssued { command, task, step, pool, tool, cache, .. } = &recorded.event
    else {
        return Vec::new();
    };
    let (command, pool, step) = (*command, pool.clone(), step.clone());
    // No worker is told of a wait: the control plane opens it in the same decision.
    let is_wait = matches!(tool, ToolKind::Wait | ToolKind::Approval);
    // A command that reuses an output ends in the same decision.
    let is_reused = cache.as_ref().is_some_and(|cache| cache.reused.is_some());
    let is_parked = is_wait || is_reused || before.is_blocked(command);
    let ready = Message::CommandReady {
        pool: pool.clone(),
        command,
        event_id: recorded.event_id,
        step: step.clone(),
        item: task.place.item(),
        trace: before.trace.clone(),
    };
    let ready = (!is_parked).then_some(Effect::Send(ready));
    let added = Effect::Enqueue { command, pool, step, priority: before.priority, is_parked };
    [added].into_iter().chain(ready).collect()
}

/// Returns the effects of a started child. A child that was on its way when the execution was paused
/// is paused too.
fn child_started(before: &Execution, command: CommandId, child: ExecutionId) -> Vec<Effect> {
    let pause = before.paused.as_ref().map(|pause| {
        let (actor, reason) = (pause.actor.clone(), pause.reason.clone());
        Effect::Send(Message::PauseChild { child, actor, reason })
    });
    [Effect::Park { command }].into_iter().chain(pause).chain(begun(before, command)).collect()
}

/// Returns the release of a slot of a rate, which a command holds until it begins.
fn begun(before: &Execution, command: CommandId) -> Option<Effect> {
    let slot = before.counted_slot(Some(command))?;
    let limit = slot.limit.name.clone();
    match slot.limit.amount {
        LimitAmount::Rate { .. } => {
            Some(Effect::Send(Message::ReleaseSlot { command: Some(command), limit }))
        }
        LimitAmount::Slots { .. } => None,
    }
}

/// Returns the effects of an event of a pause or a slot; other events have none here.
fn hold_changed(before: &Execution, recorded: &Recorded) -> Vec<Effect> {
    let event = &recorded.event;
    if let Event::ExecutionPaused { actor, reason, scope: _ } = event {
        return paused(before, actor.as_ref(), reason.as_ref());
    }
    if let Event::ExecutionResumed { actor, reason } = event {
        return resumed(before, actor.as_ref(), reason.as_ref());
    }
    if let Event::SlotRequested { command, limit, on_conflict } = event {
        // A repeated request keeps its place.
        let at = before.slot(*command).map_or(recorded.at, |slot| slot.asked_at);
        let entry = slot_entry(*command, &limit.name);
        let add = Effect::Index(IndexChange::Add { entry, at });
        return vec![slot_request(before, *command, limit, (*on_conflict, at)), add];
    }
    if let Event::SlotGranted { command, limit } = event {
        let entry = slot_entry(*command, limit);
        let mut effects = vec![Effect::Index(IndexChange::Remove { entry })];
        if let Some(command) = command.filter(|_| before.paused.is_none()) {
            effects.extend(unparked(before, command));
        }
        return effects;
    }
    Vec::new()
}

/// Returns the requests for the slots that an execution awaits: its log has lost events, and its limits
/// may have lost requests.
fn lost_requests(before: &Execution) -> Vec<Effect> {
    let awaited = before.slots().filter(|(_, slot)| slot.granted_at.is_none());
    awaited
        .map(|(command, slot)| {
            slot_request(before, command, &slot.limit, (slot.on_conflict, slot.asked_at))
        })
        .collect()
}

/// Returns the index entry of a command, or of the execution itself, that waits for a slot.
fn slot_entry(command: Option<CommandId>, limit: &LimitName) -> IndexEntry {
    IndexEntry::new(IndexKind::AwaitedSlot, limit.as_str(), command)
}

fn slot_request(
    before: &Execution,
    command: Option<CommandId>,
    limit: &LimitDefinition,
    (on_conflict, at): (OnConflict, Timestamp),
) -> Effect {
    Effect::Send(Message::RequestSlot {
        command,
        limit: limit.clone(),
        on_conflict,
        priority: before.priority,
        defined_by: before.playbook.catalog_id,
        at,
    })
}

/// Returns the effects of a pause: commands that no worker holds are parked, children are paused.
fn paused(before: &Execution, actor: Option<&String>, reason: Option<&String>) -> Vec<Effect> {
    let effects = before.commands.iter().filter_map(|(command, open)| match &open.holder {
        CommandHolder::Nobody if before.awaits_slot(*command) => None,
        CommandHolder::Nobody => Some(Effect::Park { command: *command }),
        CommandHolder::Child { execution: child, .. } => Some(Effect::Send(Message::PauseChild {
            child: *child,
            actor: actor.cloned(),
            reason: reason.cloned(),
        })),
        CommandHolder::Worker { .. }
        | CommandHolder::Callback { .. }
        | CommandHolder::Wait { .. }
        | CommandHolder::Approval { .. } => None,
    });
    effects.collect()
}

/// Returns the effects of the end of a pause.
fn resumed(before: &Execution, actor: Option<&String>, reason: Option<&String>) -> Vec<Effect> {
    let effects = before.commands.iter().flat_map(|(command, open)| match &open.holder {
        CommandHolder::Nobody if before.awaits_slot(*command) => Vec::new(),
        CommandHolder::Nobody => unparked(before, *command),
        CommandHolder::Child { execution: child, .. } => {
            let (child, actor, reason) = (*child, actor.cloned(), reason.cloned());
            vec![Effect::Send(Message::ResumeChild { child, actor, reason })]
        }
        CommandHolder::Worker { .. }
        | CommandHolder::Callback { .. }
        | CommandHolder::Wait { .. }
        | CommandHolder::Approval { .. } => Vec::new(),
    });
    effects.collect()
}

/// Returns the effects of making a parked command available to workers.
fn unparked(before: &Execution, command: CommandId) -> Vec<Effect> {
    let Some(open) = before.commands.get(&command) else { return Vec::new() };
    let pool = open.pool.clone();
    vec![Effect::Unpark { command }, Effect::Send(Message::CommandUnparked { command, pool })]
}

/// Returns the release of a slot, or the withdrawal of its request.
fn released(before: &Execution, command: Option<CommandId>) -> impl Iterator<Item = Effect> {
    let slot = before.counted_slot(command);
    let message = slot
        .map(|slot| Effect::Send(Message::ReleaseSlot { command, limit: slot.limit.name.clone() }));
    let entry = slot.filter(|slot| slot.granted_at.is_none()).map(|slot| {
        let entry = slot_entry(command, &slot.limit.name);
        Effect::Index(IndexChange::Remove { entry })
    });
    message.into_iter().chain(entry)
}

/// Returns the effects of a cancellation: the parent is notified, and executions started below
/// without being waited for are cancelled too unless they are spared.
fn execution_cancelled(
    before: &Execution,
    at: Timestamp,
    reason: &str,
    below: ChildExecutions,
) -> Vec<Effect> {
    let error = ToolError::new(ErrorKind::Child, format!("cancelled: {reason}"));
    let status = (ExecutionStatus::Cancelled, at);
    let mut effects = ended(before, status, Payload::null(), Some(error));
    match below {
        ChildExecutions::Cancelled => {
            effects.push(Effect::Send(Message::CancelLinked { reason: reason.to_owned() }));
        }
        ChildExecutions::Kept => {}
    }
    effects
}

/// Returns the queue effect of a failed command. If its worker did not report the failure, the
/// command is removed only if its lease has expired by the store's clock.
fn failed(before: &Execution, command: CommandId, attempt: Attempt) -> Effect {
    match before.commands.get(&command).map(|open| &open.holder) {
        Some(CommandHolder::Worker { attempt: held, .. }) if *held != attempt => {
            Effect::Expire { command, attempt: *held }
        }
        Some(
            CommandHolder::Worker { .. }
            | CommandHolder::Nobody
            | CommandHolder::Child { .. }
            | CommandHolder::Callback { .. }
            | CommandHolder::Wait { .. }
            | CommandHolder::Approval { .. },
        )
        | None => Effect::Dequeue { command },
    }
}

/// Returns the cancellation of a child that still runs when its command times out.
fn given_up(before: &Execution, command: CommandId, error: &ToolError) -> Option<Effect> {
    match before.commands.get(&command).map(|open| &open.holder)? {
        CommandHolder::Child { execution: child, .. } if error.kind == ErrorKind::Timeout => {
            let reason = error.message.clone();
            Some(Effect::Send(Message::CancelChild { child: *child, reason }))
        }
        CommandHolder::Child { .. }
        | CommandHolder::Worker { .. }
        | CommandHolder::Callback { .. }
        | CommandHolder::Wait { .. }
        | CommandHolder::Approval { .. }
        | CommandHolder::Nobody => None,
    }
}

/// Returns the effects of a cancelled command: the worker or child that runs it is told to stop.
fn cancelled(
    before: &Execution,
    command: CommandId,
    reason: &str,
    below: ChildExecutions,
) -> Vec<Effect> {
    let mut effects = vec![Effect::Dequeue { command }];
    effects.extend(closed_wait(before, command));
    effects.extend(released(before, Some(command)));
    match before.commands.get(&command).map(|open| &open.holder) {
        Some(CommandHolder::Worker { .. }) => {
            effects.push(Effect::Send(Message::CommandCancelled { command }));
        }
        Some(CommandHolder::Child { execution: child, .. }) => match below {
            ChildExecutions::Cancelled => {
                let reason = reason.to_owned();
                effects.push(Effect::Send(Message::CancelChild { child: *child, reason }));
            }
            ChildExecutions::Kept => {}
        },
        // Nothing can stop a job that runs elsewhere.
        Some(
            CommandHolder::Nobody
            | CommandHolder::Callback { .. }
            | CommandHolder::Wait { .. }
            | CommandHolder::Approval { .. },
        )
        | None => {}
    }
    effects
}

/// Returns the index entries of the labels, the words of their values and the actor of an execution with a
/// status.
fn properties_at(
    execution: &Execution,
    actor: Option<&Actor>,
    status: ExecutionStatus,
) -> impl Iterator<Item = IndexEntry> {
    let labels = execution.labels.iter().map(move |label| label.index_entry(status));
    let words: BTreeSet<String> =
        execution.labels.iter().flat_map(|label| indexed_words(label.value())).collect();
    let words = words.into_iter().map(move |word| word_index_entry(&word, status));
    labels.chain(words).chain(actor.map(|actor| actor.index_entry(status)))
}

/// Returns the effects of an execution's end: its timers are dropped, its index entries move to the
/// new status, its parent is notified.
fn ended(
    before: &Execution,
    (status, at): (ExecutionStatus, Timestamp),
    output: Payload,
    error: Option<ToolError>,
) -> Vec<Effect> {
    let mut effects: Vec<Effect> =
        before.timers.keys().map(|timer| Effect::DropTimer { timer: *timer }).collect();
    effects.extend(before.slots().flat_map(|(command, _)| released(before, command)));
    let actor = before.actor.as_ref();
    let old = properties_at(before, actor, before.status);
    effects.extend(old.map(|entry| Effect::Index(IndexChange::Remove { entry })));
    let new = properties_at(before, actor, status);
    // The message of a cancellation has its reason.
    let message = error.as_ref().map(|error| indexed_words(&error.message)).unwrap_or_default();
    let message = message.iter().map(|word| word_index_entry(word, status));
    let added = new.chain(message);
    effects.extend(added.map(|entry| Effect::Index(IndexChange::Add { entry, at })));
    match before.origin {
        Origin::Request
        | Origin::Linked { .. }
        | Origin::Schedule { .. }
        | Origin::Rerun { .. } => {}
        Origin::Parent { execution: parent, command, .. } => {
            effects.push(Effect::Send(Message::ChildEnded {
                parent,
                command,
                status,
                output,
                error,
            }));
        }
    }
    effects
}
