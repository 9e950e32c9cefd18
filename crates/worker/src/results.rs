//! Results that a control plane keeps, for tools that ask for one by reference.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_api::{ControlError, ControlPlane};
use noetl_model::{ErrorKind, PayloadRef, ToolError};
use noetl_tools::{Reference, Results};
use serde_json::Value;

/// What a control plane keeps.
pub struct KeptResults {
    control: Arc<dyn ControlPlane>,
}

impl KeptResults {
    pub fn of(control: Arc<dyn ControlPlane>) -> Self {
        Self { control }
    }
}

#[async_trait]
impl Results for KeptResults {
    async fn fetch(&self, reference: &Reference) -> Result<Arc<Value>, ToolError> {
        let (told, fetched) = match reference {
            // Who asks by content knows its address and not its length, which nobody needs.
            Reference::Content(digest) => {
                let reference = PayloadRef { digest: *digest, size: 0 };
                (digest.to_string(), self.control.payload(&reference).await)
            }
            Reference::Name(name) => (name.clone(), self.control.named_result(name).await),
        };
        fetched.map_err(|error| {
            let kind = match error {
                ControlError::PayloadMissing(_) | ControlError::ResultMissing(_) => {
                    ErrorKind::NotFound
                }
                ControlError::Unavailable(_)
                | ControlError::CredentialMissing(_)
                | ControlError::Refused { .. } => ErrorKind::StorageAccess,
            };
            ToolError::new(kind, format!("cannot fetch the result {told}: {error}"))
        })
    }
}
