//! Runs one command, from its lease to its report.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::try_join_all;
use noetl_api::{ControlError, ControlPlane};
use noetl_model::{
    ErrorKind, Held, Lease, OpenedSecret, Outcome, Payload, PayloadRef, Report, ToolError,
    WorkerId, holds_sealed, replace_sealed, traceparent,
};
use noetl_tools::{CallMemory, CallParts, Registry, ToolResult, UsedCredentials};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::backoff::Backoff;
use crate::logs::{AfterEnd, LiveLogs};

/// A finished command: its report, and the memory reserved for the report's output.
pub(crate) struct Done {
    pub(crate) report: Report,
    pub(crate) memory: CallMemory,
}

/// Runs a command to its end. A tool that panics has failed. `None` if the command was lost.
pub(crate) async fn run(
    control: &dyn ControlPlane,
    registry: &Registry,
    worker: &WorkerId,
    lease: Lease,
    (logs, lost): (&Arc<LiveLogs>, &CancellationToken),
) -> Option<Done> {
    let (used, memory) = (UsedCredentials::default(), registry.memory().call());
    let span = tracing::info_span!(
        "tool",
        execution = %lease.execution,
        step = %lease.step,
        tool = lease.tool.as_str(),
        attempt = lease.attempt.0,
        traceparent = traceparent(lease.trace.as_deref()),
        error = tracing::field::Empty,
    );
    let (live, log) = logs.begin(&lease);
    let parts = CallParts { used: &used, memory: &memory, live: &live };
    let running = async {
        match lost.run_until_cancelled(resolve(control, &lease, (&used, &memory))).await? {
            Ok(bindings) => Some(registry.run(&lease, bindings, parts, lost).await),
            Err(error) => Some(ToolResult::failed(error)),
        }
    };
    let running = AssertUnwindSafe(running.instrument(span.clone())).catch_unwind();
    let ended = running.await.unwrap_or_else(|panic| {
        let message = format!("the tool `{}` panicked: {}", lease.tool, told(panic.as_ref()));
        let message = used.redactor().text(&message).into_owned();
        Some(ToolResult::failed(ToolError::new(ErrorKind::Unknown, message)))
    });
    let is_reported = ended.is_some() && !lost.is_cancelled();
    log.finish(if is_reported { AfterEnd::Reported } else { AfterEnd::Lost }).await;
    let ended = ended?;
    if let Outcome::Failed { error, .. } = &ended.outcome {
        span.record("error", error.kind.as_str());
    }
    let report = Report {
        execution: lease.execution,
        command: lease.command,
        attempt: lease.attempt,
        worker: worker.clone(),
        outcome: ended.outcome,
        logs: ended.logs,
        next: None,
    };
    (!lost.is_cancelled()).then_some(Done { report, memory })
}

/// Returns the values of a lease's bindings; fetches those stored by reference once their memory is
/// reserved.
async fn resolve(
    control: &dyn ControlPlane,
    lease: &Lease,
    (used, memory): (&UsedCredentials, &CallMemory),
) -> Result<BTreeMap<String, Arc<Value>>, ToolError> {
    memory.reserve_inputs(stored_bytes(lease)).await;
    let values = lease.bindings.0.iter().map(|(name, payload)| async move {
        let value = match payload {
            Payload::Inline(value) => value.clone(),
            Payload::Ref(reference) => {
                fetch(control, Held::from(lease), reference).await.map_err(|error| {
                    let message = format!("cannot fetch the value of `{name}`: {error}");
                    ToolError::new(ErrorKind::StorageAccess, message)
                })?
            }
        };
        Ok((name.clone(), value))
    });
    let values: BTreeMap<String, Arc<Value>> = try_join_all(values).await?.into_iter().collect();
    let values = opened(values, lease, used)?;
    memory.hold_inputs(values.values().map(AsRef::as_ref)).await?;
    Ok(values)
}

/// Replaces sealed values by the opened ones of the lease, and has them redacted from the result.
fn opened(
    mut values: BTreeMap<String, Arc<Value>>,
    lease: &Lease,
    used: &UsedCredentials,
) -> Result<BTreeMap<String, Arc<Value>>, ToolError> {
    for value in values.values_mut().filter(|value| holds_sealed(value)) {
        replace_sealed(Arc::make_mut(value), &mut |mark| {
            let reason = match lease.secrets.0.get(mark.envelope) {
                Some(OpenedSecret::Value(value)) => {
                    used.record_secret(value);
                    return Ok(value.clone());
                }
                Some(OpenedSecret::Unreadable(reason)) => reason.as_str(),
                None => {
                    "the workload is too large to be sent with the command; read the input by its \
                         name, as in `{{ workload.token }}`"
                }
            };
            let message = format!("the secret input `{}` cannot be opened: {reason}", mark.name);
            Err(ToolError::new(ErrorKind::Config, message))
        })?;
    }
    Ok(values)
}

/// Returns the total size of the JSON that has to be fetched for a lease.
fn stored_bytes(lease: &Lease) -> usize {
    let stored = lease.bindings.0.values().map(|payload| match payload {
        Payload::Inline(_) => 0,
        Payload::Ref(reference) => usize::try_from(reference.size).unwrap_or(usize::MAX),
    });
    stored.fold(0, usize::saturating_add)
}

async fn fetch(
    control: &dyn ControlPlane,
    held: Held,
    reference: &PayloadRef,
) -> Result<Arc<Value>, ControlError> {
    let mut backoff = Backoff::new();
    loop {
        match control.payload(held, reference).await {
            Err(error @ ControlError::Unavailable(_)) => {
                tracing::warn!(%error, digest = %reference.digest, "cannot fetch a payload; will retry");
                backoff.wait().await;
            }
            answered => return answered,
        }
    }
}

fn told(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason given")
}
