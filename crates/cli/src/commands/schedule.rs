//! `noetl schedule`: lists, shows, pauses and backfills schedules.

use anyhow::anyhow;
use noetl_api::wire::{Backfill, ScheduleEventView, ScheduleEvents, ScheduleView};
use noetl_control::ScheduleAction;
use serde::Serialize;
use serde_json::Value;

use crate::args::{
    BackfillArgs, ScheduleArgs, ScheduleCommand, ScheduleListArgs, ScheduleNextArgs,
};
use crate::backend::{self, Backend};
use crate::config::Config;
use crate::input::nearest::suggest;
use crate::show::failure::{Exit, Failure};
use crate::show::output::table::table;
use crate::show::output::{ListText, document};
use crate::show::terminal::{FAINT, Terminal, paint};

/// The most past events shown of a schedule.
const PAST: usize = 20;

/// One schedule with its past events, for programs.
#[derive(Serialize)]
struct ScheduleDocument {
    #[serde(flatten)]
    schedule: ScheduleView,
    #[serde(flatten)]
    past: ScheduleEvents,
}

pub(crate) async fn schedule(
    command: &ScheduleCommand,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    match command {
        ScheduleCommand::List(args) => list(args, config, terminal).await,
        ScheduleCommand::Get(args) => get(args, config, terminal).await,
        ScheduleCommand::Next(args) => next(args, config, terminal).await,
        ScheduleCommand::Pause(args) => moved(args, ScheduleAction::Pause, config, terminal).await,
        ScheduleCommand::Resume(args) => {
            moved(args, ScheduleAction::Resume, config, terminal).await
        }
        ScheduleCommand::Backfill(args) => backfill(args, config, terminal).await,
    }
}

async fn list(
    args: &ScheduleListArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let listed = backend::with(&args.client, config, async |backend| backend.schedules().await);
    let text = ListText {
        empty: "no schedules; `noetl register FILE` registers one",
        header: &["SCHEDULE", "STATE", "NEXT", "TIMING", "PLAYBOOK", "TROUBLE"],
        row: |it: &ScheduleView| {
            vec![
                it.path.clone(),
                it.state.to_lowercase(),
                it.next_at.as_deref().map(to_the_second).unwrap_or_default(),
                it.timing.clone(),
                it.playbook.clone(),
                it.trouble.clone().unwrap_or_default(),
            ]
        },
    };
    terminal.list(args.output, &listed.await?, &text)
}

async fn get(
    args: &ScheduleArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let loaded = backend::with(&args.client, config, async |backend| {
        let schedule = meant(backend, &args.path, backend.schedule(&args.path).await).await?;
        let past = backend.schedule_events(&args.path, PAST).await?;
        Ok(ScheduleDocument { schedule, past })
    });
    terminal.show(args.output, &loaded.await?, shown)
}

fn shown(document: &ScheduleDocument) -> String {
    let it = &document.schedule;
    let row = |name: &str, value: String| vec![paint(FAINT, name), value];
    let mut rows = vec![
        row("schedule", it.path.clone()),
        row("state", it.state.to_lowercase()),
        row("starts", it.playbook.clone()),
        row("timing", it.timing.clone()),
        row("next", it.next_at.as_deref().map_or("none".to_owned(), to_the_second)),
    ];
    if let (Some(instant), Some(execution)) = (&it.last_instant, &it.last_execution_id) {
        rows.push(row("last", format!("{} as {execution}", to_the_second(instant))));
    }
    if let Some(until) = &it.queued_until {
        rows.push(row("waiting", format!("instants up to {}", to_the_second(until))));
    }
    if let Some(trouble) = &it.trouble {
        rows.push(row("trouble", trouble.clone()));
    }
    let past = document.past.events.iter().map(|event| {
        let ScheduleEventView { seq: _, event_type, created_at, context } = event;
        vec![to_the_second(created_at), event_type.clone(), context_line(context)]
    });
    format!("{}\n\n{}", table(&rows).trim_end(), table(&past.collect::<Vec<_>>()))
}

/// Formats the context of an event on one line.
fn context_line(context: &Value) -> String {
    let parts = context.as_object().into_iter().flatten().filter_map(|(name, value)| match value {
        Value::Null => None,
        Value::String(text) => Some(format!("{name}={}", to_the_second(text))),
        other => Some(format!("{name}={other}")),
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// Removes the fraction of a second if it is zero.
fn to_the_second(time: &str) -> String {
    time.replace(".000000Z", "Z")
}

async fn next(
    args: &ScheduleNextArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (after, limit) = (args.after.as_deref(), args.limit.into());
    let next = backend::with(&args.client, config, async |backend| {
        let next = backend.next_instants(&args.path, after, limit).await;
        meant(backend, &args.path, next).await
    });
    let next = next.await?;
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &next))?,
        None if next.instants.is_empty() => terminal.say("the schedule has no further instants"),
        None => {
            let instants: Vec<String> = next.instants.iter().map(|it| to_the_second(it)).collect();
            terminal.data(&instants.join("\n"))?;
        }
    }
    Ok(Exit::Completed)
}

async fn moved(
    args: &ScheduleArgs,
    action: ScheduleAction,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let moved = backend::with(&args.client, config, async |backend| {
        meant(backend, &args.path, backend.move_schedule(&args.path, action).await).await
    });
    let schedule = moved.await?;
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &schedule))?,
        None => {
            let next = schedule.next_at.as_deref().map(to_the_second);
            let next = next.map(|next| format!(", next at {next}")).unwrap_or_default();
            let state = schedule.state.to_lowercase();
            terminal.say(format!("{} is {state}{next}", schedule.path));
        }
    }
    Ok(Exit::Completed)
}

async fn backfill(
    args: &BackfillArgs,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let wanted = Backfill {
        path: args.path.clone(),
        from: args.from.clone(),
        until: args.until.clone(),
        dry_run: args.dry_run,
    };
    let filled = backend::with(&args.client, config, async |backend| {
        meant(backend, &args.path, backend.backfill(wanted).await).await
    });
    let filled = filled.await?;
    match args.output.document() {
        Some(format) => terminal.data(&document(format, &filled))?,
        None if filled.instants.is_empty() => {
            terminal.say("the schedule has no instants in this time range")
        }
        None => {
            let rows = filled.instants.into_iter().map(|it| {
                let what = match (&it.execution_id, it.started) {
                    (None, _) => "would start",
                    (Some(_), true) => "started",
                    (Some(_), false) => "exists",
                };
                let execution = it.execution_id.unwrap_or_default();
                vec![to_the_second(&it.instant), what.to_owned(), execution]
            });
            terminal.data(&table(&rows.collect::<Vec<_>>()))?;
        }
    }
    Ok(Exit::Completed)
}

/// Replaces a failure by a clearer one, with a suggestion, if there is no schedule with this path.
async fn meant<T>(
    backend: &dyn Backend,
    path: &str,
    answer: Result<T, Failure>,
) -> Result<T, Failure> {
    let failure = match answer {
        Ok(answer) => return Ok(answer),
        Err(failure) => failure,
    };
    let Ok(schedules) = backend.schedules().await else { return Err(failure) };
    if schedules.iter().any(|it| it.path == path) {
        return Err(failure);
    }
    let failure = Failure::bad_input(anyhow!("there is no schedule {path}"));
    let paths = schedules.iter().map(|it| it.path.as_str());
    Err(suggest(failure, path, paths, "`noetl register FILE` registers one"))
}
