//! Slots: a command, or a whole execution, that may not start before a limit grants it.
//!
//! The limit itself is outside: an execution asks for a slot with an event, and is told of the grant
//! by an input. An execution holds its slots until the command or the execution ends.

use std::time::Duration;

use noetl_model::{
    ChildExecutions, CommandId, ErrorKind, Event, LimitAmount, LimitDefinition, LimitName,
    OnConflict, TimerPurpose, ToolError,
};
use noetl_playbook::Concurrency;
use serde_json::Value;

use super::draft::{Attempted, DecisionDraft, settled};
use super::halt::Halt;
use super::refused;
use crate::{Decision, Refusal};

/// The interval at which an execution that has not begun asks for its slot again. It is long because
/// each time adds events; a lost request is found sooner by the index entry of the execution.
const HELD_START_CHECK: Duration = Duration::from_secs(30 * 86_400);

/// Records that a limit has granted a slot.
pub(super) fn granted(
    mut draft: DecisionDraft<'_>,
    command: Option<CommandId>,
    limit: &LimitName,
) -> Result<Decision, Halt> {
    match draft.state.slot(command) {
        Some(slot) if slot.limit.name == *limit => {
            if slot.granted_at.is_none() {
                draft.emit(Event::SlotGranted { command, limit: limit.clone() });
                draft.begin_if_due()?;
            }
            Ok(Decision::Accepted(draft.into_events()))
        }
        Some(_) | None => Ok(refused(Refusal::SlotNotAwaited(limit.clone()))),
    }
}

/// Ends an execution that finds no free slot and does not want to wait.
pub(super) fn denied(mut draft: DecisionDraft<'_>, limit: &LimitName, holders: u64) -> Decision {
    let awaited = draft.state.own_slot.as_ref();
    let awaited = awaited.filter(|slot| slot.limit.name == *limit && slot.granted_at.is_none());
    let Some(slot) = awaited else {
        return refused(Refusal::SlotNotAwaited(limit.clone()));
    };
    let held = match holders {
        1 => "1 execution holds".to_owned(),
        count => format!("{count} executions hold"),
    };
    let reason = format!("{held} all slots of limit `{limit}`");
    match slot.on_conflict {
        OnConflict::Skip => draft.cancel(
            &format!("{reason}; skipped (`on_conflict: skip`)"),
            ChildExecutions::Cancelled,
            None,
        ),
        OnConflict::Fail => {
            draft.fail_execution(ToolError::new(ErrorKind::Limit, reason), None);
            Decision::Accepted(draft.into_events())
        }
        OnConflict::Queue | OnConflict::CancelRunning => Decision::Accepted(Vec::new()),
    }
}

impl DecisionDraft<'_> {
    /// Begins a new execution, or asks for the slot that it needs first.
    pub(super) fn open_start(&mut self) -> Result<(), Halt> {
        if let Some(concurrency) = &self.given.playbook.concurrency {
            match self.own_limit(concurrency)? {
                Ok(limit) => {
                    let on_conflict = concurrency.on_conflict;
                    self.emit(Event::SlotRequested { command: None, limit, on_conflict });
                }
                Err(error) => {
                    self.fail_execution(error, None);
                    return Ok(());
                }
            }
        }
        if self.state.may_begin() {
            return self.begin();
        }
        self.set_timer(HELD_START_CHECK, TimerPurpose::HeldStart);
        Ok(())
    }

    /// Begins an execution that was held, once nothing holds it any more.
    pub(super) fn begin_if_due(&mut self) -> Result<(), Halt> {
        if !self.state.may_begin() {
            return Ok(());
        }
        self.cancel_timers(|purpose| *purpose == TimerPurpose::HeldStart);
        self.begin()
    }

    /// Asks for the slot of the execution again, in case that the request was lost.
    pub(super) fn check_held_start(&mut self) -> Result<(), Halt> {
        if self.state.may_begin() {
            return self.begin();
        }
        if self.state.has_begun() {
            return Ok(());
        }
        if let Some(slot) = self.state.own_slot.clone().filter(|slot| slot.granted_at.is_none()) {
            let (limit, on_conflict) = (slot.limit, slot.on_conflict);
            self.emit(Event::SlotRequested { command: None, limit, on_conflict });
        }
        self.set_timer(HELD_START_CHECK, TimerPurpose::HeldStart);
        Ok(())
    }

    /// Returns the limit on the executions of the playbook that share this one's key.
    fn own_limit(&self, concurrency: &Concurrency) -> Result<Attempted<LimitDefinition>, Halt> {
        let key = match &concurrency.key {
            None => None,
            Some(template) => match settled(self.scope().render("`concurrency.key`", template))? {
                Ok(Value::String(text)) => Some(text),
                Ok(Value::Null) => None,
                Ok(
                    other
                    @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)),
                ) => Some(other.to_string()),
                Err(error) => return Ok(Err(error)),
            },
        };
        let name = LimitName::of_playbook(&self.state.playbook.path, key.as_deref());
        Ok(Ok(LimitDefinition { name, amount: LimitAmount::Slots { max: concurrency.limit } }))
    }

    /// Asks for a slot for the command that is issued next.
    pub(super) fn request_slot(&mut self, limit: Option<&LimitDefinition>) {
        if let Some(limit) = limit {
            let command = Some(CommandId(self.state.drawn.commands));
            let (limit, on_conflict) = (limit.clone(), OnConflict::Queue);
            self.emit(Event::SlotRequested { command, limit, on_conflict });
        }
    }
}
