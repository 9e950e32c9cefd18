//! The system as `noetl run` puts it together: a SQLite file, a control plane and a worker in one
//! process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use noetl_bus::LocalBus;
use noetl_control::{Control, PlaybookChoice, Settings, StartRequest};
use noetl_model::{
    Cutoff, Event, ExecutionId, ExecutionStatus, IdGenerator, Recorded, Seq, WorkerId,
    machine_id_of,
};
use noetl_store::{READ_EVENTS_MAX, SystemClock};
use noetl_store_sqlite::SqliteStore;
use noetl_tools::Registry;
use noetl_worker::Worker;
use serde_json::{Map, Value};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::machine::Usage;
use crate::plane::Plane;

/// How many commands run at once, as in `noetl run`.
pub(crate) const CONCURRENCY: usize = 32;
/// How often it is looked whether an execution has ended. Following it would cost reads.
const LOOK_EVERY: Duration = Duration::from_millis(5);

pub(crate) struct System {
    control: Control,
    plane: Arc<Plane>,
    path: PathBuf,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

/// An execution that has completed, and what it took.
pub(crate) struct Ran {
    pub(crate) execution: ExecutionId,
    pub(crate) begun: Usage,
    pub(crate) ended: Usage,
}

impl Ran {
    pub(crate) fn wall(&self) -> Duration {
        self.ended.at - self.begun.at
    }
}

impl System {
    pub(crate) async fn open(directory: &Path) -> Result<Self> {
        let path = directory.join("noetl.db");
        let store = Arc::new(SqliteStore::open(&path, Arc::new(SystemClock)).await?);
        let bus = Arc::new(LocalBus::new());
        let ids = Arc::new(IdGenerator::new(machine_id_of("bench")));
        let control = Control::new(store, bus, Arc::new(SystemClock), ids, Settings::default());
        let plane = Arc::new(Plane::new(control.clone()));
        let tools = noetl_tools::Settings::from_environment(std::env::vars());
        let settings = noetl_worker::Settings::new(WorkerId::new("bench"), CONCURRENCY);
        let worker = Worker::new(plane.clone(), Registry::standard(tools), settings);
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let (running, until) = (control.clone(), stop.clone());
        tasks.spawn(async move { running.run(until).await });
        let until = stop.clone();
        tasks.spawn(async move { worker.run(until).await });
        Ok(Self { control, plane, path, stop, tasks })
    }

    /// Runs a playbook to its end, which has to be a good one.
    pub(crate) async fn run(&self, playbook: &str, payload: Map<String, Value>) -> Result<Ran> {
        let entry = self.control.register("measured", playbook).await?.entry;
        let request = StartRequest::new(PlaybookChoice::Id(entry.catalog_id), payload);
        let begun = Usage::now()?;
        let execution = self.control.start(request).await?;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let summary = self.control.summary(execution).await?.context("it has a summary")?;
            match summary.status {
                ExecutionStatus::Running => {}
                ExecutionStatus::Completed => break,
                ExecutionStatus::Failed | ExecutionStatus::Cancelled => {
                    bail!("the execution ended as {}: {:?}", summary.status, summary.error);
                }
            }
        }
        Ok(Ran { execution, begun, ended: Usage::now()? })
    }

    pub(crate) fn plane(&self) -> &Plane {
        &self.plane
    }

    /// The whole log of an execution.
    pub(crate) async fn log(&self, execution: ExecutionId) -> Result<Vec<Recorded>> {
        let mut log: Vec<Recorded> = Vec::new();
        loop {
            let after = log.last().map_or(Seq::ZERO, |recorded| recorded.seq);
            let page = self.control.events(execution, after, READ_EVENTS_MAX).await?;
            if page.is_empty() {
                return Ok(log);
            }
            log.extend(page);
        }
    }

    /// How long the stored form of an execution's state was at one moment of its life, in bytes.
    pub(crate) async fn state_len(&self, execution: ExecutionId, seq: Seq) -> Result<u64> {
        let state = self.control.state(execution, Cutoff::Seq(seq)).await?;
        Ok(u64::try_from(serde_json::to_vec(&state)?.len())?)
    }

    /// Ends everything and gives the database file.
    pub(crate) async fn close(mut self) -> Result<PathBuf> {
        self.stop.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended?;
        }
        Ok(self.path)
    }
}

/// The events by which commands completed, in order.
pub(crate) fn completions(log: &[Recorded]) -> Result<Vec<&Recorded>> {
    let completions: Vec<&Recorded> = log
        .iter()
        .filter(|recorded| matches!(recorded.event, Event::CommandCompleted { .. }))
        .collect();
    ensure!(!completions.is_empty(), "nothing was completed");
    Ok(completions)
}
