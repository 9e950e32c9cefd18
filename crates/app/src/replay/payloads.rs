//! Metadata of the payloads that a replay refers to.

use noetl_compat::{
    PayloadLookup, ReplayState, ResolvedPayloads, digest_named, distinct_payload_mentions,
};
use noetl_store::StoreError;

use crate::app::App;

impl App {
    /// Looks up the payloads that a replay refers to, each once; their values are not included.
    pub async fn resolve_payloads(
        &self,
        state: &ReplayState,
    ) -> Result<ResolvedPayloads, StoreError> {
        let mentions = distinct_payload_mentions(state);
        let mut found = Vec::with_capacity(mentions.list.len());
        for mention in mentions.list {
            let lookup = match digest_named(mention.reference) {
                None => PayloadLookup::Elsewhere,
                Some(digest) => match self.store().payload(&digest).await? {
                    None => PayloadLookup::Deleted,
                    Some(bytes) => PayloadLookup::Stored(bytes),
                },
            };
            found.push(mention.resolved(&lookup));
        }
        Ok(ResolvedPayloads::new(found, mentions.is_truncated))
    }
}
