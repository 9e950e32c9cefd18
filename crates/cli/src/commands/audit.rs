//! `noetl audit`: prints the audit log.

use std::collections::VecDeque;
use std::time::Duration;

use noetl_api::wire::AuditEntryView;
use noetl_app::AuditLogQuery;

use super::stopped;
use crate::args::{AuditArgs, Format};
use crate::backend::{self, BackendReader};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::ListText;
use crate::show::output::table::line;
use crate::show::terminal::Terminal;

/// The most characters of an action or a subject in the table.
const TEXT_CHARS_MAX: usize = 60;
/// The interval of looking for new entries.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) async fn audit(
    args: &AuditArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let reader = backend::open_reader(&args.client, config).await?;
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let mut query = AuditLogQuery {
        after: 0,
        limit: None,
        since: args.since,
        actor: args.actor.clone(),
        action: args.action.clone(),
    };
    let mut newest: VecDeque<AuditEntryView> = VecDeque::new();
    loop {
        let page = reader.audit_page(&query).await?;
        newest.extend(page.entries);
        newest.drain(..newest.len().saturating_sub(limit));
        match page.next {
            Some(next) => query.after = next,
            None => break,
        }
    }
    if args.follow {
        return follow(args, query, newest, &*reader, terminal).await;
    }
    let text = ListText {
        empty: "no entries",
        header: &["NUMBER", "TIME", "ACTOR", "ACTION", "SUBJECT", "SOURCE", "OUTCOME"],
        row: cells,
    };
    terminal.list(args.output, newest.make_contiguous(), &text)
}

/// Prints the newest entries, and then those that are written, until the command is interrupted.
async fn follow(
    args: &AuditArgs,
    mut query: AuditLogQuery,
    newest: VecDeque<AuditEntryView>,
    reader: &dyn BackendReader,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let stop = stopped()?;
    let mut entries: Vec<AuditEntryView> = newest.into();
    loop {
        for entry in &entries {
            query.after = query.after.max(entry.number);
            let text = match args.output {
                Format::Text => cells(entry).join("  "),
                Format::Json | Format::Yaml => {
                    serde_json::to_string(entry).map_err(Failure::broken)?
                }
            };
            terminal.data(&format!("{text}\n")).map_err(Failure::broken)?;
        }
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = stop.cancelled() => return Ok(Exit::Completed),
        }
        let page = reader.audit_page(&query).await?;
        // A page may end before the next entry that the query wants.
        query.after = page.next.unwrap_or(query.after);
        entries = page.entries;
    }
}

/// Returns the cells of an entry in the table.
fn cells(it: &AuditEntryView) -> Vec<String> {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let outcome = match &it.detail {
        Some(detail) => format!("{} {detail}", it.outcome),
        None => it.outcome.clone(),
    };
    vec![
        it.number.to_string(),
        it.at.clone(),
        or_dash(&it.actor),
        line(&it.action, TEXT_CHARS_MAX),
        line(&or_dash(&it.subject), TEXT_CHARS_MAX),
        or_dash(&it.source),
        outcome,
    ]
}
