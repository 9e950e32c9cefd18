//! `noetl executions fork` and `retry`: the same past, another way from there.

use std::path::Path;

use anyhow::anyhow;
use noetl_control::{ForkAt, ForkRequest, PlaybookChoice};
use noetl_model::Summary;

use crate::args::{ChangeArgs, Chosen, ForkArgs, RetryArgs};
use crate::commands::conclude::Conclusion;
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::files;
use crate::plane::{self, Plane};
use crate::session::Work;
use crate::terminal::Terminal;
use crate::workload::{by_key, payload_of};

/// What stands for the newest version of the playbook an execution runs.
const LATEST: &str = "latest";

pub(crate) async fn fork(
    args: &ForkArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    forked(args.execution, ForkAt::Event(args.at_event), &args.changes, config, terminal).await
}

pub(crate) async fn retry(
    args: &RetryArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    forked(args.execution, ForkAt::Failure, &args.changes, config, terminal).await
}

async fn forked(
    execution: Chosen,
    at: ForkAt,
    args: &ChangeArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let plane = plane::open(&args.client, Work::Here, config).await?;
    let mut conclusion = Conclusion::new(&*plane, &args.watch, config)?;
    let ended = match begun(&*plane, execution, at, args).await {
        Ok(fork) => conclusion.of_one(fork, terminal).await,
        Err(failure) => Err(failure),
    };
    if !matches!(ended, Ok(Exit::Aborted)) {
        plane.close().await;
    }
    ended
}

async fn begun(
    plane: &dyn Plane,
    execution: Chosen,
    at: ForkAt,
    args: &ChangeArgs,
) -> Result<Summary, Failure> {
    let origin = plane.history().chosen(execution).await?;
    let workload = payload_of(&args.workload).map_err(Failure::bad_input)?;
    let context = by_key(&args.ctx);
    let playbook = match args.playbook.as_deref() {
        None => None,
        Some(LATEST) => {
            let path = origin.playbook.path.clone();
            Some(PlaybookChoice::Path { path, version: None })
        }
        Some(file) => {
            let content = String::from_utf8(files::read(Path::new(file))?)
                .map_err(|_| Failure::bad_input(anyhow!("{file} is not text")))?;
            let kept = plane.register(Path::new(file), &content).await?;
            Some(PlaybookChoice::from(&kept))
        }
    };
    let origin = origin.execution;
    plane.fork(ForkRequest { origin, at, playbook, workload, context }).await
}
