//! Looking up cached outputs: the newest completed command with a cache key.
//!
//! The cache is an index of the log: an entry names the command, and the output is read from the
//! event that completed it. What is no longer in the log cannot be reused. A large output is stored
//! for the reusing execution too, so that it outlives the execution that produced it.

use std::sync::Arc;

use noetl_engine::{CachedOutput, OutputLookup};
use noetl_model::{
    CommandId, Event, ExecutionId, IndexKey, IndexKind, PAYLOAD_MAX, Payload, PayloadRef, Recorded,
    ReusedOutput, Seq, Timestamp,
};
use noetl_store::{IndexOrder, IndexPage, IndexRow};

use crate::error::LoadError;
use crate::state::payloads::Large;
use crate::submit::needs::Fetched;
use crate::{Control, PayloadError};

/// The number of entries of a key that are looked at, of the executions that started last.
const ENTRIES_MAX: usize = 16;

/// The number of events that are read at once when the end of a command is looked for. Many events
/// can have the same time.
const EVENTS_MAX: usize = 256;

/// The total length of the large outputs that one append stores again for its execution. A command
/// whose output would exceed it runs.
const REUSED_BYTES_MAX: usize = PAYLOAD_MAX;

impl Control {
    /// Returns the newest output with a cache key that is young enough. A large one is added to the
    /// values that are stored with the event that refers to it.
    pub(crate) async fn cached_output(
        &self,
        execution: ExecutionId,
        lookup: OutputLookup,
        fetched: &mut Fetched,
    ) -> Result<Option<CachedOutput>, LoadError> {
        let key = IndexKey::new(lookup.key.0.to_string());
        let page = IndexPage { order: IndexOrder::NewestFirst, after: None, limit: ENTRIES_MAX };
        let rows = self.parts.store.indexed(IndexKind::CachedOutput, &key, page).await;
        let rows = rows.map_err(|error| LoadError::of_store(execution, error))?;
        let now = self.parts.stamps.now();
        let mut young: Vec<IndexRow> =
            rows.into_iter().filter(|row| now < row.at.after(lookup.ttl)).collect();
        young.sort_by_key(|row| std::cmp::Reverse(row.at));
        for row in young {
            let Some(command) = row.entry.command else { continue };
            if let Some(output) = self.output_of(row.execution, command, row.at).await?
                && self.keep_reused(execution, &output, fetched).await?
            {
                let origin =
                    ReusedOutput { execution: row.execution, command, completed_at: row.at };
                return Ok(Some(CachedOutput { origin, output }));
            }
        }
        Ok(None)
    }

    /// Adds the bytes of a large output to the values to be stored. Returns false if the output
    /// cannot be kept: it is gone with its execution, or the append would become too large.
    async fn keep_reused(
        &self,
        execution: ExecutionId,
        output: &Payload,
        fetched: &mut Fetched,
    ) -> Result<bool, LoadError> {
        let Payload::Ref(PayloadRef { digest, .. }) = output else { return Ok(true) };
        if fetched.made.contains_key(digest) {
            return Ok(true);
        }
        let bytes = match self.payload_bytes(*digest).await {
            Ok(bytes) => bytes,
            Err(PayloadError::Missing(_)) => return Ok(false),
            Err(error @ (PayloadError::Damaged(_) | PayloadError::Unavailable(_))) => {
                return Err(LoadError::of_payload(execution, error));
            }
        };
        let kept: usize = fetched.made.values().map(|made| made.bytes.len()).sum();
        if kept + bytes.len() > REUSED_BYTES_MAX {
            return Ok(false);
        }
        fetched.made.insert(*digest, Arc::new(Large::of_bytes(bytes)));
        Ok(true)
    }

    /// Returns the output of a command that completed at a time; `None` if the log does not have it.
    async fn output_of(
        &self,
        execution: ExecutionId,
        command: CommandId,
        at: Timestamp,
    ) -> Result<Option<Payload>, LoadError> {
        let mut read = self.last_before(execution, at).await?;
        loop {
            let page = self.read_some(execution, read, EVENTS_MAX).await?;
            let Some(last) = page.last() else { return Ok(None) };
            read = last.seq;
            for Recorded { event, at: recorded_at, .. } in page {
                if recorded_at > at {
                    return Ok(None);
                }
                if let Event::CommandCompleted { command: ended, output, .. } = event
                    && ended == command
                {
                    return Ok(Some(output));
                }
            }
        }
    }

    /// Returns the seq of the last event before a time. The times of a log never go back.
    async fn last_before(&self, execution: ExecutionId, at: Timestamp) -> Result<Seq, LoadError> {
        let (mut low, mut high) = (0, 1);
        // Doubles until an event at or after the time is found, then halves.
        while self.is_before(execution, Seq(high), at).await? {
            low = high;
            high *= 2;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.is_before(execution, Seq(middle), at).await? {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(Seq(low))
    }

    /// True if the log has an event with this seq, and it is before a time.
    async fn is_before(
        &self,
        execution: ExecutionId,
        seq: Seq,
        at: Timestamp,
    ) -> Result<bool, LoadError> {
        let found = self.read_some(execution, Seq(seq.0 - 1), 1).await?;
        Ok(found.first().is_some_and(|recorded| recorded.at < at))
    }
}
