//! The check of every start: that the execution may use the credentials which its playbook names.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_engine::Execution;
use noetl_playbook::Playbook;
use noetl_store::StoreError;

use crate::error::LoadError;
use crate::{Control, StartError};

/// Decides whether an execution may be started.
#[async_trait]
pub trait StartGuard: Send + Sync {
    /// Returns the name of a credential that the playbook names and the execution may not use.
    async fn forbidden_credential(
        &self,
        control: &Control,
        state: &Execution,
        playbook: &Playbook,
    ) -> Result<Option<String>, StoreError>;
}

impl Control {
    /// Sets the check of starts; only the first call has an effect.
    pub fn guard_starts_with(&self, guard: Arc<dyn StartGuard>) {
        let _set_before = self.parts.start_guard.set(guard);
    }

    /// Fails if an execution whose first events are decided may not be started.
    pub(crate) async fn check_start(
        &self,
        state: &Execution,
        playbook: &Playbook,
    ) -> Result<(), StartError> {
        let Some(guard) = self.parts.start_guard.get() else { return Ok(()) };
        let forbidden = guard.forbidden_credential(self, state, playbook).await;
        match forbidden.map_err(|error| LoadError::of_store(state.id(), error))? {
            Some(name) => Err(StartError::CredentialNotPermitted(name)),
            None => Ok(()),
        }
    }
}
