//! `noetl audit`: prints the audit log.

use std::collections::VecDeque;

use noetl_api::wire::AuditEntryView;
use noetl_app::AuditLogQuery;

use crate::args::AuditArgs;
use crate::backend;
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::ListText;
use crate::show::output::table::line;
use crate::show::terminal::Terminal;

/// The most characters of an action or a subject in the table.
const TEXT_CHARS_MAX: usize = 60;

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
    let text = ListText {
        empty: "no entries",
        header: &["NUMBER", "TIME", "ACTOR", "ACTION", "SUBJECT", "SOURCE", "OUTCOME"],
        row: |it: &AuditEntryView| {
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
        },
    };
    terminal.list(args.output, newest.make_contiguous(), &text)
}
