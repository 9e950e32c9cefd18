//! A limit on the rate of a step, on two servers with a worker each: the commands that begin in a minute,
//! counted from the events.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use noetl_model::{Event, ExecutionId, Timestamp};
use noetl_store::Store;
use serde_json::{Value, json};

use super::ScenarioParameters;
use crate::database::{MeasuredDatabase, MeasuredStore, log};
use crate::numbers::number;
use crate::process::{NoetlProcess, client, free_address};
use crate::sheet::{AcceptedRange, Sheet};
use crate::system::{MeasuredSystem, WorkerLocation};

/// The limit, in commands per second.
const RATE: f64 = 50.0;
/// The time over which commands are counted, in seconds.
const SECONDS: u64 = 60;
/// The number of executions: enough for the time and a quarter more.
const EXECUTIONS: u64 = 3750;
/// The time from the first command to the beginning of the count: the burst is over.
const WARM_UP: Duration = Duration::from_secs(1);
/// The largest accepted deviation from the limit, in percent.
const DEVIATION_MAX: f64 = 5.0;

const PLAYBOOK: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: rate, path: bench/rate}
workflow:
  - {step: start, limit: {name: calls, rate: 50, per: 1s}, tool: {kind: noop}}
";

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let database = MeasuredDatabase::new(setting.store, setting.directory).await?;
    let worker = match setting.store {
        MeasuredStore::Sqlite => WorkerLocation::InProcess,
        MeasuredStore::Postgres => WorkerLocation::Separate,
    };
    let system = MeasuredSystem::start(&database, worker).await?;
    let second = match setting.store {
        // One process owns an embedded database.
        MeasuredStore::Sqlite => None,
        MeasuredStore::Postgres => Some(second_server(&database).await?),
    };
    let store = database.store().await?;
    let payloads: Vec<Value> = vec![json!({}); usize::try_from(setting.size.of(EXECUTIONS))?];
    let ran = system.run(&database, &*store, PLAYBOOK, &payloads).await?;
    let claims = claims(&*store, &ran.executions).await?;
    let seconds = setting.size.of(SECONDS);
    let begin = claims.first().context("a command was claimed")?.after(WARM_UP);
    let end = begin.after(Duration::from_secs(seconds));
    ensure!(claims.last().is_some_and(|last| *last >= end), "all commands began too early");
    let counted = claims.iter().filter(|at| (begin..end).contains(at)).count();
    let rate = number(u64::try_from(counted)?) / number(seconds);
    if let Some((server, worker)) = second {
        worker.stop()?;
        server.stop()?;
    }
    system.stop()?;
    sheet.figure("commands a second, with a limit of 50", rate, "commands/s");
    sheet.goal(
        "deviation from the limit over the time, in percent",
        (rate - RATE).abs() / RATE * 100.0,
        AcceptedRange::AtMost(DEVIATION_MAX),
    );
    Ok(sheet)
}

/// Starts another server on the database, with a worker of its own.
async fn second_server(database: &MeasuredDatabase) -> Result<(NoetlProcess, NoetlProcess)> {
    let (address, place) = (free_address()?, database.flags()?);
    let args = ["server", "--no-worker", "--listen", &address, &place[0], &place[1]];
    let mut server = NoetlProcess::start(&database.home, "second-server", &args)?;
    server.ready(&client(&address)?).await?;
    let url = format!("http://{address}");
    let args = ["worker", "--server", &url];
    Ok((server, NoetlProcess::start(&database.home, "second-worker", &args)?))
}

/// Returns the times at which commands were claimed, in order.
async fn claims(store: &dyn Store, executions: &[ExecutionId]) -> Result<Vec<Timestamp>> {
    let mut times = Vec::with_capacity(executions.len());
    for execution in executions {
        let events = log(store, *execution).await?;
        let claimed = events.iter().find(|it| matches!(it.event, Event::CommandClaimed { .. }));
        times.push(claimed.with_context(|| format!("{execution} was not claimed"))?.at);
    }
    times.sort_unstable();
    Ok(times)
}
