//! `noetl logs`: prints what the steps of an execution have printed, also while they run.

use noetl_app::{LogFilter, LogLine, LogLines};
use noetl_model::{LogStream, StepName};

use crate::args::{EventsFormat, LogsArgs};
use crate::backend;
use crate::config::Config;
use crate::show::failure::{Exit, Failure};
use crate::show::output::{compact, pretty};
use crate::show::terminal::{CAREFUL, FAINT, Terminal, paint};

pub(crate) async fn logs(
    args: &LogsArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (known, reader) = backend::chosen(&args.client, args.execution, config).await?;
    let filter = LogFilter {
        step: args.step.as_deref().map(StepName::new),
        command: None,
        attempt: args.attempt,
        stream: args.stderr.then_some(LogStream::Stderr),
    };
    let mut feed = reader.step_logs(known.summary.execution, filter, args.follow).await?;
    let mut lines = LogLines::default();
    let mut all = Vec::new();
    while let Some(page) = feed.next().await? {
        match args.output {
            EventsFormat::Json => all.extend(page),
            EventsFormat::Jsonl if page.is_empty() => {}
            EventsFormat::Jsonl => {
                let lines: String = page.iter().map(|entry| compact(entry) + "\n").collect();
                terminal.data(&lines)?;
            }
            EventsFormat::Text => {
                let ended = page.iter().flat_map(|entry| lines.push(entry));
                print(&ended.collect::<Vec<_>>(), args, terminal)?;
            }
        }
    }
    match args.output {
        EventsFormat::Json => terminal.data(&pretty(&all))?,
        EventsFormat::Jsonl => {}
        EventsFormat::Text => print(&lines.finish(), args, terminal)?,
    }
    Ok(Exit::Completed)
}

/// Prints lines; nothing if there are none.
fn print(lines: &[LogLine], args: &LogsArgs, terminal: &mut Terminal) -> Result<(), Failure> {
    let text: String = lines.iter().map(|line| shown(line, args)).collect();
    if !text.is_empty() {
        terminal.data(&text)?;
    }
    Ok(())
}

/// Returns a line with its time if asked for, and with the name of its step unless one was chosen.
fn shown(line: &LogLine, args: &LogsArgs) -> String {
    let mut text = String::new();
    if args.timestamps {
        text.push_str(&paint(FAINT, line.at));
        text.push(' ');
    }
    if args.step.is_none() || line.name != args.step.as_deref().unwrap_or_default() {
        text.push_str(&paint(FAINT, format!("{} |", line.name)));
        text.push(' ');
    }
    match (line.is_note, line.stream) {
        (true, _) => text.push_str(&paint(FAINT, &line.text)),
        (false, LogStream::Stderr) => text.push_str(&paint(CAREFUL, &line.text)),
        (false, LogStream::Stdout) => text.push_str(&line.text),
    }
    text.push('\n');
    text
}
