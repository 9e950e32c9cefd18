//! `noetl verify`: verifies that stored events are unchanged.

use std::sync::Mutex;

use noetl_api::wire::{AuditVerification, Verification};
use noetl_app::{ExecutionFilter, PAGE_MAX, Page};
use noetl_model::{Digest, ExecutionId, LogOrigin};

use crate::args::VerifyArgs;
use crate::backend::{self, BackendReader};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::document;
use crate::show::terminal::{BAD, CAREFUL, GOOD, Terminal, paint};

/// The number of events, or of executions, between two progress messages.
const PROGRESS_EVENTS: u64 = 100_000;
const PROGRESS_EXECUTIONS: u64 = 1000;

pub(crate) async fn verify(
    args: &VerifyArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let reader = backend::open_reader(&args.client, config).await?;
    match args.execution {
        None => all(&*reader, args, terminal).await,
        Some(chosen) => {
            let execution = reader.chosen(chosen).await?.summary.execution;
            let found = verified(&*reader, execution, args.expect, terminal).await?;
            terminal.show(args.output, &found, text)?;
            Ok(exit(found.valid))
        }
    }
}

fn exit(is_valid: bool) -> Exit {
    if is_valid { Exit::Completed } else { Exit::Failed }
}

/// Verifies one execution; shows progress if it is read in this process.
async fn verified(
    reader: &dyn BackendReader,
    execution: ExecutionId,
    expected: Option<Digest>,
    terminal: &mut Terminal,
) -> Result<Verification, Failure> {
    let terminal = Mutex::new(terminal);
    let progress = |events: u64| {
        let mut terminal = terminal.lock().expect("nothing panics while it speaks");
        if terminal.is_watched && events > 0 && events.is_multiple_of(PROGRESS_EVENTS) {
            terminal.say(format!("{execution}: {events} events"));
        }
    };
    reader.verify(execution, expected, &progress).await
}

/// Verifies all executions, newest first; text output lists only those that are wrong.
async fn all(
    reader: &dyn BackendReader,
    args: &VerifyArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (mut checked, mut wrong, mut unproven) = (0u64, 0u64, 0u64);
    let mut documents = Vec::new();
    let mut before = None;
    loop {
        let page = Page { before, limit: PAGE_MAX };
        let listed = reader.page(&ExecutionFilter::default(), page).await?;
        let Some(last) = listed.last() else { break };
        before = Some(last.summary.execution);
        for known in listed {
            let found = verified(reader, known.summary.execution, None, terminal).await?;
            checked += 1;
            wrong += u64::from(!found.valid);
            unproven += u64::from(found.proven_from != Some(1));
            if terminal.is_watched && checked.is_multiple_of(PROGRESS_EXECUTIONS) {
                terminal.say(format!("{checked} executions"));
            }
            if args.output.document().is_some() {
                documents.push(found);
            } else if !found.valid {
                terminal.data(&text(&found))?;
            }
        }
    }
    let is_audit_valid = audit_log(reader, args, terminal).await?;
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &documents))?,
        None => {
            let unproven = match unproven {
                0 => String::new(),
                some => format!(", {some} with events that were stored without digests"),
            };
            terminal.data(&format!("{checked} executions checked, {wrong} wrong{unproven}"))?;
        }
    }
    Ok(exit(wrong == 0 && is_audit_valid))
}

/// Verifies the audit log; false if it was changed.
async fn audit_log(
    reader: &dyn BackendReader,
    args: &VerifyArgs,
    terminal: &mut Terminal,
) -> Result<bool, Failure> {
    let Some(found) = reader.verify_audit().await? else {
        terminal.say("audit log not verified: this needs a token of an administrator");
        return Ok(true);
    };
    let AuditVerification { valid, entries, last: _, head, fault } = found;
    let text = match (fault, head) {
        (Some(fault), _) => format!("audit log {} {fault}", paint(BAD, "wrong:")),
        (None, Some(head)) => format!("audit log verified: {entries} entries, head {head}"),
        (None, None) => "audit log verified: no entries".to_owned(),
    };
    match args.output.document() {
        // The document lists executions.
        Some(_) => terminal.say(text),
        None => terminal.data(&text)?,
    }
    Ok(valid)
}

fn text(found: &Verification) -> String {
    let Verification { execution_id, origin, valid: _, events, proven_from, head, fault, note } =
        found;
    if let Some(fault) = fault {
        return format!("{execution_id} {} {fault}", paint(BAD, "wrong:"));
    }
    let heading = match (origin, proven_from) {
        (LogOrigin::Native, Some(_)) => paint(GOOD, "verified"),
        (LogOrigin::Native, None) => paint(CAREFUL, "not verified"),
        (LogOrigin::Imported | LogOrigin::Subscription, _) => paint(CAREFUL, origin),
    };
    let mut lines = vec![format!("{execution_id} {heading}: {events} events")];
    let careful = match (origin, proven_from) {
        (LogOrigin::Imported | LogOrigin::Subscription, _) | (LogOrigin::Native, Some(1)) => None,
        (LogOrigin::Native, Some(from)) => Some(format!(
            "verified from event {from} on: earlier events were stored without digests"
        )),
        (LogOrigin::Native, None) => {
            Some("all events were stored without digests: nothing is proved".to_owned())
        }
    };
    lines.extend(careful.map(|line| paint(CAREFUL, line)));
    lines.extend(note.as_ref().map(|note| paint(CAREFUL, note)));
    lines.extend(head.as_ref().map(|head| format!("head {head}")));
    lines.join("\n")
}
