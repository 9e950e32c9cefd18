//! Many executions that wait: the memory of the server, and the rate at which signals wake them, by
//! execution and by correlation key.

use std::time::Instant;

use anyhow::{Result, ensure};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use noetl_api::Method;
use noetl_model::{Event, ExecutionId};
use noetl_store::Store;
use serde_json::{Value, json};

use super::ScenarioParameters;
use crate::database::{MeasuredDatabase, log};
use crate::numbers::{mebibytes, number};
use crate::sheet::{AcceptedRange, Sheet};
use crate::system::{MeasuredSystem, WorkerLocation};

const EXECUTIONS: u64 = 100_000;
/// The number of executions started in one go.
const SLICE: usize = 2000;
/// The number of signals in flight.
const IN_FLIGHT: usize = 64;
/// The largest accepted memory of the server while all executions wait, in mebibytes: 150 MB.
const MEMORY_MAX: f64 = 143.0;
/// The smallest accepted rate of signals that end a wait.
const WOKEN_PER_SECOND_MIN: f64 = 2000.0;

const PLAYBOOK: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: waits, path: bench/waits}
workload: {order: 0}
workflow:
  - {step: start, tool: {kind: wait, signal: payment, key: '{{ workload.order }}'}}
";

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let database = MeasuredDatabase::new(setting.store, setting.directory).await?;
    let system = MeasuredSystem::start(&database, WorkerLocation::InProcess).await?;
    let store = database.store().await?;
    let count = usize::try_from(setting.size.of(EXECUTIONS))?;
    let playbook = system.register(PLAYBOOK).await?;
    let payloads: Vec<Value> = (0..count).map(|order| json!({ "order": order })).collect();
    let mut waiting = Vec::with_capacity(count);
    let begun = Instant::now();
    for slice in payloads.chunks(SLICE) {
        waiting.extend(system.execute(playbook, slice).await?);
    }
    let started = number(u64::try_from(count)?) / begun.elapsed().as_secs_f64();
    sheet.figure("executions that begin to wait".to_owned(), started, "executions/s");
    let usage = system.server().usage()?;
    sheet.figure("memory of the server, most so far".to_owned(), mebibytes(usage.peak), "MiB");
    let memory = "memory of the server while all executions wait, MiB";
    sheet.goal(memory, mebibytes(usage.resident), AcceptedRange::AtMost(MEMORY_MAX));

    // Half of the executions are named, the other half is found by the key.
    let half = count / 2;
    let by_id = woken(&system, waiting[..half].iter().map(|id| signal_path(*id))).await?;
    let by_key = woken(&system, (half..count).map(key_path)).await?;
    sheet.goal(
        "waits a second ended by signals to executions",
        by_id,
        AcceptedRange::AtLeast(WOKEN_PER_SECOND_MIN),
    );
    sheet.figure("waits ended by signals to keys".to_owned(), by_key, "waits/s");
    for execution in &waiting {
        check_once(&*store, *execution).await?;
    }
    system.stop()?;
    Ok(sheet)
}

fn signal_path(execution: ExecutionId) -> String {
    format!("api/executions/{execution}/signals/payment")
}

fn key_path(order: usize) -> String {
    format!("api/signals/payment?key={order}")
}

/// Sends a signal to each address; returns their number per second.
async fn woken(system: &MeasuredSystem, paths: impl Iterator<Item = String>) -> Result<f64> {
    let begun = Instant::now();
    let body = json!({ "amount": 12 });
    let sent: Vec<Value> = stream::iter(paths)
        .map(|path| {
            let body = &body;
            async move { system.ask(Method::POST, &path, Some(body)).await }
        })
        .buffer_unordered(IN_FLIGHT)
        .try_collect()
        .await?;
    Ok(number(u64::try_from(sent.len())?) / begun.elapsed().as_secs_f64())
}

/// Fails unless an execution took one signal and completed.
async fn check_once(store: &dyn Store, execution: ExecutionId) -> Result<()> {
    let events = log(store, execution).await?;
    let count = |is: fn(&Event) -> bool| events.iter().filter(|it| is(&it.event)).count();
    let received = count(|event| matches!(event, Event::SignalReceived { .. }));
    let completed = count(|event| matches!(event, Event::ExecutionCompleted { .. }));
    ensure!(
        (received, completed) == (1, 1),
        "execution {execution} took {received} signals and completed {completed} times"
    );
    Ok(())
}
