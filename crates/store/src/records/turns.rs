//! Turns: what only one of several processes does at a time.

use std::time::Duration;

use async_trait::async_trait;

use crate::StoreError;

#[async_trait]
pub trait Turns: Send + Sync {
    /// Takes or keeps a turn for so long from now, by the store's clock; `false` if somebody else
    /// has it. Whoever goes without a word loses it when the time is over.
    async fn take_turn(
        &self,
        name: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError>;

    /// Gives a turn up, if it is the holder's.
    async fn end_turn(&self, name: &str, holder: &str) -> Result<(), StoreError>;
}
