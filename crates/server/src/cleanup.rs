//! The end of what is kept beside the log and has an end.

use std::sync::Arc;
use std::time::Duration;

use noetl_model::Timestamp;
use noetl_store::{Clock, Horizon, Records, StoreError};
use tokio_util::sync::CancellationToken;

/// How often it is looked for what is over.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// How much of each kind is collected at a time.
const BATCH_MAX: usize = 500;
/// How often in a row.
const BATCHES_MAX: usize = 100;
/// How long it is known of a secret of the keychain that it has expired.
const EXPIRED_KNOWN: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a runtime that is silent is listed.
const RUNTIME_KEPT: Duration = Duration::from_secs(60 * 60);
/// How long it is known who asked for a secret.
const AUDIT_KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// For how long a value stays that has lost its last name, so that whoever names it meanwhile is in
/// time; and for how long bytes stay that nothing refers to, which may be on their way.
const PAYLOAD_KEPT: Duration = Duration::from_secs(60 * 60);

/// Collects what is over until `stop`.
pub async fn collect_records(
    records: Arc<dyn Records>,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    // Large values outside of the database are looked through a part at a time.
    for first in (0..=u8::MAX).cycle() {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        match collect(&*records, clock.now(), first).await {
            Ok(0) => {}
            Ok(collected) => tracing::debug!(collected, "records collected"),
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "records not collected, will look again");
            }
        }
    }
}

async fn collect(records: &dyn Records, now: Timestamp, first: u8) -> Result<u64, StoreError> {
    let ago = |kept: Duration| {
        Timestamp::from_micros(0).after(now.since(Timestamp::from_micros(0)).saturating_sub(kept))
    };
    let horizon = Horizon {
        expired: now,
        payloads: ago(PAYLOAD_KEPT),
        keychain: ago(EXPIRED_KNOWN),
        runtimes: ago(RUNTIME_KEPT),
        audit: ago(AUDIT_KEPT),
    };
    let mut total = records.collect_blobs(first, ago(PAYLOAD_KEPT)).await?;
    for _ in 0..BATCHES_MAX {
        let collected = records.collect(&horizon, BATCH_MAX).await?.total();
        total += collected;
        if collected == 0 {
            break;
        }
    }
    Ok(total)
}
