//! `noetl executions rerun`: runs the same playbook version again, perhaps with other values.

use anyhow::anyhow;
use noetl_app::BulkAction;
use noetl_control::{PlaybookChoice, StartRequest};
use noetl_model::{Event, Origin, Seq, Summary};
use serde_json::{Map, Value};

use super::bulk::{bulk, check_unchanged};
use crate::args::{Chosen, RerunArgs};
use crate::backend::local::WorkerMode;
use crate::backend::{self, Backend};
use crate::commands::conclude::Conclusion;
use crate::config::Config;
use crate::input::workload::{check_declared, merge, payload_of};
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

pub(crate) async fn rerun(
    args: &RerunArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let over = payload_of(&args.workload).map_err(Failure::bad_input)?;
    let Some(chosen) = args.execution else {
        check_unchanged(over.is_empty())?;
        return bulk(BulkAction::Rerun, &args.bulk, None, &args.client, config, terminal).await;
    };
    let backend = backend::open(&args.client, WorkerMode::Embedded, config).await?;
    let mut conclusion = Conclusion::new(&*backend, &args.watch, config)?;
    let ended = match again(&*backend, chosen, args, over).await {
        Ok(execution) => conclusion.of_one(execution, terminal).await,
        Err(failure) => Err(failure),
    };
    if !matches!(ended, Ok(Exit::Aborted)) {
        backend.close().await;
    }
    ended
}

/// Starts the playbook version of an execution, with values merged into its workload.
async fn again(
    backend: &dyn Backend,
    chosen: Chosen,
    args: &RerunArgs,
    over: Map<String, Value>,
) -> Result<Summary, Failure> {
    let reader = backend.reader();
    let earlier = reader.chosen_here(chosen).await?;
    let id = earlier.execution;
    let first = reader.events(id, Seq::ZERO).await?.into_iter().next();
    let Some(Event::ExecutionStarted { error_mode, pool, priority, .. }) =
        first.map(|recorded| recorded.event)
    else {
        return Err(Failure::broken(anyhow!("execution {id} does not begin with a start")));
    };
    let mut payload = reader.workload(&earlier).await?;
    check_declared(&args.workload, &payload, &format!("execution {id}"))?;
    let is_same = over.is_empty();
    merge(&mut payload, over);
    let playbook = PlaybookChoice::Id(earlier.playbook.catalog_id);
    let mut request = StartRequest::new(playbook, payload);
    request.input.origin = Origin::Rerun { execution: id };
    (request.input.error_mode, request.input.pool) = (Some(error_mode), pool);
    request.input.priority = Some(priority);
    // With other values, the labels that the playbook derives from them change.
    match is_same {
        true => request.input.labels = earlier.labels,
        false => request.input.inherited = earlier.labels,
    }
    backend.start(request).await
}
