//! `noetl executions events`: prints the events of one execution, as stored.

use std::time::Duration;

use noetl_app::KnownExecution;
use noetl_model::{Event, ExecutionId, LogOrigin, Recorded, Seq};
use serde::Serialize;

use crate::args::{EventsArgs, EventsFormat};
use crate::backend::{self, BackendReader};
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::events::event_line;
use crate::show::output::foreign::foreign_line;
use crate::show::output::{compact, pretty};
use crate::show::terminal::Terminal;

/// Polling interval for events that another process writes.
const LOOK: Duration = Duration::from_millis(200);

pub(crate) async fn events(
    args: &EventsArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (known, reader) = backend::chosen(&args.client, args.execution, config).await?;
    match known.origin {
        LogOrigin::Native => {}
        LogOrigin::Imported | LogOrigin::Subscription => {
            return foreign_events(args, &known, &*reader, terminal).await;
        }
    }
    let execution = known.summary.execution;
    let mut log = EventLines { reader, execution, after: args.after, left: args.limit };
    let mut all = Vec::new();
    while let Some(page) = log.next(args.follow).await? {
        match args.output {
            EventsFormat::Json => all.extend(page.into_iter().map(EventDocument::from)),
            EventsFormat::Jsonl => {
                let lines: String = page.into_iter().map(jsonl).collect();
                terminal.data(&lines)?;
            }
            EventsFormat::Text => {
                let lines: String = page.iter().map(|event| event_line(event) + "\n").collect();
                terminal.data(&lines)?;
            }
        }
    }
    if args.output == EventsFormat::Json {
        terminal.data(&pretty(&all))?;
    }
    Ok(Exit::Completed)
}

/// Prints the events of a log that the engine does not write.
async fn foreign_events(
    args: &EventsArgs,
    known: &KnownExecution,
    reader: &dyn BackendReader,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let mut after = args.after;
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut all = Vec::new();
    while left > 0 {
        let mut page = reader.foreign_events(known, after).await?;
        page.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        let Some(last) = page.last() else {
            // An imported log ends when nothing more is imported, which nothing announces.
            if !args.follow || has_ended(known, reader).await? {
                break;
            }
            tokio::time::sleep(LOOK).await;
            continue;
        };
        after = Seq(last.seq);
        left -= u64::try_from(page.len()).unwrap_or(left);
        match args.output {
            EventsFormat::Json => all.extend(page),
            EventsFormat::Jsonl => {
                let lines: String = page.iter().map(|event| compact(event) + "\n").collect();
                terminal.data(&lines)?;
            }
            EventsFormat::Text => {
                let lines: String = page.iter().map(|event| foreign_line(event) + "\n").collect();
                terminal.data(&lines)?;
            }
        }
    }
    if args.output == EventsFormat::Json {
        terminal.data(&pretty(&all))?;
    }
    Ok(Exit::Completed)
}

async fn has_ended(known: &KnownExecution, reader: &dyn BackendReader) -> Result<bool, Failure> {
    let now = reader.find(known.summary.execution).await?;
    Ok(now.is_none_or(|known| known.summary.status.is_terminal()))
}

/// The events of an execution, read page by page.
struct EventLines {
    reader: Box<dyn BackendReader>,
    execution: ExecutionId,
    after: Seq,
    /// The number of events still to return; `None` for no limit.
    left: Option<u64>,
}

impl EventLines {
    /// Returns the next events; `None` at the end of the log or, with `follow`, of the execution.
    async fn next(&mut self, follow: bool) -> Result<Option<Vec<Recorded>>, Failure> {
        if self.left == Some(0) {
            return Ok(None);
        }
        loop {
            // Loaded before the events: if the execution has ended by then, the page cannot miss
            // later events.
            let known = self.reader.find(self.execution).await?;
            let has_ended = known.is_none_or(|known| known.summary.status.is_terminal());
            let mut page = self.reader.events(self.execution, self.after).await?;
            if let Some(left) = &mut self.left {
                page.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= u64::try_from(page.len()).unwrap_or(*left);
            }
            if let Some(last) = page.last() {
                self.after = last.seq;
                return Ok(Some(page));
            }
            if has_ended || !follow {
                return Ok(None);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// An event for programs: as stored, with the time as text and the id as text.
#[derive(Serialize)]
struct EventDocument {
    seq: Seq,
    event_id: String,
    at: String,
    #[serde(flatten)]
    event: Event,
}

impl From<Recorded> for EventDocument {
    fn from(Recorded { seq, event_id, at, event, prev: _ }: Recorded) -> Self {
        Self { seq, event_id: event_id.to_string(), at: at.to_string(), event }
    }
}

pub(in crate::commands) fn jsonl(recorded: Recorded) -> String {
    let document = EventDocument::from(recorded);
    compact(&document) + "\n"
}
