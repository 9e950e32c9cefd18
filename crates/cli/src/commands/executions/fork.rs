//! `noetl executions fork` and `retry`: start an execution with the history of another one.

use std::path::Path;

use anyhow::anyhow;
use noetl_app::BulkAction;
use noetl_control::{ForkAt, ForkRequest, PlaybookChoice};
use noetl_model::Summary;

use super::bulk::{bulk, check_unchanged};
use crate::args::{ChangeArgs, Chosen, ForkArgs, RetryArgs};
use crate::backend::local::WorkerMode;
use crate::backend::{self, Backend};
use crate::commands::conclude::Conclusion;
use crate::config::Config;
use crate::input::files;
use crate::input::workload::{by_key, check_declared, payload_of};
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

/// The argument that means the newest version of the execution's playbook.
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
    let Some(chosen) = args.execution else {
        let changes = &args.changes;
        let workload = payload_of(&changes.workload).map_err(Failure::bad_input)?;
        let is_unchanged =
            workload.is_empty() && changes.ctx.is_empty() && changes.playbook.is_none();
        check_unchanged(is_unchanged)?;
        return bulk(BulkAction::Retry, &args.bulk, None, &changes.client, config, terminal).await;
    };
    forked(chosen, ForkAt::Failure, &args.changes, config, terminal).await
}

async fn forked(
    execution: Chosen,
    at: ForkAt,
    args: &ChangeArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let backend = backend::open(&args.client, WorkerMode::Embedded, config).await?;
    let mut conclusion = Conclusion::new(&*backend, &args.watch, config)?;
    let ended = match begun(&*backend, execution, at, args).await {
        Ok(fork) => conclusion.of_one(fork, terminal).await,
        Err(failure) => Err(failure),
    };
    if !matches!(ended, Ok(Exit::Aborted)) {
        backend.close().await;
    }
    ended
}

async fn begun(
    backend: &dyn Backend,
    execution: Chosen,
    at: ForkAt,
    args: &ChangeArgs,
) -> Result<Summary, Failure> {
    let reader = backend.reader();
    let origin = reader.chosen_here(execution).await?;
    let workload = payload_of(&args.workload).map_err(Failure::bad_input)?;
    if args.workload.must_be_declared() {
        let declared = reader.workload(&origin).await?;
        check_declared(&args.workload, &declared, &format!("execution {}", origin.execution))?;
    }
    let context = by_key(&args.ctx);
    let request = ForkRequest {
        origin: origin.execution,
        at,
        playbook: None,
        workload,
        context,
        actor: None,
    };
    match args.playbook.as_deref() {
        None => backend.fork(request).await,
        Some(LATEST) => {
            let path = origin.playbook.path.clone();
            let playbook = Some(PlaybookChoice::Path { path, version: None });
            backend.fork(ForkRequest { playbook, ..request }).await
        }
        Some(file) => {
            let content = String::from_utf8(files::read(Path::new(file))?)
                .map_err(|_| Failure::bad_input(anyhow!("{file} is not text")))?;
            backend.fork_onto(request, Path::new(file), &content).await
        }
    }
}
