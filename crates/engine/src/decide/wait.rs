//! Waits: commands that end at a time or with a signal, without a worker.
//!
//! A signal is recorded when it arrives and kept until a wait of its name takes it, so that it does
//! not matter which of them comes first. Waits of one name take signals in the order of both.

use noetl_model::{
    Actor, Attempt, CommandId, ErrorKind, Event, Payload, SignalKey, SignalName, TimerPurpose,
    ToolError, ToolKind, WaitCondition, WaitTimeout,
};
use serde_json::{Value, json};

use super::draft::DecisionDraft;
use super::halt::Halt;
use super::refused;
use super::task::EndRecord;
use crate::state::{CommandHolder, KeptSignal, SignalReceipt};
use crate::wait::wait_request;
use crate::{CommandResult, Decision, Execution, Refusal};

/// The largest number of signals that are kept for waits to come.
pub const SIGNALS_MAX: usize = 1000;

/// A signal that is sent to an execution.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    pub name: SignalName,
    pub body: Payload,
    /// The name of the caller.
    pub sender: Option<String>,
    /// The idempotency key of the request: a signal with a known key is not recorded again, and refused if
    /// its name or body differs.
    pub key: Option<String>,
    /// The wait that takes a signal sent by correlation key, and that key: the signal is refused if
    /// the wait has ended. Other signals are kept for any wait of their name.
    pub to: Option<(CommandId, SignalKey)>,
    pub actor: Option<Actor>,
}

/// Records a signal, and ends the wait that takes it.
pub(super) fn receive(mut draft: DecisionDraft<'_>, signal: &Signal) -> Result<Decision, Halt> {
    if let Some(repeated) = repeated(&draft.state, signal) {
        return Ok(repeated);
    }
    match &signal.to {
        Some((command, key)) if !is_awaited(&draft.state, *command, &signal.name, key) => {
            return Ok(refused(Refusal::SignalNotAwaited(*command)));
        }
        None if draft.state.kept_signals() >= SIGNALS_MAX => {
            return Ok(refused(Refusal::TooManySignals(SIGNALS_MAX)));
        }
        Some(_) | None => {}
    }
    let Signal { name, body, sender, key, to, actor } = signal.clone();
    let correlation = to.map(|(_, key)| key);
    draft.emit(Event::SignalReceived { name, body, sender, key, correlation, actor });
    draft.advance()?;
    Ok(Decision::Accepted(draft.into_events()))
}

/// Returns the decision about a signal whose idempotency key is known; `None` for other signals.
pub(super) fn repeated(state: &Execution, signal: &Signal) -> Option<Decision> {
    let key = signal.key.as_ref()?;
    let known = state.signal_receipt(key)?;
    Some(if *known == SignalReceipt::new(key, &signal.name, &signal.body) {
        Decision::Accepted(Vec::new())
    } else {
        refused(Refusal::SignalKeyReused(key.clone()))
    })
}

/// True if a command waits for a signal with a name and a correlation key.
fn is_awaited(state: &Execution, command: CommandId, name: &SignalName, key: &SignalKey) -> bool {
    let Some(open) = state.commands.get(&command) else { return false };
    match &open.holder {
        CommandHolder::Wait {
            condition: WaitCondition::Signal { name: awaited, key: of }, ..
        } => awaited == name && of.as_ref() == Some(key),
        CommandHolder::Wait { condition: WaitCondition::Time { .. }, .. }
        | CommandHolder::Nobody
        | CommandHolder::Worker { .. }
        | CommandHolder::Child { .. }
        | CommandHolder::Callback { .. }
        | CommandHolder::Approval { .. } => false,
    }
}

impl DecisionDraft<'_> {
    /// Opens a wait or an approval that was issued, ends a command that does not run, or delivers a
    /// signal to a wait; false if there is nothing to do.
    pub(super) fn advance_wait(&mut self) -> Result<bool, Halt> {
        self.is_in_wait = true;
        // Waits are opened first, so that those of one name take signals in the order of issue.
        let is_advanced = if let Some(command) = self.unopened_waits.pop_front() {
            self.open_wait(command)?;
            true
        } else if let Some((command, ended)) = self.unrun.pop_front() {
            self.end_unrun(command, &ended)?;
            true
        } else if let Some((command, signal)) = next_delivery(&self.state) {
            self.deliver(command, &signal)?;
            true
        } else {
            false
        };
        self.is_in_wait = false;
        Ok(is_advanced)
    }

    fn open_wait(&mut self, command: CommandId) -> Result<(), Halt> {
        // The step may have ended before its wait was opened.
        let Some(open) = self.state.commands.get(&command) else { return Ok(()) };
        if open.tool == ToolKind::Approval {
            return self.open_approval(command);
        }
        let task = open.task;
        let request = match wait_request(&self.state, command, self.given)? {
            Ok(request) => request,
            Err(error) => {
                return self.end_wait(command, CommandResult::Failed { error, output: None });
            }
        };
        let until = match &request.condition {
            WaitCondition::Time { until } => Some(*until),
            WaitCondition::Signal { .. } => None,
        };
        let (condition, on_timeout) = (request.condition, request.on_timeout);
        self.emit(Event::WaitOpened { command, condition, on_timeout });
        if let Some(until) = until {
            self.set_timer(until.since(self.given.now), TimerPurpose::WaitEnd { task });
        }
        if let Some(timeout) = request.timeout.or(self.written_timeout(task)) {
            self.set_timer(timeout, TimerPurpose::TaskTimeout { task });
        }
        Ok(())
    }

    fn deliver(&mut self, command: CommandId, signal: &KeptSignal) -> Result<(), Halt> {
        let body = self.loaded(&signal.body)?;
        let mut output = json!({
            "signal": signal.name,
            "body": *body,
            "sender": signal.sender,
            "received_at": signal.at.to_string(),
            "timed_out": false,
        });
        if let Some(actor) = &signal.actor {
            output["actor"] = json!(actor);
        }
        if let Some(key) = &signal.correlation {
            output["key"] = json!(key);
        }
        self.emit(Event::SignalDelivered { command, signal: signal.seq });
        self.end_wait(command, CommandResult::Completed { output: Payload::inline(output) })
    }

    /// Completes a wait whose time has come.
    pub(super) fn wait_ended(&mut self, command: CommandId) -> Result<(), Halt> {
        let at = self.state.event_time(self.given.now);
        let output = json!({ "ended_at": at.to_string(), "timed_out": false });
        self.end_wait(command, CommandResult::Completed { output: Payload::inline(output) })
    }

    /// Ends a wait whose timeout has passed.
    pub(super) fn wait_gave_up(
        &mut self,
        command: CommandId,
        on_timeout: WaitTimeout,
        message: String,
    ) -> Result<(), Halt> {
        let ended = match on_timeout {
            WaitTimeout::Fail => CommandResult::Failed {
                error: ToolError::new(ErrorKind::Timeout, message),
                output: None,
            },
            WaitTimeout::Continue => CommandResult::Completed {
                output: Payload::inline(json!({
                    "signal": Value::Null,
                    "body": Value::Null,
                    "sender": Value::Null,
                    "timed_out": true,
                })),
            },
        };
        self.end_wait(command, ended)
    }

    fn end_wait(&mut self, command: CommandId, ended: CommandResult) -> Result<(), Halt> {
        self.command_ended(command, EndRecord::of(Attempt(1), &ended))
    }
}

/// Returns the oldest signal that a wait takes, and the first wait that takes it.
fn next_delivery(state: &Execution) -> Option<(CommandId, KeptSignal)> {
    if state.signals.is_empty() {
        return None;
    }
    state.signal_waits.iter().find_map(|command| match &state.commands.get(command)?.holder {
        CommandHolder::Wait { condition: WaitCondition::Signal { name, key }, .. } => {
            Some((*command, state.first_signal(name, key.as_ref())?))
        }
        CommandHolder::Wait { condition: WaitCondition::Time { .. }, .. }
        | CommandHolder::Nobody
        | CommandHolder::Worker { .. }
        | CommandHolder::Child { .. }
        | CommandHolder::Callback { .. }
        | CommandHolder::Approval { .. } => None,
    })
}
