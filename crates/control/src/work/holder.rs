//! The holder of a command, answered from the cached state where possible.

use noetl_engine::{HolderStatus, holder_status, lease_of};
use noetl_model::{CommandId, Cutoff, ExecutionId, Lease, WorkerId};

use crate::{Control, LoadError};

impl Control {
    /// Returns the holder of a command. The cached state is used if it names `expected` or if the
    /// command has ended; otherwise the stored state is read.
    pub async fn holder_status(
        &self,
        execution: ExecutionId,
        command: CommandId,
        expected: Option<&WorkerId>,
    ) -> Result<HolderStatus, LoadError> {
        let remembered = holder_status(&self.known_state(execution).await?, command);
        match &remembered {
            HolderStatus::Worker { worker, .. } | HolderStatus::Callback { worker, .. }
                if expected == Some(worker) =>
            {
                Ok(remembered)
            }
            // An ended command stays ended.
            HolderStatus::Ended | HolderStatus::EndedContested => Ok(remembered),
            // Another server may know more.
            HolderStatus::Worker { .. }
            | HolderStatus::Callback { .. }
            | HolderStatus::Nobody
            | HolderStatus::Unknown => {
                Ok(holder_status(&self.state(execution, Cutoff::Latest).await?, command))
            }
        }
    }

    /// Returns the lease of a command that a worker holds.
    pub async fn held_lease(
        &self,
        execution: ExecutionId,
        command: CommandId,
    ) -> Result<Option<Lease>, LoadError> {
        let remembered = self.known_state(execution).await?;
        let playbook = self.playbook_of(&remembered).await?;
        if let Some(lease) = lease_of(&remembered, &playbook, command) {
            return Ok(Some(lease));
        }
        let stored = self.state(execution, Cutoff::Latest).await?;
        Ok(lease_of(&stored, &playbook, command))
    }
}
