//! `noetl executions cancel`, `retry` and `rerun` with `--where`: act on many executions.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use noetl_api::wire::{BulkItemView, BulkJobView};
use noetl_app::{BulkAction, BulkChoice, BulkRequest};

use crate::args::{BulkArgs, ClientArgs};
use crate::backend::{self, Backend};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::table::line;
use crate::show::terminal::Terminal;

/// The most failed executions that are listed.
const FAILED_SHOWN_MAX: usize = 20;
/// The most characters of a reason.
const REASON_CHARS_MAX: usize = 120;

/// Refuses values for many executions: each has its own.
pub(super) fn check_unchanged(is_unchanged: bool) -> Result<(), Failure> {
    match is_unchanged {
        true => Ok(()),
        false => Err(Failure::bad_input(anyhow!("--where takes no values and no playbook"))
            .help("name one execution to change it")),
    }
}

pub(super) async fn bulk(
    action: BulkAction,
    args: &BulkArgs,
    reason: Option<&str>,
    client: &ClientArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let choice = BulkChoice::Filter(args.conditions.clone().unwrap_or_default());
    let request = BulkRequest { action, choice, reason: reason.map(str::to_owned) };
    act(&request, args.yes, client, config, terminal).await
}

/// Counts the executions of a request, asks unless it is confirmed, and carries it out.
pub(super) async fn act(
    request: &BulkRequest,
    is_confirmed: bool,
    client: &ClientArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let action = request.action;
    backend::with(client, config, async |backend| {
        let preview = backend.count_bulk(request).await?;
        if preview.is_too_many {
            let error = anyhow!("more than {} executions match", preview.count_max);
            return Err(Failure::bad_input(error).help("narrow the conditions, or name a time"));
        }
        if preview.count == 0 {
            terminal.say(format!("no execution to {} matches", action.as_str()));
            return Ok(Exit::Completed);
        }
        let question = format!("{} {}", action.as_str(), counted(preview.count));
        if !is_confirmed && !confirmed(&question, terminal)? {
            return Ok(Exit::Cancelled);
        }
        let job = carried_out(backend, request, terminal).await?;
        if action == BulkAction::Delete && !backend.finish_deletions().await? {
            terminal.say(
                "rows of deleted executions are left; a server, or the next command that deletes, \
                 goes on",
            );
        }
        let failed = match job.progress.failed {
            0 => Vec::new(),
            _ => backend.failed_in_bulk(&job.job_id).await?,
        };
        Ok(told(&job, action, &failed, terminal))
    })
    .await
}

fn counted(count: u64) -> String {
    match count {
        1 => "1 execution".to_owned(),
        count => format!("{count} executions"),
    }
}

/// Asks on a terminal; refuses where nobody can answer.
fn confirmed(question: &str, terminal: &mut Terminal) -> Result<bool, Failure> {
    terminal.say(format!("this would {question}"));
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let error = anyhow!("not confirmed, and there is no terminal to ask on");
        return Err(Failure::bad_input(error).help("add --yes to act without a question"));
    }
    let _unread = write!(io::stderr(), "Do it? [y/N] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Creates a job and follows it to its end.
async fn carried_out(
    backend: &dyn Backend,
    request: &BulkRequest,
    terminal: &Terminal,
) -> Result<BulkJobView, Failure> {
    let mut job = backend.create_bulk(request).await?;
    let bar = match terminal.is_watched {
        true => ProgressBar::new(job.progress.expected),
        false => ProgressBar::hidden(),
    };
    bar.set_style(ProgressStyle::default_bar());
    while job.is_running() {
        job = backend.advance_bulk(&job.job_id).await?;
        bar.set_position(job.progress.total());
    }
    bar.finish_and_clear();
    Ok(job)
}

/// Prints the result of a job and the executions that failed.
fn told(
    job: &BulkJobView,
    action: BulkAction,
    failed: &[BulkItemView],
    terminal: &mut Terminal,
) -> Exit {
    let verb = match action {
        BulkAction::Cancel => "cancelled",
        BulkAction::Retry => "retried",
        BulkAction::Rerun => "reran",
        BulkAction::Delete => "deleted",
    };
    let counts = &job.progress;
    terminal.say(format!(
        "{verb} {}; {} unchanged, {} failed (job {})",
        counted(counts.done),
        counts.unchanged,
        counts.failed,
        job.job_id
    ));
    for item in failed.iter().take(FAILED_SHOWN_MAX) {
        let reason = line(item.message.as_deref().unwrap_or_default(), REASON_CHARS_MAX);
        terminal.say(format!("  {}: {reason}", item.execution_id));
    }
    let more = counts.failed.saturating_sub(FAILED_SHOWN_MAX as u64);
    if more > 0 {
        terminal.say(format!("  … and {more} more"));
    }
    match (job.state.as_str(), counts.failed) {
        ("completed", 0) => Exit::Completed,
        _ => Exit::Failed,
    }
}
