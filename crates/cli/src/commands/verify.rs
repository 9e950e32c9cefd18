//! `noetl verify`: verifies that stored events are unchanged.

use std::sync::Mutex;

use anyhow::anyhow;
use noetl_api::wire::{Verification, VerificationQuery};
use noetl_app::{ExecutionFilter, PAGE_MAX, Page};
use noetl_model::{Digest, ExecutionId};

use crate::args::VerifyArgs;
use crate::backend;
use crate::config::Config;
use crate::history::History;
use crate::remote::refused;
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
    let (history, _) = backend::history(&args.client, config).await?;
    match args.execution {
        None => all(&history, args, terminal).await,
        Some(chosen) => {
            let execution = history.chosen(chosen).await?.execution;
            let found = verified(&history, execution, args.expect, terminal).await?;
            let shown = match args.output.document() {
                Some(format) => document(format, &found),
                None => text(&found),
            };
            terminal.data(&shown)?;
            Ok(exit(found.valid))
        }
    }
}

fn exit(is_valid: bool) -> Exit {
    if is_valid { Exit::Completed } else { Exit::Failed }
}

/// Verifies one execution, here or on the server that has it.
async fn verified(
    history: &History,
    execution: ExecutionId,
    expected: Option<Digest>,
    terminal: &mut Terminal,
) -> Result<Verification, Failure> {
    let store = match history {
        History::Store(store) => store,
        History::Server(client) => {
            let query = VerificationQuery { expect: expected.map(|kept| kept.to_string()) };
            return client.verification(execution, &query).await.map_err(refused);
        }
    };
    let terminal = Mutex::new(terminal);
    let progress = |events: u64| {
        let mut terminal = terminal.lock().expect("nothing panics while it speaks");
        if terminal.is_watched && events > 0 && events.is_multiple_of(PROGRESS_EVENTS) {
            terminal.say(format!("{execution}: {events} events"));
        }
    };
    let found = store.verify(execution, expected, progress).await;
    found
        .map_err(Failure::broken)?
        .ok_or_else(|| Failure::broken(anyhow!("execution {execution} has vanished")))
}

/// Verifies all executions, newest first; text output lists only those that are wrong.
async fn all(
    history: &History,
    args: &VerifyArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (mut checked, mut wrong, mut unproven) = (0u64, 0u64, 0u64);
    let mut documents = Vec::new();
    let mut before = None;
    loop {
        let page = Page { before, limit: PAGE_MAX };
        let listed = history.listed(&ExecutionFilter::default(), page).await?;
        let Some(last) = listed.last() else { break };
        before = Some(last.execution);
        for summary in listed {
            let found = verified(history, summary.execution, None, terminal).await?;
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
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &documents))?,
        None => {
            let unproven = match unproven {
                0 => String::new(),
                some => format!(", {some} with events from before there were digests"),
            };
            terminal.data(&format!("{checked} executions checked, {wrong} wrong{unproven}"))?;
        }
    }
    Ok(exit(wrong == 0))
}

fn text(found: &Verification) -> String {
    let Verification { execution_id, valid: _, events, proven_from, head, fault, note } = found;
    if let Some(fault) = fault {
        return format!("{execution_id} {} {fault}", paint(BAD, "wrong:"));
    }
    let mut lines = vec![format!("{execution_id} {}: {events} events", paint(GOOD, "verified"))];
    let careful = match proven_from {
        Some(1) => None,
        Some(from) => Some(format!(
            "the proof begins at event {from}: those before it are from before there were digests"
        )),
        None => Some("nothing is proved: all are from before there were digests".to_owned()),
    };
    lines.extend(careful.map(|line| paint(CAREFUL, line)));
    lines.extend(note.as_ref().map(|note| paint(CAREFUL, note)));
    lines.extend(head.as_ref().map(|head| format!("head {head}")));
    lines.join("\n")
}
