//! The fold of pauses and of slots: what holds an execution or its commands back.

use noetl_model::{CommandId, Event, LimitName, Timestamp};

use crate::Execution;
use crate::state::{LimitSlot, Pause};

impl Execution {
    /// Folds an event of a pause or a slot; other events change nothing.
    pub(super) fn hold_changed(&mut self, event: &Event, at: Timestamp) -> Result<(), String> {
        if let Event::ExecutionPaused { scope, actor, reason } = event {
            if self.paused.is_some() {
                return Err("the execution is paused already".to_owned());
            }
            let (actor, reason) = (actor.clone(), reason.clone());
            self.paused = Some(Pause { scope: *scope, actor, reason, seq: self.seq, since: at });
        }
        if let Event::ExecutionResumed { .. } = event {
            self.paused.take().ok_or("the execution is not paused")?;
        }
        if let Event::SlotRequested { command, limit, on_conflict } = event {
            let slot = LimitSlot {
                limit: limit.clone(),
                on_conflict: *on_conflict,
                asked: self.seq,
                asked_at: at,
                granted: None,
                granted_at: None,
            };
            self.slot_requested(*command, slot)?;
        }
        if let Event::SlotGranted { command, limit } = event {
            self.slot_granted(*command, limit, at)?;
        }
        Ok(())
    }

    fn slot_requested(
        &mut self,
        command: Option<CommandId>,
        slot: LimitSlot,
    ) -> Result<(), String> {
        let Some(command) = command else {
            // A repeated request keeps its place.
            match &self.own_slot {
                Some(known)
                    if known.granted_at.is_some() || known.limit.name != slot.limit.name =>
                {
                    return Err(format!("the execution holds limit `{}`", known.limit.name));
                }
                Some(_) => {}
                None => self.own_slot = Some(slot),
            }
            return Ok(());
        };
        if command.0 != self.drawn.commands {
            return Err(format!("command {} is next", self.drawn.commands));
        }
        self.slots.insert(command, slot);
        Ok(())
    }

    fn slot_granted(
        &mut self,
        command: Option<CommandId>,
        limit: &LimitName,
        at: Timestamp,
    ) -> Result<(), String> {
        let seq = self.seq;
        let slot = match command {
            Some(command) => self.slots.get_mut(&command),
            None => self.own_slot.as_mut(),
        };
        match slot.filter(|slot| slot.limit.name == *limit && slot.granted_at.is_none()) {
            Some(slot) => {
                (slot.granted, slot.granted_at) = (Some(seq), Some(at));
                Ok(())
            }
            None => Err(format!("no slot of limit `{limit}` is awaited")),
        }
    }
}
