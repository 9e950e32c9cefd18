//! Watches started executions, shows their outcome and returns the exit code.

use noetl_model::{ExecutionStatus, Summary};

use crate::args::WatchArgs;
use crate::backend::{Backend, HistoryLocation, execution_page};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::execution::{
    ExecutionDocument, document_of, failure_story, output_of, result_text, status,
};
use crate::show::output::time::took;
use crate::show::output::{DocumentFormat, document};
use crate::show::overview::{Ending, Overview};
use crate::show::progress::LiveProgress;
use crate::show::terminal::{FAINT, Terminal, paint};
use crate::show::watch::{Signals, Watched, watch};

/// The context of a command that waits for executions.
pub(crate) struct Conclusion<'a> {
    pub(crate) backend: &'a dyn Backend,
    pub(crate) args: &'a WatchArgs,
    pub(crate) config: &'a Config,
    signals: Signals,
}

impl<'a> Conclusion<'a> {
    /// Installs the signal handlers. Created before anything is started, so that a signal cancels
    /// the executions instead of killing this process.
    pub(crate) fn new(
        backend: &'a dyn Backend,
        args: &'a WatchArgs,
        config: &'a Config,
    ) -> Result<Self, Failure> {
        Ok(Self { backend, args, config, signals: Signals::new()? })
    }

    /// Waits for Ctrl-C or a signal to stop.
    pub(crate) async fn signalled(&mut self) {
        self.signals.any().await;
    }

    /// Watches one execution to its end and shows it.
    pub(crate) async fn of_one(
        &mut self,
        execution: Summary,
        terminal: &mut Terminal,
    ) -> Result<Exit, Failure> {
        let overviews = match self.watch(&[execution], terminal).await? {
            Ok(overviews) => overviews,
            Err(exit) => return Ok(exit),
        };
        for overview in &overviews {
            match self.args.output.document() {
                Some(format) => {
                    let shown = self.document(overview).await?;
                    terminal.data(&document(format, &shown))?;
                }
                None => {
                    let output = output_of(overview, self.backend.reader()).await?;
                    if let Some(result) = result_text(&output) {
                        terminal.data(&result)?;
                    }
                }
            }
            self.talk(overview, terminal).await;
        }
        Ok(exit_of(&overviews))
    }

    /// Watches several executions to their ends and shows how each ended.
    pub(crate) async fn of_several(
        &mut self,
        executions: &[Summary],
        terminal: &mut Terminal,
    ) -> Result<Exit, Failure> {
        let overviews = match self.watch(executions, terminal).await? {
            Ok(overviews) => overviews,
            Err(exit) => return Ok(exit),
        };
        if let Some(format) = self.args.output.document() {
            terminal.data(&self.documents(&overviews, format).await?)?;
        }
        for overview in &overviews {
            self.talk(overview, terminal).await;
        }
        Ok(exit_of(&overviews))
    }

    async fn document(&self, overview: &Overview) -> Result<ExecutionDocument, Failure> {
        document_of(overview, self.backend.reader()).await
    }

    async fn documents(
        &self,
        overviews: &[Overview],
        format: DocumentFormat,
    ) -> Result<String, Failure> {
        let mut documents: Vec<ExecutionDocument> = Vec::new();
        for overview in overviews {
            documents.push(self.document(overview).await?);
        }
        Ok(document(format, &documents))
    }

    /// Returns the executions once they have ended, or the exit code if the user aborted.
    async fn watch(
        &mut self,
        executions: &[Summary],
        terminal: &mut Terminal,
    ) -> Result<Result<Vec<Overview>, Exit>, Failure> {
        let mut progress = LiveProgress::new(self.args.quiet, executions.len() > 1, terminal);
        let watched = watch(self.backend, executions, &mut self.signals, &mut progress).await;
        progress.finish();
        Ok(match watched? {
            Watched::Ended(overviews) => Ok(overviews),
            Watched::Aborted => {
                terminal.say("ended immediately; the executions may not have been cancelled");
                Err(Exit::Aborted)
            }
            Watched::Stopped => {
                terminal.say(match self.backend.reader().location() {
                    HistoryLocation::Memory | HistoryLocation::File(_) => {
                        "stopped; `noetl resume` continues from here"
                    }
                    HistoryLocation::Server(_) => {
                        "no longer watching; the execution continues on the server"
                    }
                });
                Err(Exit::Stopped)
            }
        })
    }

    /// Prints how an execution ended, and how to see more.
    async fn talk(&self, overview: &Overview, terminal: &mut Terminal) {
        if let Some(story) = failure_story(overview) {
            terminal.say(story);
        }
        if self.args.quiet {
            return;
        }
        let duration = overview.took().map(|duration| format!(" in {}", took(duration)));
        terminal.say(format!(
            "{}{}  {}",
            status(overview.status()),
            duration.unwrap_or_default(),
            paint(FAINT, format!("execution {} of {}", overview.execution, overview.playbook.path)),
        ));
        let history = match self.backend.reader().location() {
            HistoryLocation::Memory => return,
            HistoryLocation::File(db) => format!("history in {}", self.config.short(db)),
            HistoryLocation::Server(url) => format!("history at {url}"),
        };
        terminal.say(paint(FAINT, history));
        let location = self.backend.reader().location();
        if let Some(page) = execution_page(location, overview.execution, self.config).await {
            terminal.say(paint(FAINT, format!("page: {page}")));
        }
        terminal.say(paint(FAINT, format!("more: {}", self.hint(overview))));
    }

    fn hint(&self, overview: &Overview) -> String {
        let verb = match overview.ending {
            Ending::None | Ending::Completed { .. } => "get",
            Ending::Failed { .. } | Ending::Cancelled { .. } => "events",
        };
        let place = match self.backend.reader().location() {
            HistoryLocation::File(db) if *db != self.config.database() => {
                format!(" --db {}", db.display())
            }
            HistoryLocation::Server(url) if self.config.server().as_ref() != Some(url) => {
                format!(" --server {url}")
            }
            HistoryLocation::Memory | HistoryLocation::File(_) | HistoryLocation::Server(_) => {
                String::new()
            }
        };
        format!("noetl executions {verb} {}{place}", overview.execution)
    }
}

fn exit_of(overviews: &[Overview]) -> Exit {
    let has = |status| overviews.iter().any(|overview| overview.status() == status);
    if has(ExecutionStatus::Failed) {
        Exit::Failed
    } else if has(ExecutionStatus::Cancelled) {
        Exit::Cancelled
    } else {
        Exit::Completed
    }
}
