//! Who has a command, answered from the state that is in memory wherever that is enough.

use noetl_engine::{Possession, lease_of, possession};
use noetl_model::{CommandId, Cutoff, ExecutionId, Lease, WorkerId};

use crate::{Control, LoadError};

impl Control {
    /// Who has a command; what is remembered is asked first, and believed if it names `expected`.
    pub async fn possession(
        &self,
        execution: ExecutionId,
        command: CommandId,
        expected: Option<&WorkerId>,
    ) -> Result<Possession, LoadError> {
        let remembered = possession(&self.known_state(execution).await?, command);
        match &remembered {
            Possession::Worker { worker, .. } if expected == Some(worker) => Ok(remembered),
            // What has ended stays so.
            Possession::Ended | Possession::EndedContested => Ok(remembered),
            // Another server may know more.
            Possession::Worker { .. } | Possession::Nobody | Possession::Unknown => {
                Ok(possession(&self.state(execution, Cutoff::Latest).await?, command))
            }
        }
    }

    /// A command as the worker that has it sees it.
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
