//! Deletes expired data that is stored beside the event log.

use std::time::Duration;

use noetl_model::Timestamp;
use noetl_store::{Horizon, Records, StoreError};
use tokio_util::sync::CancellationToken;

use crate::app::App;

/// Interval between collections.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum number of records of each kind per batch.
const BATCH_MAX: usize = 500;
/// Maximum number of executions whose output is deleted per batch; each may be large.
const LOGS_BATCH_MAX: usize = 10;
/// Maximum number of batches per collection.
const BATCHES_MAX: usize = 100;
/// Time for which an expired keychain secret is still listed as expired.
const EXPIRED_KNOWN: Duration = Duration::from_secs(24 * 60 * 60);
/// Time for which a silent runtime is still listed.
const RUNTIME_KEPT: Duration = Duration::from_secs(60 * 60);
/// Retention of places of the event feed: a reader that is further behind misses events.
const FEED_KEPT: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// Retention of events of schedules, and of deactivated subscriptions.
const HISTORY_KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// Retention of a bulk job after its end.
const BULK_JOB_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Retention of a value without references, so that a reference created meanwhile is in time, and
/// of stored bytes without a record, which may be in the middle of an upload.
const PAYLOAD_KEPT: Duration = Duration::from_secs(60 * 60);

impl App {
    /// Deletes expired records and the files of payloads that nothing refers to.
    pub(crate) async fn collect_records(&self) -> Result<u64, StoreError> {
        let (now, kept) = (self.now(), self.kept_for());
        let mut total = 0;
        for first in 0..=u8::MAX {
            total += self.records().collect_blobs(first, ago(now, PAYLOAD_KEPT)).await?;
        }
        Ok(total + collect(self.records(), now, (0, kept)).await?)
    }

    fn kept_for(&self) -> KeptFor {
        let settings = self.settings();
        KeptFor { logs: settings.logs.kept, audit: settings.audit_kept }
    }

    /// Deletes expired records periodically until `stop`.
    pub async fn clean_up_records(&self, stop: CancellationToken) {
        // Payloads outside the database are scanned by one 256th (first byte of the digest) at a
        // time.
        for first in (0..=u8::MAX).cycle() {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            match collect(self.records(), self.now(), (first, self.kept_for())).await {
                Ok(0) => {}
                Ok(collected) => tracing::debug!(collected, "records collected"),
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, "cannot delete expired records; will retry");
                }
            }
        }
    }
}

/// The retention times that settings say.
#[derive(Debug, Clone, Copy)]
struct KeptFor {
    /// Of the output of steps; `None` for ever.
    logs: Option<Duration>,
    /// Of the audit log, and of the list of accesses to secrets.
    audit: Duration,
}

/// Returns the time `kept` before `now`.
fn ago(now: Timestamp, kept: Duration) -> Timestamp {
    let epoch = Timestamp::from_micros(0);
    epoch.after(now.since(epoch).saturating_sub(kept))
}

async fn collect(
    records: &dyn Records,
    now: Timestamp,
    (first, kept): (u8, KeptFor),
) -> Result<u64, StoreError> {
    let ago = |kept| ago(now, kept);
    let horizon = Horizon {
        expired: now,
        payloads: ago(PAYLOAD_KEPT),
        keychain: ago(EXPIRED_KNOWN),
        runtimes: ago(RUNTIME_KEPT),
        audit: ago(kept.audit),
        feed: ago(FEED_KEPT),
        history: ago(HISTORY_KEPT),
    };
    let mut total = records.collect_blobs(first, ago(PAYLOAD_KEPT)).await?;
    total += records.forget_bulk_jobs(ago(BULK_JOB_KEPT), BATCH_MAX).await?;
    if let Some(logs) = kept.logs {
        total += forget_logs(records, ago(logs)).await?;
    }
    total += forget_audit(records, ago(kept.audit)).await?;
    for _ in 0..BATCHES_MAX {
        let collected = records.collect(&horizon, BATCH_MAX).await?.total();
        total += collected;
        if collected == 0 {
            break;
        }
    }
    Ok(total)
}

/// Deletes old entries from the beginning of the audit log.
async fn forget_audit(records: &dyn Records, before: Timestamp) -> Result<u64, StoreError> {
    let mut total = 0;
    for _ in 0..BATCHES_MAX {
        let forgotten = records.forget_trail(before, BATCH_MAX).await?;
        total += forgotten;
        if forgotten < BATCH_MAX as u64 {
            break;
        }
    }
    Ok(total)
}

/// Deletes the output of executions that have printed nothing since `before`.
async fn forget_logs(records: &dyn Records, before: Timestamp) -> Result<u64, StoreError> {
    let mut total = 0;
    for _ in 0..BATCHES_MAX {
        let forgotten = records.forget_logs(before, LOGS_BATCH_MAX).await?;
        total += forgotten;
        if forgotten < LOGS_BATCH_MAX as u64 {
            break;
        }
    }
    Ok(total)
}
