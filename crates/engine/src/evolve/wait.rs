//! The fold of waits and signals.

use noetl_model::{CommandId, Event, Seq, Timestamp, ToolKind, WaitCondition, WaitTimeout};

use crate::Execution;
use crate::state::{CommandHolder, KeptSignal, SIGNAL_KEYS_MAX, SignalReceipt};

impl Execution {
    /// Folds an event of a wait or a signal; other events change nothing.
    pub(super) fn wait_changed(&mut self, event: &Event, at: Timestamp) -> Result<(), String> {
        if let Event::WaitOpened { command, condition, on_timeout } = event {
            self.wait_opened(*command, (condition, *on_timeout), at)?;
        }
        if let Event::SignalReceived { name, body, sender, key, correlation, actor } = event {
            if let Some(key) = key {
                self.remember_signal(SignalReceipt::new(key, name, body));
            }
            self.signals.push_back(KeptSignal {
                seq: self.seq,
                at,
                name: name.clone(),
                body: body.clone(),
                sender: sender.clone(),
                actor: actor.clone(),
                correlation: correlation.clone(),
            });
        }
        if let Event::SignalDelivered { command, signal } = event {
            self.signal_delivered(*command, *signal)?;
        }
        Ok(())
    }

    fn wait_opened(
        &mut self,
        command: CommandId,
        (condition, on_timeout): (&WaitCondition, WaitTimeout),
        since: Timestamp,
    ) -> Result<(), String> {
        let opened = self.seq;
        let open = self.command_mut(command)?;
        if open.tool != ToolKind::Wait || open.holder != CommandHolder::Nobody {
            return Err(format!("command {command} is no wait that can be opened"));
        }
        let condition = condition.clone();
        let is_for_signal = matches!(condition, WaitCondition::Signal { .. });
        open.holder = CommandHolder::Wait { condition, on_timeout, opened, since };
        if is_for_signal {
            self.signal_waits.insert(command);
        }
        Ok(())
    }

    /// Remembers a signal with an idempotency key.
    fn remember_signal(&mut self, receipt: SignalReceipt) {
        if self.signal_receipts.len() == SIGNAL_KEYS_MAX {
            self.signal_receipts.pop_front();
        }
        self.signal_receipts.push_back(receipt);
    }

    fn signal_delivered(&mut self, command: CommandId, signal: Seq) -> Result<(), String> {
        let at = self.signals.iter().position(|kept| kept.seq == signal);
        let at = at.ok_or(format!("event {signal} is no signal that is kept"))?;
        let kept = self.signals.remove(at);
        let fork = self.fork.map(|fork| fork.seq);
        let open = self.command_mut(command)?;
        match &open.holder {
            // The fork completes a decision in which the wait of its origin took the signal.
            CommandHolder::Nobody
                if open.tool == ToolKind::Wait && fork.is_some_and(|at| open.issued <= at) =>
            {
                Ok(())
            }
            CommandHolder::Wait { condition: WaitCondition::Signal { name, key }, .. }
                if kept.is_for(name, key.as_ref()) =>
            {
                Ok(())
            }
            CommandHolder::Wait { .. }
            | CommandHolder::Nobody
            | CommandHolder::Worker { .. }
            | CommandHolder::Child { .. }
            | CommandHolder::Callback { .. }
            | CommandHolder::Approval { .. } => {
                Err(format!("command {command} does not wait for signal `{}`", kept.name))
            }
        }
    }
}
