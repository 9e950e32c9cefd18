//! `noetl demo`: an embedded server with a few instructive executions, and its web interface.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use noetl_app::{App, ExecutionFilter, ForkPlaybook, Page};
use noetl_control::{ForkAt, ForkRequest, PlaybookChoice, StartRequest};
use noetl_model::{ExecutionId, ExecutionStatus, Pool, Seq};
use noetl_private_files as private_files;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::server::serve_then;
use super::ui::show;
use crate::args::{DatabaseArgs, DemoArgs, ServerArgs};
use crate::backend::page_of;
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::terminal::Terminal;

/// The documents of the demonstration, by their file names.
const DOCUMENTS: &[(&str, &str)] = &[
    ("orders.yaml", include_str!("../../demo/orders.yaml")),
    ("payment.yaml", include_str!("../../demo/payment.yaml")),
    ("report.yaml", include_str!("../../demo/report.yaml")),
    ("invoice.yaml", include_str!("../../demo/invoice.yaml")),
    ("invoices.yaml", include_str!("../../demo/invoices.yaml")),
    ("refund.yaml", include_str!("../../demo/refund.yaml")),
    ("delivery.yaml", include_str!("../../demo/delivery.yaml")),
    ("training.yaml", include_str!("../../demo/training.yaml")),
    ("schedule.yaml", include_str!("../../demo/schedule.yaml")),
];

/// The pool that no worker serves.
const UNSERVED: &str = "gpu";

/// The directory of the database: a named one, or one that is removed at the end.
enum DataDirectory {
    Named(PathBuf),
    Temporary(TempDir),
}

impl DataDirectory {
    fn of(args: &DemoArgs) -> Result<Self, Failure> {
        match &args.data {
            Some(path) => {
                private_files::create_directory(path)
                    .with_context(|| format!("cannot make the directory {}", path.display()))
                    .map_err(Failure::bad_input)?;
                Ok(Self::Named(path.clone()))
            }
            None => {
                let made = tempfile::Builder::new().prefix("noetl-demo-").tempdir();
                let made = made.context("cannot make a temporary directory");
                Ok(Self::Temporary(made.map_err(Failure::broken)?))
            }
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Named(path) => path,
            Self::Temporary(directory) => directory.path(),
        }
    }
}

pub(crate) async fn demo(
    args: &DemoArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let directory = DataDirectory::of(args)?;
    let config = config.clone().alone();
    let server = ServerArgs {
        listen: Some(args.listen.clone()),
        no_worker: false,
        insecure: false,
        postgres: None,
        nats: None,
        payload_dir: None,
        database: DatabaseArgs { db: Some(directory.path().join("demo.db")) },
    };
    let shown = &config;
    serve_then(&server, &config, terminal, async |serving, terminal| {
        seed(serving.app).await?;
        show(&page_of(serving.url, None), args.no_browser, shown, terminal);
        let kept = match &directory {
            DataDirectory::Named(path) => format!("kept in {}", shown.short(path)),
            DataDirectory::Temporary(_) => "deleted at the end".to_owned(),
        };
        terminal.say(format!("demonstration data, {kept}; Ctrl-C ends it"));
        Ok(())
    })
    .await
}

/// Registers the documents and starts their executions, once per database.
async fn seed(app: &App) -> Result<(), Failure> {
    for (file, content) in DOCUMENTS {
        app.register_file(file, content).await.map_err(Failure::broken)?;
    }
    let one = Page { before: None, limit: 1 };
    let earlier = app.known_page(&ExecutionFilter::default(), one).await;
    if !earlier.map_err(Failure::broken)?.is_empty() {
        return Ok(());
    }
    let failed = start(app, "demo/report", Pool::shared()).await?;
    start(app, "demo/invoices", Pool::shared()).await?;
    start(app, "demo/payment", Pool::shared()).await?;
    start(app, "demo/refund", Pool::shared()).await?;
    for customer in ["Ada", "Edsger"] {
        let workload = Map::from_iter([("customer".to_owned(), json!(customer))]);
        start_with(app, "demo/delivery", Pool::shared(), workload).await?;
    }
    start(app, "demo/training", Pool::new(UNSERVED)).await?;
    start(app, "demo/orders", Pool::shared()).await?;
    repair(app, failed).await
}

async fn start(app: &App, path: &str, pool: Pool) -> Result<ExecutionId, Failure> {
    start_with(app, path, pool, Map::new()).await
}

async fn start_with(
    app: &App,
    path: &str,
    pool: Pool,
    workload: Map<String, Value>,
) -> Result<ExecutionId, Failure> {
    let playbook = PlaybookChoice::Path { path: path.to_owned(), version: None };
    let mut request = StartRequest::new(playbook, workload);
    request.input.pool = pool;
    Ok(app.start(request).await.map_err(Failure::broken)?.execution)
}

/// Forks the failed execution with the value that it lacks, once it has failed.
async fn repair(app: &App, origin: ExecutionId) -> Result<(), Failure> {
    let mut events = app.control().events_follow(origin, Seq::ZERO);
    loop {
        events.next().await.map_err(Failure::broken)?;
        let status = app.execution(origin).await.map_err(Failure::broken)?.status;
        match status {
            ExecutionStatus::Running => {}
            ExecutionStatus::Failed => break,
            ExecutionStatus::Completed | ExecutionStatus::Cancelled => return Ok(()),
        }
    }
    let mut workload = Map::new();
    workload.insert("rates".to_owned(), json!({ "EUR": 1.0, "USD": 1.08, "CHF": 0.96 }));
    let (playbook, context) = (None, std::collections::BTreeMap::new());
    let request =
        ForkRequest { origin, at: ForkAt::Failure, playbook, workload, context, actor: None };
    let forked = app.fork(request, ForkPlaybook::Registered).await;
    forked.map(drop).map_err(Failure::broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_is_valid() {
        for (file, content) in DOCUMENTS {
            if let Err(problems) = noetl_app::check_document(content) {
                panic!("{file}: {problems:?}");
            }
        }
    }
}
