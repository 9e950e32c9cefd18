//! The fold of approvals.

use std::sync::Arc;

use noetl_model::{ApprovalRequest, CommandId, Timestamp, ToolKind};

use crate::Execution;
use crate::state::{CommandHolder, DECISIONS_MAX, DecidedApproval};

impl Execution {
    pub(super) fn approval_requested(
        &mut self,
        command: CommandId,
        request: &Arc<ApprovalRequest>,
        since: Timestamp,
    ) -> Result<(), String> {
        let opened = self.seq;
        let open = self.command_mut(command)?;
        if open.tool != ToolKind::Approval || open.holder != CommandHolder::Nobody {
            return Err(format!("command {command} is no approval that can be requested"));
        }
        open.holder = CommandHolder::Approval { request: request.clone(), opened, since };
        Ok(())
    }

    pub(super) fn approval_decided(&mut self, command: CommandId) -> Result<(), String> {
        let open = self.command_mut(command)?;
        let (step, item) = (open.step.clone(), open.task.place.item());
        let requested = match open.holder {
            CommandHolder::Approval { opened, .. } => opened,
            CommandHolder::Wait { .. }
            | CommandHolder::Nobody
            | CommandHolder::Worker { .. }
            | CommandHolder::Child { .. }
            | CommandHolder::Callback { .. } => {
                return Err(format!("command {command} does not wait for a decision"));
            }
        };
        if self.decided_approval(command).is_some() {
            return Err(format!("command {command} was decided before"));
        }
        if self.decisions.len() == DECISIONS_MAX {
            self.decisions.pop_front();
        }
        let decided = self.seq;
        self.decisions.push_back(DecidedApproval { command, step, item, requested, decided });
        Ok(())
    }
}
