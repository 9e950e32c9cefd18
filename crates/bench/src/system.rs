//! The system in production form: the binary as a server, with its worker in the same or another
//! process.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use noetl_api::{AnyId, Client};
use noetl_model::{Event, ExecutionId, ExecutionStatus, Recorded, Timestamp};
use noetl_store::Store;
use reqwest::Method;
use serde_json::{Value, json};

use crate::database::{Counts, MeasuredDatabase};
use crate::machine::{self, ProcessUsage};
use crate::process::{NoetlProcess, client, free_address};

/// The polling interval for ended executions; the exact times come from their events.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The time limit of an execution.
const PATIENCE: Duration = Duration::from_secs(900);
/// The maximum number of executions that one request starts.
const STARTS_MAX: usize = 1000;
/// The timeout of any answer.
const ANSWER_MAX: Duration = Duration::from_secs(120);

/// The location of the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerLocation {
    InProcess,
    /// In a separate process, over HTTP.
    Separate,
    /// No worker.
    None,
}

impl WorkerLocation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            WorkerLocation::InProcess => "worker in the server",
            WorkerLocation::Separate => "worker apart",
            WorkerLocation::None => "no worker",
        }
    }
}

pub(crate) struct MeasuredSystem {
    client: Client,
    url: String,
    worker: Option<NoetlProcess>,
    server: NoetlProcess,
}

/// The resources used and rows written up to one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResourceSample {
    pub(crate) at: Timestamp,
    pub(crate) server: ProcessUsage,
    pub(crate) worker: ProcessUsage,
    /// The CPU time of PostgreSQL, if it is used.
    pub(crate) database: Duration,
    pub(crate) counts: Counts,
}

/// Completed executions and their cost.
pub(crate) struct MeasuredExecutions {
    pub(crate) executions: Vec<ExecutionId>,
    pub(crate) before: ResourceSample,
    pub(crate) after: ResourceSample,
    /// The end of the last execution.
    pub(crate) ended_at: Timestamp,
}

impl MeasuredExecutions {
    /// Returns the time from before the first request to the end of the last execution.
    pub(crate) fn wall(&self) -> Duration {
        self.ended_at.since(self.before.at)
    }

    pub(crate) fn counts(&self) -> Counts {
        self.after.counts - self.before.counts
    }

    /// Returns the CPU time of server and worker.
    pub(crate) fn cpu(&self) -> Duration {
        let of = |moment: &ResourceSample| moment.server.cpu + moment.worker.cpu;
        of(&self.after).saturating_sub(of(&self.before))
    }

    /// Returns the CPU time of PostgreSQL.
    pub(crate) fn cpu_of_database(&self) -> Duration {
        self.after.database.saturating_sub(self.before.database)
    }
}

impl MeasuredSystem {
    pub(crate) async fn start(database: &MeasuredDatabase, worker: WorkerLocation) -> Result<Self> {
        Self::start_with(database, worker, &[]).await
    }

    /// Starts a server with additional flags.
    pub(crate) async fn start_with(
        database: &MeasuredDatabase,
        worker: WorkerLocation,
        flags: &[&str],
    ) -> Result<Self> {
        let address = free_address()?;
        let place = database.flags()?;
        let mut args = vec!["server", "--listen", &address, &place[0], &place[1]];
        args.extend(flags);
        match worker {
            WorkerLocation::InProcess => {}
            WorkerLocation::Separate | WorkerLocation::None => args.push("--no-worker"),
        }
        let mut server = NoetlProcess::start(&database.home, "server", &args)?;
        let client = client(&address)?;
        server.ready(&client).await?;
        let url = format!("http://{address}");
        let worker = match worker {
            WorkerLocation::InProcess | WorkerLocation::None => None,
            WorkerLocation::Separate => {
                Some(NoetlProcess::start(&database.home, "worker", &["worker", "--server", &url])?)
            }
        };
        Ok(Self { client, url, worker, server })
    }

    /// Starts a process that fetches the messages of a subscription.
    pub(crate) fn fetch(&self, database: &MeasuredDatabase, path: &str) -> Result<NoetlProcess> {
        let args = ["worker", "--server", &self.url, "--subscription", path];
        NoetlProcess::start(&database.home, "fetching", &args)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the server's URL, without a trailing slash.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn server(&self) -> &NoetlProcess {
        &self.server
    }

    pub(crate) async fn register(&self, playbook: &str) -> Result<AnyId> {
        Ok(self.client.register(playbook).await?.catalog_id)
    }

    /// Starts an execution for each payload, with all requests in flight at once.
    pub(crate) async fn execute(
        &self,
        playbook: AnyId,
        payloads: &[Value],
    ) -> Result<Vec<ExecutionId>> {
        let batches = payloads.chunks(STARTS_MAX).map(|batch| async move {
            let id = ExecutionId::from(playbook);
            let one = |payload: &Value| json!({ "catalog_id": id.to_string(), "payload": payload });
            let body = json!({ "executions": batch.iter().map(one).collect::<Value>() });
            self.ask(Method::POST, "api/execute/batch", Some(&body)).await
        });
        let mut started = Vec::with_capacity(payloads.len());
        for answer in futures::future::try_join_all(batches).await? {
            let results = answer["results"].as_array().context("a batch is answered")?;
            for result in results {
                let id = result["execution_id"].as_str();
                started.push(id.with_context(|| format!("not started: {result}"))?.parse()?);
            }
        }
        Ok(started)
    }

    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value> {
        let answer = self.client.ask(method, path, body, ANSWER_MAX).await;
        answer.with_context(|| format!("ask {path}"))
    }

    /// Runs a playbook once for each payload, all at once. Fails unless every execution completes.
    pub(crate) async fn run(
        &self,
        database: &MeasuredDatabase,
        store: &dyn Store,
        playbook: &str,
        payloads: &[Value],
    ) -> Result<MeasuredExecutions> {
        let playbook = self.register(playbook).await?;
        let before = self.moment(database).await?;
        let executions = self.execute(playbook, payloads).await?;
        let ended_at = ends(store, &executions).await?;
        let after = self.moment(database).await?;
        Ok(MeasuredExecutions { executions, before, after, ended_at })
    }

    pub(crate) async fn moment(&self, database: &MeasuredDatabase) -> Result<ResourceSample> {
        let counts = database.counts(self.server.pid()).await?;
        let worker =
            self.worker.as_ref().map_or(Ok(ProcessUsage::default()), NoetlProcess::usage)?;
        let server = self.server.usage()?;
        let database = database.cpu()?;
        Ok(ResourceSample { at: now()?, server, worker, database, counts })
    }

    /// Resets the peak memory of the server.
    pub(crate) fn forget_peak(&self) -> Result<()> {
        machine::forget_peak(self.server.pid())
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.worker.map_or(Ok(()), NoetlProcess::stop)?;
        self.server.stop()
    }
}

/// Returns the current time as an event timestamp.
pub(crate) fn now() -> Result<Timestamp> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(Timestamp::from_micros(i64::try_from(since.as_micros())?))
}

/// Waits until all executions have completed. Returns the end of the last one.
async fn ends(store: &dyn Store, executions: &[ExecutionId]) -> Result<Timestamp> {
    let deadline = std::time::Instant::now() + PATIENCE;
    let mut last = Timestamp::from_micros(0);
    for execution in executions {
        loop {
            let summary = store.summary(*execution).await?;
            let summary = summary.with_context(|| format!("{execution} is not there"))?;
            if let Some(ended_at) = summary.ended_at {
                let (status, error) = (summary.status, &summary.error);
                ensure!(status == ExecutionStatus::Completed, "{execution}: {status} {error:?}");
                last = last.max(ended_at);
                break;
            }
            ensure!(std::time::Instant::now() < deadline, "{execution} does not end");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
    Ok(last)
}

/// Returns the events that completed commands, in order.
pub(crate) fn completions(log: &[Recorded]) -> Vec<&Recorded> {
    let is_end = |recorded: &&Recorded| matches!(recorded.event, Event::CommandCompleted { .. });
    log.iter().filter(is_end).collect()
}

/// Creates a new directory.
pub(crate) fn fresh(directory: &Path, name: &str) -> Result<std::path::PathBuf> {
    let path = directory.join(name);
    std::fs::create_dir(&path).with_context(|| format!("make {}", path.display()))?;
    Ok(path)
}
