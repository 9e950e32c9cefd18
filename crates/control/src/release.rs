//! A worker that ends gives back what it has not finished.

use noetl_model::WorkerId;
use noetl_store::StoreError;

use crate::Control;

impl Control {
    /// Ends every lease of a worker now, so that others need not wait for it to run out; how many
    /// there were. Each command is then leased again, with the next attempt.
    pub async fn release(&self, worker: &WorkerId) -> Result<u64, StoreError> {
        let released = self.parts.store.release(worker).await?;
        if released > 0 {
            self.parts.lookouts.clear();
            tracing::info!(%worker, released, "commands given back");
        }
        Ok(released)
    }
}
