//! Saving a snapshot on request.

use noetl_model::{Cutoff, EventId, ExecutionId, Seq};

use crate::Control;
use crate::error::{Damage, LoadError};
use crate::state::snapshot;

/// The extent of a saved snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advanced {
    /// The last event included.
    pub last: EventId,
    /// The number of events included.
    pub events: u64,
}

impl Control {
    /// Folds an execution up to its last event and saves a snapshot before returning.
    pub async fn advance_projection(&self, execution: ExecutionId) -> Result<Advanced, LoadError> {
        let state = self.state(execution, Cutoff::Latest).await?;
        let seq = state.seq();
        let page = self.read_page(execution, Seq(seq.0.saturating_sub(1))).await?;
        let last = page.iter().find(|recorded| recorded.seq == seq);
        let last = last.ok_or(LoadError::damaged(execution, Damage::NoStart))?.event_id;
        let unsaved = |error: noetl_store::StoreError| LoadError::of_store(execution, error);
        match snapshot::encode(&state) {
            Ok(snapshot) => self.parts.store.save(execution, &snapshot).await.map_err(unsaved)?,
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::error!(error, %execution, "state has no stored form");
            }
        }
        Ok(Advanced { last, events: seq.0 })
    }
}
