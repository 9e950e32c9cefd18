//! Turns: leases on work that only one of several processes does at a time.

use std::time::Duration;

use async_trait::async_trait;

use crate::StoreError;

#[async_trait]
pub trait Turns: Send + Sync {
    /// Takes or extends a turn for `lease` from now, by the store's clock. Returns false if another
    /// holder has the turn. A turn that is not extended expires.
    async fn take_turn(
        &self,
        name: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError>;

    /// Gives up a turn, if `holder` has it.
    async fn end_turn(&self, name: &str, holder: &str) -> Result<(), StoreError>;
}
