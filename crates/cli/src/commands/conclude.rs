//! From started executions to an exit code: watch them, show what came of them.

use std::path::Path;

use noetl_model::{ExecutionStatus, Summary};

use crate::args::WatchArgs;
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::output::execution::{
    ExecutionDocument, document_of, failure_story, output_of, result_text, status,
};
use crate::output::time::took;
use crate::output::{DocumentFormat, document};
use crate::overview::{Ending, Overview};
use crate::progress::Progress;
use crate::session::Session;
use crate::terminal::{FAINT, Terminal, paint};
use crate::watch::{Watched, watch};

/// What a command that waits for executions needs besides them.
pub(crate) struct Conclusion<'a> {
    pub(crate) session: &'a Session,
    pub(crate) args: &'a WatchArgs,
    /// Where the history is kept, if it is.
    pub(crate) db: Option<&'a Path>,
    pub(crate) config: &'a Config,
}

impl Conclusion<'_> {
    /// Watches one execution to its end and shows it.
    pub(crate) async fn of_one(
        &self,
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
                    let shown = document_of(overview, &self.session.history(), self.db).await?;
                    terminal.data(&document(format, &shown))?;
                }
                None => {
                    let output = output_of(overview, &self.session.history()).await?;
                    if let Some(result) = result_text(&output) {
                        terminal.data(&result)?;
                    }
                }
            }
            self.talk(overview, terminal);
        }
        Ok(exit_of(&overviews))
    }

    /// Watches several executions to their ends and shows how each ended.
    pub(crate) async fn of_several(
        &self,
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
            self.talk(overview, terminal);
        }
        Ok(exit_of(&overviews))
    }

    async fn documents(
        &self,
        overviews: &[Overview],
        format: DocumentFormat,
    ) -> Result<String, Failure> {
        let mut documents: Vec<ExecutionDocument> = Vec::new();
        for overview in overviews {
            documents.push(document_of(overview, &self.session.history(), self.db).await?);
        }
        Ok(document(format, &documents))
    }

    /// The executions once they have ended, or how to exit if they have not.
    async fn watch(
        &self,
        executions: &[Summary],
        terminal: &mut Terminal,
    ) -> Result<Result<Vec<Overview>, Exit>, Failure> {
        let mut progress = Progress::new(self.args.quiet, executions.len() > 1, terminal);
        let watched = watch(self.session, executions, &mut progress).await;
        progress.finish();
        Ok(match watched? {
            Watched::Ended(overviews) => Ok(overviews),
            Watched::Aborted => {
                terminal.say("ended at once; what had been started may not have been cancelled");
                Err(Exit::Aborted)
            }
            Watched::Stopped => {
                terminal.say("stopped; `noetl resume` continues from here");
                Err(Exit::Stopped)
            }
        })
    }

    /// Says how an execution ended, and how to see more of it.
    fn talk(&self, overview: &Overview, terminal: &mut Terminal) {
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
        if let Some(db) = self.db {
            let history = paint(FAINT, format!("history in {}", self.config.short(db)));
            terminal.say(history);
            terminal.say(paint(FAINT, format!("more: {}", self.hint(overview, db))));
        }
    }

    fn hint(&self, overview: &Overview, db: &Path) -> String {
        let verb = match overview.ending {
            Ending::None | Ending::Completed { .. } => "get",
            Ending::Failed { .. } | Ending::Cancelled { .. } => "events",
        };
        let other = db != self.config.database();
        let db = if other { format!(" --db {}", db.display()) } else { String::new() };
        format!("noetl executions {verb} {}{db}", overview.execution)
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
