//! Releasing the leases of a worker that shuts down.

use noetl_model::WorkerId;
use noetl_store::StoreError;

use crate::Control;

impl Control {
    /// Ends every lease of a worker, so that its commands can be leased again at once, with the
    /// next attempt. Returns the number of leases.
    pub async fn release(&self, worker: &WorkerId) -> Result<u64, StoreError> {
        let released = self.parts.store.release(worker).await?;
        if released > 0 {
            self.parts.ready_polls.clear();
            tracing::info!(%worker, released, "commands released by their worker");
        }
        Ok(released)
    }
}
