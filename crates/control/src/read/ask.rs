//! Questions about a state that was loaded, answered with the stored values that they ask for.

use noetl_engine::{DecisionArgs, Execution, Needs};

use crate::submit::needs::{Fetched, LogPart};
use crate::{Control, LoadError};

impl Control {
    /// Calls `ask` with the playbook of a state, at the time of its last event, until it has all
    /// stored values that it asks for.
    pub async fn ask<T>(
        &self,
        state: &Execution,
        ask: impl Fn(DecisionArgs<'_>) -> Result<T, Needs> + Send + Sync,
    ) -> Result<T, LoadError> {
        let playbook = self.playbook_of(state).await?;
        let log = LogPart::stored(state.id(), state.seq());
        self.satisfy(log, &mut Fetched::default(), |asked| {
            ask(self.given(&playbook, asked, state.last_at()))
        })
        .await
    }
}
