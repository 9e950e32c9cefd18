//! Fetches results by reference from the control plane, for tools that ask for one.

use std::sync::Arc;

use async_trait::async_trait;
use noetl_api::{ControlError, ControlPlane};
use noetl_model::{ErrorKind, PayloadRef, ToolError};
use noetl_tools::{Call, ResultReference, ResultSource};
use serde_json::Value;

/// The results that a control plane stores.
pub struct StoredResults {
    control: Arc<dyn ControlPlane>,
}

impl StoredResults {
    pub fn of(control: Arc<dyn ControlPlane>) -> Self {
        Self { control }
    }
}

#[async_trait]
impl ResultSource for StoredResults {
    async fn fetch(
        &self,
        call: &Call,
        reference: &ResultReference,
    ) -> Result<Arc<Value>, ToolError> {
        let (told, fetched) = match reference {
            // A digest alone identifies the payload; the size is not needed.
            ResultReference::Content(digest) => {
                let reference = PayloadRef { digest: *digest, size: 0 };
                (digest.to_string(), self.control.payload(call.held(), &reference).await)
            }
            ResultReference::Name(name) => {
                (name.clone(), self.control.named_result(call.held(), name).await)
            }
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
