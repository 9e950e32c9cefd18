//! A plan as the one statement that writes it takes it: an array for each column.

use noetl_model::{Digest, EventTag, Parent, StepName, Summary, Timestamp};
use noetl_store::{CommandKey, Holder, LogEnd, OpenCommand, Plan};
use sqlx::Postgres;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;

use crate::instant::Instant;
use crate::row::{plain, stored, to_json};

type Statement = Query<'static, Postgres, PgArguments>;

/// What a plan was made on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Footing {
    /// What has been read and kept from others, and the database's clock.
    Read,
    /// What the batch itself says, and this process's clock.
    Presumed,
    /// The same, with a clock that all servers share.
    PresumedOnTime,
}

/// The statement that writes a plan made at `now`.
pub(crate) fn bound(plan: &Plan<'_>, now: Timestamp, footing: Footing) -> Statement {
    let statement = sqlx::query(include_str!("../sql/append.sql"));
    let statement = events(statement, plan);
    let statement = executions(statement, plan);
    let statement = children(statement, plan);
    let statement = commands(statement, plan, now);
    let statement = timers(statement, plan);
    let statement = messages(statement, plan, now);
    let statement = payloads(statement, plan);
    let statement =
        statement.bind(plan.executions.values().map(|change| change.is_new).collect::<Vec<_>>());
    let statement = digests(items(statement, plan), plan);
    guards(statement, plan, footing)
}

/// One column of some rows.
fn column<R, T>(rows: &[R], of: impl FnMut(&R) -> T) -> Vec<T> {
    rows.iter().map(of).collect()
}

fn events(statement: Statement, plan: &Plan<'_>) -> Statement {
    let rows = &plan.events;
    statement
        .bind(column(rows, |(execution, _)| execution.0))
        .bind(column(rows, |(_, recorded)| stored(recorded.seq.0)))
        .bind(column(rows, |(_, recorded)| recorded.event_id.0))
        .bind(column(rows, |(_, recorded)| EventTag::as_str(recorded.event.tag())))
        .bind(column(rows, |(_, recorded)| {
            recorded.event.step().map(|step| plain(step.as_str()).into_owned())
        }))
        .bind(column(rows, |(_, recorded)| Instant(recorded.at)))
        .bind(column(rows, |(_, recorded)| to_json(&recorded.event)))
}

fn executions(statement: Statement, plan: &Plan<'_>) -> Statement {
    let rows: Vec<_> =
        plan.executions.iter().map(|(id, change)| (*id, change.summary, change.end)).collect();
    let rows = &rows;
    let path = |text: &str| plain(text).into_owned();
    let step = |step: &StepName| plain(step.as_str()).into_owned();
    statement
        .bind(column(rows, |(execution, ..)| execution.0))
        .bind(column(rows, |(_, summary, _)| summary.playbook.catalog_id.0))
        .bind(column(rows, |(_, summary, _)| path(&summary.playbook.path)))
        .bind(column(rows, |(_, summary, _)| path(&summary.playbook.path.to_lowercase())))
        .bind(column(rows, |(_, summary, _)| i64::from(summary.playbook.version)))
        .bind(column(rows, |(_, summary, _)| summary.status.as_str()))
        .bind(column(rows, |(.., end)| stored(end.seq.0)))
        .bind(column(rows, |(.., end)| Instant(end.at)))
        .bind(column(rows, |(_, summary, _)| Instant(summary.started_at)))
        .bind(column(rows, |(_, summary, _)| summary.ended_at.map(Instant)))
        .bind(column(rows, |(_, summary, _)| summary.parent.map(|it| it.execution().0)))
        .bind(column(rows, |(_, summary, _)| {
            summary.parent.and_then(Parent::command).map(|it| stored(it.command.0))
        }))
        .bind(column(rows, |(_, summary, _)| summary.current_step.as_ref().map(step)))
        .bind(column(rows, |(_, summary, _)| i64::from(summary.steps.total)))
        .bind(column(rows, |(_, summary, _)| i64::from(summary.steps.running)))
        .bind(column(rows, |(_, summary, _)| i64::from(summary.steps.completed)))
        .bind(column(rows, |(_, summary, _)| i64::from(summary.steps.failed)))
        .bind(column(rows, |(_, summary, _)| summary.error.as_ref().map(to_json)))
}

fn items(statement: Statement, plan: &Plan<'_>) -> Statement {
    let rows: Vec<_> = plan.executions.values().map(|change| change.summary.items).collect();
    statement
        .bind(column(&rows, |items| stored(items.total)))
        .bind(column(&rows, |items| stored(items.completed)))
        .bind(column(&rows, |items| stored(items.failed)))
}

/// What chains events and executions to those before them.
fn digests(statement: Statement, plan: &Plan<'_>) -> Statement {
    let bytes = |digest: Digest| digest.as_bytes().to_vec();
    let summaries: Vec<&Summary> = plan.executions.values().map(|change| change.summary).collect();
    statement
        .bind(column(&plan.events, |(_, recorded)| recorded.prev.map(bytes)))
        .bind(column(&summaries, |summary| summary.head.map(bytes)))
        .bind(column(&summaries, |summary| summary.fork.map(|fork| fork.execution.0)))
        .bind(column(&summaries, |summary| summary.fork.map(|fork| stored(fork.seq.0))))
}

/// What has to be so for the plan to hold.
fn guards(statement: Statement, plan: &Plan<'_>, footing: Footing) -> Statement {
    let before: Vec<LogEnd> = plan.executions.values().map(|change| change.before).collect();
    statement
        .bind(column(&before, |end| stored(end.seq.0)))
        .bind(footing != Footing::Read)
        .bind(footing == Footing::Presumed)
        .bind(plan.executions.keys().next().map(|execution| execution.0))
        .bind(plan.executions.keys().next_back().map(|execution| execution.0))
        .bind(column(&before, |end| end.head.map(|digest| digest.as_bytes().to_vec())))
}

fn children(statement: Statement, plan: &Plan<'_>) -> Statement {
    let rows: Vec<_> = plan.children.iter().collect();
    let rows = &rows;
    statement
        .bind(column(rows, |((parent, _), _)| parent.0))
        .bind(column(rows, |((_, command), _)| stored(command.0)))
        .bind(column(rows, |(_, child)| child.0))
}

/// How an open command's holder is stored.
struct HolderColumns {
    status: &'static str,
    worker: Option<String>,
    lease_until: Option<Instant>,
}

impl HolderColumns {
    fn of(holder: &Holder) -> Self {
        let (status, worker, lease_until) = match holder {
            Holder::Nobody { .. } => ("ISSUED", None, None),
            Holder::Worker { worker, lease_until } => {
                ("CLAIMED", Some(plain(worker.as_str()).into_owned()), Some(Instant(*lease_until)))
            }
            Holder::Parked => ("PARKED", None, None),
        };
        Self { status, worker, lease_until }
    }
}

fn commands(statement: Statement, plan: &Plan<'_>, now: Timestamp) -> Statement {
    let open: Vec<(CommandKey, &OpenCommand, HolderColumns)> = plan
        .open_commands()
        .map(|(key, open)| (key, open, HolderColumns::of(&open.holder)))
        .collect();
    let ended: Vec<CommandKey> = plan.ended_commands().collect();
    statement
        .bind(column(&open, |((execution, _), ..)| execution.0))
        .bind(column(&open, |((_, command), ..)| stored(command.0)))
        .bind(column(&open, |(_, open, _)| plain(open.pool.as_str()).into_owned()))
        .bind(column(&open, |(_, open, _)| plain(&open.step).into_owned()))
        .bind(column(&open, |(_, open, _)| i64::from(open.attempt.0)))
        .bind(column(&open, |(.., holder)| holder.status))
        .bind(column(&open, |(.., holder)| holder.worker.clone()))
        .bind(column(&open, |(.., holder)| holder.lease_until))
        .bind(column(&open, |_| Instant(now)))
        .bind(column(&ended, |(execution, _)| execution.0))
        .bind(column(&ended, |(_, command)| stored(command.0)))
}

fn timers(statement: Statement, plan: &Plan<'_>) -> Statement {
    let set: Vec<_> = plan.set_timers().collect();
    let ended: Vec<_> = plan.ended_timers().collect();
    statement
        .bind(column(&set, |((execution, _), _)| execution.0))
        .bind(column(&set, |((_, timer), _)| stored(timer.0)))
        .bind(column(&set, |(_, due_at)| Instant(*due_at)))
        .bind(column(&ended, |(execution, _)| execution.0))
        .bind(column(&ended, |(_, timer)| stored(timer.0)))
}

fn messages(statement: Statement, plan: &Plan<'_>, now: Timestamp) -> Statement {
    let rows = &plan.messages;
    statement
        .bind(column(rows, |(execution, _)| execution.0))
        .bind(column(rows, |(_, message)| to_json(message)))
        .bind(Instant(now))
}

fn payloads(statement: Statement, plan: &Plan<'_>) -> Statement {
    let rows = &plan.payloads;
    statement
        .bind(column(rows, |(execution, ..)| execution.0))
        .bind(column(rows, |(_, digest, _)| digest.as_bytes().to_vec()))
        .bind(column(rows, |(.., bytes)| *bytes))
}
